"""A conversation as one text for others: Markdown, or messages for a provider.

Promise: credentials are blacked out unless asked for, and what a provider sealed (signatures,
images) is left as it is, so that what remains can be sent again
(``tests/engine/test_exporting.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias, get_args

from holdfast.engine.rooms import Rooms
from holdfast.errors import UsageError
from holdfast.formats import to_anthropic, to_openai
from holdfast.redact import redact
from holdfast.sessions.export import to_markdown, view_to_markdown
from holdfast.sessions.shapes import message_of
from holdfast.sessions.transcript import Transcript
from holdfast.types import Json, Message, View

__all__ = ["ExportFormat", "export"]

ExportFormat = Literal["markdown", "openai", "anthropic"]

Shown: TypeAlias = Callable[[Mapping[str, Json]], Mapping[str, Json]]


def export(
    rooms: Rooms, transcript: Transcript, format: ExportFormat, *, view: bool, with_secrets: bool
) -> str:
    """The conversation, or with ``view`` what the model sees of it now."""
    if format not in get_args(ExportFormat):
        raise UsageError(
            f"There is no export format {format!r}.", hint=", ".join(get_args(ExportFormat))
        )
    shown: Shown = _as_it_is if with_secrets else _without_secrets
    if view:
        seen = _seen(rooms.store.view(transcript), shown)
        if format == "markdown":
            return view_to_markdown(transcript.name, seen)
        return _as_json(seen.messages, format)
    whole = (rooms.store.whole(entry, strict=False) for entry in transcript.entries())
    entries = [replace(entry, data=shown(entry.data)) for entry in whole]
    if format == "markdown":
        return to_markdown(transcript.name, entries, zone=rooms.zone)
    said = (message_of(entry) for entry in entries if entry.type == "message")
    return _as_json([message for message in said if message is not None], format)


def _seen(view: View, shown: Shown) -> View:
    items = (
        replace(item, message=Message.from_json(shown(item.message.to_json())))
        for item in view.items
    )
    return replace(view, items=tuple(items))


def _as_json(messages: list[Message], format: ExportFormat) -> str:
    exported: Json
    if format == "openai":
        exported = {"messages": to_openai(messages)}
    else:
        request = to_anthropic(messages)
        system = {"system": request.system} if request.system is not None else {}
        exported = {**system, "messages": request.messages}
    text = json.dumps(exported, ensure_ascii=False, indent=2)
    # Escapes hold what UTF-8 cannot: lone surrogates.
    is_utf8 = not any("\ud800" <= char <= "\udfff" for char in text)
    return (text if is_utf8 else json.dumps(exported, indent=2)) + "\n"


# ── secrets ─────────────────────────────────────────────────────────────────────────────────

_SEALED: Final = frozenset(
    {"type", "role", "id", "call_id", "signature", "data", "encrypted_content", "media_type"}
)
"""Strings that are ids, or that their provider takes byte for byte or not at all."""


def _as_it_is(data: Mapping[str, Json]) -> Mapping[str, Json]:
    return data


def _without_secrets(data: Mapping[str, Json]) -> Mapping[str, Json]:
    return {key: _redacted(value, key) for key, value in data.items()}


def _redacted(value: Json, key: str) -> Json:
    if isinstance(value, str):
        return value if key in _SEALED else redact(value)
    if isinstance(value, Mapping):
        clean = _without_secrets(value)
        if clean.get("type") == "thinking" and clean["text"] != value["text"]:
            # A signature vouches for the words as they were.
            return {name: each for name, each in clean.items() if name != "signature"}
        return clean
    if isinstance(value, list | tuple):
        return [_redacted(each, key) for each in value]
    return value
