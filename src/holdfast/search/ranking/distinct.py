"""Sets of numbers. ``numpy.unique`` loads masked arrays first, which nobody has here. Pure.

Proved by ``tests/search/test_distinct.py``.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["among", "distinct", "without"]

_Number = TypeVar("_Number", bound=np.integer[Any])


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """The numbers that occur, in order."""
    ordered: NDArray[_Number] = np.sort(values)
    if len(ordered) < 2:
        return ordered
    is_new = np.empty(len(ordered), np.bool_)
    is_new[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def among(values: NDArray[_Number], wanted: NDArray[_Number]) -> NDArray[np.bool_]:
    """Of each of the first, whether it occurs in the second."""
    known = distinct(wanted)
    if not len(known):
        return np.zeros(len(values), np.bool_)
    nearest = known[np.minimum(np.searchsorted(known, values), len(known) - 1)]
    return np.asarray(nearest == values)


def without(values: NDArray[_Number], others: NDArray[_Number]) -> NDArray[_Number]:
    """The numbers that occur in the first and not in the second, in order."""
    mine = distinct(values)
    left: NDArray[_Number] = mine[~among(mine, others)]
    return left
