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

__all__ = ["WAIT_SECONDS", "Deadline", "is_busy", "is_damage", "patient"]

WAIT_SECONDS: Final = 30.0

_LEAST_SECONDS: Final = 0.01
"""Waited for a lock even if the time is up: most are held for less."""

_Result = TypeVar("_Result")


class Deadline:
    """The time one call may take; None: as long as it needs, 0: no more than the least."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._until = None if seconds is None else self._began + seconds
        self._may_grow = bool(seconds)

    def begun(self) -> None:
        """The first slice is done: let what it took to begin be spent on the work once more.

        Each call begins with comparing; if that takes longer than the time there is, doing but
        one slice of the work each time would take for ever.
        """
        if self._until is not None and self._may_grow:
            now = self._clock()
            self._until = max(self._until, now + (now - self._began))
            self._may_grow = False

    @property
    def is_over(self) -> bool:
        return self._until is not None and self._clock() >= self._until

    @property
    def is_set(self) -> bool:
        return self._until is not None

    @property
    def wait_seconds(self) -> float | None:
        """For how long a lock may be waited for; None: as long as anybody does."""
        if self._until is None:
            return None
        return max(self._until - self._clock(), _LEAST_SECONDS)


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
