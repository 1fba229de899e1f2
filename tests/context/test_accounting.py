"""The marks keep their order for every window, growth and output; counts add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.config import Settings, load_settings
from holdfast.context.accounting import (
    Reported,
    break_down,
    effective_window,
    make_budget,
    p95,
    project,
)
from holdfast.context.blocks import Block
from holdfast.errors import ConfigError
from holdfast.types import Message, ViewItem
from tests.context.test_blocks import blocks, result
from tests.scale import scaled


def configured(**overrides: Any) -> Settings:
    names = {name.replace("__", "."): value for name, value in overrides.items()}
    return load_settings(Path("no-such-home"), environ={}, overrides=names)


@settings(max_examples=scaled(400), deadline=None)
@given(
    window=st.integers(2_000, 2_000_000),
    output=st.integers(0, 2_000_000),
    growth=st.integers(0, 5_000_000),
    floor=st.integers(0, 100_000),
    soft=st.integers(0, 1_000_000),
    hard=st.integers(0, 1_000_000),
    start=st.none() | st.integers(1, 2_000_000),
)
def test_the_marks_are_in_order_for_every_window(
    window: int, output: int, growth: int, floor: int, soft: int, hard: int, start: int | None
) -> None:
    chosen = configured(
        context__reserve_tokens_floor=floor,
        context__context_tokens=start,
        flush__soft_threshold_tokens=soft,
        flush__hard_threshold_tokens=hard,
    )
    marks = make_budget(chosen, window=window, max_output=output, growth=growth)
    assert 0 < marks.prune_at <= marks.flush_at < marks.hard_at < marks.compact_at < marks.window
    assert 0 < marks.target < marks.compact_at
    assert marks.reserve <= window // 4


def test_the_defaults_at_200k_are_those_of_the_table() -> None:
    marks = make_budget(configured(), window=200_000)
    assert marks.to_json() == {
        "window": 200_000,
        "reserve": 20_000,
        "compact_at": 180_000,
        "flush_at": 176_000,
        "hard_at": 179_000,
        "prune_at": 120_000,
        "target": 90_000,
    }


def test_a_turn_that_usually_adds_much_moves_the_flush_ahead() -> None:
    marks = make_budget(configured(), window=200_000, growth=30_000)
    assert marks.flush_at == 150_000
    assert marks.hard_at == 179_000


def test_absolute_settings_and_fractions_are_taken() -> None:
    chosen = configured(
        flush__soft_threshold_tokens={"at": 100_000}, flush__hard_threshold_tokens=0.9
    )
    marks = make_budget(chosen, window=200_000)
    assert (marks.flush_at, marks.hard_at) == (100_000, 162_000)


@pytest.mark.parametrize(
    ("soft", "hard"),
    [({"at": 120_000}, {"at": 100_000}), ({"at": 190_000}, 1000), (4000, {"at": 176_000})],
)
def test_absolute_settings_out_of_order_are_refused_with_the_marks(soft: Any, hard: Any) -> None:
    chosen = configured(flush__soft_threshold_tokens=soft, flush__hard_threshold_tokens=hard)
    with pytest.raises(ConfigError, match="compact_at 180000"):
        make_budget(chosen, window=200_000)


def test_an_overflow_once_seen_lowers_the_window() -> None:
    assert effective_window(None) == 200_000
    assert effective_window(None, known=128_000) == 128_000
    assert effective_window(1_050_000, observed=205_000) == 205_000
    assert effective_window(32_000, observed=205_000) == 32_000


def test_a_target_below_what_must_stay_makes_room_beside_it() -> None:
    marks = make_budget(configured(), window=3_000)
    assert (marks.compact_at, marks.target) == (2_250, 1_125)
    assert marks.with_room_for(100) == marks
    assert marks.with_room_for(1_400).target == 1_400 + (2_250 - 1_400) // 2


def test_growth_is_what_nineteen_of_twenty_turns_stay_below() -> None:
    assert p95([]) == 0
    assert p95([100] * 30) == 100
    assert p95([5] * 19 + [9_000]) == 9_000
    assert p95([9_000] + [5] * 20) == 5


def test_the_projection_builds_on_what_the_provider_reported() -> None:
    view = blocks(*(Message.of("user", str(number)) for number in range(5)))
    assert project(view, fixed=7).tokens == 57
    reported = project(view, fixed=7, reported=Reported(tokens=1_000, entry="e2"))
    assert (reported.tokens, reported.source) == (1_020, "reported")
    gone = project(view, fixed=7, reported=Reported(tokens=1_000, entry="compacted away"))
    assert (gone.tokens, gone.source) == (57, "estimated")


def test_the_breakdown_adds_up_to_the_whole() -> None:
    given_blocks = [
        *blocks(Message.of("system", "be kind"), Message.of("user", "hi"), result("a")),
        Block(
            item=ViewItem(message=Message.of("user", "S"), stands_for=("c",), kind="summary"),
            tokens=20,
        ),
        Block(
            item=ViewItem(message=Message.of("user", "R"), stands_for=("r",), kind="recall"),
            tokens=30,
            images=25,
        ),
    ]
    found = break_down(given_blocks, system=5, tools=100)
    assert found.to_json() == {
        "system": 15,
        "tools": 100,
        "memory": 5,
        "summary": 20,
        "messages": 10,
        "tool_results": 10,
        "images": 25,
        "total": 185,
    }
    assert found.largest()[0] == ("tools", 100)
