"""The status line of a chat, and its words in both languages."""

from __future__ import annotations

from dataclasses import fields
from string import Formatter
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.cli.chat.commands import COMMANDS
from holdfast.cli.chat.meter import Meter
from holdfast.cli.chat.words import CHINESE, ENGLISH
from holdfast.cli.gauge import bar, short_count
from holdfast.cli.speech import filled
from holdfast.config import Settings
from holdfast.context.accounting import make_budget
from holdfast.context.blocks import Category
from holdfast.events import CompactionEnd, CompactionStart, MemoryFlushEnd, MemoryFlushStart
from holdfast.ports import Traits
from holdfast.testing import FixedClock
from holdfast.text import columns
from holdfast.types import Usage
from tests.scale import scaled

NOW = FixedClock().now()
START = MemoryFlushStart(at=NOW, cycle="genesis", mode="rules", entries=3, attempt=1, reason="due")
COMPACTED = CompactionEnd(
    at=NOW,
    entry="e",
    strategy="s",
    tokens_before=9_000,
    tokens_after=1_234,
    dropped=1,
    input_tokens=7,
    output_tokens=3,
    cost=0.25,
)
END = MemoryFlushEnd(at=NOW, cycle="genesis", outcome="flushed", saved=1, covered=3, cost=0.5)


@settings(max_examples=scaled(25))
@given(st.integers(2_000, 2_000_000), st.integers(0, 3_000_000), st.integers(1, 200), st.text())
def test_the_status_line_fits_into_any_width(window: int, used: int, width: int, name: str) -> None:
    for words in (ENGLISH, CHINESE):
        meter = Meter(words=words, model=f"openai:{name}", session=name, note=words.private)
        meter.fits(make_budget(Settings(), window=window), used)
        meter.hear(START)
        waited = filled(words.thinking, model=meter.short_name, seconds=123)
        assert columns(waited) < 40
        line = meter.line(width)
        assert columns(line) <= width
        assert "\n" not in line
        if width >= 40:
            assert all(mark in line for mark in "pfhc")
            assert words.saving in line


@settings(max_examples=scaled(25))
@given(st.integers(2_000, 2_000_000), st.integers(0, 3_000_000), st.integers(1, 60))
def test_every_mark_has_a_cell_of_its_own_in_order(window: int, used: int, cells: int) -> None:
    drawn = bar(make_budget(Settings(), window=window), used, cells)
    assert [each for each in drawn if each in "pfhc"] == ["p", "f", "h", "c"]
    assert len(drawn) == max(6, cells)


def test_what_is_being_done_and_what_it_cost_are_shown() -> None:
    meter = Meter(words=ENGLISH, model="m", traits=Traits(input_price=3.0, output_price=15.0))
    meter.fits(make_budget(Settings(), window=10_000), 1_234)
    assert "saving" not in meter.line(80)
    meter.hear(START)
    meter.hear(CompactionStart(at=NOW, strategy="s", reason="r", tokens_before=1, leaving=1))
    assert "saving memories…" in meter.line(80)
    meter.hear(END)
    assert "compacting…" in meter.line(80)
    meter.answered(Usage(input_tokens=100_000, output_tokens=10_000))
    assert "1,234 of 10,000 (12%)" in meter.line(80)
    assert "$0.95" in meter.line(80), "the answer 0.45, the flush 0.50"
    meter.hear(COMPACTED)
    assert "$1.20" in meter.line(80)
    assert (meter.input_tokens, meter.output_tokens) == (100_007, 10_003)


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (12_400, "12.4k"), (200_000, "200k"), (999_999, "1M")],
)
def test_short_counts(tokens: int, shown: str) -> None:
    assert short_count(tokens) == shown


def names_in(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def test_both_languages_say_the_same_things_of_the_same_values() -> None:
    for field in fields(ENGLISH):
        english, chinese = getattr(ENGLISH, field.name), getattr(CHINESE, field.name)
        if isinstance(english, str) and field.name != "language":
            assert names_in(english) == names_in(chinese), field.name
            assert english != chinese or field.name in ("tool", "ask_yes"), field.name
    assert set(ENGLISH.categories) == set(CHINESE.categories) == set(get_args(Category))
    commands = [[usage.split()[0] for usage, _ in words.helps] for words in (ENGLISH, CHINESE)]
    assert commands[0] == commands[1]
    assert set(commands[0]) <= set(COMMANDS)
