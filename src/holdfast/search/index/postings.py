"""Where terms stand: postings read from FTS5, kept in memory while they are useful.

A chunk's terms never change under its number, so what was read once stays true; only younger
chunks have to be read for a term that is known.

Promise: what is answered is exactly what stands in the chunks of the moment, also with everything
kept from earlier moments (``tests/search/test_index_edits.py``).
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.index.coding import LEVELS, level_token, place_token, word_token
from holdfast.search.index.state import State
from holdfast.search.ranking.rows import Floats, Postings

__all__ = ["Words"]

_MOST_BYTES: Final = 48 << 20
_FEW: Final = 0.1
"""A part of the index this small is asked for inside the query; else it is cut out of all."""
_EVERY: Final = "SELECT group_concat(rowid) FROM post WHERE post MATCH ? AND rowid > ?"


@dataclass(frozen=True, slots=True)
class _Kept:
    """The postings of a term over all chunks up to ``last``, dead ones perhaps included."""

    ids: NDArray[np.int64]
    counts: Floats
    last: int
    change: int
    """Of which state the positions are."""
    found: Postings

    @property
    def bytes(self) -> int:
        return 200 + 2 * (self.ids.nbytes + self.counts.nbytes)


class Words:
    """The keyword leg of one moment."""

    def __init__(self, state: State, before: Words | None = None) -> None:
        self.state = state
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self.statements = 0
        """How many were run: for tests."""
        if before is not None:
            with before._lock:
                self._kept = before._kept.copy()
                self._bytes = before._bytes

    def postings(
        self, connection: sqlite3.Connection, number: int, places: Collection[int] | None
    ) -> Postings:
        """Where the term stands in the chunks of those places; None stands for all of them."""
        if places is not None and not places:
            return _NOWHERE
        if places is not None and number not in self._kept and self._is_small(places):
            ids, counts = self._read(connection, number, 0, places)
            return self._located(ids, counts)
        found = self._everywhere(connection, number)
        if places is None:
            return found
        inside = self._allowed(places)[self.state.rows.place[found.positions]]
        return Postings(positions=found.positions[inside], counts=found.counts[inside])

    def _everywhere(self, connection: sqlite3.Connection, number: int) -> Postings:
        kept = self._kept.get(number)
        if kept is not None and kept.change == self.state.change:
            return kept.found
        last = int(self.state.ids[-1]) if len(self.state.ids) else 0
        if kept is None:
            ids, counts = self._read(connection, number, 0, None)
        else:
            ids, counts = kept.ids, kept.counts
            if kept.last < last:
                more, often = self._read(connection, number, kept.last, None)
                if len(more):
                    ids, counts = np.concatenate([ids, more]), np.concatenate([counts, often])
        found = self._located(ids, counts)
        self._keep(number, _Kept(ids, counts, last, self.state.change, found))
        return found

    def _keep(self, number: int, kept: _Kept) -> None:
        with self._lock:
            known = self._kept.pop(number, None)
            self._kept[number] = kept
            self._bytes += kept.bytes - (known.bytes if known is not None else 0)
            while self._bytes > _MOST_BYTES and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.bytes

    def _located(self, ids: NDArray[np.int64], counts: Floats) -> Postings:
        where = self.state.where
        if len(ids) and ids[-1] >= len(where):
            inside = ids < len(where)
            ids, counts = ids[inside], counts[inside]
        positions = where[ids].astype(np.int64)
        if len(positions) and positions.min() < 0:
            lives = positions >= 0
            positions, counts = positions[lives], counts[lives]
        return Postings(positions=positions, counts=counts)

    def _read(
        self,
        connection: sqlite3.Connection,
        number: int,
        after: int,
        places: Collection[int] | None,
    ) -> tuple[NDArray[np.int64], Floats]:
        ids = self._ids(connection, word_token(number), after, places)
        counts = np.ones(len(ids), dtype=np.float32)
        for least, letter in LEVELS:
            often = ids[:0]
            if len(ids):
                often = self._ids(connection, level_token(number, letter), after, places)
            if not len(often):
                break
            counts[np.searchsorted(ids, often)] = least
        return ids, counts

    def _ids(
        self,
        connection: sqlite3.Connection,
        token: str,
        after: int,
        places: Collection[int] | None,
    ) -> NDArray[np.int64]:
        wanted = f'"{token}"'
        if places is not None:
            inside = " OR ".join(f'"{place_token(place)}"' for place in sorted(places))
            wanted = f"{wanted} AND ({inside})"
        self.statements += 1
        told = connection.execute(_EVERY, (wanted, after)).fetchone()[0]
        if not told:
            return np.empty(0, dtype=np.int64)
        return np.fromstring(told, dtype=np.int64, sep=",")

    def _allowed(self, places: Collection[int]) -> NDArray[np.bool_]:
        allowed = np.zeros(max(len(self.state.places), 1), dtype=np.bool_)
        allowed[list(places)] = True
        return allowed

    def _is_small(self, places: Collection[int]) -> bool:
        if len(places) > 64:  # a long condition is slow itself
            return False
        inside = self._allowed(places)[self.state.rows.place]
        return bool(np.count_nonzero(inside) < _FEW * len(inside))


_NOWHERE: Final = Postings(
    positions=np.empty(0, dtype=np.int64), counts=np.empty(0, dtype=np.float32)
)
