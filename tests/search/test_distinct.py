"""Sets of numbers, as numpy makes them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search.ranking.distinct import among, distinct, without

some = st.lists(st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1)), max_size=40)


@given(some, some)
def test_sets_are_those_that_numpy_makes(one: list[int], other: list[int]) -> None:
    values, others = np.array(one, np.uint64), np.array(other, np.uint64)
    assert np.array_equal(distinct(values), np.unique(values))
    assert np.array_equal(without(values, others), np.setdiff1d(values, others))
    assert np.array_equal(among(values, others), np.isin(values, others))
    assert without(values, others).dtype == np.uint64
