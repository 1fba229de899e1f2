"""Write to memory and read from it: what a program, a person or a model may ask for.

Promise: a model's words never get more trust than what they stand on in the conversation, and
only ever add (``tests/engine/test_remembering.py``); what contradicts an older memory is written
and told, never put in its place in silence.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Final, Literal

from holdfast.engine.admission import admitted, disclosed
from holdfast.engine.driving import drive
from holdfast.engine.memories import Memories
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, NotFound, UsageError, did_you_mean
from holdfast.events import MemoryConflict, MemoryWritten
from holdfast.fencing import unconfirmed_in, without_fenced
from holdfast.markdown import split_lines
from holdfast.memory.facts import Conflict, Judged
from holdfast.memory.facts.pairs import asked
from holdfast.memory.notes import Note, Written, lines_of
from holdfast.memory.provenance import Said, trust_of
from holdfast.ports import Model
from holdfast.redact import has_secret
from holdfast.retain import RetainLine, Trust
from holdfast.retain.narrowing import narrowed_lines
from holdfast.scope import Place, may_read, place_of
from holdfast.sessions.shapes import message_of
from holdfast.text import normalise
from holdfast.types import Citation, Entry, Json, LineSpan

__all__ = [
    "Clash",
    "Kept",
    "Passage",
    "Remembered",
    "Repeat",
    "conflicts",
    "get",
    "moment",
    "remember",
    "retain",
    "said_in",
    "trusted",
    "write_lines",
]

log = logging.getLogger("holdfast.engine")

_HEARD: Final = 2_000
"""How many entries back a memory that a model writes may stand on."""
_READ: Final = 1_000_000
"""Characters of tools and assistants that are read for that, the newest first; of users all. What
stands further back makes a memory the agent's at most, which is never promoted."""


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
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """A contradiction for a person to decide: ``known`` stands in ``path``."""

    id: str
    kind: str
    text: str
    known: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a text: where it stands now, what repeats, what it contradicts."""

    path: str
    added: tuple[Kept, ...] = ()
    skipped: tuple[Repeat, ...] = ()
    updates: tuple[str, ...] = ()
    """Ids of older memories that end because a new one says so."""
    conflicts: tuple[Clash, ...] = ()
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
    trust: str = ""
    """Whose word an entry is; the lines of a file have one each."""

    def to_json(self) -> dict[str, Json]:
        shown = asdict(self)
        return shown if self.trust else {k: v for k, v in shown.items() if k != "trust"}


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
    said, confirmed = said_in(rooms, session), _confirmed(rooms)
    stated = [_supported(line, said, confirmed) for line in lines]
    return write_lines(rooms, stated, target=target, what="memory_retain", asked_by="model")


def write_lines(
    rooms: Rooms,
    lines: Sequence[RetainLine | Note],
    *,
    target: str = "daily",
    what: str,
    session: str | None = None,
    asked_by: Literal["person", "model"] = "person",
) -> Remembered:
    """Write the lines, judge what they do to older ones, and say so."""
    if has_secret(target):
        raise UsageError("A file cannot be named after a credential.", hint="Name another topic.")
    memory: Memories = rooms.memory
    with memory.workspace.operation(what):  # one step for ``undo``
        written = memory.notes.write(lines, target=target, what=what, asked_by=asked_by)
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
            Repeat(text=each.line.text, kept=each.kept, why=each.why, path=each.path)
            for each in written.skipped
        ),
        updates=tuple(each.id for each in judged.updates),
        conflicts=tuple(map(_clash, judged.conflicts)),
        operation=operation,
        redirected=written.redirected,
    )


def _judged(memory: Memories, written: Written) -> Judged:
    """What the new lines end, and what they contradict. They stay written whatever this finds."""
    try:
        for each in written.skipped:
            if each.line.kind == "O":  # said again: held more firmly
                memory.facts.support(each.id, trust=each.line.trust, sources=each.evidence)
        if written.added:
            return memory.facts.observe(written.added)
    except HoldfastError as error:
        log.warning("what was written is not compared with older memories: %s", error.message)
    return Judged()


def conflicts(rooms: Rooms, model: Model | None) -> list[Conflict]:
    """The contradictions there are; what is doubtful by rules is for a model to judge."""
    facts = rooms.readable_memory().facts
    if model is None:
        return facts.conflicts()
    found = facts.conflicts(doubtful=True)
    seconds = rooms.settings.compaction.inline_seconds
    return [each for each in drive(asked(found), model, seconds=seconds) if not each.doubtful]


def _clash(found: Conflict) -> Clash:
    return Clash(
        id=found.id,
        kind=found.kind,
        text=found.new.line.text,
        known=found.old.line.text,
        path=found.old.citation,
    )


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
        wrong = f"{unknown[0]!r} is no field of a memory" if unknown else "A memory needs a text"
        near = did_you_mean(unknown[0], _FIELDS) if unknown else None
        raise UsageError(f"{wrong}.", hint=near or "Fields: " + ", ".join(_FIELDS))
    since, until = (moment(name, given.get(name)) for name in ("since", "until"))
    lines = lines_of(
        given["text"],
        kind=given.get("kind"),
        entity=given.get("entity"),
        confidence=given.get("confidence"),
    )
    return [replace(line, since=since, until=until) for line in lines]


def moment(name: str, value: Json) -> date | datetime | None:
    """A day or a time as a model writes it."""
    if not value:
        return None
    try:
        return date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is {value!r}, not a date.", hint="Write 2026-03-31.") from None


def said_in(rooms: Rooms, session: str | None) -> list[Said]:
    """What the conversation holds that a memory could stand on, the newest last.

    Whole, whatever the view shows of it; what was recalled from memory is nobody's word, unless
    a tool said it: then it still is the tool's.
    """
    if session is None:
        return []
    said: list[Said] = []
    room = _READ
    for entry in reversed(rooms.transcript(session).entries(last=_HEARD)):
        for heard in _heard(rooms, session, entry):
            if heard.role == "user" or room > 0:
                room -= len(heard.text)
                said.append(heard)
    return said[::-1]


def _heard(rooms: Rooms, session: str, entry: Entry) -> Iterator[Said]:
    """Who says what in an entry; the last first."""
    if entry.type not in ("message", "recall"):
        return
    message = message_of(rooms.store.whole(entry, strict=False))
    if message is None:
        return
    source = str(Citation(source=session, entry=entry.id))
    if quoted := unconfirmed_in(message.text):
        yield Said(role="tool", text="\n".join(quoted), source=source)
    if entry.type == "message" and (text := without_fenced(message.text)):
        # What was brought in from a file supports no more than what a tool said.
        is_tool = message.role == "tool" or bool(message.tool_results) or entry.is_foreign
        yield Said(role="tool" if is_tool else message.role, text=text, source=source)


def trusted(text: str, said: Sequence[Said]) -> Trust:
    """How far words of a model are to be trusted that are no memory line: of a task record."""
    return trust_of(text, said).trust if text else "agent"


def _supported(
    line: RetainLine | Note, said: Sequence[Said], confirmed: Collection[tuple[str | None, str]]
) -> RetainLine | Note:
    """The line with the trust that its words deserve, and what they stand on."""
    if (line.entity, normalise(line.text)) in confirmed:
        return replace(line, trust="user")
    support = trust_of(line.said if isinstance(line, Note) else line.text, said)
    trust = support.trust
    if line.entity and trust != "tool" and trust_of(line.entity, said).trust == "tool":
        trust = "tool"  # whom it is about was only said by a tool
    return replace(line, trust=trust, sources=support.sources)


def _confirmed(rooms: Rooms) -> set[tuple[str | None, str]]:
    """What is known as the user's own words, or was confirmed by a person."""
    return {
        (fact.line.entity, normalise(fact.line.text))
        for fact in rooms.memory.facts.list(trust="user")
    }


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def get(rooms: Rooms, path: str) -> Passage:
    """The lines of a memory file (``memory/2026-03-04.md#L3-L9``), or an entry of a session.

    Raises:
        PolicyRefused: no rule lets this chat read memory, or memory is switched off.
    """
    admitted(rooms)
    cited = Citation.parse(path)
    if cited is not None and cited.entry is not None and not cited.source.endswith(".md"):
        return _entry(rooms, cited)
    name = path if cited is None else cited.source
    if "#" in path and (cited is None or cited.span is None):
        raise UsageError(f"{path!r} names no lines.", hint=f"Write {name.partition('#')[0]}#L3-L9")
    lines = _lines_for(rooms, name, _text_of(rooms, name))
    if cited is None or cited.span is None:
        return Passage(citation=name, text="".join(lines), lines=len(lines))
    span = cited.span
    if not 1 <= span.start <= span.end or span.start > len(lines):
        raise NotFound(f"{name!r} has {len(lines)} lines, and no {span}.")
    span = LineSpan(start=span.start, end=min(span.end, len(lines)))
    shown = "".join(lines[span.start - 1 : span.end])
    return Passage(citation=f"{name}#{span}", text=shown, lines=len(lines))


def _text_of(rooms: Rooms, name: str) -> str:
    workspace = rooms.readable_memory().workspace
    if (key := _elsewhere(rooms, name)) is not None:
        text = rooms.search.sources.text_of(key)
        if text is None:
            raise NotFound(f"There is no {name!r}.", hint="Search again: holdfast search QUERY")
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if name in rooms.store.names():
        raise UsageError(
            f"{name!r} is a session; a passage of it is {name}#ENTRY.",
            hint=f"See its entries: holdfast sessions show {name}",
        )
    text = workspace.read(name)
    if text is None:
        near = did_you_mean(name, workspace.files(archive=True))
        raise NotFound(
            f"There is no memory file {name!r}.", hint=near or "See what there is: holdfast get"
        )
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _elsewhere(rooms: Rooms, name: str) -> str | None:
    """The key of a file outside of this place that the reader may search, if it is one."""
    if (_chat_of(rooms, name)) is not None:
        return name
    own = Place(tenant=rooms.scope.tenant, agent=rooms.scope.agent)
    is_outside = name.startswith(("/", "~")) and bool(rooms.settings.index.extra_paths)
    if is_outside and may_read(rooms.scope, own, memberships=rooms.memberships):
        return rooms.search.sources.extra_key(name)
    return None


def _chat_of(rooms: Rooms, name: str) -> str | None:
    """The chat in whose folder this is, if its user belongs to it and asks in private."""
    kind, _, rest = name.partition("/")
    chat = rest.partition("/")[0]
    is_member = rooms.scope.chat_type == "direct" and chat in rooms.memberships
    return chat if kind == "chats" and is_member else None


def _lines_for(rooms: Rooms, name: str, text: str) -> list[str]:
    """The lines of a file; of those that are for others only, their numbers stay."""
    chat = _chat_of(rooms, name)
    place = place_of(rooms.scope)
    if chat is not None:
        place = replace(place, user=None, chat=chat)
    lines = split_lines(text)
    for number, part in narrowed_lines(text, place).items():
        if part is None or not may_read(rooms.scope, part, memberships=rooms.memberships):
            lines[number - 1] = "\n"
    return lines


def _entry(rooms: Rooms, cited: Citation) -> Passage:
    if (chat := _chat_of(rooms, cited.source)) is not None:
        session = cited.source.removeprefix(f"chats/{chat}/")
        if "/" in session:
            raise NotFound(f"There is no conversation {cited.source!r}.")
        entry = rooms.search.sources.entry(f"chats/{chat}/sessions/{session}", cited.entry or "")
    else:
        transcript = rooms.transcript(cited.source)
        entry = rooms.store.whole(disclosed(transcript, cited.entry or ""))
    message = message_of(entry)
    if message is None:
        raise NotFound(f"{cited} is no message.", hint=f"holdfast sessions show {cited.source}")
    is_tool = message.role == "tool" or bool(message.tool_results)
    trust = "tool" if is_tool or entry.type == "recall" else _WORD_OF.get(message.role, "agent")
    if entry.is_foreign:
        trust = "import"
    return Passage(citation=str(cited), text=message.text, trust=trust)


_WORD_OF: Final = {"user": "user", "assistant": "agent"}
