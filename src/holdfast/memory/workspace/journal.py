"""What was changed in the memory files, and the way back: ``.journal/``.

``operations.jsonl`` has one line for each operation: id, time, what it was, the files with the
hashes of what they held before and after, and the name of the file in ``preimages/`` that holds
what was there before. No text of memory stands in it. ``preimages/<operation>-<n>.md`` is the
file itself, moved and not copied; ``….diff`` beside it is what the operation made of it.

Order, so that no crash leaves a changed file without a way back: the new text is on disk as
``preimages/<operation>-<n>.md``; then a line in ``pending.jsonl`` says what is about to happen;
then the new text and the old change places in one step, which puts the old one under the name of
the preimage; when the last file of the operation is done, its line is written to
``operations.jsonl``. Each step is durable before the next. Whoever gets the lock next and finds
something pending without its line takes it back, or, where an editor has saved since, writes the
line, so that ``undo`` can.

Promise: proven by ``tests/memory/test_undo.py`` and ``test_workspace_crashes.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from holdfast.disk import Directory
from holdfast.errors import NotFound, PolicyRefused
from holdfast.types import Json

__all__ = ["ChangedFile", "Journal", "Operation", "digest"]

KEEP_OPERATIONS: Final = 500
KEEP_BYTES: Final = 64 * 1024 * 1024
KEEP_ALWAYS: Final = 20
"""Operations whose preimages stay however large they are."""

_LOG: Final = "operations.jsonl"
_PENDING: Final = "pending.jsonl"
_SLACK: Final = 64  # operations above the limit before the log is written anew
_TAIL: Final = 16 * 1024
_LOOK_EVERY_BYTES: Final = 4 * 1024 * 1024
_LOOK_EVERY: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file of an operation. Hashes are SHA-256 of its bytes; None: there was no file."""

    path: str
    before: str | None
    after: str | None
    preimage: str
    """The file in ``.journal/preimages``. It is there only if ``before`` is not None."""
    inode: int | None = None
    """Of the preimage. A file of another inode was put there later, by an erasure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One step that can be undone."""

    id: str
    at: datetime
    what: str
    changes: tuple[ChangedFile, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)
    undoes: str | None = None
    undone_by: str | None = None
    """The undo that holds now; None again when that was undone itself."""

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(change.path for change in self.changes))


def digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


class Journal:
    """The journal of one place. Whoever writes to it holds the lock of the workspace."""

    def __init__(
        self,
        base: Directory,
        *,
        keep_operations: int = KEEP_OPERATIONS,
        keep_bytes: int = KEEP_BYTES,
        keep_always: int = KEEP_ALWAYS,
    ) -> None:
        self._base = base
        self._folder: Directory | None = None
        self._preimages: Directory | None = None
        self._keep = keep_operations, keep_bytes, keep_always
        self._unseen_bytes = _LOOK_EVERY_BYTES  # the first operation of a process looks
        self._unseen = 0

    @property
    def folder(self) -> Directory:
        if self._folder is None:
            self._folder = self._base.child(".journal")
        return self._folder

    @property
    def preimages(self) -> Directory:
        if self._preimages is None:
            self._preimages = self.folder.child("preimages")
            self._preimages.sync_way()
        return self._preimages

    def operations(self) -> list[Operation]:
        """All that are kept, oldest first, with who undid whom."""
        found = [parsed for line in self._lines() if (parsed := _parsed(line)) is not None]
        undone: dict[str, str] = {}
        for each in reversed(found):
            # Newest first: an undo that was undone itself undoes nothing.
            if each.undoes is not None and each.id not in undone:
                undone.setdefault(each.undoes, each.id)
        return [replace(each, undone_by=undone.get(each.id)) for each in found]

    def newest(self) -> Operation | None:
        """The last operation, without reading all of them."""
        data = self._tail(_LOG)
        lines = data.split(b"\n")[:-1]
        return _parsed(lines[-1]) if lines else None

    def add(self, operation: Operation) -> None:
        """Write an operation down, durably."""
        self._append(_LOG, _line(operation))

    # ── the operation that is under way ──────────────────────────────────────────────────────

    def note(self, operation: Operation) -> None:
        """Say what is about to happen: the operation with the one change that comes next."""
        self._append(_PENDING, _line(operation))

    def pending(self) -> Operation | None:
        """The operation that somebody began and whose line was never written."""
        data = self.folder.read(_PENDING) or b""
        steps = [parsed for line in data.split(b"\n")[:-1] if (parsed := _parsed(line)) is not None]
        if not steps:
            return None
        newest = self.newest()
        done = {change.preimage for change in newest.changes} if newest else set()
        # A step that was tried again under the same name: the last try is what counts.
        changes = {change.preimage: change for step in steps for change in step.changes}
        if newest is not None and newest.id == steps[-1].id and done <= set(changes) and done:
            return None
        return replace(steps[-1], changes=tuple(changes.values()))

    def settle(self, *, durable: bool = False) -> None:
        """Nothing is under way any more. Need not be durable if the operation has its line."""
        if self.folder.identify(_PENDING) is not None:
            file = self.folder.open_growing(_PENDING)
            try:
                if file.size():
                    file.truncate(0, durable=durable)
            finally:
                file.close()

    # ── what is kept ─────────────────────────────────────────────────────────────────────────

    def preimage_of(self, change: ChangedFile) -> bytes | None:
        """What the file held before; None if it was not there, or is not kept any longer."""
        return None if change.before is None else self.preimages.read(change.preimage)

    def tidy(self, added_bytes: int) -> None:
        """Remove what is older than the limits, now and then, and what a crash left behind."""
        self._unseen += 1
        self._unseen_bytes += added_bytes
        if self._unseen < _LOOK_EVERY and self._unseen_bytes < _LOOK_EVERY_BYTES:
            return
        self._unseen = self._unseen_bytes = 0
        operations = self.operations()
        kept = self._kept(operations)
        if len(kept) < len(operations):
            self._rewrite({each.id for each in kept})
        self._sweep(operations, kept)

    def _kept(self, operations: list[Operation]) -> list[Operation]:
        most, most_bytes, always = self._keep
        if len(operations) > most + _SLACK:
            operations = operations[-most:]
        sizes = {found.name: found.size for found in self.preimages.found()}
        total, kept = 0, 0
        for each in reversed(operations):
            total += sum(
                sizes.get(change.preimage, 0) + sizes.get(f"{change.preimage}.diff", 0)
                for change in each.changes
            )
            if total > most_bytes and kept >= always:
                break
            kept += 1
        return operations[len(operations) - kept :]

    def _rewrite(self, ids: set[str]) -> None:
        lines = [
            line
            for line in self._lines()
            if (parsed := _parsed(line)) is not None and parsed.id in ids
        ]
        self.folder.replace(_LOG, b"".join(line + b"\n" for line in lines))

    def _sweep(self, operations: Iterable[Operation], kept: Iterable[Operation]) -> None:
        wanted = {change.preimage for each in kept for change in each.changes}
        known = {change.preimage: change for each in operations for change in each.changes}
        for found in self.preimages.found():
            name = found.name.removesuffix(".diff")
            if name in wanted:
                continue
            if name in known and found.name == name and self._was_written_later(known[name]):
                self.preimages.move(name, self.folder.child("rescued"), name)
            else:
                self.preimages.remove(found.name)

    def _was_written_later(self, change: ChangedFile) -> bool:
        """Whether a program that still had the old file open saved into it afterwards."""
        try:
            found = self.preimages.look(change.preimage)
        except PolicyRefused:
            return False
        if found is None or change.inode != found[1].inode:
            return False
        return digest(found[0]) != change.before

    def rescued(self) -> list[str]:
        """Files that were saved into after they had been replaced, and would have been removed."""
        try:
            folder = self._base.child(".journal", create=False)
            return folder.child("rescued", create=False).names()
        except NotFound:
            return []

    # ── lines ────────────────────────────────────────────────────────────────────────────────

    def _lines(self) -> list[bytes]:
        try:
            data = self._base.child(".journal", create=False).read(_LOG) or b""
        except NotFound:
            return []
        return data.split(b"\n")[:-1]  # a line without its end was never finished

    def _tail(self, name: str) -> bytes:
        if self.folder.identify(name) is None:
            return b""
        file = self.folder.open_growing(name)
        try:
            size, wanted = file.size(), _TAIL
            while True:
                start = max(0, size - wanted)
                data = file.read(start, size - start)
                if start == 0 or data.count(b"\n") >= 2:
                    return data
                wanted *= 4  # a line longer than what was read
        finally:
            file.close()

    def _append(self, name: str, line: bytes) -> None:
        is_new = self.folder.identify(name) is None
        file = self.folder.open_growing(name, create=True)
        try:
            size = file.size()
            if size and file.read(size - 1, 1) != b"\n":
                whole = file.read(0, size).rfind(b"\n") + 1  # torn by a crash: never acknowledged
                file.truncate(whole)
                size = whole
            file.append(line, at=size)
        finally:
            file.close()
        if is_new or not size:
            self.folder.sync()


def _line(operation: Operation) -> bytes:
    record: dict[str, Json] = {
        "id": operation.id,
        "at": operation.at.astimezone(UTC).isoformat(),
        "what": operation.what,
        "changes": [
            {
                "path": change.path,
                "before": change.before,
                "after": change.after,
                "preimage": change.preimage,
                **({} if change.inode is None else {"inode": change.inode}),
            }
            for change in operation.changes
        ],
    }
    if operation.about:
        record["about"] = dict(operation.about)
    if operation.undoes is not None:
        record["undoes"] = operation.undoes
    return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Operation | None:
    """None for what is damaged: one line less is one step less to undo, and nothing else."""
    try:
        record = json.loads(line)
        return Operation(
            id=str(record["id"]),
            at=datetime.fromisoformat(record["at"]),
            what=str(record["what"]),
            changes=tuple(
                ChangedFile(
                    path=str(change["path"]),
                    before=change["before"],
                    after=change["after"],
                    preimage=str(change["preimage"]),
                    inode=change.get("inode"),
                )
                for change in record["changes"]
            ),
            about=dict(record.get("about", {})),
            undoes=record.get("undoes"),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
