"""The system calls that read or change files, behind one class that tests replace.

Promise: nothing in Holdfast changes a file but through here. Exchanging two names and renaming
without replacing are calls of the kernel that Python does not offer; where it or the file system
lacks them they fail with an error in ``CANNOT``, and the callers have another way
(``tests/foundation/test_disk_moves.py``).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Final

__all__ = ["CANNOT", "FILE_MODE", "FOLDER_MODE", "NEVER_LINKS", "SYSTEM", "System", "write_all"]

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700

# O_NONBLOCK: a FIFO in place of a file must not keep us waiting for somebody to write to it.
NEVER_LINKS: Final = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

CANNOT: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EPERM})
"""What a kernel or file system answers that has no such call, or not between these two folders."""

_EXCHANGE: Final = 2
_NO_REPLACE: Final = 1 if sys.platform != "darwin" else 4  # RENAME_NOREPLACE, RENAME_EXCL


class System:
    """The system calls that read or change files. Tests replace it; nobody else should."""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the drive's cache
        else:
            os.fdatasync(fd)

    def sync_folder(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        """Let two names change places, in one step that everybody sees whole."""
        _rename_with(_EXCHANGE, source, target, dir_fd, target_fd)

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        """Rename into another folder; ``FileExistsError`` if the name is taken."""
        _rename_with(_NO_REPLACE, source, target, dir_fd, target_fd)

    def move_over(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        """Rename into another folder, in place of whatever has the name."""
        os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=target_fd)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        os.mkdir(name, mode, dir_fd=dir_fd)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        os.rmdir(name, dir_fd=dir_fd)


SYSTEM: Final = System()


def write_all(system: System, fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[system.write(fd, left) :]


@cache
def _rename_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    library = ctypes.CDLL(None, use_errno=True)
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    call = getattr(library, name, None)
    if call is None:
        return None
    call.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    call.restype = ctypes.c_int
    return call  # type: ignore[no-any-return]


def _rename_with(how: int, source: str, target: str, source_fd: int, target_fd: int) -> None:
    call = _rename_call()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while call(source_fd, os.fsencode(source), target_fd, os.fsencode(target), how):
        number = ctypes.get_errno()
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number), source)
