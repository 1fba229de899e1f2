"""The real clock and the real ids; tests bring their own (``holdfast.testing``)."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from threading import Lock
from typing import Final

from holdfast.disk import PROCESS

__all__ = ["SystemClock", "TimeOrderedIds"]

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud and retyped

_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """18 characters: 48 bits of milliseconds, then 42 bits of chance.

    Ids of one process are in the order in which they were made, also within a millisecond and
    when the clock steps back. Two processes agree by chance once in 10¹² pairs of the same
    millisecond; short enough to stand in a model's context.
    """

    def __init__(self) -> None:
        self._seed()

    def _seed(self) -> None:
        self._lock = Lock()  # the parent may have held its own when it forked
        # One system call per process, not per id. Ids must be unique, not unguessable.
        self._chance = random.Random(os.urandom(32))
        self._last = 0
        self._generation = PROCESS.generation

    def new(self, at: datetime) -> str:
        if self._generation != PROCESS.generation:
            self._seed()  # or a forked child would draw its parent's ids
        milliseconds = int(at.timestamp() * 1000) & ((1 << 48) - 1)
        with self._lock:
            number = (milliseconds << 42) | self._chance.getrandbits(41)
            if number <= self._last or (number ^ self._last) >> 42 == 0:
                number = self._last + 1 + self._chance.getrandbits(20)
            self._last = number
        return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(80, -1, -10)])
