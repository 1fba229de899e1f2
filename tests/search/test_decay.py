"""Age counts for what is dated, and never for what is kept on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.retain import RetainKind, Trust
from holdfast.search.documents import SourceKind
from holdfast.search.query.decay import Passages, age_factors, value_factors, weighed

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
OLD = NOW - timedelta(days=400)


def passages(
    source: SourceKind = "daily",
    at: Sequence[datetime | None] = (OLD,),
    fact: RetainKind | None = None,
    importance: float = 0.5,
    trust: Trust = "user",
) -> Passages:
    kind = get_args(RetainKind).index(fact) if fact else -1
    return Passages(
        source=np.full(len(at), get_args(SourceKind).index(source), dtype=np.uint8),
        fact=np.full(len(at), kind, dtype=np.int8),
        at=np.array([one.timestamp() if one else np.nan for one in at]),
        importance=np.full(len(at), importance, dtype=np.float32),
        trust=np.full(len(at), get_args(Trust).index(trust), dtype=np.uint8),
    )


def factor(one: Passages, half_life: float | None = None, *, timed: bool = False) -> float:
    found = weighed(np.ones(1), one, now=NOW, half_life_days=half_life, names_a_time=timed)
    return float(found.scores[0])


@pytest.mark.parametrize("source", ["memory", "topic", "bank", "extra"])
def test_what_is_kept_on_purpose_does_not_fade(source: SourceKind) -> None:
    assert factor(passages(source), 10.0) == 1.0


@pytest.mark.parametrize("source", ["daily", "task"])
def test_dated_logs_and_tasks_fade_gently_by_default(source: SourceKind) -> None:
    assert 0.85 <= factor(passages(source)) < 0.95


def test_turns_of_a_conversation_fade_only_if_it_is_asked_for() -> None:
    assert factor(passages("session")) == 1.0
    assert factor(passages("session"), 200.0) == pytest.approx(0.25)


def test_facts_about_the_world_in_a_daily_log_do_not_fade() -> None:
    assert factor(passages(fact="W"), 10.0) == 1.0
    assert factor(passages(fact="O"), 10.0) == 1.0
    assert factor(passages(fact="B"), 10.0) < 1.0


def test_a_query_that_names_a_time_turns_age_off() -> None:
    assert factor(passages(), 10.0, timed=True) == 1.0


def test_a_half_life_of_zero_turns_age_off() -> None:
    assert factor(passages(), 0) == 1.0


def test_what_has_no_date_does_not_fade() -> None:
    assert np.isnan(age_factors(passages(at=[None]), NOW, half_life_days=10.0)).all()


@given(st.floats(0, 5000), st.floats(0, 5000), st.one_of(st.none(), st.floats(0.1, 1000)))
def test_a_newer_passage_never_counts_less(one: float, other: float, half: float | None) -> None:
    newer, older = sorted((one, other))
    both = passages(at=[NOW - timedelta(days=newer), NOW - timedelta(days=older)])
    fresh, stale = age_factors(both, NOW, half_life_days=half)
    assert 0 < stale <= fresh <= 1


def test_what_lies_in_the_future_counts_whole() -> None:
    coming = passages(at=[NOW + timedelta(days=9)])
    assert age_factors(coming, NOW, half_life_days=1).tolist() == [1.0]


@given(st.floats(-1, 2), st.sampled_from(get_args(Trust)))
def test_importance_and_trust_move_a_score_by_a_few_points(importance: float, trust: Trust) -> None:
    assert 0.9 < value_factors(passages(importance=importance, trust=trust))[0] < 1.1


def test_a_tool_counts_a_little_less_than_the_user() -> None:
    assert value_factors(passages(trust="tool")) < value_factors(passages())


def test_age_lowers_a_negative_score_too_and_leaves_its_trace() -> None:
    found = weighed(np.array([-1.0]), passages(), now=NOW, half_life_days=400.0, names_a_time=False)
    assert found.scores[0] < -1.0
    assert list(found.stages) == ["age", "value"]


def test_age_decides_also_between_passages_that_scored_nothing() -> None:
    both = passages(at=[OLD, NOW])
    found = weighed(np.zeros(2), both, now=NOW, half_life_days=None, names_a_time=False)
    assert found.scores[1] > found.scores[0]


def test_nothing_to_weigh_is_nothing() -> None:
    none = passages(at=[])
    found = weighed(np.zeros(0), none, now=NOW, half_life_days=None, names_a_time=False)
    assert len(found.scores) == 0
