"""Disks that misbehave: one that fails at a chosen call, one that remembers what a power loss
could leave.

``RecordingDisk`` does every call for real and keeps a model of which bytes and names are
durable. ``crash()`` then builds a folder as it could look after the power went: whatever was
not synced is there, or not, or in part, or only as length (NUL bytes), in any combination.
A rename from one folder to another, and two names that change places, reach the disk whole or
not at all: that is what file systems with a journal promise, and what is modelled here.
"""

from __future__ import annotations

import errno
import os
import random
import stat
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.disk import System


class FailingDisk(System):
    """Fails the ``fail_at``-th changing call, once or from then on, until repaired."""

    def __init__(self, fail_at: int, *, number: int = errno.ENOSPC, sticky: bool = False) -> None:
        self.calls = 0
        self.fail_at = fail_at
        self.number = number
        self.sticky = sticky
        self.has_failed = False
        self.is_repaired = False
        self.failed_during: set[str] = set()

    def _count(self) -> None:
        self.calls += 1
        due = self.calls >= self.fail_at if self.sticky else self.calls == self.fail_at
        if due and not self.is_repaired:
            self.has_failed = True
            self.failed_during |= {frame.name for frame in traceback.extract_stack()}
            raise OSError(self.number, os.strerror(self.number))

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            self._count()
        return super().open(path, flags, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        try:
            self._count()
        except OSError:
            super().write(fd, data[: len(data) // 2])  # a full disk takes what still fits
            raise
        # Short writes are legal; the caller has to go on.
        return super().write(fd, data[: max(1, len(data) * 2 // 3)])

    def sync(self, fd: int) -> None:
        self._count()
        super().sync(fd)

    def sync_folder(self, fd: int) -> None:
        self._count()
        super().sync_folder(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._count()
        super().truncate(fd, size)

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        self._count()
        super().rename(source, target, dir_fd=dir_fd)

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        self._count()
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        self._count()
        super().move(source, target, dir_fd=dir_fd, target_fd=target_fd)

    def move_over(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        self._count()
        super().move_over(source, target, dir_fd=dir_fd, target_fd=target_fd)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._count()
        super().unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        self._count()
        super().mkdir(name, mode, dir_fd=dir_fd)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        self._count()
        super().rmdir(name, dir_fd=dir_fd)


@dataclass
class _File:
    durable: bytes = b""
    now: bytes = b""
    pending: list[tuple[str, int, bytes]] = field(default_factory=list)


@dataclass
class _Folder:
    durable: dict[str, int] = field(default_factory=dict)
    now: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[str, str, int | None]] = field(default_factory=list)

    def set(self, name: str, node: int | None) -> None:
        if node is None:
            self.now.pop(name, None)
        else:
            self.now[name] = node
        self.pending.append(("set", name, node))


def _nothing() -> None:
    pass


class RecordingDisk(System):
    """Does every call, and knows what of it would outlive a power loss."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._nodes: list[_File | _Folder] = [_Folder()]
        self._open: dict[int, int] = {}
        self._tied = 0
        self._certain: set[str] = set()
        self._decided: dict[str, bool] = {}
        self.changes = 0
        self.on_change: Callable[[], None] = _nothing

    def _changed(self) -> None:
        self.changes += 1
        self.on_change()

    def _file(self, fd: int) -> _File:
        node = self._nodes[self._open[fd]]
        assert isinstance(node, _File)
        return node

    def _folder(self, fd: int) -> _Folder:
        node = self._nodes[self._open[fd]]
        assert isinstance(node, _Folder)
        return node

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        fd = super().open(path, flags, mode, dir_fd=dir_fd)
        if dir_fd is None:
            assert Path(path) == self._root
            self._open[fd] = 0
            return fd
        folder = self._folder(dir_fd)
        if path not in folder.now:
            is_folder = stat.S_ISDIR(os.fstat(fd).st_mode)
            self._nodes.append(_Folder() if is_folder else _File())
            folder.set(path, len(self._nodes) - 1)
            self._open[fd] = len(self._nodes) - 1
            self._changed()
        self._open[fd] = folder.now[path]
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        written = super().write(fd, data)
        file = self._file(fd)
        piece = bytes(data[:written])
        file.pending.append(("write", len(file.now), piece))
        file.now += piece
        self._changed()
        return written

    def sync(self, fd: int) -> None:
        super().sync(fd)
        file = self._file(fd)
        file.durable, file.pending = file.now, []
        self._changed()

    def sync_folder(self, fd: int) -> None:
        super().sync_folder(fd)
        folder = self._folder(fd)
        # What is durable of a move in one folder is so in the other.
        self._certain |= {kind for kind, _, _ in folder.pending if _is_tied(kind)}
        folder.durable, folder.pending = dict(folder.now), []
        self._changed()

    def truncate(self, fd: int, size: int) -> None:
        super().truncate(fd, size)
        file = self._file(fd)
        file.pending.append(("truncate", size, b""))
        file.now = file.now[:size].ljust(size, b"\0")
        self._changed()

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        super().rename(source, target, dir_fd=dir_fd)
        folder = self._folder(dir_fd)
        node = folder.now.pop(source)
        folder.now[target] = node
        folder.pending.append(("rename", f"{source}\0{target}", node))
        self._changed()

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)
        here, there = self._folder(dir_fd), self._folder(target_fd)
        first, second = here.now[source], there.now[target]
        self._tie([(here, source, second), (there, target, first)])

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        super().move(source, target, dir_fd=dir_fd, target_fd=target_fd)
        self._moved(source, target, dir_fd, target_fd)

    def move_over(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        super().move_over(source, target, dir_fd=dir_fd, target_fd=target_fd)
        self._moved(source, target, dir_fd, target_fd)

    def _moved(self, source: str, target: str, dir_fd: int, target_fd: int) -> None:
        here, there = self._folder(dir_fd), self._folder(target_fd)
        self._tie([(here, source, None), (there, target, here.now[source])])

    def _tie(self, changes: list[tuple[_Folder, str, int | None]]) -> None:
        self._tied += 1
        for folder, name, node in changes:
            folder.set(name, node)
            folder.pending[-1] = (f"tied {self._tied}", name, node)
        self._changed()

    def unlink(self, name: str, *, dir_fd: int) -> None:
        super().unlink(name, dir_fd=dir_fd)
        self._folder(dir_fd).set(name, None)
        self._changed()

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        super().rmdir(name, dir_fd=dir_fd)
        self._folder(dir_fd).set(name, None)
        self._changed()

    def mkdir(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        super().mkdir(name, mode, dir_fd=dir_fd)
        assert dir_fd is not None
        self._nodes.append(_Folder())
        self._folder(dir_fd).set(name, len(self._nodes) - 1)
        self._changed()

    def crash(self, target: Path, chance: random.Random) -> None:
        """Build ``target`` as the folder could look if the power went now."""
        self._decided = {}
        self._build(0, target, chance)

    def _build(self, node: int, target: Path, chance: random.Random) -> None:
        found = self._nodes[node]
        if isinstance(found, _File):
            target.write_bytes(_left_of(found, chance))
            target.chmod(0o600)
            return
        target.mkdir(mode=0o700)
        names = dict(found.durable)
        # Each pending change of a name made it to the disk or did not, whatever came later.
        likely = chance.choice([0.0, 0.5, 1.0])
        for kind, name, changed in found.pending:
            if self._happened(kind, likely, chance):
                _apply(names, kind, name, changed)
        for name, child in names.items():
            self._build(child, target / name, chance)

    def _happened(self, kind: str, likely: float, chance: random.Random) -> bool:
        if not _is_tied(kind):
            return chance.random() < likely
        # What was decided for one folder of a move holds for the other.
        return kind in self._certain or self._decided.setdefault(kind, chance.random() < likely)


def _is_tied(kind: str) -> bool:
    return kind.startswith("tied ")


def _apply(names: dict[str, int], kind: str, name: str, changed: int | None) -> None:
    if kind == "rename":
        source, _, name = name.partition("\0")
        names.pop(source, None)
    if changed is None:
        names.pop(name, None)
    else:
        names[name] = changed


def _left_of(file: _File, chance: random.Random) -> bytes:
    data = bytearray(file.durable)
    how = chance.choice(["nothing", "everything", "some", "torn", "length only"])
    for kind, offset, piece in [] if how == "nothing" else file.pending:
        if how == "some" and chance.random() < 0.5:
            continue
        if kind == "truncate":
            data = data[:offset].ljust(offset, b"\0")
            continue
        if how == "torn":
            piece = piece[: chance.randint(0, len(piece))]
        elif how == "length only":
            kept = chance.randint(0, len(piece))
            piece = piece[:kept] + bytes(len(piece) - kept)
        data = data.ljust(offset, b"\0")
        data[offset : offset + len(piece)] = piece
    return bytes(data)
