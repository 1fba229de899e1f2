"""The errors of the database in our words: what happened, what is safe, what to run.

Promise: nobody sees an error of SQLite's (``tests/search/test_index_damage.py``).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from holdfast.errors import Locked, NotFound, StorageError
from holdfast.search.index.patience import WAIT_SECONDS, is_busy, is_damage

__all__ = ["REMOVED", "failed", "missing", "outdated"]

REMOVED = "it was removed while it was in use"


def failed(error: sqlite3.Error, path: Path) -> StorageError:
    """The error of ours that stands for one of SQLite's."""
    if is_busy(error):
        return Locked(
            f"The index in {str(path)!r} is used by another process; "
            f"waited {WAIT_SECONDS:g} s at most.",
            hint="Try again when it has finished: holdfast index status",
        )
    if "full" in str(error) and isinstance(error, sqlite3.OperationalError):
        return StorageError(
            f"The disk is full: the index in {str(path)!r} was left as it was.",
            hint="Make room, then: holdfast index sync",
        )
    if is_damage(error):
        return StorageError(
            f"The index in {str(path)!r} is damaged ({error}). Nothing is lost: it is made from "
            "your files and conversations.",
            hint="holdfast index rebuild",
        )
    return StorageError(
        f"The index in {str(path)!r} could not be used: {error}.", hint="holdfast index verify"
    )


def missing(path: Path, reason: str | None) -> StorageError | NotFound:
    if reason is None:
        return NotFound(f"There is no index in {str(path)!r}.", hint="holdfast index sync")
    return StorageError(
        f"The index in {str(path)!r} cannot be used: {reason}.", hint="holdfast index rebuild"
    )


def outdated(path: Path, reason: str) -> StorageError:
    return StorageError(
        f"The index in {str(path)!r} is not written to by this process: {reason}.",
        hint="End this process, and start it again with the version that is installed now.",
    )
