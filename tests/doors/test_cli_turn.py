"""``holdfast status``, ``flush``, ``compact``: how a session stands, and what is done by hand."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

import holdfast as library
from holdfast.context.flush import FlushPlan
from holdfast.engine.standing import plan_flush_now, standing_of
from holdfast.testing import FixedClock
from holdfast.testing.corpus import conversation
from tests.doors.inside import inside

COUNTERS = {
    "cycle",
    "compaction_count",
    "memory_flush_compaction_count",
    "memory_flush_at",
    "memory_flushing",
    "last_memory_flush",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("turn") / "home"
    with library.open(home, background=False) as engine:
        engine.session("older").append({"role": "user", "content": "hi"})
        session = engine.session("旅行")
        session.append({"role": "user", "content": "Plan \x1b[31m a trip. Never by red-eye."})
        session.append_all(conversation(1, 8)[1:])
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    shutil.copytree(template, home)
    return home


def lines_in_memory(home: Path) -> list[str]:
    files = (home / "agents" / "main" / "memory").glob("*.md")
    return [line for file in files for line in file.read_text().splitlines() if '"id":"' in line]


# ── status ──────────────────────────────────────────────────────────────────────────────────


def test_status_shows_the_three_tiers_and_how_the_session_stands(filled: Path) -> None:
    (told,) = inside(filled, "status", "--window", "20000", "--json").lines
    assert told["sessions"] == 2
    assert told["newest_session"] == "旅行"
    session = told["session"]
    assert session["session"] == "旅行"
    assert set(session) >= COUNTERS
    assert session["phase"] == "ACTIVE"
    assert session["cycle"] == "genesis"
    assert session["memory_mode"] == told["memory_mode"] == "read-write"
    assert session["breakdown"]["total"] == session["projected"]
    assert session["marks"]["window"] == 20000
    assert session["unsaved"] > 0
    for mark in session["next_marks"]:
        assert mark["away"] == mark["at"] - session["projected"] > 0
        assert session["marks"][mark["name"]] == mark["at"]
    assert told["index"] is None, "looking makes none"


def test_status_is_drawn_for_people(filled: Path) -> None:
    out = inside(filled, "status").out
    for words in (
        "immediate   旅行: ",
        "p prune, f flush, c compact",
        "short-term",
        "long-term",
        "none yet; the first search makes one",
        "tokens away",
        "ACTIVE, cycle genesis, 0 compactions",
        "holdfast flush saves them",
        "read-write",
    ):
        assert words in out
    assert "\x1b" not in out
    assert "older: " in inside(filled, "status", "older").out


def test_status_of_an_empty_home_and_of_a_name_that_is_wrong(home: Path, filled: Path) -> None:
    empty = inside(home / "new", "status")
    assert empty.code == 0
    assert "nothing: there is no session" in empty.out
    assert "holdfast demo" in empty.err
    wrong = inside(filled, "status", "旅")
    assert (wrong.code, wrong.out) == (3, "")
    assert "Did you mean '旅行'?" in wrong.err


def test_the_index_is_part_of_long_term_memory(filled: Path) -> None:
    with library.open(filled, background=False) as engine:
        engine.search("trip")
    (told,) = inside(filled, "status", "--json").lines
    assert told["index"]["chunks"] > 0
    assert "passages, up to date, by words alone" in inside(filled, "status").out


def test_what_another_process_is_saving_shows_until_its_lease_ends(filled: Path) -> None:
    clock = FixedClock()
    with library.open(filled, clock=clock, background=False) as engine:
        session = engine.existing_session("旅行")
        plan = plan_flush_now(session)
        assert isinstance(plan, FlushPlan)
        lease = plan.record("flushing", owner="somebody", mode="rules")
        session.append_entry("flush", lease.entry_data())
        assert standing_of(session).phase == "FLUSHING"
        assert standing_of(session).memory_flushing
        clock.at += timedelta(hours=1)
        assert standing_of(session).phase == "ACTIVE", "whoever held it is gone"


@pytest.mark.parametrize("mode", ["read", "off"])
def test_the_memory_mode_of_a_session_is_shown(home: Path, mode: str) -> None:
    with library.open(home, background=False) as engine:
        engine.session("quiet", memory=mode).append({"role": "user", "content": "psst"})  # type: ignore[arg-type]
    (told,) = inside(home, "status", "quiet", "--json").lines
    assert told["session"]["memory_mode"] == mode
    assert told["session"]["incognito"] is False


# ── flush ───────────────────────────────────────────────────────────────────────────────────


def test_a_flush_gives_a_receipt_and_its_lines_are_in_the_file(filled: Path) -> None:
    (plan,) = inside(filled, "flush", "--dry-run", "--json").lines
    assert plan["dry_run"] is True
    assert not lines_in_memory(filled)
    run = inside(filled, "flush", "--json")
    (done,) = run.lines
    assert run.out == json.dumps(done, ensure_ascii=False, separators=(",", ":")) + "\n"
    assert done["session"] == "旅行", "the one that was used last"
    assert (done["done"], done["outcome"], done["mode"]) == (True, "flushed", "rules")
    assert done["covered"] == len(plan["entries"])
    assert len(lines_in_memory(filled)) == done["saved"] == done["verified"] > 0
    assert all(any(id in line for line in lines_in_memory(filled)) for id in done["lines"])
    assert done["cost"] == 0
    (again,) = inside(filled, "flush", "--json").lines
    assert again["done"] is False
    assert "covered" in again["reason"]
    (status,) = inside(filled, "status", "--json").lines
    assert status["session"]["unsaved"] == 0
    assert status["session"]["last_memory_flush"]["saved"] == done["saved"]
    assert status["session"]["memory_flush_compaction_count"] == 0


def test_a_flush_is_told_to_people_with_where_to_read_it(filled: Path) -> None:
    would = inside(filled, "flush", "旅行", "--dry-run").out
    assert "would read" in would
    assert "Nothing was done" in would
    run = inside(filled, "flush", "旅行")
    for words in ("read for memory", "written", "read back", "none, without a model", " ms"):
        assert words in run.out
    assert f"holdfast --home {filled} get memory/" in run.err
    assert "nothing to save: " in inside(filled, "flush", "旅行").out
    assert "nothing to save: " in inside(filled, "flush", "旅行", "--dry-run").out


def test_nothing_to_flush_in_an_empty_home_and_unknown_sessions(home: Path, filled: Path) -> None:
    for command in ("flush", "compact"):
        empty = inside(home / "new", command)
        assert (empty.code, empty.out) == (3, "")
        assert "holdfast demo" in empty.err
        wrong = inside(filled, command, "oldr")
        assert (wrong.code, wrong.out) == (3, "")
        assert "Did you mean 'older'?" in wrong.err


def test_a_session_without_memory_is_read_and_nothing_is_written(home: Path) -> None:
    with library.open(home, background=False) as engine:
        session = engine.session("quiet", memory="off")
        session.append({"role": "user", "content": "Remember that my cat is called Momo."})
    (done,) = inside(home, "flush", "--json").lines
    assert not lines_in_memory(home)
    assert done.get("saved", 0) == 0
    assert "off" in done["reason"]


# ── compact ─────────────────────────────────────────────────────────────────────────────────


def test_a_compaction_saves_first_and_says_how_what_left_comes_back(filled: Path) -> None:
    (plan,) = inside(filled, "compact", "--window", "20000", "--dry-run", "--json").lines
    assert plan["dry_run"] is True
    assert plan["drops"]
    with library.open(filled, background=False) as engine:
        before = engine.existing_session("旅行").state()
    assert before["compaction_count"] == 0, "a dry run does nothing"
    run = inside(filled, "compact", "--window", "20000", "--focus", "the trip", "--json")
    (done,) = run.lines
    assert done["done"] is True
    assert done["tokens_after"] < done["tokens_before"]
    covered = sum(each["covered"] for each in done["flushes"])
    assert covered >= len(done["dropped"]) > 0
    with library.open(filled) as engine:
        session = engine.existing_session("旅行")
        assert session.state()["compaction_count"] == 1
        assert all(session.expand(id).message is not None for id in done["dropped"])
    expanded = inside(filled, "sessions", "expand", "旅行", done["dropped"][0])
    assert expanded.code == 0


def test_a_compaction_is_told_to_people(filled: Path) -> None:
    would = inside(filled, "compact", "--window", "20000", "--dry-run").out
    assert "would leave the view by layered" in would
    run = inside(filled, "compact", "--window", "20000", "--strategy", "selective")
    for words in ("compacted", "tokens", "left the view", "by", "selective", "saved first"):
        assert words in run.out
    assert "sessions expand" in run.err
    assert "\x1b" not in run.out


def test_a_session_with_nothing_to_compact_says_why_and_is_no_failure(filled: Path) -> None:
    run = inside(filled, "compact", "older")
    assert run.code == 0
    assert run.out.startswith("older: nothing to compact: ")
    (told,) = inside(filled, "compact", "older", "--json").lines
    assert told["done"] is False
    assert told["reason"]
    (told,) = inside(filled, "compact", "older", "--dry-run", "--json").lines
    assert told["done"] is False


def test_a_wrong_strategy_or_window_is_refused(filled: Path) -> None:
    wrong = inside(filled, "compact", "--strategy", "layerd")
    assert wrong.code == 2
    assert "Did you mean 'layered'?" in wrong.err
    assert inside(filled, "compact", "--window", "100").code == 2
