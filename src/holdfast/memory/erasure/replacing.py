"""A page put in place of another while people may save it at any moment.

Promise: what anybody saves or appends meanwhile is in the file afterwards, without the text; the
page that was replaced is not kept (``tests/memory/test_erasure.py``).
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError, NotFound, PolicyRefused, StorageError

__all__ = ["drop_left_aside", "put_in_place"]

_ASIDE: Final = "erasing-"
_TRIES: Final = 10
_PATIENCE: Final = 0.1
"""Seconds for a program that has the old page open; it may keep it open for ever."""


def put_in_place(
    folder: Directory, name: str, before: bytes, after: bytes, erase: Callable[[bytes], bytes]
) -> None:
    """Replace ``before`` by ``after``; ``erase`` does the same to what was saved instead."""
    for _ in range(_TRIES):
        found = _swapped(folder, name, before, after)
        if found == before:
            return
        new, known = erase(found), erase(before)
        if found.startswith(before) and new.startswith(known):
            # Lines were appended: so are they here, and whoever still appends is not disturbed.
            if _appended(folder, name, new[len(known) :]):
                return
            new = (folder.read(name) or b"") + new[len(known) :]
        before, after = after, new
    raise StorageError(
        f"{str(folder.path / name)!r} changes faster than it can be read.",
        hint="Close the program that keeps writing it, and try again.",
    )


def drop_left_aside(folder: Directory) -> None:
    """Remove what a crash left; whoever calls holds the lock under which pages are replaced."""
    left = [found.name for found in folder.found() if found.name.startswith(".tmp-")]
    for name in left:
        if _ASIDE in name:
            folder.remove(name)


def _swapped(folder: Directory, name: str, before: bytes, after: bytes) -> bytes:
    """Put ``after`` there; what was there, which is ``before`` if nobody saved it meanwhile."""
    aside = f".tmp-{os.getpid()}-{_ASIDE}{secrets.token_hex(6)}"
    folder.write_new(aside, after)
    try:
        found = _exchanged(folder, name, aside, before, after)
    except BaseException:
        with suppress(HoldfastError):  # what somebody saved is not thrown away
            if folder.read(aside) in (before, after):
                folder.remove(aside)
        raise
    folder.remove(aside)
    folder.sync()
    return found


def _exchanged(folder: Directory, name: str, aside: str, before: bytes, after: bytes) -> bytes:
    try:
        is_done = folder.exchange(aside, folder, name)
    except NotFound:
        return before  # removed by somebody: there is nothing to be replaced
    if not is_done:  # names cannot change places here
        if (now := folder.read(name)) == before:
            folder.replace(name, after)
        return before if now is None else now
    try:
        _let_finish(folder, aside)
        folder.sync()
        return folder.read(aside) or b""
    except PolicyRefused:
        folder.exchange(aside, folder, name)  # a link, which is not ours to replace
        raise


def _let_finish(folder: Directory, aside: str) -> None:
    """Wait for whoever had the page open when it was swapped out. Nobody new can open it."""
    deadline = time.monotonic() + _PATIENCE
    while folder.is_written(aside) and time.monotonic() < deadline:
        time.sleep(0.0005)


def _appended(folder: Directory, name: str, lines: bytes) -> bool:
    """Whether the lines are at the end of the file that has this name."""
    try:
        file = folder.open_growing(name)
    except NotFound:
        return False
    try:
        file.append(lines, at=file.size())
        return file.look()[0] > 0
    finally:
        file.close()
