"""Entries of a transcript from the newest back, read in growing steps.

Promise: of a long transcript no more is read than a third beyond what is asked for
(``tests/engine/test_chronicle.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from holdfast.types import Entry

if TYPE_CHECKING:
    from holdfast.engine.session import Session

__all__ = ["Back", "newest"]

_FIRST: Final = 64
_GROWTH: Final = 4


class Back:
    """What was read so far while one answer is made; the oldest of it first."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.entries: Sequence[Entry] = ()
        self.is_all = False

    def read(self, count: int) -> None:
        """Have at least so many of the newest."""
        if self.is_all or count <= len(self.entries):
            return
        self.entries = self._session.entries(last=count)
        self.is_all = len(self.entries) < count

    def reach(self, seq: int) -> None:
        """Have everything from that number on."""
        while not self.is_all and (not self.entries or self.entries[0].seq > seq):
            first = self.entries[0].seq if self.entries else None
            missing = _FIRST if first is None else first - seq
            self.read(len(self.entries) + max(missing, 1))

    def find(
        self,
        is_wanted: Callable[[Entry], bool],
        before: int | None = None,
        most: int | None = None,
    ) -> Entry | None:
        """The newest that is wanted, of those before that number; of no more than so many."""
        while True:
            for entry in reversed(self.entries):
                if (before is None or entry.seq < before) and is_wanted(entry):
                    return entry
            if self.is_all or (most is not None and len(self.entries) >= most):
                return None
            self.read(max(_FIRST, len(self.entries) * _GROWTH))

    def between(self, start: int, end: int) -> list[Entry]:
        """Those from ``start`` on and before ``end``."""
        self.reach(start)
        first = (entry for entry in self.entries if entry.seq >= start)
        return list(takewhile(lambda entry: entry.seq < end, first))


def newest(
    session: Session, is_wanted: Callable[[Entry], bool], *, before: int | None = None
) -> Entry | None:
    """The newest entry of a conversation that is wanted."""
    return Back(session).find(is_wanted, before)
