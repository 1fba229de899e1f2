"""A clock that moves only when told, and ids that count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count

__all__ = ["FixedClock", "SequentialIds"]


class FixedClock:
    """Time as the test wants it: starts at ``at``, moves by ``step`` per reading."""

    def __init__(
        self,
        at: datetime = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC),
        step: timedelta = timedelta(0),
    ) -> None:
        self.at = at
        self.step = step

    def now(self) -> datetime:
        at = self.at
        self.at += self.step
        return at

    def advance(self, *, seconds: float = 0, days: float = 0) -> None:
        self.at += timedelta(seconds=seconds, days=days)


class SequentialIds:
    """e000001, e000002, …: readable in a failing test."""

    def __init__(self, prefix: str = "e") -> None:
        self._prefix = prefix
        self._counter = count(1)

    def new(self, at: datetime) -> str:
        del at
        return f"{self._prefix}{next(self._counter):06d}"
