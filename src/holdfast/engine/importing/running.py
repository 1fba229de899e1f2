"""A whole import: files one after the other, what it did, and how it is taken back.

Promise: importing twice changes nothing; killed at any point and started again it ends as if it
had run once; undone, nothing of it is left but what was changed here since, and that is named
(``tests/engine/test_importing.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from holdfast.engine.importing.bringing import Bringing
from holdfast.engine.importing.ledger import Ledger, NoteRecord, RunRecord, TalkRecord
from holdfast.engine.importing.notes import copy_notes, remove_note, write_memories
from holdfast.engine.importing.places import Found
from holdfast.engine.importing.runs import RunId
from holdfast.engine.importing.shapes import Done, Progress, SourceFile
from holdfast.engine.importing.taking import Taking
from holdfast.engine.importing.whereabouts import found_session, is_of_talk
from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound
from holdfast.events import SessionDeleted
from holdfast.sessions.past import is_imported
from holdfast.types import Json

__all__ = ["Run", "Standing", "TakenBack", "bring_in", "runs", "standing", "take_back"]

_SAVE_EVERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the files of a source stand against what was brought in, without opening them."""

    source: str
    files: int
    bytes: int
    unchanged: int
    unchanged_bytes: int
    first_ns: int
    last_ns: int

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One import that can be taken back."""

    id: str
    at: str
    sources: tuple[str, ...]
    conversations: int
    notes: int

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(slots=True, kw_only=True)
class TakenBack:
    """What became of the sessions and notes of an import."""

    id: str
    is_dry: bool = False
    sessions: int = 0
    entries: int = 0
    notes: int = 0
    kept: list[str] = field(default_factory=list)
    """What stays, and why."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def standing(rooms: Rooms, source: str, files: Sequence[SourceFile]) -> Standing:
    """How many of the files are new or changed since the last import."""
    ledger = Ledger(rooms.base)
    run = RunId(rooms, ledger)
    taking = Taking(rooms=rooms, ledger=ledger, run=run, done=Done(), is_dry=True)
    times = [file.modified_ns for file in files]
    known = [file for file in files if taking.is_unchanged(file)]
    return Standing(
        source=source,
        files=len(files),
        bytes=sum(file.size for file in files),
        unchanged=len(known),
        unchanged_bytes=sum(file.size for file in known),
        first_ns=min(times, default=0),
        last_ns=max(times, default=0),
    )


def bring_in(
    rooms: Rooms,
    found: Found,
    *,
    is_dry: bool = False,
    memories: bool = False,
    merge: bool = False,
    progress: Progress | None = None,
) -> Done:
    """Bring in what is new in the files; what that was. A dry run changes nothing."""
    return _Import(rooms, found, is_dry=is_dry, progress=progress).run(
        memories=memories, merge=merge
    )


class _Import:
    """One import under way."""

    def __init__(
        self, rooms: Rooms, found: Found, *, is_dry: bool, progress: Progress | None
    ) -> None:
        self._rooms = rooms
        self._files = found.files
        self._progress = progress
        self._ledger = Ledger(rooms.base)
        self._run = RunId(rooms, self._ledger)
        self._done = Done(is_dry=is_dry)
        self._total = found.bytes
        self._read_bytes = 0
        self._read_files = 0
        self._brought: dict[str, str] = {}
        self._taking = Taking(
            rooms=rooms,
            ledger=self._ledger,
            run=self._run,
            done=self._done,
            is_dry=is_dry,
            on_end=self._ended,
        )
        if found.left:
            self._done.leave("folders", found.left)
        for problem in found.problems:
            self._done.trouble.add(problem)

    def run(self, *, memories: bool, merge: bool) -> Done:
        notes = [file for file in self._files if _is_note(file)]
        logs = [file for file in self._files if not _is_note(file)]
        is_dry = self._done.is_dry
        try:
            self._take(logs, memories=memories and not is_dry)
            self._copy(notes, merge=merge)
            if memories and not is_dry:
                self._remember()
        finally:
            if not is_dry:
                self._settle()
        return self._done

    def _take(self, files: Sequence[SourceFile], *, memories: bool) -> None:
        for file in files:
            # Of a file of several conversations only itself tells which they are.
            is_known = not memories or self._is_of_one(file)
            if is_known and self._taking.is_unchanged(file):
                self._pass_over(file)
            else:
                self._taking.take(file)
                if self._ledger.waiting >= _SAVE_EVERY:
                    self._ledger.save()
            self._went_on(file)

    def _is_of_one(self, file: SourceFile) -> bool:
        record = self._ledger.files.get(file.key)
        return record is not None and record.offset > 0

    def _pass_over(self, file: SourceFile) -> None:
        record = self._ledger.files.get(file.key)
        known = self._ledger.talks.get(record.talk) if record is not None else None
        source = file.source or (known.talk.partition(":")[0] if known is not None else "files")
        if known is not None:
            self._brought.setdefault(known.session, source)
        tally = self._done.tally(source)
        tally.files += 1
        tally.bytes += file.size
        tally.unchanged += 1

    def _copy(self, files: Sequence[SourceFile], *, merge: bool) -> None:
        changed: list[SourceFile] = []
        for file in files:
            # What was copied beside memory before may be merged into it now.
            if not merge and self._taking.is_unchanged(file):
                self._pass_over(file)
                self._went_on(file)
            else:
                changed.append(file)
        for file in copy_notes(
            self._rooms,
            self._ledger,
            changed,
            self._done,
            run=self._run,
            merge=merge,
            is_dry=self._done.is_dry,
        ):
            self._went_on(file)

    def _remember(self) -> None:
        sessions = list(self._brought.items())
        for number, _ in enumerate(
            write_memories(self._rooms, self._ledger, sessions, self._done, run=self._run), 1
        ):
            if self._progress is not None:
                self._progress("memories", number, len(sessions))

    def _ended(self, bringing: Bringing) -> None:
        known = self._ledger.talks.get(bringing.talk)
        if known is not None:
            self._brought[known.session] = bringing.source

    def _went_on(self, file: SourceFile) -> None:
        self._read_files += 1
        self._read_bytes += file.size
        if self._progress is not None:
            self._progress("bytes", self._read_bytes, self._total)
            self._progress("files", self._read_files, len(self._files))

    def _settle(self) -> None:
        """Write the ledger down; an import that changed nothing is not one to be undone."""
        self._ledger.save()  # another import may have noted the same first: then it is theirs
        run = self._run.id
        made = {each.run for each in self._ledger.talks.values()}
        made |= {each.run for each in self._ledger.notes.values()}
        if run is not None and run in made:
            self._done.id = run
            at = self._rooms.clock.now().isoformat()
            sources = tuple(sorted(self._done.tallies))
            self._ledger.note(RunRecord(run=run, at=at, sources=sources))
        elif run is not None:
            self._ledger.forget("run", [run])
        self._ledger.save()


def _is_note(file: SourceFile) -> bool:
    return file.path.suffix.casefold() in (".md", ".markdown")


# ── taking it back ──────────────────────────────────────────────────────────────────────────


def runs(rooms: Rooms) -> list[Run]:
    """The imports that can be taken back, the newest first."""
    ledger = Ledger(rooms.base)
    talks: dict[str, list[str]] = {}
    for talk in ledger.talks.values():
        talks.setdefault(talk.run, []).append(talk.talk.partition(":")[0])
    notes: dict[str, int] = {}
    for note in ledger.notes.values():
        notes[note.run] = notes.get(note.run, 0) + 1
    found = []
    for id in {*talks, *notes}:
        # One that was killed, or conversations that came one by one, left no record of a run.
        record = ledger.runs.get(id) or RunRecord(run=id, at="")
        own = talks.get(id, [])
        found.append(
            Run(
                id=id,
                at=record.at,
                sources=record.sources or tuple(sorted(set(own))),
                conversations=len(own),
                notes=notes.get(id, 0),
            )
        )
    return sorted(found, key=lambda each: (each.at, each.id), reverse=True)


def take_back(rooms: Rooms, id: str, *, is_dry: bool = False) -> TakenBack:
    """Remove the sessions and notes that an import made.

    Raises:
        NotFound: there is no import of that id.
    """
    ledger = Ledger(rooms.base)
    talks = [each for each in ledger.talks.values() if each.run == id]
    notes = [each for each in ledger.notes.values() if each.run == id]
    if not talks and not notes:
        raise NotFound(f"There is no import {id!r}.", hint="Run: holdfast import --list")
    done = TakenBack(id=id, is_dry=is_dry)
    try:
        for talk in talks:
            if _take_session_back(rooms, talk, done) and not is_dry:
                ledger.forget("talk", [talk.talk])
                of_it = [path for path, each in ledger.files.items() if each.talk == talk.talk]
                ledger.forget("file", of_it)
        _take_notes_back(rooms, ledger, notes, done)
    finally:
        if not is_dry:
            # Files of several conversations, and of notes, are looked at again next time.
            ledger.forget("file", [p for p, each in ledger.files.items() if not each.offset])
            if not done.kept:
                ledger.forget("run", [id] if id in ledger.runs else [])
            ledger.save()
    return done


def _take_session_back(rooms: Rooms, talk: TalkRecord, done: TakenBack) -> bool:
    """Whether the session is gone, or would be, whatever it is called now."""
    transcript = found_session(rooms, talk.session)
    try:
        entries = transcript.entries() if transcript is not None else []
    except NotFound:
        entries = []
    if transcript is None or not is_of_talk(entries, talk.talk):
        return True  # deleted by somebody already; its name may be another's now
    session = transcript.name
    if any(entry.type == "message" and not is_imported(entry) for entry in entries):
        done.kept.append(f"session {session}: it went on here")
        return False
    done.sessions += 1
    done.entries += len(entries)
    if not done.is_dry:
        rooms.release(session)
        count, freed = rooms.store.delete(session)
        rooms.tell(SessionDeleted, session=session, entries=count, artifacts_freed=freed)
    return True


def _take_notes_back(
    rooms: Rooms, ledger: Ledger, notes: Sequence[NoteRecord], done: TakenBack
) -> None:
    if not notes:
        return
    if done.is_dry:
        done.notes = len(notes)
        return
    workspace = rooms.memory.workspace
    with workspace.operation("undo import", run=done.id):
        for note in notes:
            if remove_note(workspace, note):
                done.notes += 1
                ledger.forget("note", [note.note])
            else:
                done.kept.append(f"{note.note}: it was edited here")
