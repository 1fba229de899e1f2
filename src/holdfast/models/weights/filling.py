"""A file that is filled piece by piece, and goes on where it stopped.

Promise: what it counts as there is on disk; it never grows beyond its full size; whatever ends
the filling leaves a beginning of the file to go on from (``tests/models/test_weights_sources.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from holdfast.disk import Directory

__all__ = [
    "COPIED",
    "UNFINISHED",
    "Filling",
    "Overfull",
    "Progress",
    "passing_folders",
    "passing_prefix",
]

UNFINISHED: Final = ".part"
"""What is put behind the name of a file that is being fetched."""
COPIED: Final = ".copy"
"""The same for a copy: it begins anew each time, and leaves alone what was fetched so far."""

Progress = Callable[[int, int], None]
"""Told as work goes on: how many bytes there are, of how many."""

_PIECE_BYTES: Final = 4 * 1024 * 1024
"""As much is written and synced at a time."""


def passing_prefix(name: str) -> str:
    """How the folders are called that programs work in while a model is fetched."""
    return f".{name}.fetching-"


def passing_folders(folder: Path, name: str) -> list[Path]:
    """Those that are there: left by a process that was killed, if the lock is ours."""
    prefix = passing_prefix(name)
    return [found for found in folder.iterdir() if found.name.startswith(prefix)]


class Overfull(Exception):
    """More was sent than the whole file is long: it is another file."""


class Filling:
    """The unfinished file ``name``: its beginning may be there from an earlier time."""

    def __init__(self, folder: Directory, name: str, total: int, progress: Progress) -> None:
        self._file = folder.open_growing(name, create=True)
        self._waiting = bytearray()
        self._progress = progress
        self._told = 0
        self.total = total
        if (written := self._file.size()) > total:
            self._file.truncate(0)
            written = 0
        self._written = written
        self.tell()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.write()
        finally:
            self._file.close()

    @property
    def size(self) -> int:
        return self._written + len(self._waiting)

    @property
    def left(self) -> int:
        return self.total - self.size

    def add(self, data: bytes) -> None:
        if len(data) > self.left:
            raise Overfull
        self._waiting += data
        if len(self._waiting) >= _PIECE_BYTES:
            self.write()
        self.tell()

    def write(self) -> None:
        """Put on disk what waits."""
        if self._waiting:
            data = bytes(self._waiting)
            self._file.append(data, at=self._written)
            self._written += len(data)
            self._waiting.clear()

    def cut(self, size: int) -> None:
        """Take back everything behind the first ``size`` bytes: it was not what it should be."""
        self.write()
        self._file.truncate(size)
        self._written = size

    def tell(self, ahead: int = 0) -> None:
        """Say how far it is, with what is on its way; never less than was said before."""
        self._told = max(self._told, min(self.size + ahead, self.total))
        self._progress(self._told, self.total)
