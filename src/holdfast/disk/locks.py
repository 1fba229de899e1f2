"""Locks between processes and threads that belong to no file of their own.

Promise: one holder, or several shared ones; the lock of whoever died is free at once
(``tests/foundation/test_disk.py``).
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator

from holdfast.disk.folders import Directory
from holdfast.disk.growing import LOCK_SECONDS, wait_for_lock

__all__ = ["FileLock"]


class FileLock:
    """A lock that belongs to no file of its own: for operations on a whole folder.

    The kernel frees it when the holder dies. ``shared`` holders exclude only exclusive ones. One
    object has one holder; whoever else wants the lock makes an object of its own.
    """

    def __init__(
        self, folder: Directory, name: str, *, timeout_seconds: float = LOCK_SECONDS
    ) -> None:
        self._folder = folder
        self._name = name
        self._timeout_seconds = timeout_seconds

    @contextlib.contextmanager
    def hold(self, *, shared: bool = False) -> Iterator[None]:
        """Hold it; ``Locked`` if that takes longer than the time-out."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            file = self._folder.open_growing(self._name, create=True)
            try:
                wait_for_lock(file._fd, kind, self._timeout_seconds, file.path)
                links, _ = file.look()
                if not links:
                    continue  # somebody removed it: others lock the one that has its name now
                yield
                return
            finally:
                file.unlock()
                file.close()
