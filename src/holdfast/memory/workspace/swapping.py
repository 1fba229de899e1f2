"""One file changed while others may save it at any moment: read, compare and swap.

Promise: a file is replaced only if it holds what was read; the file that was replaced is kept,
moved and not copied, so that even a program that still has it open loses nothing; what an editor
saved in between is back in its place before anybody computes on it. Half a file, as an editor
that truncates and writes leaves it for a moment, is not taken for one; a save that takes longer
than anybody can wait for is brought in by ``late``
(``tests/memory/test_workspace_editors.py``). Needs a lock between those who call it; editors know
none.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from math import inf
from typing import Final

from holdfast.disk import Directory, Seen
from holdfast.errors import NotFound, PolicyRefused, StorageError
from holdfast.memory.workspace.journal import ChangedFile, digest

__all__ = ["is_finished", "put", "settled", "still", "take_back", "whole"]

_QUIET: Final = 0.012
"""Seconds since the last change after which a save is over; above the ticks of the clock that
file systems use, at most 10 ms."""
_QUIET_IF_EMPTY: Final = 0.1
_QUIET_IF_HELD: Final = 0.4
"""For a file that some program has open for writing, and that looks whole."""
_QUIET_IF_CUT: Final = 3.0
"""For one that looks cut off, and some program has it open: that is the middle of a slow save."""
_QUIET_IF_CUT_UNSEEN: Final = 1.0
"""For one that looks cut off, where nobody can tell whether a program has it open."""
_PATIENCE: Final = 0.4
"""Seconds beyond these to wait for a quiet moment; after that two equal looks must do."""
_PATIENCE_WITH_WRITERS: Final = 0.1
"""Seconds for a program that has the old file open; it may keep it open for ever."""
_AHEAD: Final = 1.0
_TORN: Final = Seen(0, 0, 0)


def whole(folder: Directory, name: str) -> tuple[bytes, Seen] | None:
    """The file for somebody who only reads it: not torn, not just truncated."""
    began = time.monotonic()
    while (found := folder.look(name)) is not None:
        data, seen = found
        needed = 0.0
        if not data:
            needed = _QUIET_IF_CUT if folder.is_written(name) else _QUIET_IF_EMPTY
        if seen != _TORN and _age(seen) >= needed:
            return found
        if time.monotonic() - began >= needed + _PATIENCE:
            return found
        time.sleep(0.002)
    return None


def settled(
    folder: Directory, name: str, is_ours: Callable[[bytes, Seen], bool]
) -> tuple[bytes, Seen] | None:
    """The file for somebody who will write it: whoever is saving it has finished.

    ``is_ours`` says whether we have written it ourselves, which is always whole. Where the system
    tells who has it open for writing, that decides; else it must have been quiet for a moment.
    """
    began = time.monotonic()
    first: tuple[Seen, float] | None = None
    while True:
        is_written = folder.is_written(name)
        found = folder.look(name)
        now = time.monotonic()
        if found is None:
            # Vim moves the file to this name and then writes another.
            if folder.identify(f"{name}~") is None or now >= began + _PATIENCE:
                return None
        elif found[1] != _TORN:
            data, seen = found
            same_since = first[1] if first is not None and first[0] == seen else now
            first = seen, same_since
            quiet = max(_age(seen), now - same_since)
            needed = _needed(data, is_written)
            is_late = now >= began + needed + _PATIENCE and quiet > 0.001
            if quiet >= needed or is_ours(data, seen) or is_late:
                return found
        time.sleep(0.001)


def is_finished(folder: Directory, name: str, data: bytes, seen: Seen) -> bool:
    """Whether a file that holds ``data`` has been quiet for long enough to be taken as it is."""
    return _age(seen) >= _needed(data, folder.is_written(name))


def _needed(data: bytes, is_written: bool | None) -> float:
    """Seconds without a change after which a save is over."""
    if is_written is False:
        return 0.0 if data else _QUIET_IF_EMPTY
    is_cut = not data.endswith(b"\n")
    if is_written:
        return _QUIET_IF_CUT if is_cut else _QUIET_IF_HELD
    return _QUIET_IF_CUT_UNSEEN if is_cut else _QUIET


def _age(seen: Seen) -> float:
    """Seconds since the last change. A time that is still to come was set by somebody, long ago
    for all we know; the clock of a file server may be a little ahead."""
    age = time.time() - seen.modified_ns / 1e9
    return age if age > -_AHEAD else inf


def put(
    folder: Directory,
    name: str,
    store: Directory,
    aside: str,
    *,
    before: bytes | None,
    after: bytes | None,
) -> bool:
    """Swap the file for ``store/aside``, which holds ``after``; False if it was saved meanwhile.

    Afterwards ``store/aside`` is the file that was there. Durable when it returns True; when it
    returns False or raises, ``take_back`` finds out what there is to do.
    """
    try:
        done = _swapped(folder, name, store, aside, before, after)
    except NotFound:
        return False  # removed, or between an editor's two steps
    if not done:
        return False
    if before is not None:
        _let_finish(store, aside)
    if not still(store, aside, before):
        return False
    folder.sync()
    store.sync()
    # Whoever had the old file open may have finished its save only now.
    return still(store, aside, before)


def _swapped(
    folder: Directory,
    name: str,
    store: Directory,
    aside: str,
    before: bytes | None,
    after: bytes | None,
) -> bool:
    if before is None:
        return store.move(aside, folder, name, durable=False)
    if after is None:
        return folder.move(name, store, aside, durable=False)
    if store.exchange(aside, folder, name):
        return True
    # Names cannot change places here: a copy is kept, and the file compared once more.
    store.replace(aside, before)
    if folder.read(name) != before:
        return False
    folder.replace(name, after)
    return True


def _let_finish(store: Directory, aside: str) -> None:
    """Wait for whoever had the file open when it was swapped out. Nobody new can open it."""
    deadline = time.monotonic() + _PATIENCE_WITH_WRITERS
    with contextlib.suppress(PolicyRefused):
        while store.is_written(aside) and time.monotonic() < deadline:
            time.sleep(0.0005)


def still(store: Directory, aside: str, before: bytes | None) -> bool:
    """Whether the file that was swapped out holds what was read. A link in its place does not."""
    if before is None:
        return True
    try:
        return store.read(aside) == before
    except PolicyRefused:
        return False


def take_back(folder: Directory | None, name: str, change: ChangedFile, store: Directory) -> bool:
    """Undo one ``put``, wherever it stopped; True if the file is as if it had never begun.

    False: an editor has saved the file since. Then it stays, and so does the preimage.
    """
    kept = store.identify(change.preimage) is not None
    if folder is None:
        return not kept or change.before is None
    if change.before is None:
        return _taken_away(folder, name, change, store, never_put=kept)
    if not kept:
        return True
    if change.after is None:
        return store.move(change.preimage, folder, name)
    return _put_back(folder, name, change, store)


def _taken_away(
    folder: Directory, name: str, change: ChangedFile, store: Directory, *, never_put: bool
) -> bool:
    if never_put:
        store.remove(change.preimage)
        return True
    try:
        if digest(folder.read(name)) not in (change.after, None):
            return False
        folder.move(name, store, change.preimage)
    except NotFound:
        return True
    except PolicyRefused:
        return False  # not what we have made
    if digest(store.read(change.preimage)) != change.after:
        store.move(change.preimage, folder, name)
        return False
    store.remove(change.preimage)
    return True


def _put_back(folder: Directory, name: str, change: ChangedFile, store: Directory) -> bool:
    if _holds(store, change.preimage, change.after):  # never swapped, or already back
        store.remove(change.preimage)
        return True
    if not _holds(folder, name, change.after):
        return _is_copy(folder, name, change, store)
    try:
        if not store.exchange(change.preimage, folder, name):
            data = store.read(change.preimage)
            if data is None:
                return False
            folder.replace(name, data)
            store.remove(change.preimage)
            return True
    except NotFound:
        return False
    if not _holds(store, change.preimage, change.after):
        # Saved in this very moment: the newest save belongs in the place, the other is kept.
        store.exchange(change.preimage, folder, name)
        return False
    folder.sync()
    store.remove(change.preimage)
    return True


def _is_copy(folder: Directory, name: str, change: ChangedFile, store: Directory) -> bool:
    """Whether nothing is lost without the preimage; if so it is removed."""
    try:
        kept = digest(store.read(change.preimage))
    except PolicyRefused:
        pass  # a link that somebody had put there for a moment: what it leads to is elsewhere
    else:
        if kept != change.before or not _holds(folder, name, change.before):
            return False
    store.remove(change.preimage)
    return True


def _holds(folder: Directory, name: str, wanted: str | None) -> bool:
    try:
        return digest(folder.read(name)) == wanted
    except (PolicyRefused, StorageError):
        return False
