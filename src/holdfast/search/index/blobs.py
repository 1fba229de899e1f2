"""What is read chunk by chunk for the best few hundred, kept in memory while there is room.

Everything of one kind lies in one array, one behind the other: a few hundred are taken out of it
at once, and nothing is made for each of them.

Promise: what is kept is bounded, and true: neither a chunk's terms nor a vector ever change under
their number (``tests/search/test_index.py``). What is handed out is a copy.
"""

from __future__ import annotations

import json
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.search.index.vectors import words_of
from holdfast.search.ranking.rows import Bits, Floats, Ragged

__all__ = ["Terms", "Vectors"]

_MOST_BYTES: Final = 64 << 20
_FIRST: Final = 1024
_TERMS: Final = "SELECT id, terms, counts FROM forward WHERE id IN (SELECT value FROM json_each(?))"
_VECTORS: Final = (
    "SELECT id, codes, scale, tokens FROM vector WHERE id IN (SELECT value FROM json_each(?))"
)

Ids: TypeAlias = NDArray[np.int64]
_Taken = TypeVar("_Taken")


class _Column:
    """An array that grows at its end."""

    def __init__(self, kind: str, *shape: int) -> None:
        self._whole: NDArray[Any] = np.empty((0, *shape), dtype=kind)
        self.used = 0

    def add(self, rows: NDArray[Any] | Sequence[float]) -> None:
        end = self.used + len(rows)
        if end > len(self._whole):
            size = max(end, 2 * len(self._whole), _FIRST)
            whole = np.empty((size, *self._whole.shape[1:]), dtype=self._whole.dtype)
            whole[: self.used] = self._whole[: self.used]
            self._whole = whole
        self._whole[self.used : end] = rows
        self.used = end

    def take(self, at: Ids) -> Any:
        return self._whole.take(at, axis=0)

    @property
    def bytes(self) -> int:
        return self._whole.nbytes


class _Parts:
    """Lists of different lengths in columns that they share."""

    def __init__(self, *columns: _Column) -> None:
        self._starts, self._sizes = _Column("i8"), _Column("i8")
        self._columns = columns

    def add(self, sizes: Ids, *values: NDArray[Any]) -> None:
        self._starts.add(self._columns[0].used + np.cumsum(sizes) - sizes)
        self._sizes.add(sizes)
        for column, rows in zip(self._columns, values, strict=True):
            column.add(rows)

    def take(self, at: Ids) -> tuple[Ids, list[Any]]:
        """Where each of the lists begins and the last ends, and the columns."""
        sizes = self._sizes.take(at)
        starts = np.zeros(len(at) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        inside = np.arange(starts[-1]) + np.repeat(self._starts.take(at) - starts[:-1], sizes)
        return starts, [column.take(inside) for column in self._columns]

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in (self._starts, self._sizes, *self._columns))


class _Kept(ABC):
    """Rows of one table by their number."""

    def __init__(self, statement: str) -> None:
        self._statement = statement
        self._lock = Lock()
        self._slots = np.empty(0, dtype=np.int32)
        self._count = 0
        self.rows_read = 0
        """For tests."""
        self._empty()

    def _taken(
        self, connection: sqlite3.Connection, numbers: Ids, take: Callable[[Ids], _Taken]
    ) -> _Taken:
        """What ``take`` makes of the slots of the numbers; those that are not kept are read."""
        self._tidy()  # once: what is read for this call has to stay until it is taken
        while True:
            with self._lock:
                self._make_room(numbers)
                slots = self._slots.take(numbers).astype(np.int64)
                if not len(slots) or slots.min() >= 0:
                    return take(slots)
            missing = sorted(set(numbers[slots < 0].tolist()))
            found = connection.execute(self._statement, [json.dumps(missing)]).fetchall()
            if len(found) < len(missing):
                raise sqlite3.DatabaseError("rows that others refer to are missing")
            with self._lock:
                self._keep(found)

    def _tidy(self) -> None:
        with self._lock:
            if self._bytes() > _MOST_BYTES:
                self._slots.fill(-1)
                self._count = 0
                self._empty()

    def _make_room(self, numbers: Ids) -> None:
        needed = int(numbers.max()) + 1 if len(numbers) else 0
        if needed > len(self._slots):
            more = np.full(max(needed, 2 * len(self._slots)) - len(self._slots), -1, np.int32)
            self._slots = np.concatenate([self._slots, more])

    def _keep(self, found: Sequence[tuple[Any, ...]]) -> None:
        self.rows_read += len(found)
        new = [row for row in found if self._slots[row[0]] < 0]  # others may have been faster
        if new:
            numbers, *columns = zip(*new, strict=True)
            self._add(columns)
            self._slots[list(numbers)] = np.arange(self._count, self._count + len(new))
            self._count += len(new)

    @abstractmethod
    def _empty(self) -> None:
        """Begin anew."""

    @abstractmethod
    def _add(self, columns: Sequence[Sequence[Any]]) -> None:
        """Put rows behind those that are there."""

    @abstractmethod
    def _bytes(self) -> int: ...


class Terms(_Kept):
    """The terms of chunks, and how often each occurs."""

    def __init__(self) -> None:
        super().__init__(_TERMS)

    def of(self, connection: sqlite3.Connection, ids: Ids) -> Ragged:
        return self._taken(connection, ids, self._ragged)

    def _ragged(self, slots: Ids) -> Ragged:
        starts, (values, counts) = self._parts.take(slots)
        return Ragged(starts=starts, values=values, counts=counts.astype(np.float32))

    def _empty(self) -> None:
        self._parts = _Parts(_Column("u8"), _Column("u1"))

    def _add(self, columns: Sequence[Sequence[Any]]) -> None:
        values, often = columns
        self._parts.add(
            _lengths(often),
            np.frombuffer(b"".join(values), dtype="<u8"),
            np.frombuffer(b"".join(often), dtype=np.uint8),
        )

    def _bytes(self) -> int:
        return self._parts.bytes


class Vectors(_Kept):
    """The vectors of one encoder, and the signs of their tokens. Number 0 stands for none: its
    vector is NaN, and it has no tokens."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._width = words_of(dimensions)
        super().__init__(_VECTORS)

    def near(self, connection: sqlite3.Connection, numbers: Ids, query: Floats) -> Floats:
        """The cosine of each with a query of length 1."""

        def cosines(slots: Ids) -> Floats:
            codes: Floats = self._codes.take(slots).astype(np.float32)
            scales: Floats = self._scales.take(slots)
            return (codes @ query) * scales

        return self._taken(connection, numbers, cosines)

    def of(self, connection: sqlite3.Connection, numbers: Ids) -> tuple[Floats, Ragged]:
        """Of length 1, with the signs of the tokens of each."""
        return self._taken(connection, numbers, self._rows)

    def _rows(self, slots: Ids) -> tuple[Floats, Ragged]:
        rows: Floats = self._codes.take(slots).astype(np.float32)
        rows *= self._scales.take(slots)[:, None]
        starts, (signs,) = self._tokens.take(slots)
        return rows, Ragged(starts=starts, values=signs)

    def _empty(self) -> None:
        self._codes = _Column("i1", self._dimensions)
        self._scales = _Column("f4")
        self._tokens = _Parts(_Column("u8", self._width))
        self._make_room(np.zeros(1, dtype=np.int64))
        self._add([[bytes(self._dimensions)], [np.nan], [None]])
        self._slots[0] = 0
        self._count = 1

    def _add(self, columns: Sequence[Sequence[Any]]) -> None:
        codes, scales, tokens = columns
        whole = np.frombuffer(b"".join(codes), dtype=np.int8)
        self._codes.add(whole.reshape(len(codes), self._dimensions))
        self._scales.add(scales)
        data = [each or b"" for each in tokens]
        signs: Bits = np.frombuffer(b"".join(data), dtype="<u8").reshape(-1, self._width)
        self._tokens.add(_lengths(data) // (8 * self._width), signs)

    def _bytes(self) -> int:
        return self._codes.bytes + self._scales.bytes + self._tokens.bytes


def _lengths(parts: Sequence[bytes]) -> Ids:
    return np.fromiter(map(len, parts), np.int64, len(parts))
