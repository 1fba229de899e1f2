"""What is known of a file, what is refused, and the system's errors in our words.

Promise: a symlink, a hard link, a device, a FIFO and a stranger's file are refused wherever one
is met; an error says what could not be done to what, and what to do
(``tests/foundation/test_disk.py``, ``test_disk_moves.py``).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from holdfast.errors import HoldfastError, NotFound, PolicyRefused, StorageError

__all__ = [
    "FileStat",
    "Kind",
    "Seen",
    "explained",
    "kind_of",
    "refuse_foreign",
    "refuse_links",
    "refuse_odd",
    "seen",
    "tighten",
    "told",
]

Kind = Literal["file", "folder", "link", "hard link", "other"]


class FileStat(NamedTuple):
    """Which file has a name now, and how long it is."""

    inode: int
    size: int


class Seen(NamedTuple):
    """Enough of a file to notice that it was saved again.

    ``changed_ns`` also tells of a save that put the old time back, but of a new name or mode just
    as well: it is there to be looked at, and two that differ in it alone are equal.
    """

    inode: int
    size: int
    modified_ns: int
    changed_ns: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[:3] == other[:3]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:3])


def seen(found: os.stat_result) -> Seen:
    return Seen(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def kind_of(found: os.stat_result) -> Kind:
    if stat.S_ISLNK(found.st_mode):
        return "link"
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    if not stat.S_ISREG(found.st_mode):
        return "other"
    return "hard link" if found.st_nlink > 1 else "file"


def tighten(fd: int, found: os.stat_result, mode: int) -> None:
    if stat.S_IMODE(found.st_mode) != mode:
        with contextlib.suppress(OSError):  # not ours, or a read-only disk: `doctor` tells
            os.fchmod(fd, mode)


def refuse_odd(found: os.stat_result, path: Path, name: str) -> None:
    """Only a plain file that is ours and has one name is read or written."""
    refuse_links(found, path, name)
    if not stat.S_ISREG(found.st_mode):
        raise PolicyRefused(
            f"{str(path / name)!r} is not a file but a folder, a device or a pipe.",
            hint="Move it away, and put the real file there.",
        )


def refuse_links(found: os.stat_result, path: Path, name: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _link_refused(path / name)
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        raise PolicyRefused(
            f"{str(path / name)!r} is a hard link: the same file has another name.",
            hint="Replace it by a copy of its own.",
        )
    refuse_foreign(found, path, name)


def refuse_foreign(found: os.stat_result, path: Path, name: str = "") -> None:
    me = os.geteuid()
    if me not in (0, found.st_uid):
        raise PolicyRefused(
            f"{str(path / name)!r} belongs to user {found.st_uid}, not to you ({me}).",
            hint="Use a home of your own: holdfast --home DIR …",
        )


def _link_refused(path: Path) -> PolicyRefused:
    return PolicyRefused(
        f"{str(path)!r} is a symbolic link or not what it should be; Holdfast does not follow it.",
        hint="Put the real file or folder there.",
    )


@contextlib.contextmanager
def told(operation: str, folder: Path, name: str = "") -> Iterator[None]:
    """Turns the system's errors into ours, with what happened to what."""
    try:
        yield
    except OSError as error:
        raise explained(error, operation, folder / name) from error


def explained(error: OSError, operation: str, path: Path) -> HoldfastError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO}:
        return _link_refused(path)
    if error.errno == errno.ENOENT:
        return NotFound(f"There is no {str(path)!r}.")
    return StorageError(
        f"Could not {operation} {str(path)!r}: {error.strerror or error}.",
        hint=_HINTS.get(error.errno or 0, "Run: holdfast doctor"),
    )


_HINTS: Final = {
    errno.ENOSPC: "Free some disk space; what was acknowledged before is safe.",
    errno.EDQUOT: "Your disk quota is used up; what was acknowledged before is safe.",
    errno.EFBIG: "The file may not grow further (ulimit -f); what was acknowledged is safe.",
    errno.EACCES: "Check who owns the folder and its mode: holdfast doctor --fix",
    errno.EBADF: "The file can only be read here: holdfast doctor",
    errno.EROFS: "The file system is read-only; use another home: holdfast --home DIR …",
}
