"""The tools and texts for programs that have no conversation here: clients of the MCP server.

They get what a model gets in a turn, but for what needs a conversation, and beside it what only
somebody at a door may do: move memories to the archive, and see which conversations there are.

Promise: nothing is read or moved that the rules of ``[scope]`` or the memory mode do not allow;
what was said while memory was off is not shown; every stored text comes quoted as data; a word
that fits half the memory moves nothing (``tests/engine/test_client_tools.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Final

from holdfast.engine.admission import admitted
from holdfast.engine.remembering import Passage, get
from holdfast.engine.rooms import Rooms
from holdfast.engine.tools import TOOLS, answered
from holdfast.engine.tools.memory import labelled
from holdfast.engine.tools.shape import Tool, check_mode, fenced, object_of, text_of
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.fencing import Quoted
from holdfast.markdown import split_lines
from holdfast.redact import redact_json
from holdfast.sessions.private import OFF, openly_said
from holdfast.text import cut, cut_tail, one_line
from holdfast.types import Citation, Json

if TYPE_CHECKING:
    from holdfast.engine.erase import Forgotten
    from holdfast.engine.facade import Engine
    from holdfast.sessions.store import SessionSummary

__all__ = [
    "CLIENT_TOOLS",
    "call_client_tool",
    "memory_files",
    "open_sessions",
    "read_memory",
    "read_session",
    "resume_packet",
]

_MOST_FORGOTTEN: Final = 20
"""Lines that one call moves at most: a model that asks for more means something else."""
_MOST_SESSIONS: Final = 50
_LAST_ENTRIES: Final = 400
"""Of a conversation that is shown as a page."""
_LARGEST_PAGE: Final = 24_000
"""Characters of a file in one answer."""
_WINDOW: Final = 200_000
"""Tokens, where nobody said what the model of a client can read."""
_NOBODY: Final = " "
"""No session is called so: the packet leaves none out."""


# ── forgetting ──────────────────────────────────────────────────────────────────────────────


def _memory_forget(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """Move to the archive what the id or the words mean; first see how much that is."""
    del session
    admitted(rooms)
    what = given["what"].strip()
    if not what:
        raise UsageError("memory_forget: 'what' is blank.", hint="Give an id, or the words.")
    forget = import_module("holdfast.engine.erase").forget
    planned: Forgotten = forget(rooms, [what], dry_run=True)
    if not planned.items:
        near = ", ".join(each.where for each in planned.near)
        raise NotFound(
            f"No memory has that id or holds these words: {one_line(what, 80)!r}.",
            hint=f"Lines that read alike: {near}." if near else "Look for it with memory_search.",
        )
    if len(planned.items) > _MOST_FORGOTTEN:
        raise PolicyRefused(
            f"{len(planned.items)} memories hold these words, and one call moves at most "
            f"{_MOST_FORGOTTEN}: nothing was moved.",
            hint="Name one by its id, or give more of its words.",
        )
    is_trial = bool(given.get("dry_run"))
    done: Forgotten = planned if is_trial else forget(rooms, [what])
    told = (
        f"{len(done.items)} would be moved to the archive; nothing was done."
        if is_trial
        else f"{len(done.items)} moved to the archive. A person takes it back with: holdfast undo"
    )
    quoted = [Quoted(text=each.text, citation=each.where) for each in done.items]
    return {
        "text": f"{told}\n{fenced(rooms, quoted)}".rstrip(),
        "items": [{"where": each.where, "kind": each.kind} for each in done.items],
        "near": [each.where for each in done.near],
        "dry_run": is_trial,
        "operation": done.operation,
    }


# ── searching ───────────────────────────────────────────────────────────────────────────────


def _memory_search(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """The same as a model's; who may not read is refused instead of finding nothing."""
    admitted(rooms)
    return TOOLS["memory_search"].call(rooms, given, session)


# ── conversations ───────────────────────────────────────────────────────────────────────────


def _session_list(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    found = list(islice(_open_sessions(rooms), (given.get("limit") or 20) + 1))
    shown = found[: given.get("limit") or 20]
    rest = "; there are more" if len(found) > len(shown) else ""
    quoted = [
        Quoted(text=one_line(each.goal or "(no goal was said)", 200), citation=each.name)
        for each in shown
    ]
    told = f"{len(shown)} conversations, the last one first{rest}."
    return {
        "text": f"{told}\n{fenced(rooms, quoted)}".rstrip(),
        "sessions": [
            {"name": each.name, "messages": each.messages, "last_at": each.last_at}
            for each in shown
        ],
        "more": bool(rest),
    }


def open_sessions(engine: Engine, *, most: int) -> list[str]:
    """The names of the conversations that others may read, the most recently used first."""
    return [each.name for each in islice(_open_sessions(engine._rooms), most)]


def _open_sessions(rooms: Rooms) -> Iterator[SessionSummary]:
    _readable(rooms, "session_list")
    for each in rooms.store.summaries():
        if each.problem is None and rooms.transcript(each.name).state().memory_mode != OFF:
            yield each


def read_session(engine: Engine, name: str, *, most: int = _LARGEST_PAGE) -> str:
    """The last of a conversation as a page, quoted; credentials are blacked out.

    Raises:
        PolicyRefused: its memory is off.
    """
    rooms = engine._rooms
    _readable(rooms, "read a conversation")
    transcript = rooms.transcript(name)
    mode = transcript.state().memory_mode
    if mode == OFF:
        raise PolicyRefused(
            f"The memory of {transcript.name!r} is off: no other conversation reads it.",
            hint=f"Read it as its owner: holdfast sessions show {transcript.name}",
        )
    if mode is None:
        entries = transcript.entries(last=_LAST_ENTRIES)
    else:
        entries = list(openly_said(transcript.entries(), mode))[-_LAST_ENTRIES:]
    export = import_module("holdfast.sessions.export")
    whole = (rooms.store.whole(entry, strict=False) for entry in entries)
    page: str = export.to_markdown(
        transcript.name,
        [replace(entry, data=redact_json(entry.data)) for entry in whole],
        zone=rooms.zone,
    )
    shown = page if len(page) <= most else cut_tail(page, most)
    told = (
        f"The last {len(shown):,} of {len(page):,} characters of its last {len(entries)} entries; "
        f"each whole with context_expand {transcript.name}#ENTRY.\n"
        if len(shown) < len(page)
        else ""
    )
    return told + fenced(rooms, [Quoted(text=shown, citation=transcript.name)])


def resume_packet(engine: Engine, *, language: str | None = None) -> str:
    """What a new conversation begins with: memory, and where the last one stopped.

    Raises:
        NotFound: nothing is remembered yet, or why nothing may be shown.
    """
    rooms = engine._rooms
    _readable(rooms, "resume")
    found = import_module("holdfast.engine.restore").restore(
        rooms,
        _NOBODY,
        window=rooms.settings.context.window or _WINDOW,
        model=None,
        price=rooms.estimator(None).text,
        language=language,
    )
    if not hasattr(found, "text"):
        raise NotFound(
            f"There is nothing to go on with: {found.reason}.",
            hint="Memories are written with memory_write, and by conversations led here.",
        )
    return str(found.text)


def _readable(rooms: Rooms, what: str) -> None:
    check_mode(rooms, None, what, "reads")
    admitted(rooms)


# ── files ───────────────────────────────────────────────────────────────────────────────────


def memory_files(engine: Engine) -> list[str]:
    """The memory files that ``memory_get`` reads here."""
    _readable(engine._rooms, "list memory")
    return engine._rooms.readable_memory().workspace.files()


def _memory_get(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    return _read(rooms, given["path"], _LARGEST_PAGE)


def read_memory(engine: Engine, path: str, *, most: int = _LARGEST_PAGE) -> dict[str, Json]:
    """A memory file or a part of it, quoted; of a long one the first lines, and where to go on."""
    return _read(engine._rooms, path, most)


def _read(rooms: Rooms, path: str, most: int) -> dict[str, Json]:
    check_mode(rooms, None, "memory_get", "reads")
    passage = get(rooms, path)
    if len(passage.text) <= most:
        return _shown(rooms, passage, None)
    if passage.lines is None:
        raise UsageError(
            f"{path!r} has {len(passage.text):,} characters; memory_get shows {most:,}.",
            hint=f"Read it in pages with context_expand: {path}",
        )
    cited = Citation.parse(passage.citation)
    span = cited.span if cited is not None else None
    name, first = (cited.source, span.start) if cited and span else (passage.citation, 1)
    last = span.end if span else passage.lines
    taken = _fitting(split_lines(passage.text), most)
    text = "".join(taken) or f"{cut(passage.text, most)}… (whole: holdfast get {passage.citation})"
    end = first + max(1, len(taken)) - 1
    page = Passage(citation=f"{name}#L{first}-L{end}", text=text, lines=passage.lines)
    return _shown(rooms, page, f"{name}#L{end + 1}-L{last}" if end < last else None)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines, as many as there is room for."""
    taken: list[str] = []
    for line in lines:
        if len(line) > room:
            break
        taken.append(line)
        room -= len(line)
    return taken


def _shown(rooms: Rooms, passage: Passage, more: str | None) -> dict[str, Json]:
    quoted = Quoted(text=labelled(passage.text), citation=passage.citation, label=passage.trust)
    told = f"It is longer; go on with: {more}\n" if more else ""
    return {
        "text": told + fenced(rooms, [quoted]),
        "citation": passage.citation,
        "lines": passage.lines,
        "trust": passage.trust or None,
        "more": more,
    }


# ── the set ─────────────────────────────────────────────────────────────────────────────────

_NEEDS_A_CONVERSATION: Final = "context_compact"

_OWN: Final = (
    replace(TOOLS["memory_search"], call=_memory_search),
    Tool(
        name="memory_get",
        description=TOOLS["memory_get"].description + " Long files come in pages.",
        parameters=TOOLS["memory_get"].parameters,
        call=_memory_get,
    ),
    Tool(
        name="memory_forget",
        description=(
            "Move a memory to the archive, so that it is found no more. Only when the user asks "
            "for it. What was said in conversations stays; a person can take it back."
        ),
        parameters=object_of(
            ["what"],
            what=text_of("The id of a memory, or words that stand in it, to the letter."),
            dry_run={"type": "boolean", "description": "Only say what would be moved."},
        ),
        call=_memory_forget,
        access="writes",
    ),
    Tool(
        name="session_list",
        description="The conversations that are kept here, the last one first.",
        parameters=object_of(
            [],
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": _MOST_SESSIONS,
                "description": "The most to return.",
            },
        ),
        call=_session_list,
    ),
)

CLIENT_TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool
    for tool in (*TOOLS.values(), *_OWN)  # one of its own stands where the model's stood
    if tool.name != _NEEDS_A_CONVERSATION
}


def call_client_tool(engine: Engine, name: str, arguments: Mapping[str, Json]) -> Json:
    """The answer of one of ``CLIENT_TOOLS``; an error says what to do differently."""
    rooms = engine._rooms
    with rooms.watching("tool", "memory"):
        return answered(rooms, CLIENT_TOOLS, name, arguments, session=None)
