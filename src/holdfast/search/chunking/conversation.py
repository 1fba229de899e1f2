"""Entries of a conversation as chunks: who said what, when, and what tools answered.

Promise (``tests/search/test_chunking_conversation.py``): what was recalled, thought, told to the
model by the system, or noted by the engine is in no chunk; credentials are not either; an
entry's chunks depend on that entry alone, so that a conversation chunked as it grows is the same
as one chunked at once. Never raises, whatever an entry holds. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.fencing import without_fenced
from holdfast.importance import importance
from holdfast.redact import redact
from holdfast.retain import Trust, visible_line
from holdfast.search.chunking.sizes import CALLS, TURN, pieces, storable, tool_limit
from holdfast.search.documents import Chunk, ChunkKind, Document, identified
from holdfast.text import cut
from holdfast.types import Entry, Json, Message, Part, Text, ToolCall, ToolResult

__all__ = ["chunk_entries", "entry_text"]

_UNSPOKEN: Final = frozenset({"system", "developer"})
_OF_TOOLS: Final = frozenset({"tool", "function"})
_TRUST: Final[Mapping[str, Trust]] = {"user": "user"}
_UNREADABLE: Final = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
_LONGEST_NAME: Final = 80
_READ: Final = 20_000
"""Characters of the arguments of one call that are looked at."""
_DEEPEST: Final = 6
_LARGEST: Final = 10**18
"""A number beyond says nothing, and Python refuses to write the largest."""


def chunk_entries(document: Document, entries: Sequence[Entry], *, start: int = 0) -> list[Chunk]:
    """The chunks of the entries from number ``start`` on, in their order.

    The entries are whole: what was stored beside the transcript has been put back.
    """
    chunks = [chunk for entry in entries[start:] for chunk in _of_entry(entry)]
    ids = identified(document, chunks)
    return [replace(chunk, id=id) for chunk, id in zip(chunks, ids, strict=True)]


def entry_text(entry: Entry) -> str | None:
    """What the chunks of an entry are cut from, to check a citation by; None if there are none."""
    if entry.type != "message" or (message := _message(entry)) is None:
        return None
    return "\n".join(voice.text for voice in _voices(message)) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Voice:
    """One run of text in a message that is of one kind."""

    kind: ChunkKind
    text: str


def _of_entry(entry: Entry) -> Iterator[Chunk]:
    if entry.type != "message" or (message := _message(entry)) is None:
        return
    voices = list(_voices(message))
    if not voices:
        return
    weight = importance(message).score
    named = _name_of(message)
    part = 0
    for voice in voices:
        is_tool = voice.kind == "tool"
        limit = tool_limit(voice.text) if is_tool else TURN
        for text in pieces(voice.text, limit, by_line=is_tool):
            if not (shown := text.strip()):
                continue
            yield Chunk(
                kind=voice.kind,
                text=shown,
                entry=entry.id,
                part=part,
                speaker=_speaker(message.role, named, is_tool=is_tool),
                at=entry.at,
                trust=_trust(entry, message, is_tool=is_tool),
                importance=weight,
            )
            part += 1


def _trust(entry: Entry, message: Message, *, is_tool: bool) -> Trust:
    if entry.is_foreign:
        return "import"
    return "tool" if is_tool else _TRUST.get(message.role, "agent")


def _message(entry: Entry) -> Message | None:
    """The message, if it can be read and somebody said it."""
    try:
        message = entry.message
        if message is None or message.role in _UNSPOKEN or not isinstance(message.role, str):
            return None
        texts = (message.text, *(call.name for call in message.tool_calls))
        return message if all(isinstance(text, str) for text in texts) else None
    except _UNREADABLE:
        return None


def _voices(message: Message) -> Iterator[_Voice]:
    """What is said, with the calls made; then each tool's result. Empty ones are left out."""
    said = "\n\n".join(part.text for part in message.parts if isinstance(part, Text) and part.text)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    if message.role in _OF_TOOLS:
        yield from _voice("tool", said)
    else:
        calls = _calls(message.parts)
        yield from _voice("turn", f"{_own(said)}\n{calls}" if calls else said)
    for result in results:
        yield from _voice("tool", result.text)


def _voice(kind: ChunkKind, text: str) -> Iterator[_Voice]:
    own = redact(_own(text)).strip()
    if own:
        yield _Voice(kind=kind, text=own)


def _own(text: str) -> str:
    """The text without what was recalled into it, with one kind of line end."""
    return without_fenced(storable(text).replace("\r\n", "\n").replace("\r", "\n"))


def _speaker(role: str, named: str, *, is_tool: bool) -> str:
    if is_tool and role not in _OF_TOOLS:
        return "tool"  # a message of the user that carries results: the name is not the tool's
    return named or visible_line(cut(role, _LONGEST_NAME)) or "user"


def _name_of(message: Message) -> str:
    """The name given with the message: by itself, or among the fields of its format."""
    extra: Json = message.extra  # what a file holds may be anything
    if not isinstance(extra, Mapping):
        return ""
    given = [held.get("name") for held in (extra, *extra.values()) if isinstance(held, Mapping)]
    for name in given:
        if isinstance(name, str) and (shown := visible_line(cut(name, _LONGEST_NAME))):
            return shown
    return ""


# ── tool calls ──────────────────────────────────────────────────────────────────────────────


def _calls(parts: Sequence[Part]) -> str:
    """The calls in one line each: the name, and what of the arguments is text."""
    lines: list[str] = []
    room = CALLS
    for part in parts:
        if room > 0 and isinstance(part, ToolCall):
            said = " ".join(f"{part.name}: {_arguments(part.arguments)}".split()).rstrip(": ")
            line = cut(redact(_own(said)), room)
            lines.append(line)
            room -= len(line) + 1
    return "\n".join(filter(None, lines))


def _arguments(arguments: Json) -> str:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if len(arguments) <= _READ else arguments
        except (ValueError, RecursionError):
            return cut(str(arguments), _READ)
    return cut(", ".join(_strings(arguments, "", _DEEPEST)), _READ)


def _strings(value: Json, name: str, depth: int) -> Iterator[str]:
    """The strings and numbers in a value, each behind the name it has."""
    if depth == 0:
        return
    if isinstance(value, str):
        yield f"{name}={cut(value, _READ)}" if name else cut(value, _READ)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) < _LARGEST:
            yield f"{name}={value}"
    elif isinstance(value, Mapping):
        for key, inner in list(value.items())[:40]:
            yield from _strings(inner, str(key), depth - 1)
    elif isinstance(value, list | tuple):
        for inner in value[:40]:
            yield from _strings(inner, name, depth - 1)
