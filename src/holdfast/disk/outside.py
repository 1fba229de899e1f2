"""Files outside of a home, where the user said: backups, exports.

Promise: never in place of another file; private; on disk when the block ends, or gone
(``tests/foundation/test_disk_moves.py``).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from holdfast.disk.seen import explained, tighten, told
from holdfast.disk.system import FILE_MODE, NEVER_LINKS, SYSTEM
from holdfast.errors import StorageError

__all__ = ["new_file"]


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A private file that was not there, for what is written outside of a home.

    On disk when the block ends; taken away if it fails.

    Raises:
        StorageError: there is something of that name already, or the disk refuses.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | NEVER_LINKS
    try:
        fd = os.open(path, flags, FILE_MODE)
    except FileExistsError as error:
        raise StorageError(
            f"There is already a {str(path)!r}; it is not overwritten.",
            hint="Give another name, or move that file away.",
        ) from error
    except OSError as error:
        raise explained(error, "create", path) from error
    made = os.fstat(fd)
    try:
        with open(fd, "w+b") as file:
            tighten(fd, made, FILE_MODE)
            yield file
            with told("write", path):
                file.flush()
                SYSTEM.sync(fd)
        _sync_folder_of(path)
    except BaseException:
        with contextlib.suppress(OSError):
            if os.path.samestat(made, os.lstat(path)):  # still ours, not what took its name
                os.unlink(path)
        raise


def _sync_folder_of(path: Path) -> None:
    with told("sync", path.parent):
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            SYSTEM.sync_folder(fd)
        finally:
            os.close(fd)
