"""Write to memory and read from it: what a program, a person or a model may ask for.

Promise: a model's words never get more trust than what they stand on in the conversation, and
only ever add (``tests/engine/test_remembering.py``); what contradicts an older memory is written
and told, never put in its place in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Final

from holdfast.engine.memories import Memories
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, NotFound, UsageError, did_you_mean
from holdfast.events import MemoryConflict, MemoryWritten
from holdfast.markdown import split_lines
from holdfast.memory.facts import Judged
from holdfast.memory.notes import Note, Written, lines_of
from holdfast.memory.provenance import Said, trust_of
from holdfast.retain import RetainLine
from holdfast.sessions.shapes import message_of
from holdfast.types import Citation, Json, LineSpan

__all__ = ["Kept", "Passage", "Remembered", "Repeat", "get", "remember", "retain", "write_lines"]

_HEARD: Final = 200
"""How many entries back a memory that a model writes may stand on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One line that was written."""

    id: str
    kind: str
    text: str
    entity: str | None
    confidence: float | None
    trust: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """One line that was not written, because ``kept`` stands there already."""

    text: str
    kept: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a text: where it stands now, what repeats, what it contradicts."""

    path: str
    added: tuple[Kept, ...] = ()
    skipped: tuple[Repeat, ...] = ()
    updates: tuple[str, ...] = ()
    """Ids of older memories that end because a new one says so."""
    conflicts: tuple[str, ...] = ()
    """Contradictions for a person to decide: ``holdfast conflicts list``."""
    operation: str | None = None
    """What ``undo`` takes back."""
    redirected: str | None = None
    """Why it went elsewhere than asked, if it did."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a memory file, or of what was said."""

    citation: str
    text: str
    lines: int | None = None
    """How many lines the whole file has."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


# ── writing ─────────────────────────────────────────────────────────────────────────────────


def remember(
    rooms: Rooms,
    text: str,
    *,
    kind: str | None = None,
    entity: str | None = None,
    confidence: float | None = None,
    target: str = "daily",
) -> Remembered:
    """Write what a person said to remember."""
    lines = lines_of(text, kind=kind, entity=entity, confidence=confidence)
    return write_lines(rooms, lines, target=target, what="remember")


def retain(
    rooms: Rooms,
    memories: Sequence[Mapping[str, Json]],
    *,
    session: str | None,
    target: str = "daily",
) -> Remembered:
    """Write what a model asks to remember; its support in the conversation decides its trust."""
    lines: list[RetainLine | Note] = []
    for given in memories:
        lines += _structured(given)
    said = _said(rooms, session)
    stated = [_supported(line, said) for line in lines]
    return write_lines(rooms, stated, target=target, what="memory_retain")


def write_lines(
    rooms: Rooms,
    lines: Sequence[RetainLine | Note],
    *,
    target: str = "daily",
    what: str,
    session: str | None = None,
) -> Remembered:
    """Write the lines, judge what they do to older ones, and say so."""
    memory: Memories = rooms.memory
    with memory.workspace.operation(what):  # one step for ``undo``
        written = memory.notes.write(lines, target=target, what=what)
        judged = _judged(memory, written)
        operation = memory.workspace.current
    rooms.tell(
        MemoryWritten,
        session=session,
        path=written.path,
        added=len(written.added),
        skipped=len(written.skipped),
    )
    for each in judged.conflicts:
        facts = (each.old.id, each.new.id)
        rooms.tell(MemoryConflict, session=session, conflict=each.id, kind=each.kind, facts=facts)
    return Remembered(
        path=written.path,
        added=tuple(map(_kept, written.added)),
        skipped=tuple(
            Repeat(text=each.line.text, kept=each.kept, why=each.why) for each in written.skipped
        ),
        updates=tuple(each.id for each in judged.updates),
        conflicts=tuple(each.id for each in judged.conflicts),
        operation=operation,
        redirected=written.redirected,
    )


def _judged(memory: Memories, written: Written) -> Judged:
    """What the new lines end, and what they contradict. They stay written whatever this finds."""
    with suppress(HoldfastError):
        for each in written.skipped:
            if each.line.kind == "O":  # said again: held more firmly
                memory.facts.support(each.id, trust=each.line.trust)
        if written.added:
            return memory.facts.observe(written.added)
    return Judged()


def _kept(line: RetainLine) -> Kept:
    return Kept(
        id=line.id or "",
        kind=line.kind,
        text=line.text,
        entity=line.entity,
        confidence=line.confidence,
        trust=line.trust,
    )


# ── what a model asks for ───────────────────────────────────────────────────────────────────

_FIELDS: Final = ("text", "kind", "entity", "confidence", "since", "until")


def _structured(given: Mapping[str, Json]) -> list[RetainLine | Note]:
    """The lines of one structured memory; whatever else a model says about it is refused."""
    unknown = [key for key in given if key not in _FIELDS]
    if unknown or not isinstance(given.get("text"), str):
        wrong = f"{unknown[0]!r} is no field of a memory" if unknown else "a memory needs a text"
        near = did_you_mean(unknown[0], _FIELDS) if unknown else None
        raise UsageError(f"memory_retain: {wrong}.", hint=near or "Fields: " + ", ".join(_FIELDS))
    since, until = (_moment(name, given.get(name)) for name in ("since", "until"))
    lines = lines_of(
        given["text"],
        kind=given.get("kind"),
        entity=given.get("entity"),
        confidence=given.get("confidence"),
    )
    return [replace(line, since=since, until=until) for line in lines]


def _moment(name: str, value: Json) -> date | datetime | None:
    if not value:
        return None
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise UsageError(
            f"memory_retain: {name} is {value!r}, not a date.", hint="Write 2026-03-31."
        ) from None


def _said(rooms: Rooms, session: str | None) -> list[Said]:
    """What the conversation holds that a memory could stand on, the newest last."""
    if session is None:
        return []
    said: list[Said] = []
    for entry in rooms.transcript(session).entries(last=_HEARD):
        message = message_of(entry) if entry.type == "message" else None
        if message is not None and message.text:
            is_tool = message.role == "tool" or bool(message.tool_results)
            source = str(Citation(source=session, entry=entry.id))
            role = "tool" if is_tool else message.role
            said.append(Said(role=role, text=message.text, source=source))
    return said


def _supported(line: RetainLine | Note, said: Sequence[Said]) -> RetainLine | Note:
    support = trust_of(line.said if isinstance(line, Note) else line.text, said)
    return replace(line, trust=support.trust, sources=support.sources)


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def get(rooms: Rooms, path: str) -> Passage:
    """The lines of a memory file (``memory/2026-03-04.md#L3-L9``), or an entry of a session."""
    cited = Citation.parse(path)
    if cited is not None and cited.entry is not None:
        return _entry(rooms, cited)
    name = path if cited is None else cited.source
    workspace = rooms.readable_memory().workspace
    text = workspace.read(name)
    if text is None:
        near = did_you_mean(name, workspace.files(archive=True))
        raise NotFound(
            f"There is no memory file {name!r}.", hint=near or "See what there is: holdfast status"
        )
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    lines = split_lines(text)
    if cited is None or cited.span is None:
        return Passage(citation=name, text=text, lines=len(lines))
    span = cited.span
    if not 1 <= span.start <= span.end or span.start > len(lines):
        raise NotFound(f"{name!r} has {len(lines)} lines, and no {span}.")
    span = LineSpan(start=span.start, end=min(span.end, len(lines)))
    shown = "".join(lines[span.start - 1 : span.end])
    return Passage(citation=f"{name}#{span}", text=shown, lines=len(lines))


def _entry(rooms: Rooms, cited: Citation) -> Passage:
    transcript = rooms.transcript(cited.source)
    entry = rooms.store.whole(transcript.find(cited.entry or ""))
    message = message_of(entry)
    if message is None:
        raise NotFound(f"{cited} is no message.", hint=f"holdfast sessions show {cited.source}")
    return Passage(citation=str(cited), text=message.text)
