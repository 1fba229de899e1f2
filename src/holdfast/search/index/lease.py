"""Who may embed, rebuild and tidy up: one process at a time, until it ends.

Promise: one holder; the lease of whoever died is free at once, and a forked child does not have
its parent's (``tests/search/test_index_concurrency.py``).
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from holdfast.disk import PROCESS, Directory, GrowingFile
from holdfast.errors import Locked

__all__ = ["Lease"]

_NAME: Final = "lease"


class Lease:
    """The lease of one index. Never waited for: whoever does not get it only reads and writes."""

    def __init__(self, folder: Directory) -> None:
        self._folder = folder
        self._lock = Lock()
        self._held: GrowingFile | None = None
        self._generation = PROCESS.generation

    def take(self) -> bool:
        """Whether we have it now."""
        self._after_fork()
        with self._lock:
            while self._held is None:
                file = self._folder.open_growing(_NAME, create=True)
                try:
                    file.lock(timeout_seconds=0)
                except Locked:
                    file.close()
                    return False
                links, _ = file.look()
                if links:
                    self._held = file
                else:
                    file.close()  # somebody removed it: others lock the one that has its name now
            return True

    @property
    def is_held(self) -> bool:
        """Whether this object has it."""
        self._after_fork()
        return self._held is not None

    def give_back(self) -> None:
        self._after_fork()
        with self._lock:
            if self._held is not None:
                self._held.unlock()
                self._held.close()
                self._held = None

    def _after_fork(self) -> None:
        if self._generation != PROCESS.generation:
            # The lock's file was closed in this child; it is the parent's to unlock.
            self._lock, self._held = Lock(), None
            self._generation = PROCESS.generation
