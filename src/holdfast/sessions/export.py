"""A conversation as a Markdown page a person can read.

Promise: the page shows every message whole, and nothing said in it can break out of its
place: no heading, list or fence of a message becomes one of the page
(``tests/sessions/test_export.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from holdfast.markdown import escape_inline, fence, quote
from holdfast.sessions.shapes import message_of
from holdfast.types import (
    Entry,
    Image,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    View,
)

__all__ = ["to_markdown", "view_to_markdown"]


def to_markdown(name: str, entries: Iterable[Entry], *, zone: tzinfo) -> str:
    """The page: a heading per day of the user, a heading per message."""
    blocks = [f"# {escape_inline(name)}"]
    day = None
    for entry in entries:
        local = entry.at.astimezone(zone)
        if local.date() != day:
            day = local.date()
            blocks.append(f"## {day.isoformat()}")
        blocks += _entry(entry, local.strftime("%H:%M:%S"))
    return "\n\n".join(blocks) + "\n"


def view_to_markdown(name: str, view: View) -> str:
    """The page of what the model sees now."""
    blocks = [f"# {escape_inline(name)}"]
    for item in view.items:
        kind = "" if item.kind == "message" else f" · {item.kind}"
        blocks.append(f"### {escape_inline(item.message.role)}{kind} · {item.stands_for[0]}")
        blocks += _message(item.message)
    return "\n\n".join(blocks) + "\n"


def _entry(entry: Entry, clock: str) -> Iterator[str]:
    message = message_of(entry)
    if entry.type in {"message", "recall"} and message is not None:
        who = entry.type if entry.type == "recall" else message.role
        yield f"### {escape_inline(who)} · {clock} · {entry.id}"
        yield from _message(message)
    elif entry.type == "compaction":
        yield f"### compaction · {clock} · {entry.id}"
        for part in entry.data.get("summary", ()):
            yield quote(part.get("text", ""))


def _message(message: Message) -> Iterator[str]:
    for part in message.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield quote(part.text)
        case Thinking():
            yield "*thinking*"
            yield quote(part.text)
        case ToolCall():
            yield f"**calls** {escape_inline(part.name)} ({escape_inline(part.id)})"
            arguments = part.arguments
            yield fence(
                arguments if isinstance(arguments, str) else _pretty(dict(arguments)), "json"
            )
        case ToolResult():
            error = ", an error" if part.is_error else ""
            yield f"**result** of {escape_inline(part.call_id)}{error}"
            for inner in part.content:
                yield from [fence(inner.text)] if isinstance(inner, Text) else _part(inner)
        case Image():
            size = f"{len(part.data):,} characters of base64" if part.data else part.url or ""
            yield f"*image* {escape_inline(part.media_type or '')} {escape_inline(size)}".rstrip()
        case Opaque():
            yield fence(_pretty(dict(part.data)), "json")


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
