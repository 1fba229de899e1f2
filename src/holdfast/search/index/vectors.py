"""Vectors as they are stored, and how near each chunk is to a query.

A vector is stored as bytes with a scale. In memory a small index has them whole; a large one has
one bit for each dimension, after its mean was taken away and the axes were turned at random, so
that every bit says equally much. The nearest by bits are then measured exactly.

Promise: on random and clustered vectors the nearest by bits and rescoring are the nearest
exactly, nearly always; NaN stands where there is no vector
(``tests/search/test_index_vectors.py``).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.search.index.state import State
from holdfast.search.ranking.rows import Floats

__all__ = ["EXACT", "Meaning", "quantised", "restored", "signs_of", "words_of"]

EXACT: Final = 4096
"""Up to so many vectors are compared one by one."""
RESCORED: Final = 128

Bits: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int64]
Measure: TypeAlias = Callable[[Ids], Floats]
"""The exact cosines of the query with the vectors of some numbers in the table."""

_LINKS: Final = (
    "SELECT l.id, l.chunk, l.vector, v.codes, v.scale FROM link l "
    "JOIN vector v ON v.id=l.vector WHERE l.id>? AND l.embedder=? ORDER BY l.id"
)


# ── coding ──────────────────────────────────────────────────────────────────────────────────


def words_of(dimensions: int) -> int:
    """How many words of 64 bits hold one sign for each dimension."""
    return -(-dimensions // 64)


def signs_of(vectors: Floats) -> Bits:
    """One bit for each value, set where it is above nought: bit j of word k is value 64 k + j."""
    rows = np.atleast_2d(vectors)
    packed = np.packbits(rows > 0, axis=1, bitorder="little")
    wide = np.zeros((len(rows), 8 * words_of(rows.shape[1])), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    return wide.view("<u8")


def quantised(vector: Floats) -> tuple[bytes, float]:
    """A vector as one byte for each value, and what a byte stands for so that its length is 1."""
    row = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(row))
    if not np.isfinite(length) or not length:
        return bytes(len(row)), 0.0
    codes = np.rint(row * (127 / np.abs(row).max())).astype(np.int8)
    return codes.tobytes(), 1 / float(np.linalg.norm(codes.astype(np.float32)))


def restored(codes: Sequence[bytes], scales: Sequence[float], dimensions: int) -> Floats:
    """The vectors again, of length 1."""
    whole = np.frombuffer(b"".join(codes), dtype=np.int8).reshape(len(codes), dimensions)
    rows = whole.astype(np.float32)
    rows *= np.asarray(scales, dtype=np.float32)[:, None]
    return rows


@lru_cache(maxsize=4)
def _turn(dimensions: int) -> Floats:
    """The same random rotation each time."""
    noise = np.random.default_rng(dimensions).standard_normal((dimensions, dimensions))
    return np.linalg.qr(noise)[0].astype(np.float32)


@lru_cache(maxsize=4)
def _angles(dimensions: int) -> NDArray[np.float64]:
    """By the number of bits that differ: the cosine that they stand for."""
    return np.cos(np.pi * np.arange(dimensions + 1) / dimensions)


# ── in memory ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """How vectors become bits."""

    mean: Floats
    turn: Floats

    def bits(self, rows: Floats) -> tuple[Bits, Floats]:
        """The bits by words, and what restores a product: length without mean, part on it."""
        centred = rows - self.mean
        sides = np.stack([np.linalg.norm(centred, axis=1), rows @ self.mean])
        turned = np.asarray(centred @ self.turn, dtype=np.float32)
        return np.ascontiguousarray(signs_of(turned).T), sides.astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coded:
    """Vectors as bits: one row for each word of them."""

    frame: _Frame
    bits: Bits
    sides: Floats

    @staticmethod
    def of(rows: Floats) -> _Coded:
        frame = _Frame(mean=rows.mean(axis=0), turn=_turn(rows.shape[1]))
        bits, sides = frame.bits(rows)
        return _Coded(frame=frame, bits=bits, sides=sides)

    def joined(self, rows: Floats) -> _Coded:
        bits, sides = self.frame.bits(rows)
        return _Coded(
            frame=self.frame,
            bits=np.concatenate([self.bits, bits], axis=1),
            sides=np.concatenate([self.sides, sides], axis=1),
        )

    def near(self, query: Floats, chosen: Ids) -> Floats:
        """What the bits say the cosines are."""
        mean = self.frame.mean
        centred = query - mean
        signs = signs_of(np.asarray(centred @ self.frame.turn, dtype=np.float32))[0]
        is_all = len(chosen) == self.bits.shape[1]
        apart = _apart(self.bits if is_all else self.bits[:, chosen], signs)
        sides = self.sides if is_all else self.sides[:, chosen]
        table = (_angles(len(mean)) * np.linalg.norm(centred)).astype(np.float32)
        near: Floats = table.take(apart, mode="clip")
        near *= sides[0]
        near += sides[1]
        near += np.float32(mean @ query - mean @ mean)
        return near


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The vectors of one encoder at one moment, in the order they came."""

    number: int
    name: str
    dimensions: int
    last: int
    """The youngest link that was read."""
    chunks: Ids
    vectors: Ids
    """Numbers in the table."""
    passed_over: Ids
    """Chunks that are not for this encoder."""
    rows: Floats | None
    """Whole, while they are few."""
    coded: _Coded | None = None
    at: Ids
    """Position of each; -1 where the chunk is gone."""
    lives: Ids
    """Those that have a position."""
    is_straight: bool = False
    """Whether they are one for each position, in their order."""
    numbers: Ids
    """By position: the number of its vector, 0 where there is none."""

    @staticmethod
    def empty(number: int, name: str, dimensions: int) -> Meaning:
        none = np.empty(0, dtype=np.int64)
        return Meaning(
            number=number,
            name=name,
            dimensions=dimensions,
            last=0,
            chunks=none,
            vectors=none,
            passed_over=none,
            rows=np.empty((0, dimensions), dtype=np.float32),
            at=none,
            lives=none,
            numbers=none,
        )

    # ── following ───────────────────────────────────────────────────────────────────────────

    def followed(self, connection: sqlite3.Connection, state: State) -> Meaning:
        """The same at the moment of the state."""
        cursor = connection.execute(_LINKS, (self.last, self.number))
        result = self
        while found := cursor.fetchmany(20_000):
            result = result._with(found)
        at = _placed(result.chunks, state)
        lives = np.flatnonzero(at >= 0)
        numbers = np.zeros(len(state.ids), dtype=np.int64)
        numbers[at[lives]] = result.vectors[lives]
        count = len(state.ids)
        is_straight = len(at) == count and np.array_equal(at, np.arange(count))
        return replace(result, at=at, lives=lives, numbers=numbers, is_straight=is_straight)

    def _with(self, found: Sequence[tuple[int, int, int, bytes | None, float | None]]) -> Meaning:
        there = [row for row in found if row[3] is not None]
        others = [row[1] for row in found if row[3] is None]
        new = restored(
            [row[3] or b"" for row in there], [row[4] or 0.0 for row in there], self.dimensions
        )
        joined = replace(
            self,
            last=found[-1][0],
            chunks=np.concatenate([self.chunks, np.array([r[1] for r in there], dtype=np.int64)]),
            vectors=np.concatenate([self.vectors, np.array([r[2] for r in there], dtype=np.int64)]),
            passed_over=np.concatenate([self.passed_over, np.array(others, dtype=np.int64)]),
        )
        return joined._coded(new)

    def _coded(self, new: Floats) -> Meaning:
        """With these rows behind the others, whole or as bits."""
        if self.coded is not None:
            return replace(self, coded=self.coded.joined(new))
        rows = new if self.rows is None else np.concatenate([self.rows, new])
        if len(rows) <= EXACT:
            return replace(self, rows=rows)
        return replace(self, rows=None, coded=_Coded.of(rows))

    # ── asking ──────────────────────────────────────────────────────────────────────────────

    def similarity(
        self, query: Floats, count: int, mask: NDArray[np.bool_] | None, measure: Measure
    ) -> Floats:
        """The cosine with each of ``count`` positions; NaN where there is none to tell."""
        chosen = self.lives
        is_all = mask is None or bool(mask.all())
        if mask is not None and not is_all:
            chosen = chosen[mask[self.at[chosen]]]
        if not len(chosen):
            return np.full(count, np.nan, dtype=np.float32)
        near = self._near(query, chosen, measure)
        if is_all and self.is_straight:
            return near
        result = np.full(count, np.nan, dtype=np.float32)
        result[self.at[chosen]] = near
        return result

    def _near(self, query: Floats, chosen: Ids, measure: Measure) -> Floats:
        if self.coded is None:
            rows = np.empty((0, self.dimensions), np.float32) if self.rows is None else self.rows
            whole: Floats = (rows if len(chosen) == len(rows) else rows[chosen]) @ query
            return whole
        near = self.coded.near(query, chosen)
        best = _greatest(near, RESCORED)
        near[best] = measure(self.vectors[chosen[best]])
        return near

    # ── packed ──────────────────────────────────────────────────────────────────────────────

    def packed(self, epoch: int) -> Mapping[str, bytes]:
        """What ``unpacked`` needs; nothing while the vectors are few."""
        if self.coded is None:
            return {}
        coded = self.coded
        head = {"epoch": epoch, "last": self.last, "count": len(self.chunks)}
        return {
            f"vectors:{self.number}:{name}": data
            for name, data in (
                ("head", json.dumps(head).encode()),
                ("chunks", self.chunks.astype("<i8").tobytes()),
                ("vectors", self.vectors.astype("<i8").tobytes()),
                ("passed", self.passed_over.astype("<i8").tobytes()),
                ("bits", coded.bits.astype("<u8").tobytes()),
                ("sides", coded.sides.astype("<f4").tobytes()),
                ("mean", coded.frame.mean.astype("<f4").tobytes()),
                ("turn", coded.frame.turn.astype("<f4").tobytes()),
            )
        }

    def unpacked(self, connection: sqlite3.Connection, epoch: int) -> Meaning:
        """With what was packed, if it is of this epoch."""
        found = _packed(connection, self.number)
        head: dict[str, Any] = json.loads(found.pop("head")) if "head" in found else {}
        if head.get("epoch") != epoch:
            return self
        count, size = int(head["count"]), self.dimensions
        return replace(
            self,
            last=int(head["last"]),
            chunks=np.frombuffer(found["chunks"], dtype="<i8"),
            vectors=np.frombuffer(found["vectors"], dtype="<i8"),
            passed_over=np.frombuffer(found["passed"], dtype="<i8"),
            rows=None,
            coded=_Coded(
                frame=_Frame(
                    mean=np.frombuffer(found["mean"], dtype="<f4"),
                    turn=np.frombuffer(found["turn"], dtype="<f4").reshape(size, size),
                ),
                bits=np.frombuffer(found["bits"], dtype="<u8").reshape(words_of(size), count),
                sides=np.frombuffer(found["sides"], dtype="<f4").reshape(2, count),
            ),
        )


def _packed(connection: sqlite3.Connection, number: int) -> dict[str, bytes]:
    start = f"vectors:{number}:"
    rows = connection.execute(
        "SELECT name, data FROM packed WHERE name >= ? AND name < ?", (start, f"{start}~")
    )
    return {name.removeprefix(start): data for name, data in rows}


def _apart(bits: Bits, signs: Bits) -> NDArray[np.uint16]:
    """In how many bits each column differs from the signs."""
    count = bits.shape[1]
    apart = np.zeros(count, dtype=np.uint16)
    differ = np.empty(min(count, _BLOCK), dtype=np.uint64)
    often = np.empty(len(differ), dtype=np.uint8)
    for start in range(0, count, _BLOCK):
        total = apart[start : start + _BLOCK]
        size = len(total)
        for word, sign in zip(bits, signs, strict=True):
            np.bitwise_xor(word[start : start + size], sign, out=differ[:size])
            np.bitwise_count(differ[:size], out=often[:size])
            total += often[:size]
    return apart


_BLOCK: Final = 1 << 15
"""Columns at a time: what is between two steps stays near the processor."""


def _placed(chunks: Ids, state: State) -> Ids:
    """The position of each chunk; -1 for those that are not there."""
    where = state.where
    inside = np.minimum(chunks, len(where) - 1)
    at = where[inside].astype(np.int64)
    at[chunks >= len(where)] = -1
    return at


def _greatest(near: Floats, count: int) -> Ids:
    """Where about so many of the greatest are; the limit is guessed from a sample of a large
    array, because sorting all of it would take longer than everything else."""
    if len(near) <= count:
        return np.arange(len(near))
    sample = near[:: max(1, len(near) // 8192)]
    rank = max(0, len(sample) - 1 - len(sample) * count // len(near))
    found = np.flatnonzero(near >= np.partition(sample, rank)[rank])
    if len(found) > 2 * count:
        found = found[np.argpartition(near[found], len(found) - count)[len(found) - count :]]
    return found
