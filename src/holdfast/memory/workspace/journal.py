"""What was changed in the memory files, and the way back: ``.journal/``.

``operations.jsonl`` has one line for each operation: id, time, what it was, the files with the
hashes of what they held before and after, and the name of the file in ``preimages/`` that holds
what was there before. No text of memory stands in it. ``preimages/<operation>-<n>.md`` is the
file itself, moved and not copied; ``….diff`` beside it is what the operation made of it. A
program that still has it open may save into it: then it holds more than before, and ``late``
brings that into the present file. The operation that did so says up to where in its ``about``.

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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.disk import Directory, Seen
from holdfast.errors import NotFound, PolicyRefused, StorageError
from holdfast.types import Json

__all__ = ["LATE", "ChangedFile", "Journal", "LateSave", "Operation", "digest"]

KEEP_OPERATIONS: Final = 500
KEEP_BYTES: Final = 64 * 1024 * 1024
KEEP_ALWAYS: Final = 20
"""Operations whose preimages stay however large they are."""
LATE: Final = "late save"
"""What an operation is called that brings in what was saved into a file already replaced."""

_LOG: Final = "operations.jsonl"
_PENDING: Final = "pending.jsonl"
_SLACK: Final = 64  # operations above the limit before the log is written anew
_TAIL: Final = 16 * 1024
_LOOK_EVERY_BYTES: Final = 4 * 1024 * 1024
_LOOK_EVERY: Final = 32
_WATCHED: Final = 50
"""Old files that are looked at by each operation; the rest when they are removed, or by doctor."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LateSave:
    """An old file that holds something else than when it was replaced."""

    change: ChangedFile
    data: bytes
    seen: Seen
    taken: tuple[str, int] | None
    """What of it is in the present file already: its hash and its length."""


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
        self._recent: tuple[Seen, list[Operation]] | None = None
        self._calm: dict[str, Seen] = {}

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

    def recent(self) -> list[Operation]:
        """The newest ones, oldest first, without reading all of them."""
        seen = self.folder.glance(_LOG)
        if seen is None:
            return []
        if self._recent is None or self._recent[0] != seen:
            lines = self._tail(_LOG, KEEP_ALWAYS)
            self._recent = seen, [each for line in lines if (each := _parsed(line)) is not None]
        return self._recent[1]

    def newest(self) -> Operation | None:
        """The last operation, without reading all of them."""
        recent = self.recent()
        return recent[-1] if recent else None

    def add(self, operation: Operation) -> None:
        """Write an operation down, durably."""
        recent = self.recent()
        self._append(_LOG, _line(operation))
        if (seen := self.folder.glance(_LOG)) is not None:
            self._recent = seen, [*recent, operation][-KEEP_ALWAYS:]

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
        operations = list(operations)
        taken = _taken(operations)
        wanted = {change.preimage for each in kept for change in each.changes}
        known = {change.preimage: change for each in operations for change in each.changes}
        for found in self.preimages.found():
            name = found.name.removesuffix(".diff")
            if name in wanted:
                continue
            is_old_file = name in known and found.name == name
            if is_old_file and self._late(known[name], taken.get(name)) is not None:
                self.rescue(known[name])
            else:
                self.preimages.remove(found.name)

    # ── what was saved into an old file ──────────────────────────────────────────────────────

    def late(self) -> list[LateSave]:
        """Of the newest operations: what programs have saved into the old files, oldest first.

        Asked by each operation: a file that was calm and has not been touched is not read again.
        """
        recent = self.recent()
        taken = _taken(recent)
        watched = [change for each in recent for change in each.changes if change.inode is not None]
        watched = watched[-_WATCHED:]
        seen = self.preimages.glances(change.preimage for change in watched)
        self._calm = {name: each for name, each in seen.items() if self._calm.get(name) == each}
        found = (
            self._late(change, taken.get(change.preimage))
            for change in watched
            if change.preimage not in self._calm
        )
        return [each for each in found if each is not None]

    def all_late(self) -> list[LateSave]:
        """Of all operations that are kept; makes no folders."""
        operations = self.operations()
        taken = _taken(operations)
        changes = (change for each in operations for change in each.changes)
        try:
            self._base.child(".journal", create=False).child("preimages", create=False)
        except NotFound:
            return []
        found = (self._late(change, taken.get(change.preimage)) for change in changes)
        return [each for each in found if each is not None]

    def _late(self, change: ChangedFile, taken: tuple[str, int] | None) -> LateSave | None:
        try:
            found = self.preimages.look(change.preimage)
        except (PolicyRefused, StorageError):
            return None  # no file that could be read: it keeps nobody from going on
        if found is None or change.inode != found[1].inode:
            return None
        data, seen = found
        if digest(data) == (change.before if taken is None else taken[0]):
            self._calm[change.preimage] = seen
            return None
        return LateSave(change=change, data=data, seen=seen, taken=taken)

    def rescue(self, change: ChangedFile) -> None:
        """Keep an old file for people to look at; whoever has it open goes on writing to it."""
        self.preimages.move(change.preimage, self.folder.child("rescued"), change.preimage)

    def rescued(self) -> list[str]:
        """Files that were saved into after they had been replaced, and could not be joined."""
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

    def _tail(self, name: str, count: int) -> list[bytes]:
        """The last whole lines."""
        file = self.folder.open_growing(name)
        try:
            size, wanted = file.size(), _TAIL
            while True:
                start = max(0, size - wanted)
                data = file.read(start, size - start)
                if start == 0 or data.count(b"\n") > count:
                    return data.split(b"\n")[:-1][-count:]
                wanted *= 4  # lines longer than what was read
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
            id=_typed(record["id"], str),
            at=datetime.fromisoformat(record["at"]),
            what=_typed(record["what"], str),
            changes=tuple(_parsed_change(change) for change in record["changes"]),
            about=_typed(record.get("about", {}), dict),
            undoes=_typed(record.get("undoes"), str, type(None)),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _parsed_change(record: Mapping[str, Any]) -> ChangedFile:
    preimage = _typed(record["preimage"], str)
    if "/" in preimage or "\0" in preimage or preimage in {"", ".", ".."}:
        raise ValueError(preimage)  # no name of a file in the folder of preimages
    return ChangedFile(
        path=_typed(record["path"], str),
        before=_typed(record["before"], str, type(None)),
        after=_typed(record["after"], str, type(None)),
        preimage=preimage,
        inode=_typed(record.get("inode"), int, type(None)),
    )


def _typed(value: Any, *kinds: type) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(type(value))
    return value


def _taken(operations: Sequence[Operation]) -> dict[str, tuple[str, int]]:
    """Of each old file what was brought into the present one: its hash and its length."""
    found: dict[str, tuple[str, int]] = {}
    for each in operations:
        preimage, after, size = (each.about.get(key) for key in ("preimage", "after", "size"))
        if each.what == LATE and isinstance(preimage, str) and isinstance(after, str):
            found[preimage] = after, size if isinstance(size, int) else 0
    return found
