"""``ranking.scaling``: scores of different kinds on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.search.ranking.scaling import bounds_of, scaled, stretched
from tests.scale import scaled as more

SCORES = st.lists(st.one_of(st.floats(-1, 1, width=32), st.just(float("nan"))), max_size=30)


@given(SCORES)
@settings(max_examples=more(100), deadline=None)
def test_everything_comes_out_between_0_and_1_and_in_the_same_order(values: list[float]) -> None:
    scores = np.array(values, np.float32)
    found = scaled(scores)
    assert ((found >= 0) & (found <= 1.0001)).all()
    known = np.flatnonzero(~np.isnan(scores))
    assert (found[np.isnan(scores)] == 0).all()
    assert (np.diff(found[known][np.argsort(scores[known])]) >= -1e-6).all()


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.4], [1]), ([0.4, 0.4], [1, 1]), ([0, 0], [0, 0]), ([0.4, float("nan")], [1, 0])],
)
def test_where_all_are_the_same_what_is_there_stays_clear(
    values: list[float], expected: list[float]
) -> None:
    assert scaled(np.array(values, np.float32)).tolist() == expected


def test_what_lies_below_the_bounds_of_the_store_is_nothing() -> None:
    assert scaled(np.array([-1, 1, 3], np.float32), (1, 3)).tolist() == [0, 0, 1]


def test_nothing_known_has_no_bounds() -> None:
    assert bounds_of(np.zeros(0, np.float32)) == (0, 0)
    assert bounds_of(np.full(3, np.nan, np.float32)) == (0, 0)


def test_a_score_is_stretched_to_the_best_or_to_what_the_best_should_be() -> None:
    scores = np.array([0, 1, 2], np.float32)
    assert stretched(scores).tolist() == [0, 0.5, 1]
    assert stretched(scores, 4).tolist() == [0, 0.25, 0.5]
    assert stretched(np.zeros(2, np.float32)).tolist() == [0, 0]
