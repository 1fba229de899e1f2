"""Scores of different kinds on one scale, so that weights can be given to them.

Promise: everything comes out between 0 and 1 if the bounds hold, what is unknown (NaN) as 0;
where all are the same there is nothing to stretch, and what is clearly there stays so
(``tests/search/test_ranking_scaling.py``).
"""

from __future__ import annotations

import numpy as np

from holdfast.search.ranking.rows import Floats

__all__ = ["Bounds", "bounds_of", "scaled", "stretched"]

Bounds = tuple[float, float]
"""The least and the greatest score."""


def bounds_of(scores: Floats) -> Bounds:
    """Of what is known; (0, 0) if nothing is."""
    if not len(scores):
        return 0.0, 0.0
    low, high = float(scores.min()), float(scores.max())
    if low == low:
        return low, high
    low, high = float(np.fmin.reduce(scores)), float(np.fmax.reduce(scores))
    return (low, high) if low == low else (0.0, 0.0)


def scaled(scores: Floats, bounds: Bounds | None = None) -> Floats:
    """From 0 for the least to 1 for the most."""
    low, high = bounds_of(scores) if bounds is None else bounds
    if not high > low:
        # Nothing stands out. A score that is there is no less for being the only one.
        return (scores > 0).astype(np.float32)
    result: Floats = (scores - np.float32(low)) / np.float32(high - low)
    return np.fmax(result, np.float32(0), out=result)


def stretched(scores: Floats, least: float = 0.0) -> Floats:
    """From 0 for nothing to 1 for the most, or for ``least`` if that is more.

    ``scores`` are known and not negative.
    """
    high = max(float(scores.max(initial=0.0)), least)
    return scores / np.float32(high) if high > 0 else np.zeros_like(scores)
