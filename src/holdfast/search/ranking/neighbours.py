"""What stands before and after a passage: an answer is found by the question above it.

Promise: only passages of the same document are neighbours; a pool without a passage's
neighbour counts it as silent (``tests/search/test_ranking_neighbours.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.rows import Flag, Floats, Ints, Rows

Positions = NDArray[np.int64]

_ASKS: Final = np.uint16(Flag.ASKS)

__all__ = ["Around", "Shares", "around", "spread", "sums", "windows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What a neighbour's words count for a passage, against its own."""

    before: float = 0.0
    after: float = 0.0
    two_before: float = 0.0
    two_after: float = 0.0
    asked: float = 0.0
    """Of the passage before, if there is a question in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """For each passage of a pool: where its neighbours are in the pool.

    One that is not in it is looked for just past the end, where ``_and_silence`` puts zeros.
    """

    before: Positions
    after: Positions
    two_before: Positions
    two_after: Positions
    asked: NDArray[np.bool_]
    """There is a question in the passage before."""


def around(rows: Rows, positions: Positions) -> Around:
    """``positions`` ascending."""
    preceding = rows.before[positions]
    asks = (rows.flags[np.maximum(preceding, 0)] & _ASKS).astype(np.bool_)
    before = _within(positions, preceding)
    after = _within(positions, rows.after[positions])
    nowhere = np.int64(len(positions))
    return Around(
        before=before,
        after=after,
        two_before=np.append(before, nowhere)[before],
        two_after=np.append(after, nowhere)[after],
        asked=asks & (preceding >= 0),
    )


def _within(positions: Positions, sought: Ints) -> Positions:
    count = len(positions)
    if not count:
        return np.zeros(0, np.int64)
    place = np.minimum(np.searchsorted(positions, sought), count - 1)
    return np.where(positions[place] == sought, place, count)


def _and_silence(values: Floats) -> Floats:
    silence = np.zeros((1, *values.shape[1:]), np.float32)
    return np.concatenate((values, silence), dtype=np.float32)


def spread(rows: Rows, scores: Floats, shares: Shares) -> Floats:
    """Dense scores with a share given to the neighbours; only what is not 0 is touched."""
    total = scores.copy()
    scored = np.flatnonzero(scores)
    given = scores[scored]
    _give(total, rows.after, scored, shares.before * given)
    _give(total, rows.before, scored, shares.after * given)
    asking = (rows.flags[scored] & _ASKS).astype(np.bool_)
    _give(total, rows.after, scored[asking], shares.asked * given[asking])
    return total


def _give(total: Floats, to: Ints, scored: NDArray[np.int64], given: Floats) -> None:
    takers = to[scored]
    there = takers >= 0
    total[takers[there]] += given[there]  # each has one neighbour on a side: none comes twice


def sums(near: Around, scores: Floats, shares: Shares) -> Floats:
    """Each passage's score with shares of its neighbours' added."""
    heard = _and_silence(scores)
    share = np.where(near.asked, shares.before + shares.asked, shares.before)
    total: Floats = scores + share.astype(np.float32) * heard[near.before]
    total += shares.after * heard[near.after]
    total += shares.two_before * heard[near.two_before]
    total += shares.two_after * heard[near.two_after]
    return total


def windows(near: Around, table: Floats, shares: Shares) -> Floats:
    """Word by word the most that the passage or, at its share, a neighbour has of it.

    So a passage and its neighbours answer a question together, each with other words of it,
    and a word that stands in all of them counts once.
    """
    heard = _and_silence(table)
    share = np.where(near.asked, shares.asked, shares.before).astype(np.float32)
    most: Floats = np.maximum(table, share[:, None] * heard[near.before])
    np.maximum(most, shares.after * heard[near.after], out=most)
    np.maximum(most, shares.two_before * heard[near.two_before], out=most)
    np.maximum(most, shares.two_after * heard[near.two_after], out=most)
    return most
