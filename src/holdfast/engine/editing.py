"""The memory files as a person sees and edits them: whole files, their lines with where each
came from, what changed them, and what a citation leads to.

Promise: an edit is of the version that was read, or it is refused with the one that is there
now, decided while nobody else can write; what is typed is kept as typed, and lines that are for
others neither shown nor lost; every edit and every decision can be undone by the id it came with
(``tests/engine/test_editing.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, Literal

from holdfast.engine.admission import admitted
from holdfast.engine.remembering import get
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, NotFound, PolicyRefused, UsageError, did_you_mean
from holdfast.markdown import split_lines
from holdfast.memory.facts import Facts
from holdfast.memory.facts.shapes import Fact
from holdfast.memory.workspace import ChangedFile, Operation, Workspace
from holdfast.memory.workspace.journal import digest
from holdfast.memory.workspace.listing import seen_in
from holdfast.memory.workspace.merging import applied, parsed, shown
from holdfast.memory.workspace.paths import check_path
from holdfast.memory.workspace.undoing import rehearse
from holdfast.redact import has_secret
from holdfast.retain import line_id
from holdfast.retain.documents import Located, lines
from holdfast.retain.narrowing import narrowed_lines
from holdfast.scope import may_read, may_read_here, place_of
from holdfast.text import cut
from holdfast.types import Citation, LineSpan

__all__ = [
    "ChangedMeanwhile",
    "Cited",
    "Decided",
    "Editing",
    "File",
    "FileKind",
    "Happened",
    "Line",
    "Listed",
    "kind_of",
]

FileKind = Literal["memory", "daily", "topic", "bank", "entity", "task", "other"]

_KINDS: Final[tuple[tuple[re.Pattern[str], FileKind], ...]] = (
    (re.compile(r"MEMORY\.md|memory\.md"), "memory"),
    (re.compile(r"memory/\d{4}-\d{2}-\d{2}[^/]*\.md"), "daily"),
    (re.compile(r"memory/topics/.*"), "topic"),
    (re.compile(r"bank/entities/.*"), "entity"),
    (re.compile(r"bank/.*"), "bank"),
    (re.compile(r"tasks/.*"), "task"),
)
_DAY: Final = re.compile(r"(?:archive/)?memory/(\d{4}-\d{2}-\d{2})[^/]{0,60}\.md")
_LONGEST_DIFF: Final = 200_000
_FOUND: Final = 10_000
"""Places of entries that are remembered: an entry never moves."""


class ChangedMeanwhile(HoldfastError):
    """The file is not the version that was to be edited; ``version`` is the one it is now."""

    def __init__(
        self, message: str, *, version: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.version = version


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A file in the list of them."""

    path: str
    kind: FileKind
    bytes: int
    lines: int
    memories: int
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory line, and how it stands now."""

    fact: Fact
    holds: bool
    confidence: float | None
    superseded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A whole file. ``version`` is the SHA-256 of its bytes; ``locked`` says why it cannot be
    edited as a whole, if so."""

    path: str
    text: str
    version: str
    kind: FileKind
    lines: tuple[Line, ...] = ()
    locked: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One operation, and what it made of the files."""

    operation: Operation
    diff: str
    can_undo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """Memories a person has judged, as they are now, and what ``undo`` takes that back by; None
    if nothing had to change."""

    lines: tuple[Line, ...]
    operation: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """What a citation leads to."""

    citation: str
    text: str
    trust: str | None = None
    session: str | None = None
    entry: str | None = None
    seq: int | None = None
    path: str | None = None
    lines: LineSpan | None = None


def kind_of(path: str) -> FileKind:
    """What a file of memory is for."""
    return next((kind for shape, kind in _KINDS if shape.fullmatch(path)), "other")


class Editing:
    """The files of one place, for a person who may read and write them."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._seq = lru_cache(maxsize=_FOUND)(self._find_seq)
        self._counted: dict[str, tuple[str, int]] = {}
        """How many memories a file holds, by path, and of which version that is known."""

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def files(self) -> list[Listed]:
        """All files: MEMORY.md first, then the days, the newest first, then the others."""
        workspace = self._readable()
        found = []
        for path, seen in seen_in(workspace.base).items():
            if (text := workspace.read(path)) is not None:
                found.append(
                    Listed(
                        path=path,
                        kind=kind_of(path),
                        bytes=len(_bytes(text)),
                        lines=len(split_lines(text)),
                        memories=self._count(path, text),
                        changed_at=datetime.fromtimestamp(
                            seen.modified_ns / 1_000_000_000, self._rooms.zone
                        ),
                    )
                )
        found.sort(key=lambda each: each.path)
        days = [each for each in found if each.kind == "daily"][::-1]
        first = [each for each in found if each.kind == "memory"]
        return [*first, *days, *(each for each in found if each.kind not in ("memory", "daily"))]

    def read(self, path: str) -> File:
        """A file with its lines.

        Raises:
            NotFound: there is none.
            PolicyRefused: no path of memory, or no rule lets this place read memory.
        """
        workspace = self._readable()
        text = workspace.read(path)
        if text is None:
            near = did_you_mean(path, workspace.files(archive=True))
            raise NotFound(
                f"There is no memory file {path!r}.", hint=near or "See what there is: holdfast get"
            )
        return File(
            path=path,
            text=_readable_text(self._seen(text)),
            version=_version(text),
            kind=kind_of(path),
            lines=tuple(self._lines(path, text)),
            locked=self._locked(path, text),
        )

    def lines(self, facts: Iterable[Fact]) -> list[Line]:
        """The facts, each with how it stands now."""
        known = self._rooms.readable_memory().facts
        newer = self._newer(known.list(ended=True))
        return [
            Line(
                fact=fact,
                holds=known.holds(fact),
                confidence=_rounded(known.confidence(fact)),
                superseded_by=newer.get(fact.id),
            )
            for fact in facts
        ]

    def newest_first(self, facts: Iterable[Fact]) -> list[Fact]:
        """The facts by when they were said; those that nobody dated come last."""
        zone = self._rooms.zone
        never = datetime.min.replace(tzinfo=UTC)
        return sorted(
            facts, key=lambda fact: (fact.said_at(zone) or never, fact.number), reverse=True
        )

    def source(self, citation: str) -> Cited:
        """The passage that a citation names, and where in which conversation or file it stands."""
        found = get(self._rooms, citation)
        cited = Citation.parse(found.citation)
        if cited is None or cited.source.endswith(".md") or cited.entry is None:
            path = citation if cited is None else cited.source
            span = None if cited is None else cited.span
            trust = self._trust_at(path, span)
            return Cited(
                citation=found.citation, text=found.text, trust=trust, path=path, lines=span
            )
        return Cited(
            citation=found.citation,
            text=found.text,
            trust=found.trust or None,
            session=cited.source,
            entry=cited.entry,
            seq=self.seq(cited.source, cited.entry),
        )

    def seq(self, session: str, entry: str) -> int | None:
        """The number of an entry in its conversation; None if it is not to be found here."""
        try:
            return self._seq(session, entry)
        except (NotFound, PolicyRefused):
            return None  # of another chat, or gone: there is nothing to jump to

    def _find_seq(self, session: str, entry: str) -> int:
        return self._rooms.transcript(session).find(entry).seq

    # ── editing ─────────────────────────────────────────────────────────────────────────────

    def write(self, path: str, text: str, version: str | None) -> File:
        """Put this text in the place of that version of the file; None: there is no file yet.

        Raises:
            ChangedMeanwhile: it is another version by now. Nothing was written.
            PolicyRefused: no path of memory, read-only, or lines in it are for others.
        """

        def change(before: str | None) -> str:
            _expect(path, before, version)
            if before is not None and (why := self._locked(path, before)) is not None:
                raise PolicyRefused(f"{path} cannot be edited here: {why}.", hint=_BY_HAND)
            return _ended_as(before or "", text)

        with self._changing(path) as workspace:
            workspace.edit(path, change)
        return self.read(path)

    def append(self, path: str, text: str, version: str | None = None) -> File:
        """Add lines below what the file holds; with a ``version`` only to that one."""
        if not text.strip():
            raise UsageError("There is nothing to add: the text is blank.")

        def change(before: str | None) -> str:
            if version is not None:
                _expect(path, before, version)
            held = before or ""
            gap = "" if not held or held.endswith(("\n", "\r")) else "\n"
            return held + _ended_as(held, gap + text.rstrip("\r\n") + "\n")

        with self._changing(path) as workspace:
            workspace.edit(path, change)
        return self.read(path)

    @contextmanager
    def _changing(self, path: str) -> Iterator[Workspace]:
        workspace = self._readable()
        check_path(path)
        if has_secret(path):
            raise UsageError("A file cannot be named after a credential.", hint="Name another.")
        with self._rooms.watching("edit", "memory"), workspace.operation("edit", by="person"):
            yield workspace

    # ── deciding ────────────────────────────────────────────────────────────────────────────

    def confirm(self, id: str) -> Decided:
        """A person says that the memory is true."""
        return self._decide("confirm", [id], lambda facts: [facts.confirm(id)])

    def retract(self, id: str, reason: str | None = None) -> Decided:
        """A person says that the memory is not true."""
        return self._decide("retract", [id], lambda facts: [facts.retract(id, reason)])

    def resolve(self, conflict: str, keep: str) -> Decided:
        """A person says which of two memories is true; they come back the older one first."""
        found = self._rooms.readable_memory().facts.conflicts(doubtful=True)
        both = [fact.id for each in found if each.id == conflict for fact in (each.old, each.new)]
        return self._decide("resolve", both, lambda facts: facts.resolve(conflict, keep))

    def _decide(
        self, what: str, ids: Sequence[str], decide: Callable[[Facts], Iterable[Fact]]
    ) -> Decided:
        """Do it as one step whose id is known: it may not be the newest one a moment later."""
        admitted(self._rooms)
        memory = self._rooms.readable_memory()
        about = [memory.facts.show(id).id for id in ids]
        with memory.workspace.operation(what, facts=list(about)):
            facts = tuple(decide(memory.facts))
            operation = memory.workspace.current
        return Decided(lines=tuple(self.lines(facts)), operation=operation)

    # ── what changed ────────────────────────────────────────────────────────────────────────

    def history(self, path: str | None = None, *, limit: int = 50) -> list[Happened]:
        """What changed a file, or all of them, the newest first."""
        workspace = self._readable()
        if path is not None:
            check_path(path)
        wanted = [each for each in workspace.operations() if path is None or path in each.paths]
        return [
            Happened(
                operation=each,
                diff=cut(self._diff(each, path), _LONGEST_DIFF),
                can_undo=self._can_undo(each),
            )
            for each in wanted[:limit]
        ]

    def _can_undo(self, operation: Operation) -> bool:
        workspace = self._rooms.memory.workspace
        if operation.undone_by is not None or workspace.read_only:
            return False
        try:
            rehearse(workspace.journal, operation, workspace.read)
        except (NotFound, PolicyRefused, UsageError):
            return False
        return True

    def _diff(self, operation: Operation, path: str | None) -> str:
        parts = []
        for name in operation.paths if path is None else (path,):
            changes = [change for change in operation.changes if change.path == name]
            before, after = self._before(changes[0]), self._after(changes[-1])
            if isinstance(before, _Lost) or isinstance(after, _Lost):
                parts.append(f"--- a/{name}\n+++ b/{name}\n")  # what it held is no longer kept
            else:
                parts.append(shown(name, self._as_seen(before), self._as_seen(after)))
        return _readable_text("".join(parts))

    def _before(self, change: ChangedFile) -> str | _Lost | None:
        if change.before is None:
            return None
        kept = self._rooms.memory.workspace.journal.preimage_of(change)
        return _text(kept) if kept is not None and digest(kept) == change.before else _Lost()

    def _after(self, change: ChangedFile) -> str | _Lost | None:
        if change.after is None:
            return None
        workspace = self._rooms.memory.workspace
        diff = workspace.journal.preimages.read(f"{change.preimage}.diff")
        before = self._before(change)
        if diff is not None and not isinstance(before, _Lost):
            hunks = parsed(_text(diff))
            made = None if hunks is None else applied(before or "", hunks)
            if made is not None and _version(made) == change.after:
                return made
        present = workspace.read(change.path)
        return present if present is not None and _version(present) == change.after else _Lost()

    def _as_seen(self, text: str | None) -> str | None:
        return None if text is None else self._seen(text)

    # ── what this reader sees ───────────────────────────────────────────────────────────────

    def _readable(self) -> Workspace:
        admitted(self._rooms)
        return self._rooms.readable_memory().workspace

    def _hidden(self, text: str) -> list[int]:
        """The lines that are for others, by number."""
        scope, memberships = self._rooms.scope, self._rooms.memberships
        return [
            number
            for number, part in narrowed_lines(text, place_of(scope)).items()
            if part is None or not may_read(scope, part, memberships=memberships)
        ]

    def _seen(self, text: str) -> str:
        """The text without the lines that are for others; the numbers of the rest stay."""
        hidden = self._hidden(text)
        if not hidden:
            return text
        shown_lines = split_lines(text)
        for number in hidden:
            shown_lines[number - 1] = "\n"
        return "".join(shown_lines)

    def _locked(self, path: str, text: str) -> str | None:
        if self._rooms.memory.workspace.read_only:
            return "memory may only be read here"
        if _readable_text(text) != text:
            return "some of its bytes are no UTF-8 text, and would be lost"
        if hidden := self._hidden(text):
            return f"{len(hidden)} of its lines are for others, and would be lost"
        return None

    def _count(self, path: str, text: str) -> int:
        """The memories that stand in a file: also those that stand in another one as well."""
        version, known = _version(text), self._counted.get(path)
        if known is None or known[0] != version:
            known = self._counted[path] = (version, len(self._shown(text)))
        return known[1]

    def _shown(self, text: str) -> list[Located]:
        scope, memberships = self._rooms.scope, self._rooms.memberships
        return [
            found
            for found in lines(text)
            if may_read_here(scope, found.line, memberships=memberships)
        ]

    def _lines(self, path: str, text: str) -> list[Line]:
        known = self._rooms.memory.facts.list(ended=True)
        ids = {(fact.path, fact.number): fact.id for fact in known}
        is_archived = path.startswith("archive/")
        facts = [
            Fact(
                id=ids.get((path, found.number)) or line_id(found.line),
                line=found.line,
                path=path,
                number=found.number,
                archived=is_archived,
                day=_day(path),
            )
            for found in self._shown(text)
        ]
        return self.lines(facts)

    def _newer(self, facts: Sequence[Fact]) -> dict[str, str]:
        return {old: fact.id for fact in facts for old in fact.line.supersedes}

    def _trust_at(self, path: str, span: LineSpan | None) -> str | None:
        """Whose word a single line of a file is."""
        if span is None or span.start != span.end:
            return None
        try:
            found = self.read(path).lines
        except (NotFound, PolicyRefused):
            return None  # of another place: its text was shown, its lines are not ours to judge
        return next(
            (each.fact.line.trust for each in found if each.fact.number == span.start), None
        )


class _Lost:
    """A text that is no longer kept."""


_BY_HAND: Final = "Add lines instead, or edit it with an editor on this machine."


def _expect(path: str, before: str | None, version: str | None) -> None:
    now = None if before is None else _version(before)
    if now == version:
        return
    if version is None:
        what = f"There is a {path} already."
    else:
        what = f"{path} was {'removed' if now is None else 'changed'} since it was read."
    raise ChangedMeanwhile(
        what, version=now, hint="Read it again, and make the change in what it says now."
    )


def _ended_as(held: str, text: str) -> str:
    """The text with the line endings of the file: a browser sends ``\\n`` whatever it was given."""
    is_windows = "\r\n" in held and held.count("\n") == held.count("\r\n")
    return text.replace("\n", "\r\n") if is_windows and "\r" not in text else text


def _day(path: str) -> date | None:
    found = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _version(text: str) -> str:
    found = digest(_bytes(text))
    assert found is not None
    return found


def _readable_text(text: str) -> str:
    """The text with a mark in the place of what is no UTF-8."""
    return _bytes(text).decode("utf-8", "replace")
