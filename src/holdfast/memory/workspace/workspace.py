"""The memory files of one place, which people may edit at any time with any editor.

Promise: a path leads to a Markdown file inside the folder or is refused (``test_paths.py``); an
edit is computed on what the file holds when it is written, never on less, and what an editor
saved is never lost (``test_workspace_editors.py``); an edit that returned is on disk, one that
was interrupted is as if it had not been (``test_workspace_crashes.py``); every operation can be
undone, also when others have edited since (``test_undo.py``); what a program saves into a file
that was replaced meanwhile is in it after the next operation (``test_workspace_late.py``). All in
``tests/memory``.

An editor that saves an older copy over a line of ours has removed that line, as far as anybody
can tell; it is then in the ``.diff`` of its operation in ``.journal/preimages``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import local
from typing import Final

from holdfast.disk import Directory, FileLock, Seen
from holdfast.errors import HoldfastError, NotFound, PolicyRefused, StorageError, UsageError
from holdfast.memory.workspace.journal import (
    LATE,
    ChangedFile,
    Journal,
    LateSave,
    Operation,
    digest,
)
from holdfast.memory.workspace.late import Unclear, with_late
from holdfast.memory.workspace.listing import files_in, problems_in
from holdfast.memory.workspace.merging import differences, written
from holdfast.memory.workspace.paths import MEMORY_FILES, check_path, is_path
from holdfast.memory.workspace.swapping import is_finished, put, settled, take_back, whole
from holdfast.memory.workspace.undoing import Undone, choose, rehearse, text_before
from holdfast.ports import Clock, Ids
from holdfast.types import Json

__all__ = ["Change", "ChangedFile", "Operation", "Undone", "Workspace"]

_AS_IT_IS: Final = ("utf-8", "surrogateescape")  # bytes that are not UTF-8 come back the same
_TRIES: Final = 60
_WELCOMED: Final = "welcomed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an edit made of a file. None: there was none, or there is none any more."""

    path: str
    before: str | None
    after: str | None


@dataclass(slots=True, kw_only=True)
class _Running:
    """The operation this thread is in."""

    what: str
    about: Mapping[str, Json]
    undoes: str | None = None
    id: str | None = None
    at: datetime | None = None
    changes: list[ChangedFile] = field(default_factory=list)
    added_bytes: int = 0

    def as_operation(self, *changes: ChangedFile) -> Operation:
        assert self.id is not None
        assert self.at is not None
        return Operation(
            id=self.id,
            at=self.at,
            what=self.what,
            changes=changes,
            about=self.about,
            undoes=self.undoes,
        )


class Workspace:
    """Read, edit, undo. One object may be shared by threads."""

    def __init__(
        self,
        base: Directory,
        *,
        clock: Clock,
        ids: Ids,
        read_only: bool = False,
        on_change: Callable[[Operation], None] | None = None,
    ) -> None:
        self.base = base
        self.clock = clock
        self.ids = ids
        self.read_only = read_only
        self.journal = Journal(base)
        self._on_change = on_change
        self._here = local()
        self._left: dict[str, Seen] = {}
        self._durable: set[tuple[str, int]] = set()

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def files(self, *, archive: bool = False) -> list[str]:
        """The paths of the memory files there are, sorted. ``problems`` names what is left out."""
        return files_in(self.base, archive=archive)

    def memory_path(self) -> str:
        """``MEMORY.md``, or ``memory.md`` if only that exists."""
        names = {found.name for found in self.base.found()}
        return next((name for name in MEMORY_FILES if name in names), MEMORY_FILES[0])

    def read(self, path: str) -> str | None:
        """The text of the file, or None if there is none; makes no folders.

        Raises:
            PolicyRefused: no path of memory, or a link or something else in the place of a file.
        """
        parts = check_path(path)
        folder = self._folder(parts, create=False)
        if folder is None or not self._is_spelled_so(folder, path, parts[-1]):
            return None
        found = whole(folder, parts[-1])
        return None if found is None else _text(found[0])

    def problems(self) -> list[tuple[str, str]]:
        """What is wrong with the folder, for people to decide: the path, and what it is."""
        kept = "was saved into after it had been replaced: see what of it you need"
        rescued = [(f".journal/rescued/{name}", kept) for name in self.journal.rescued()]
        soon = (
            "was saved too late; the next change of memory brings in what is in .journal/preimages/"
        )
        late = [(each.change.path, soon + each.change.preimage) for each in self.journal.all_late()]
        return problems_in(self.base) + late + rescued

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def edit(self, path: str, change: Callable[[str | None], str | None]) -> Change | None:
        """Put what ``change`` makes of the text in its place; None if that is the same text.

        ``change`` gets None if there is no file and may return None to remove it. It is called
        again if somebody saved the file meanwhile.

        Raises:
            PolicyRefused: no path of memory, or not a plain file of ours there.
            StorageError: the disk refuses, or the file is saved again and again.
        """
        parts = check_path(path)
        with self.operation("edit"):
            running: _Running = self._here.running
            for attempt in range(_TRIES):
                found = self._settled(path, parts)
                before = None if found is None else found[0]
                text = None if before is None else _text(before)
                wanted = change(text)
                after = None if wanted is None else wanted.encode(*_AS_IT_IS)
                if after == before:
                    return None
                if self._put(running, path, parts, before, after):
                    return Change(path=path, before=text, after=wanted)
                time.sleep(min(0.02, 0.001 * attempt))
        raise StorageError(
            f"{path} changes faster than it can be read: {_TRIES} tries found it changed.",
            hint="Close the program that keeps writing it, and try again.",
        )

    @contextmanager
    def operation(self, what: str, **about: Json) -> Iterator[None]:
        """Edits in this block are undone together; if it fails, they are taken back.

        Holds the lock of this place's memory. A block inside another one joins it.
        """
        if getattr(self._here, "running", None) is not None:
            yield
            return
        if self.read_only:
            raise PolicyRefused(
                f"Memory may only be read here; refused: {what}.",
                hint='Allow it: memory.mode = "read-write" (holdfast config explain memory.mode)',
            )
        done: list[Operation] = []
        with FileLock(self.journal.folder.child("locks"), "memory").hold():
            self._recover()
            for late in self.journal.late():
                self._bring_in(late, done)
            with self._run(_Running(what=what, about=about), done):
                yield
        if self._on_change is not None:
            for each in done:
                self._on_change(each)

    def welcome(self, text: str) -> None:
        """Explain the folder to whoever opens it: a README, once, and not over one that is there.

        No operation: there is nothing to undo, and one that was deleted does not come back.
        """
        if self.read_only or self.base.glance("README.md") or self.journal.folder.glance(_WELCOMED):
            return
        self.base.create("README.md", text.encode())
        self.journal.folder.create(_WELCOMED, b"", durable=False)

    @property
    def current(self) -> str | None:
        """The id of the operation this thread is in, once it has changed something."""
        running: _Running | None = getattr(self._here, "running", None)
        return None if running is None or not running.changes else running.id

    # ── undo ─────────────────────────────────────────────────────────────────────────────────

    def operations(self) -> list[Operation]:
        """Those that are kept, newest first."""
        return self.journal.operations()[::-1]

    def undo(self, operation_id: str | None = None, *, dry_run: bool = False) -> Undone:
        """Take back the newest operation that stands, or the one of that id.

        Lines others have written since stay. An undo is an operation too: give its id, and what
        it took back is there again.

        Raises:
            NotFound: there is nothing to undo, or no operation of that id.
            UsageError: it is undone already, or the file has changed so that the lines of the
                operation cannot be told from others. Nothing is changed then.
        """
        if dry_run:
            chosen = choose(self.journal, operation_id)
            return rehearse(self.journal, chosen, self.read)
        if getattr(self._here, "running", None) is not None:
            raise UsageError("An undo cannot be a part of another operation.")
        with self.operation("undo"):
            running: _Running = self._here.running
            chosen = choose(self.journal, operation_id)
            running.undoes = chosen.id
            running.what = f"undo: {chosen.what}"
            undone = rehearse(self.journal, chosen, self.read)
            for change in reversed(chosen.changes):
                self._undo_one(chosen, change)
            self._name(running)  # also if all was taken out by hand: then it is undone, too
        return replace(undone, undo=running.id)

    def _undo_one(self, operation: Operation, change: ChangedFile) -> None:
        self.edit(change.path, lambda text: text_before(self.journal, operation, change, text))

    # ── one operation ────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _run(self, running: _Running, done: list[Operation]) -> Iterator[None]:
        self._here.running = running
        try:
            yield
            if (operation := self._commit(running)) is not None:
                done.append(operation)
        except BaseException:
            self._roll_back(running)
            raise
        finally:
            self._here.running = None

    def _bring_in(self, late: LateSave, done: list[Operation]) -> None:
        """Join what was saved into an old file with the present one, or keep it for people."""
        change, store = late.change, self.journal.preimages
        if not is_finished(store, change.preimage, late.data, late.seen):
            return  # the next operation finds all of it
        about: dict[str, Json] = {
            "preimage": change.preimage,
            "after": digest(late.data),
            "size": len(late.data),
        }
        running = _Running(what=LATE, about=about)
        try:
            with self._run(running, done):
                self.edit(change.path, lambda text: with_late(self.journal, late, text))
                self._name(running)  # also if all of it is there: then it is not asked again
        except Unclear:
            with contextlib.suppress(HoldfastError):  # then the next operation does it
                self.journal.rescue(change)
        except HoldfastError:
            # The file is none that can be edited now; others still are, if nothing is half done.
            if self.journal.pending() is not None:
                raise

    def _put(
        self,
        running: _Running,
        path: str,
        parts: tuple[str, ...],
        before: bytes | None,
        after: bytes | None,
    ) -> bool:
        store = self.journal.preimages
        folder = self._folder(parts, create=True)
        assert folder is not None
        change = ChangedFile(
            path=path,
            before=digest(before),
            after=digest(after),
            preimage=self._aside(running, store, after),
        )
        self._write_diff(running, change, before, after)
        self.journal.note(running.as_operation(change))
        running.changes.append(change)  # from here on it must be taken back if anything fails
        name = parts[-1]
        done = put(folder, name, store, change.preimage, before=before, after=after)
        if done and self._is_in_place(parts, folder):
            self._finish(running, path, folder, name)
            return True
        if take_back(folder, name, change, store):
            running.changes.pop()
            store.remove(f"{change.preimage}.diff")
        else:  # two saves at once: the other one is in the preimage, and comes in late
            running.changes[-1] = self._with_inode(change)
        return False

    def _name(self, running: _Running) -> None:
        if running.id is None:
            running.at = self.clock.now()
            running.id = self.ids.new(running.at)

    def _aside(self, running: _Running, store: Directory, after: bytes | None) -> str:
        """The name in the store for what is swapped out; the new text is there by now."""
        self._name(running)
        for number in range(len(running.changes), 1_000_000):
            name = f"{running.id}-{number}.md"
            if after is None:
                if store.identify(name) is None:
                    return name
            elif store.write_new(name, after):
                return name
        raise StorageError(f"There are too many preimages of {running.id}.")

    def _write_diff(
        self, running: _Running, change: ChangedFile, before: bytes | None, after: bytes | None
    ) -> None:
        """What the change is, for an undo after others have edited the file.

        Not durable: without it an undo brings back the preimage, or says that it cannot.
        """
        if after is None:
            return
        diff = written(differences(_text(before or b""), _text(after))).encode(*_AS_IT_IS)
        store = self.journal.preimages
        store.replace(f"{change.preimage}.diff", diff, durable=False)
        running.added_bytes += len(before or b"") + len(diff)

    def _finish(self, running: _Running, path: str, folder: Directory, name: str) -> None:
        change = running.changes[-1]
        if (folder_id := (str(folder.path), folder.inode)) not in self._durable:
            folder.sync_way()
            self._durable.add(folder_id)
        running.changes[-1] = self._with_inode(change)
        if (seen := folder.glance(name)) is not None:
            self._left[path] = seen

    def _with_inode(self, change: ChangedFile) -> ChangedFile:
        found = self.journal.preimages.glance(change.preimage)
        return replace(change, inode=None if found is None else found.inode)

    def _commit(self, running: _Running) -> Operation | None:
        if running.id is None or not (running.changes or running.undoes or running.what == LATE):
            return None
        operation = running.as_operation(*running.changes)
        self.journal.add(operation)
        running.changes = []  # acknowledged: whatever comes now takes nothing back
        with contextlib.suppress(StorageError):  # the next operation does it
            self.journal.settle()
            self.journal.tidy(running.added_bytes)
        return operation

    def _roll_back(self, running: _Running) -> None:
        if running.id is None:
            return
        with contextlib.suppress(StorageError):  # then whoever gets the lock next does it
            self._take_back(running.as_operation(*running.changes))

    def _recover(self) -> None:
        """Finish with what a process left that died in the middle."""
        if (pending := self.journal.pending()) is not None:
            self._take_back(pending)

    def _take_back(self, operation: Operation) -> None:
        remaining: list[ChangedFile] = []
        for change in reversed(operation.changes):
            if not is_path(change.path):
                continue  # the journal is damaged: no operation of ours has changed that
            parts = check_path(change.path)
            with contextlib.suppress(PolicyRefused):
                folder = self._folder(parts, create=False)
                if take_back(folder, parts[-1], change, self.journal.preimages):
                    self.journal.preimages.remove(f"{change.preimage}.diff")
                    continue
            remaining.insert(0, change)
        if remaining:  # edited since: not ours to take back unasked, but it can be undone
            self.journal.add(replace(operation, changes=tuple(remaining)))
        self.journal.preimages.sync()
        self.journal.settle(durable=True)

    # ── folders ──────────────────────────────────────────────────────────────────────────────

    def _folder(self, parts: tuple[str, ...], *, create: bool) -> Directory | None:
        """The folder of a path, opened anew by handles each time: it may have been moved."""
        folder = self.base
        for name in parts[:-1]:
            try:
                folder = folder.child(name, create=create)
            except NotFound:
                return None
        return folder

    def _is_in_place(self, parts: tuple[str, ...], folder: Directory) -> bool:
        """Whether the path still leads to the folder that was written to."""
        try:
            now = self._folder(parts, create=False)
        except PolicyRefused:
            return False
        return now is not None and now.inode == folder.inode

    def _settled(self, path: str, parts: tuple[str, ...]) -> tuple[bytes, Seen] | None:
        folder = self._folder(parts, create=False)
        if folder is None:
            return None
        if not self._is_spelled_so(folder, path, parts[-1]):
            raise PolicyRefused(
                f"This disk takes {path} and a file of other capitals there for the same.",
                hint="Use the name that is there, or rename that file.",
            )

        def is_ours(data: bytes, seen: Seen) -> bool:
            return self._left.get(path) == seen or self._was_left(path, data)

        return settled(folder, parts[-1], is_ours)

    def _was_left(self, path: str, data: bytes) -> bool:
        newest = self.journal.newest()
        changes = () if newest is None else newest.changes
        return any(each.path == path and each.after == digest(data) for each in changes)

    def _is_spelled_so(self, folder: Directory, path: str, name: str) -> bool:
        """On a disk that takes ``a`` and ``A`` for one name: whether this is the name it has."""
        if folder.identify(name) is None or not folder.folds_case(name):
            return True
        return name in folder.names()


def _text(data: bytes) -> str:
    return data.decode(*_AS_IT_IS)
