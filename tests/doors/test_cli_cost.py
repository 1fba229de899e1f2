"""``holdfast cost`` adds up what models cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.engine.facade import open_engine
from holdfast.engine.spending import Spent
from holdfast.testing import FixedClock
from tests.doors.inside import inside

FLUSH = Spent(dollars=0.01, calls=2, input_tokens=2_000, output_tokens=50)
REPLY = Spent(dollars=0.05, calls=1, input_tokens=9_000, output_tokens=300, cache_read_tokens=6_000)


@pytest.fixture
def spent(home: Path) -> Path:
    clock = FixedClock(at=datetime(2026, 3, 14, 9, 0, tzinfo=UTC))
    with open_engine(home, clock=clock) as engine:
        ledger = engine._rooms.spending
        ledger.note("reply", "anthropic:claude-sonnet-5", REPLY, session="trip")
        clock.advance(days=1)
        ledger.note("flush", "anthropic:claude-haiku-5", FLUSH, session="trip")
        ledger.note("reply", "acme:x", Spent(calls=1, input_tokens=10, unpriced=1), session="b")
    return home


def test_the_rows_add_up_and_unknown_prices_are_said(spent: Path) -> None:
    run = inside(spent, "cost")
    assert [line.split()[0] for line in run.out.splitlines()] == [
        *("day", "2026-03-14", "2026-03-15", "all"),
    ]
    assert "67%" in run.out.splitlines()[1], "of the first day two thirds came from the cache"
    assert "$0.0600+?" in run.out.splitlines()[-1]
    assert "1 call of models whose price is not known" in run.err


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("session", {"trip", "b"}),
        ("model", {"anthropic:claude-sonnet-5", "anthropic:claude-haiku-5", "acme:x"}),
        ("what", {"reply", "flush"}),
    ],
)
def test_json_has_a_line_for_each_and_the_sum_last(spent: Path, by: str, names: set[str]) -> None:
    *rows, summary = map(json.loads, inside(spent, "cost", "--by", by, "--json").out.splitlines())
    assert {row[by] for row in rows} == names
    assert summary["summary"] is True
    for field in ("calls", "input_tokens", "dollars", "unpriced"):
        assert sum(row[field] for row in rows) == pytest.approx(summary[field])


def test_an_empty_ledger_says_so_and_an_unknown_way_is_refused(home: Path) -> None:
    assert "Nothing yet" in inside(home, "cost").out
    refused = inside(home, "cost", "--by", "sesion")
    assert refused.code == 2
    assert "Did you mean 'session'?" in refused.err
