"""The real clock and the real ids; tests bring their own (``holdfast.testing``)."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from typing import Final

from holdfast.disk import PROCESS

__all__ = ["SystemClock", "TimeOrderedIds"]

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: read aloud and retyped

_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class TimeOrderedIds:
    """18 characters: 48 bits of milliseconds, then 42 random bits.

    Two ids of the same millisecond agree by chance once in 10¹² pairs; short enough to stand
    in a model's context.
    """

    def __init__(self) -> None:
        self._seed()

    def _seed(self) -> None:
        self._generation = PROCESS.generation
        # One system call per process, not per id. Ids must be unique, not unguessable.
        self._chance = random.Random(os.urandom(32))

    def new(self, at: datetime) -> str:
        if self._generation != PROCESS.generation:
            self._seed()  # or a forked child would draw its parent's ids
        milliseconds = int(at.timestamp() * 1000) & ((1 << 48) - 1)
        number = (milliseconds << 42) | self._chance.getrandbits(42)
        return "".join([_PAIRS[(number >> shift) & 1023] for shift in range(80, -1, -10)])
