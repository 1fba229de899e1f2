"""Which of very many hashes are among a few that are sought.

Nearly all of them are not: a look at their first bits tells, and only the rest are searched
for. Promise: exactly the hashes that are sought, whatever they are
(``tests/search/test_ranking_words.py``).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["among"]

_BITS: Final = 13
_SHIFT: Final = np.uint64(64 - _BITS)


def among(
    sought: NDArray[np.uint64], hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where in ``hashes`` those of ``sought`` (ascending, not empty) are, and which they are."""
    begins = np.zeros(1 << _BITS, np.bool_)
    begins[sought >> _SHIFT] = True
    hit = np.flatnonzero(begins[hashes >> _SHIFT])
    place = np.searchsorted(sought, hashes[hit])
    np.minimum(place, len(sought) - 1, out=place)
    same = sought[place] == hashes[hit]
    return hit[same], place[same]
