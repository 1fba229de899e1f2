"""Files outside of the home that the owner wants searched (``index.extra_paths``).

Promise: below what is named, no link is followed and no file is read that has another name
elsewhere, whatever is put in its place between the listing and the reading; what is named
without a root is below the home, from wherever the program was started
(``tests/engine/test_searching_faults.py``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from holdfast.disk import Seen
from holdfast.disk.seen import explained, kind_of, seen
from holdfast.disk.system import NEVER_LINKS
from holdfast.errors import NotFound, PolicyRefused

__all__ = ["Extras"]

_LARGEST_FILE: Final = 16 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class Extras:
    """The files and folders that are named, as absolute paths."""

    def __init__(self, named: Iterable[str], base: Path) -> None:
        self._base = base
        self._roots = tuple(map(self.absolute, named))

    def absolute(self, named: str) -> Path:
        return Path(os.path.normpath(self._base / Path(named).expanduser()))

    def holds(self, path: Path) -> bool:
        """Whether this is one of the files, if it is there."""
        return self._way(path) is not None

    def found(self, problems: list[str]) -> Iterator[tuple[Path, Seen]]:
        """Every file there is; what could not be looked at is added to the problems."""
        for path in self._files(problems):
            try:
                there = path.lstat()
            except OSError:
                continue  # gone meanwhile
            if kind_of(there) == "file" and there.st_size <= _LARGEST_FILE:
                yield path, seen(there)

    def _files(self, problems: list[str]) -> Iterator[Path]:
        def tell(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                problems.append(str(explained(error, "list", Path(error.filename or "")).message))

        for root in self._roots:
            if root.is_file():
                yield root
                continue
            for folder, names, files in os.walk(root, onerror=tell):
                names[:] = sorted(name for name in names if not name.startswith("."))
                yield from (Path(folder, name) for name in sorted(files) if name.endswith(".md"))

    def read(self, path: Path) -> str | None:
        """The text of one of the files as it is now; None if it is gone.

        Raises:
            PolicyRefused: a link, or no plain file, is in its place.
            StorageError: it cannot be read.
        """
        way = self._way(path)
        if way is None:
            return None
        root, names = way
        try:
            with ExitStack() as opened:
                data = _read(opened, root, names, path)
        except OSError as error:
            told = explained(error, "read", path)
            if isinstance(told, NotFound):
                return None
            raise told from error
        return data.decode("utf-8", "surrogateescape")

    def _way(self, path: Path) -> tuple[Path, tuple[str, ...]] | None:
        """The folder that is named, and the names that lead from there to the file."""
        for root in self._roots:
            if path == root:
                return root.parent, (root.name,)
            if path.is_relative_to(root) and path.name.endswith(".md"):
                names = path.relative_to(root).parts
                if not any(name.startswith(".") for name in names[:-1]):
                    return root, names
        return None


def _read(opened: ExitStack, root: Path, names: tuple[str, ...], path: Path) -> bytes:
    """By handles, so that nothing can be put in the way after it was looked at."""
    folder = os.open(root, _FOLDER)
    opened.callback(os.close, folder)
    for name in names[:-1]:
        folder = os.open(name, _FOLDER | NEVER_LINKS, dir_fd=folder)
        opened.callback(os.close, folder)
    handle = os.open(names[-1], os.O_RDONLY | NEVER_LINKS, dir_fd=folder)
    opened.callback(os.close, handle)
    there = os.fstat(handle)
    if not stat.S_ISREG(there.st_mode) or there.st_nlink != 1 or there.st_size > _LARGEST_FILE:
        raise PolicyRefused(
            f"{str(path)!r} is a link, no plain file, or too large to be searched.",
            hint="Put a file of its own there, or take it out of index.extra_paths.",
        )
    with os.fdopen(os.dup(handle), "rb") as file:
        return file.read(_LARGEST_FILE + 1)
