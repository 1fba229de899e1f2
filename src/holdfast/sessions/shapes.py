"""What the data of each entry type must look like.

Asked twice: before an entry is written, so that nothing malformed gets in, and when one is read
that somebody else wrote, so that it is left out instead of making the session unreadable.

Promise: whatever passes can be folded into the state and shown; whatever does not is named
(``tests/sessions/test_shapes.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from holdfast.types import Entry, Json, Message

__all__ = ["message_of", "problem_with", "references"]


def problem_with(kind: str, data: Mapping[str, Json]) -> str | None:
    """What is wrong with the data of an entry of that type; None for types we do not know."""
    check = _CHECKS.get(kind)
    return check(data) if check is not None else None


def message_of(entry: Entry) -> Message | None:
    """The message an entry shows; None if it shows none, or none that can be read."""
    stored = entry.data if entry.type == "message" else entry.data.get("message")
    if not isinstance(stored, Mapping):
        return None
    try:
        return _read(stored)
    except _UNREADABLE:
        return None


_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError)


def _read(stored: Mapping[str, Json]) -> Message:
    message = Message.from_json(stored)
    texts = (message.role, message.text, *(call.name for call in message.tool_calls))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("role, text and names must be strings")
    return message


def _message(data: Mapping[str, Json]) -> str | None:
    try:
        _read(data)
    except _UNREADABLE as error:
        return f"not a stored message ({type(error).__name__}: {error})"
    return None if all(map(_is_reference, data.get("artifacts", ()))) else "bad 'artifacts'"


def _is_reference(value: Json) -> bool:
    """Whether this says where a payload was, and which artifact it is now."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("path"), list)
        and isinstance(value.get("sha256"), str)
        and isinstance(value.get("encoding"), str)
        and isinstance(value.get("short"), bool)
    )


def references(data: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The artifacts an entry names, as far as they can be read."""
    named = data.get("artifacts")
    return [each for each in named if _is_reference(each)] if isinstance(named, list) else []


def _shows_a_message(data: Mapping[str, Json]) -> str | None:
    message = data.get("message")
    if message is None:
        return None
    return _message(message) if isinstance(message, Mapping) else "'message' must be an object"


def _prune(data: Mapping[str, Json]) -> str | None:
    for change in _list(data, "shown"):
        if not (
            isinstance(change, Mapping)
            and isinstance(change.get("entry"), str)
            and isinstance(change.get("part"), int)
            and isinstance(change.get("text"), str)
        ):
            return "'shown' must be a list of {entry, part, text}"
    return None if isinstance(data.get("shown"), list) else "'shown' must be a list"


def _compaction(data: Mapping[str, Json]) -> str | None:
    summary = data.get("summary", [])
    if not isinstance(summary, list) or not all(
        isinstance(part, Mapping)
        and isinstance(part.get("text", ""), str)
        and _is_list_of_strings(part.get("sources", []))
        for part in summary
    ):
        return "'summary' must be a list of {text, sources}"
    if not isinstance(data.get("first_kept"), str | None):
        return "'first_kept' must be the id of an entry"
    if not isinstance(data.get("watermark"), int | None):
        return "'watermark' must be a sequence number"
    if not all(_is_list_of_strings(data.get(name, [])) for name in ("pins", "kept")):
        return "'pins' and 'kept' must be lists of entry ids"
    return None


def _marker(data: Mapping[str, Json]) -> str | None:
    match data.get("kind"):
        case "goal":
            return None if isinstance(data.get("text"), str | None) else "'text' must be a string"
        case "vars":
            if not isinstance(data.get("set", {}), Mapping):
                return "'set' must be an object"
            unset = data.get("unset", [])
            return None if _is_list_of_strings(unset) else "'unset' must be a list of names"
        case "restored" | "memory" as kind:
            name = "text" if kind == "restored" else "mode"
            return None if isinstance(data.get(name), str) else f"{name!r} must be a string"
        case "overflow":
            return None if isinstance(data.get("limit"), int) else "'limit' must be a number"
        case "model":
            if not isinstance(data.get("name"), str | None):
                return "'name' must be a string"
            return None if isinstance(data.get("window"), int | None) else "'window' is no number"
        case str():
            return _shows_a_message(data)
        case _:
            return "a marker needs a 'kind'"


def _flush(data: Mapping[str, Json]) -> str | None:
    return None if isinstance(data.get("outcome"), str | None) else "'outcome' must be a word"


def _list(data: Mapping[str, Json], name: str) -> list[Json]:
    value = data.get(name)
    return value if isinstance(value, list) else []


def _is_list_of_strings(value: Json) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


_CHECKS: Final[Mapping[str, Callable[[Mapping[str, Json]], str | None]]] = {
    "message": _message,
    "recall": _shows_a_message,
    "prune": _prune,
    "compaction": _compaction,
    "marker": _marker,
    "flush": _flush,
}
