"""The tools for the conversation itself: what left the view comes back, and room can be made.

Promise: an original comes back word for word, in pages that are never so large that they would
be shortened themselves, and quoted as data; asking for a compaction compacts nothing before the
call that asks has its result (``tests/engine/test_tools.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final

from holdfast.context.accounting import ingest_cap
from holdfast.engine.admission import admitted, refusal
from holdfast.engine.remembering import get
from holdfast.engine.rooms import Rooms
from holdfast.engine.tools.shape import Tool, check_mode, fenced, object_of, text_of
from holdfast.errors import NotFound, UsageError
from holdfast.fencing import Quoted
from holdfast.sessions.shapes import message_of
from holdfast.text import clusters, cut, cut_tail
from holdfast.types import Citation, Image, Json, Message, Text, ToolCall, ToolResult

__all__ = ["CONTEXT_TOOLS"]

_LARGEST_PAGE: Final = 12_000
"""Characters of one answer, quotation marks and all."""
_LONGEST_FOCUS: Final = 500
_LEAST_PAGE: Final = 64
_TRUST: Final = {"user": "user", "assistant": "agent", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Original:
    text: str
    citation: str
    trust: str = ""
    day: date | None = None


# ── expanding ───────────────────────────────────────────────────────────────────────────────


def _context_expand(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    found = _original(rooms, given["id"].strip(), session)
    start = _start(found.text, given.get("from") or 0)
    room = min(_LARGEST_PAGE, ingest_cap(rooms.settings) * 3 // 4)
    end, shown = _page(rooms, found, start, room)
    more = end if end < len(found.text) else None
    told = [] if more is None and not start else [_where(start, end, len(found.text))]
    return {
        "id": found.citation,
        "text": "\n".join([*told, shown]),
        "from": start,
        "to": end,
        "characters": len(found.text),
        "more": more,
    }


def _where(start: int, end: int, whole: int) -> str:
    rest = f"; go on with from={end}" if end < whole else ", the last"
    return f"Characters {start:,} to {end:,} of {whole:,}{rest}."


def _start(text: str, wanted: int) -> int:
    """Where a page begins: at the character that was asked for, never inside of one."""
    if wanted and wanted >= len(text):
        raise UsageError(
            f"context_expand: the text has {len(text):,} characters, and none from {wanted:,} on.",
            hint="Leave 'from' out to read it from its beginning.",
        )
    return len(text) - len(cut_tail(text, len(text) - wanted))


def _page(rooms: Rooms, found: _Original, start: int, room: int) -> tuple[int, str]:
    """Where the page ends, and the page: as much as fits once it is quoted and written as JSON."""
    take = room * 2 // 3
    while True:
        piece = _piece(found.text, start, take)
        quoted = Quoted(text=piece, citation=found.citation, label=found.trust, observed=found.day)
        shown = fenced(rooms, [quoted])
        if len(json.dumps(shown, ensure_ascii=False)) <= room or take <= _LEAST_PAGE:
            return start + len(piece), shown
        take //= 2


def _piece(text: str, start: int, take: int) -> str:
    """The next characters, at least one: else who reads on would never come to the end."""
    rest = text[start : start + 4 * take]
    piece = cut(rest, take)
    if piece or not rest:
        return piece
    return "".join(islice(clusters(rest), 1))[: 2 * take]


def _original(rooms: Rooms, id: str, session: str | None) -> _Original:
    cited = Citation.parse(id)
    if cited is not None and (cited.span is not None or cited.source.endswith(".md")):
        raise UsageError(
            f"context_expand: {id!r} is in a memory file.", hint=f"Read it with memory_get: {id}"
        )
    if cited is not None and cited.entry is not None:
        if session is not None and cited.source == session:
            return _own_entry(rooms, cited.entry, session)
        check_mode(rooms, session, "context_expand", "reads")
        found = get(rooms, id)
        return _Original(text=found.text, citation=id, trust=found.trust)
    if (artifact := _artifact(rooms, id, session)) is not None:
        return artifact
    if session is None:
        raise NotFound(
            f"There is no artifact {id!r}, and no conversation to look for an entry in.",
            hint="Name the conversation too: session#entry",
        )
    return _own_entry(rooms, id, session)


def _own_entry(rooms: Rooms, id: str, session: str) -> _Original:
    transcript = rooms.transcript(session)
    entry = rooms.store.whole(transcript.find(id))
    message = message_of(entry)
    is_tool = message is not None and bool(message.tool_results)
    return _Original(
        text=json.dumps(entry.data, ensure_ascii=False) if message is None else _read(message),
        citation=str(Citation(source=transcript.name, entry=entry.id)),
        trust="tool" if is_tool else _TRUST.get(message.role if message else "", ""),
        day=entry.at.astimezone(rooms.zone).date(),
    )


def _artifact(rooms: Rooms, id: str, session: str | None) -> _Original | None:
    """The payload of that id, if there is one and the conversation may read it.

    Of its own conversation it may read everything; of the others of its place what the rules
    of ``[scope]`` let it read of memory.
    """
    artifacts = rooms.store.artifacts
    try:
        whole = artifacts.resolve(id)
        payload = artifacts.get(whole)
    except NotFound:
        return None
    is_closed = rooms.memory_mode(session) == "off" or refusal(rooms, rooms.scope) is not None
    if is_closed and not (session and whole in rooms.transcript(session).artifact_names()):
        check_mode(rooms, session, "context_expand", "reads")
        admitted(rooms)
    try:
        text = payload.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = f"(no text: {len(payload):,} bytes, such as an image)"
    return _Original(text=text, citation=whole[:16])


def _read(message: Message) -> str:
    """All of a message that can be read, in its order."""
    return "\n".join(_read_parts(message))


def _read_parts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text() | ToolResult():
                yield part.text
            case ToolCall():
                yield f"[calls {part.name}] {part.arguments}"
            case Image():
                yield "[image]"
            case _:  # a model's reasoning, and what only its provider understands
                continue


# ── making room ─────────────────────────────────────────────────────────────────────────────


def _context_compact(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """Note the wish. The call has no result yet, so nothing may be compacted now."""
    if session is None:
        raise UsageError(
            "context_compact: nobody said which conversation this is.",
            hint="Call it with session=…, the name of the conversation.",
        )
    focus = cut(" ".join((given.get("focus") or "").split()), _LONGEST_FOCUS)
    rooms.wishes[rooms.transcript(session).name] = focus
    return {
        "text": "The conversation is compacted before the next request. What leaves is saved to "
        "memory first, and stays readable with context_expand and memory_search.",
        "when": "next request",
        "focus": focus or None,
    }


CONTEXT_TOOLS: Final = (
    Tool(
        name="context_expand",
        description=(
            "Read the original of something that is shown shortened or was summarised in this "
            "conversation, by the id that stands beside it. Long texts come in pages."
        ),
        parameters=object_of(
            ["id"],
            id=text_of("Of an entry or an artifact, or 'session#entry' for another conversation."),
            **{
                "from": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": 2**31 - 1,
                    "description": "The first character to show: 'more' of the page before.",
                }
            },
        ),
        call=_context_expand,
        access="none",
    ),
    Tool(
        name="context_compact",
        description=(
            "Ask that older messages of this conversation be replaced by a short account before "
            "the next request. Useful when a piece of work is finished and another begins."
        ),
        parameters=object_of(
            [], focus=text_of("What the account should keep in detail, in a few words.")
        ),
        call=_context_compact,
        access="none",
    ),
)
