"""What was brought in already: files and how far they were read, conversations, notes, imports.

The ledger saves time and knows what belongs together; it is not what prevents doubles: that is in
the ids of the entries (``sessions.past``). So it is written in batches, and a line that a crash
took costs one more reading.

Promise: an unchanged file is known without opening it; a line that cannot be read costs itself;
two processes that add at once lose nothing (``tests/engine/test_importing_files.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Final

from holdfast.disk import Directory, FileLock, Seen
from holdfast.types import Json

__all__ = ["FileRecord", "Ledger", "NoteRecord", "RunRecord", "TalkRecord", "imported_sessions"]

_NAME: Final = "imports.jsonl"
_SLACK: Final = 2_000
"""Lines that say what later ones say anew, before the file is written without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """How far a file was read, and what it looked like then."""

    path: str
    size: int
    modified_ns: int
    offset: int = 0
    """Where to read on, if it is a log that only grows; else 0."""
    tail: str = ""
    """A digest of the bytes before the offset: whether it is still the same log."""
    talk: str = ""
    """The conversation of a log that is read on."""
    last: str = ""
    """The last entry that was made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkRecord:
    """A conversation, and the session it became."""

    talk: str
    session: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRecord:
    """A memory file that was copied."""

    note: str
    """Its path here."""
    origin: str
    digest: str
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One import: what ``--undo`` names."""

    run: str
    at: str
    sources: tuple[str, ...] = ()


_Record = FileRecord | TalkRecord | NoteRecord | RunRecord

_KINDS: Final[Mapping[str, type[_Record]]] = {
    "file": FileRecord,
    "talk": TalkRecord,
    "note": NoteRecord,
    "run": RunRecord,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


@dataclass(slots=True)
class _Held:
    files: dict[str, FileRecord] = field(default_factory=dict)
    talks: dict[str, TalkRecord] = field(default_factory=dict)
    notes: dict[str, NoteRecord] = field(default_factory=dict)
    runs: dict[str, RunRecord] = field(default_factory=dict)

    def take(self, record: _Record) -> None:
        match record:
            case FileRecord():
                self.files[record.path] = record
            case TalkRecord():
                self.talks[record.talk] = record
            case NoteRecord():
                self.notes[record.note] = record
            case RunRecord():
                self.runs[record.run] = record

    def drop(self, kind: str, name: str) -> None:
        match kind:
            case "file":
                self.files.pop(name, None)
            case "talk":
                self.talks.pop(name, None)
            case "note":
                self.notes.pop(name, None)
            case "run":
                self.runs.pop(name, None)

    def all(self) -> list[_Record]:
        groups = (self.runs, self.talks, self.notes, self.files)
        return [record for group in groups for record in group.values()]


class Ledger:
    """The ledger of one place. What is noted is on disk after ``save``."""

    def __init__(self, base: Directory) -> None:
        self._journal = base.child(".journal")
        self._waiting: list[bytes] = []
        self._lines = 0
        self._held = _Held()
        self._seen: Seen | None = None
        self._load()

    @property
    def files(self) -> Mapping[str, FileRecord]:
        return self._held.files

    @property
    def talks(self) -> Mapping[str, TalkRecord]:
        return self._held.talks

    @property
    def notes(self) -> Mapping[str, NoteRecord]:
        return self._held.notes

    @property
    def runs(self) -> Mapping[str, RunRecord]:
        return self._held.runs

    def _load(self) -> None:
        self._seen = self._journal.glance(_NAME)
        self._held, self._lines = _Held(), 0
        for line in (self._journal.read(_NAME) or b"").split(b"\n"):
            if line:
                self._lines += 1
                _apply(line, self._held)

    def note(self, *records: _Record) -> None:
        """Remember this; known at once, on disk after the next ``save``."""
        for record in records:
            self._held.take(record)
            self._waiting.append(_written({"is": _NAMES[type(record)], **asdict(record)}))

    def forget(self, kind: str, names: Iterable[str]) -> None:
        """Take records of a kind back: what they stood for is not here any more."""
        for name in names:
            self._held.drop(kind, name)
            self._waiting.append(_written({"is": "gone", "kind": kind, "name": name}))

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def save(self) -> None:
        """Write down what was noted."""
        if self._waiting:
            with self._alone():
                self._write()

    def begin_run(self, day: str, at: str) -> str:
        """A new import, on disk before anything of it: a short name, the day and a number."""
        with self._alone():
            taken = {*self.runs, *(each.run for each in self.talks.values())}
            taken |= {each.run for each in self.notes.values()}
            number = 1
            while (run := f"{day}-{number}") in taken:
                number += 1
            self.note(RunRecord(run=run, at=at))
            self._write()
        return run

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile, and what they wrote before is known."""
        with FileLock(self._journal.child("locks"), "imports.lock").hold():
            if self._journal.glance(_NAME) != self._seen:
                self._merge()
            yield

    def _write(self) -> None:
        self._append()
        if self._lines > len(self._held.all()) + _SLACK:
            self._tidy()
        self._seen = self._journal.glance(_NAME)

    def _merge(self) -> None:
        """Somebody else wrote too: what they noted, and then again what we did. What both brought
        in belongs to the import that noted it first."""
        waiting, self._waiting = self._waiting, []
        self._load()
        for line in waiting:
            if not _is_noted(line, self._held):
                _apply(line, self._held)
                self._waiting.append(line)

    def _append(self) -> None:
        file = self._journal.open_growing(_NAME, create=True)
        try:
            size = file.size()
            # A line torn by a crash must not swallow the next one.
            torn = size > 0 and file.read(size - 1, 1) != b"\n"
            file.append(b"\n" * torn + b"".join(self._waiting), at=size)
        finally:
            file.close()
        self._lines += len(self._waiting)
        self._waiting = []

    def _tidy(self) -> None:
        records = self._held.all()
        lines = [_written({"is": _NAMES[type(each)], **asdict(each)}) for each in records]
        self._journal.replace(_NAME, b"".join(lines))
        self._lines = len(lines)


def _written(value: Mapping[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _apply(line: bytes, held: _Held) -> None:
    try:
        value = json.loads(line)
        kind = value.pop("is")
        if kind == "gone":
            held.drop(value["kind"], value["name"])
            return
        if kind == "run":
            value["sources"] = tuple(value.get("sources", ()))
        held.take(_KINDS[kind](**value))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # torn, or of another version: it is found out anew


def _is_noted(line: bytes, held: _Held) -> bool:
    """Whether another import noted the same conversation or the same copy already."""
    match json.loads(line):
        case {"is": "talk", "talk": str(talk), "session": session}:
            talked = held.talks.get(talk)
            return talked is not None and talked.session == session
        case {"is": "note", "note": str(note), "digest": digest}:
            noted = held.notes.get(note)
            return noted is not None and noted.digest == digest
        case _:
            return False


_known: dict[str, tuple[Seen | None, frozenset[str]]] = {}


def imported_sessions(base: Directory) -> frozenset[str]:
    """The names of the sessions that were brought in here; read again only if that changed."""
    if base.identify(".journal") is None:
        return frozenset()
    journal = base.child(".journal", create=False)
    try:
        seen = journal.glance(_NAME)
        known = _known.get(str(base.path))
        if known is None or known[0] != seen:
            talks = Ledger(base).talks.values() if seen is not None else ()
            known = _known[str(base.path)] = seen, frozenset(each.session for each in talks)
        return known[1]
    finally:
        journal.close()
