"""What the best passages of a first ranking say about the others.

Their rarest words are looked for too: who they are about, what it is called. A passage that
has them and, beside them, what is still asked for is the second step of a question in two.
Each of the best few is a path of its own, worth less the further it is behind the best: one
that leads nowhere costs nothing, since of all paths the best counts.

Promise: words of the question are never looked for again, nothing is read beyond the pool
(``tests/search/test_ranking_feedback.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.distinct import without
from holdfast.search.ranking.hashes import among
from holdfast.search.ranking.rows import Floats, Ragged
from holdfast.search.ranking.scaling import scaled

__all__ = ["Feedback", "feedback"]

_MOST_TERMS: Final = 12
_PATHS: Final = 5
_FALL: Final = 4.0
"""How fast a path loses worth with its distance from the best, on a scale of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    likeness: Floats
    """BM25 of a best passage's own words, 0 to 1."""
    hop: Floats
    """That, and the words of the question which that passage lacks: 0 to 1."""


def feedback(
    terms: Ragged,
    scores: Floats,
    asked: NDArray[np.uint64],
    columns: Floats,
    floors: Floats,
) -> Feedback:
    """``columns`` are the scores of the question's concepts; ``asked`` its hashes, and those of
    names that are everywhere; ``floors`` what a count is held against (``words.saturated``)."""
    count = len(scores)
    tops = np.argsort(-scores, kind="stable")[:_PATHS]
    worth = np.exp(_FALL * (scaled(scores)[tops] - 1)).astype(np.float32)
    own = [terms.values[terms.starts[top] : terms.starts[top + 1]] for top in tops.tolist()]
    mine = without(np.concatenate(own), asked)
    if not len(mine):
        silent = np.zeros(count, np.float32)
        return Feedback(likeness=silent, hop=silent)
    table = _weighed(terms, mine, floors)
    likeness = _columns_scaled(table @ _rarest(table[tops]).T)
    lacking = _columns_scaled(columns @ (columns[tops] == 0).T.astype(np.float32))
    hop = _columns_scaled(np.sqrt(likeness * lacking))
    return Feedback(likeness=(likeness * worth).max(axis=1), hop=(hop * worth).max(axis=1))


def _weighed(terms: Ragged, sought: NDArray[np.uint64], floors: Floats) -> Floats:
    """BM25 of each of the hashes in each passage, rare in the pool being rare."""
    parts = len(terms.starts) - 1
    hit, column = among(sought, terms.values)
    row = np.searchsorted(terms.starts, hit, side="right") - 1
    found = np.bincount(column, minlength=len(sought))
    rare = np.log1p((parts - found + 0.5) / (found + 0.5)).astype(np.float32)
    counts = np.float32(1) if terms.counts is None else terms.counts[hit]
    table = np.zeros((parts, len(sought)), np.float32)
    table[row, column] = counts / (counts + floors[row]) * rare[column]
    return table


def _rarest(own: Floats) -> Floats:
    """1 for the terms that say most about each path, else 0."""
    kept = np.argsort(-own, axis=1, kind="stable")[:, :_MOST_TERMS]
    marked = np.zeros_like(own)
    np.put_along_axis(marked, kept, 1.0, axis=1)
    return marked * (own > 0)


def _columns_scaled(table: Floats) -> Floats:
    low = table.min(axis=0)
    span = table.max(axis=0) - low
    span[span <= 0] = 1
    result: Floats = (table - low) / span
    return result
