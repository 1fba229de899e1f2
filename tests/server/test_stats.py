"""Figures by the API: every one is a sum of lines that can be counted again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import holdfast
from holdfast.engine.figures import SavedDay, savings
from tests.server.asking import asking
from tests.server.furnishing import furnish


def _told(event: str, at: str, **more: object) -> str:
    return json.dumps({"event": event, "at": at, **more}, separators=(",", ":"))


def _log(home: Path, *lines: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_savings_are_the_sums_of_the_events_of_each_day_of_the_user(home: Path) -> None:
    _log(
        home,
        _told(
            "tool_results_pruned", "2026-03-01T22:30:00+00:00", tokens_before=90, tokens_after=30
        ),
        _told("compaction_end", "2026-03-01T23:30:00+00:00", tokens_before=500, tokens_after=100),
        _told("memory_flush_end", "2026-03-02T09:00:00+00:00", saved=3, outcome="saved"),
        _told("memory_flush_end", "2026-03-02T09:05:00+00:00", saved=0, outcome="nothing"),
        _told("compaction_end", "2026-03-02T10:00:00+00:00", tokens_before=5, tokens_after=9),
        _told("searched", "2026-03-02T10:00:00+00:00", tokens_before=7_000, tokens_after=0),
        '{"event":"compaction_end","at":"torn',
        '{"event":"compaction_end","at":null,"tokens_before":9}',
        '{"event":"compaction_end","at":"2026-03-02T10:00:00+00:00","tokens_before":"many"}',
    )
    found = savings(home, ZoneInfo("Europe/Berlin"))
    assert found.days == (
        SavedDay(day="2026-03-01", pruned_tokens=60),
        SavedDay(day="2026-03-02", compacted_tokens=400, flushed_lines=3, flushes=2, compactions=3),
    )
    assert (found.total_tokens, found.truncated) == (460, False)


def test_of_a_long_log_only_the_end_is_read_and_that_is_said(home: Path) -> None:
    line = _told("memory_flush_end", "2026-03-02T09:00:00+00:00", saved=1)
    _log(home, *[line] * 100)
    found = savings(home, UTC, most_bytes=10 * (len(line) + 1) + 5)
    assert found.truncated
    assert found.days == (SavedDay(day="2026-03-02", flushed_lines=10, flushes=10),)
    assert savings(home / "none", UTC).days == ()


def test_stats_tell_sizes_costs_and_savings_of_a_home_that_was_lived_in(home: Path) -> None:
    with furnish(home).engine as engine, asking(engine) as ask:
        told = ask.get("/stats")
        assert told["status"] == engine.status().to_json()
        days, models = told["costs"]["days"], told["costs"]["models"]
        assert [each["day"] for each in days] == [datetime.now(UTC).date().isoformat()]
        assert sum(each["calls"] for each in models) == days[0]["calls"] > 0
        assert sum(each["calls"] for each in told["costs"]["what"]) == days[0]["calls"]
        compactions = sum(each["compactions"] for each in told["saved"]["days"])
        assert compactions == sum(each.compactions for each in engine.sessions()) > 0
        assert told["saved"]["total_tokens"] > 0


def test_an_empty_home_has_figures_too(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        told = ask.get("/stats")
        assert told["costs"] == {"days": [], "models": [], "what": [], "daily_limit": None}
        assert told["saved"] == {"days": [], "total_tokens": 0, "truncated": False}
