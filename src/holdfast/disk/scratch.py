"""A folder for what must not stay: in memory where there is such a place, gone when it is over.

Promise: private; removed by ``remove_scratch``, when the interpreter ends, or, after a crash, by
the next one that needs such a folder; nobody removes that of a process that lives
(``tests/foundation/test_disk_scratch.py``).
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.disk.seen import told

__all__ = ["remove_scratch", "scratch_folder"]

_NAME: Final = "holdfast-scratch-"
_LOCK: Final = ".in-use"
"""Held as long as the folder is used: the kernel frees it when its holder dies, and unlike the
number of a process it means the same in every container that shares the memory."""
_NEW_SECONDS: Final = 60.0
"""How old a folder without a lock must be before somebody has died while making it."""

_open: dict[Path, tuple[int, int]] = {}
"""The folders in use: the process that made each, and the descriptor of its lock."""


def scratch_folder() -> Path:
    """A new private folder, in memory (``/dev/shm``) if this system has that."""
    place = _place()
    _sweep(place)
    with told("create", place):
        folder = Path(tempfile.mkdtemp(prefix=_NAME, dir=place))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    if not _open:
        atexit.register(_remove_all)
    _open[folder] = (os.getpid(), lock)
    return folder


def remove_scratch(folder: Path) -> None:
    """Take the folder away, with everything in it; that of another process is left alone."""
    process, lock = _open.pop(folder, (None, -1))
    if process == os.getpid():  # not a forked child's to remove
        shutil.rmtree(folder, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def _place() -> Path:
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())


def _remove_all() -> None:
    for folder in list(_open):
        remove_scratch(folder)


def _sweep(place: Path) -> None:
    """Remove what processes left that are not there any more."""
    with suppress(OSError):
        for name in os.listdir(place):
            if name.startswith(_NAME):
                with suppress(OSError):
                    _remove_if_left(place / name)


def _remove_if_left(folder: Path) -> None:
    found = os.lstat(folder)
    if found.st_uid != os.geteuid() or not os.path.isdir(folder) or os.path.islink(folder):
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - found.st_mtime > _NEW_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: it is in use
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
