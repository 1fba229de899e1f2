"""A file that only grows, with the lock that is on it; and which process we are.

Promise: an append is durable when it returns, or the file is as long as before; a forked child
neither keeps nor takes its parent's locks (``tests/foundation/test_disk.py``,
``tests/sessions/test_concurrent_appends.py``).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import weakref
from pathlib import Path
from threading import Lock
from typing import Final

from holdfast.disk.seen import explained, told
from holdfast.disk.system import System, write_all
from holdfast.errors import Locked

__all__ = ["LOCK_SECONDS", "PROCESS", "GrowingFile", "wait_for_lock"]

LOCK_SECONDS: Final = 30.0


class GrowingFile:
    """An open file that only grows: read anywhere, append at the end, all or nothing.

    Its lock is on the file itself, so it goes with the file when that is renamed. A file that has
    no name any more when we get its lock was removed or replaced while we waited.
    """

    def __init__(self, fd: int, path: Path, system: System) -> None:
        self._fd = fd
        self.path = path
        self._system = system
        self._closer = weakref.finalize(self, os.close, fd)
        _lockables.add(self)

    def close(self) -> None:
        self._closer()
        self._fd = -1  # the number may be another file's soon

    @property
    def inode(self) -> int:
        return os.fstat(self._fd).st_ino

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def look(self) -> tuple[int, int]:
        """How many names the file has now, and how long it is."""
        found = os.fstat(self._fd)
        return found.st_nlink, found.st_size

    def lock(self, *, timeout_seconds: float = LOCK_SECONDS) -> None:
        """Wait until nobody else, in this process or another, has it locked."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait_for_lock(self._fd, fcntl.LOCK_EX, timeout_seconds, self.path)
        except OSError as error:
            raise explained(error, "lock", self.path) from error

    def unlock(self) -> None:
        """Let others have it. Harmless if it is not locked, so it may follow a failed ``lock``."""
        if self._fd >= 0:  # else closed, in a child that was forked meanwhile
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer at the end of the file."""
        with told("read", self.path):
            return os.pread(self._fd, length, offset)

    def append(self, data: bytes, *, at: int) -> None:
        """Write ``data`` behind the first ``at`` bytes and make it durable.

        If anything fails the file is cut back to ``at``. When even that fails the bytes stay
        and the next writer judges them: they are whole records, or a torn one to quarantine.
        """
        try:
            written = self._system.write(self._fd, data)
            if written < len(data):
                write_all(self._system, self._fd, data[written:])
            self._system.sync(self._fd)
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._system.truncate(self._fd, at)
            if isinstance(error, OSError):
                raise explained(error, "append to", self.path) from error
            raise

    def write_line(self, line: bytes) -> None:
        """Append a line in one call, not durably: for reports that may be lost. What a crash left
        of a line is ended first, so that it costs only itself."""
        with told("append to", self.path):
            size = self.size()
            is_torn = size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
            self._system.write(self._fd, b"\n" * is_torn + line + b"\n")

    def truncate(self, size: int, *, durable: bool = True) -> None:
        """Cut the file. For torn tails, once their bytes are quarantined, and scratch files."""
        with told("truncate", self.path):
            self._system.truncate(self._fd, size)
            if durable:
                self._system.sync(self._fd)


def wait_for_lock(fd: int, kind: int, timeout_seconds: float, path: Path) -> None:
    deadline = time.monotonic() + timeout_seconds
    pause = 0.0
    while True:
        time.sleep(pause)
        pause = min(pause * 1.5 + 0.0002, 0.005)
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                continue
        else:
            return
        holder = _holder_of(os.fstat(fd))
        who = f"process {holder}" if holder is not None else "another process"
        raise Locked(
            f"{str(path)!r} is held by {who}; waited {timeout_seconds:g} s.",
            hint="Try again when it has finished, or end that process.",
        )


def _holder_of(found: os.stat_result) -> int | None:
    """Who holds the lock on this file, where the system tells (Linux)."""
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if device in fields and "->" not in fields:
                return int(fields[fields.index(device) - 1])
    except (OSError, ValueError):
        pass
    return None


class _Process:
    """``generation`` differs between a process and the children it forks.

    Whatever holds handles or locks compares it instead of asking for the process id, which is a
    system call each time.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.lock = Lock()
        """For whoever opens its files again after a fork: of this process, so never left held."""


PROCESS: Final = _Process()

_lockables: weakref.WeakSet[GrowingFile] = weakref.WeakSet()


def _after_fork() -> None:
    """A child must not keep its parent's locks alive, nor take them for its own: it shares
    every handle. Its own first call opens the files again."""
    PROCESS.lock = Lock()
    PROCESS.generation += 1
    for file in list(_lockables):
        file.close()


os.register_at_fork(after_in_child=_after_fork)
