"""Pruning is worth what it saves in reads, less what it costs to store the rest again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.context.pricing import Prices, net_saving, pays_off

TOKENS = st.integers(min_value=0, max_value=2_000_000)
TURNS = st.integers(min_value=0, max_value=500)
PRICES = st.builds(
    Prices,
    input_per_million=st.floats(min_value=0, max_value=100),
    cache_read=st.floats(min_value=0, max_value=1),
    cache_write=st.floats(min_value=1, max_value=2),
)


def test_cached_tokens_cost_a_tenth_and_fresh_ones_a_quarter_more() -> None:
    assert Prices().cost(1_000_000, 0) == pytest.approx(0.30)
    assert Prices().cost(0, 1_000_000) == pytest.approx(3.75)
    assert Prices().cost(100_000, 2_000) == pytest.approx(0.0375)


def test_halving_a_warm_view_pays_after_eleven_and_a_half_requests() -> None:
    assert not pays_off(50_000, 50_000, 11, Prices())
    assert pays_off(50_000, 50_000, 12, Prices())


def test_a_small_saving_in_front_of_a_long_view_does_not_pay() -> None:
    assert not pays_off(500, 100_000, 100, Prices())


def test_the_same_saving_near_the_end_pays() -> None:
    assert pays_off(500, 2_000, 100, Prices())


def test_a_model_that_costs_nothing_is_decided_by_the_same_factors() -> None:
    free = Prices(input_per_million=0)
    assert free.cost(10_000, 10_000) == 0
    assert pays_off(50_000, 50_000, 12, free)
    assert not pays_off(50_000, 50_000, 11, free)


def test_with_a_cold_cache_everything_saved_is_gained() -> None:
    gained = net_saving(1_000, 99_000, 3, Prices(), cache_is_cold=True)
    assert gained == pytest.approx(1_000 * 1.25 + 2 * 1_000 * 0.1)


def test_nothing_is_gained_when_no_request_follows() -> None:
    assert net_saving(1_000, 0, 0, Prices()) == 0
    assert net_saving(1_000, 0, 0, Prices(), cache_is_cold=True) == 0
    assert not pays_off(1_000, 0, 0, Prices())


@given(saved=TOKENS, after=TOKENS, before=TOKENS, turns=TURNS, prices=PRICES)
def test_the_saving_is_the_difference_of_the_two_bills(
    saved: int, after: int, before: int, turns: int, prices: Prices
) -> None:
    """Add up both ways request by request, as a provider would bill them."""
    if turns == 0:
        return
    kept = turns * prices.shares(before + saved + after, 0)
    pruned = prices.shares(before, after) + (turns - 1) * prices.shares(before + after, 0)
    expected = kept - pruned
    assert net_saving(saved, after, turns, prices) == pytest.approx(expected, abs=1e-3, rel=1e-6)
    assert pays_off(saved, after, turns, prices) == (net_saving(saved, after, turns, prices) > 0)


@given(saved=TOKENS, after=TOKENS, turns=TURNS, prices=PRICES)
def test_more_turns_or_a_colder_cache_never_make_it_worse(
    saved: int, after: int, turns: int, prices: Prices
) -> None:
    cold = net_saving(saved, after, turns, prices, cache_is_cold=True)
    assert cold >= net_saving(saved, after, turns, prices)
    if pays_off(saved, after, turns, prices):
        assert pays_off(saved, after, turns + 1, prices)
