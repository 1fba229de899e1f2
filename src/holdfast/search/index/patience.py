"""Which errors of SQLite pass by themselves, and waiting until they have.

Promise: bounded, and with pauses of random length, so that two who wait do not meet again and
again (``tests/search/test_index_concurrency.py``).
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["WAIT_SECONDS", "is_busy", "is_damage", "patient"]

WAIT_SECONDS: Final = 30.0

_Result = TypeVar("_Result")


def patient(
    call: Callable[[], _Result],
    *,
    seconds: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> _Result:
    """Try again while somebody else is in the way."""
    deadline = clock() + seconds
    pause = 0.001
    while True:
        try:
            return call()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or clock() > deadline:
                raise
        time.sleep(pause * (0.5 + random.random()))
        pause = min(pause * 2, 0.05)


def is_busy(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and (
        (code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED))
        or (code is not None and code & 0xFF == sqlite3.SQLITE_PROTOCOL)
    )


def is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
