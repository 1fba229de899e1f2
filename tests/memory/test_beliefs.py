"""Confidence: evidence in bounded steps, half-life decay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.memory.facts.beliefs import (
    DEFAULT,
    HALF_LIFE,
    LARGEST_STEP,
    LEAST,
    MOST,
    confidence_at,
    moved,
)
from holdfast.retain import RetainLine, Trust
from tests.scale import scaled

NOW = datetime(2026, 3, 14, 9, tzinfo=UTC)
confidences = st.floats(0, 1)
trusts = st.sampled_from(["user", "agent", "tool", "import"])
evidence = st.lists(st.tuples(st.booleans(), trusts), max_size=40)


def opinion(confidence: float | None) -> RetainLine:
    return RetainLine(kind="O", text="Prefers short replies.", confidence=confidence)


@settings(max_examples=scaled(100))
@given(confidences, evidence)
def test_a_confidence_never_leaves_its_bounds(start: float, seen: list[tuple[bool, Trust]]) -> None:
    for supports, trust in seen:
        start = moved(start, supports=supports, trust=trust)
        assert LEAST <= start <= MOST


@settings(max_examples=scaled(100))
@given(st.floats(LEAST, MOST), st.booleans(), trusts)
def test_one_observation_moves_it_little_and_in_its_direction(
    start: float, supports: bool, trust: Trust
) -> None:
    after = moved(start, supports=supports, trust=trust)
    assert abs(after - start) <= LARGEST_STEP
    if LEAST < start < MOST:
        assert (after > start) == supports


@settings(max_examples=scaled(100))
@given(st.floats(0.1, 0.9), trusts)
def test_support_and_contradiction_of_equal_weight_cancel_out(start: float, trust: Trust) -> None:
    there = moved(start, supports=True, trust=trust)
    assert moved(there, supports=False, trust=trust) == pytest.approx(start)


def test_the_order_of_evidence_makes_no_difference() -> None:
    seen: list[tuple[bool, Trust]] = [(True, "user"), (False, "tool"), (True, "agent")]
    results = set()
    for order in permutations(seen):
        held = 0.6
        for supports, trust in order:
            held = moved(held, supports=supports, trust=trust)
        results.add(round(held, 12))
    assert len(results) == 1


@given(st.floats(LEAST, 0.97))
def test_people_weigh_more_than_agents_and_agents_more_than_tools(start: float) -> None:
    user, agent, tool = (moved(start, supports=True, trust=t) for t in ("user", "agent", "tool"))
    assert user > agent > tool > start
    assert tool == moved(start, supports=True, trust="import")


@settings(max_examples=scaled(100))
@given(confidences, st.floats(0, 4000), st.floats(0, 4000))
def test_decay_goes_towards_even_odds_and_never_past_them(
    stated: float, one: float, other: float
) -> None:
    sooner, later = sorted((one, other))

    def distance(days: float) -> float:
        held = confidence_at(opinion(stated), NOW + timedelta(days=days), last_seen=NOW)
        assert held is not None
        assert (held - 0.5) * (stated - 0.5) >= 0
        return abs(held - 0.5)

    assert distance(later) <= distance(sooner) <= abs(stated - 0.5)


def test_after_a_half_life_half_of_it_is_left() -> None:
    assert confidence_at(opinion(0.9), NOW + HALF_LIFE, last_seen=NOW) == pytest.approx(0.7)
    assert confidence_at(opinion(0.1), NOW + HALF_LIFE, last_seen=NOW) == pytest.approx(0.3)


def test_what_lies_in_the_future_has_not_decayed() -> None:
    assert confidence_at(opinion(0.9), NOW - timedelta(days=3), last_seen=NOW) == 0.9


def test_an_opinion_without_a_confidence_has_the_default() -> None:
    assert confidence_at(opinion(None), NOW) == DEFAULT


def test_a_fact_has_no_confidence_and_does_not_decay() -> None:
    line = RetainLine(kind="W", text="Lives in Berlin.")
    assert confidence_at(line, NOW + timedelta(days=9999), last_seen=NOW) is None
