"""``holdfast forget``: it shows, it asks, it erases, and it never claims what it did not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from tests.doors.inside import inside
from tests.engine.canaries import left


@pytest.fixture
def filled(home: Path) -> Path:
    with holdfast.open(home) as engine:
        engine.session("s1").append({"role": "user", "content": "the canary sings"})
        engine.remember("The canary sings.")
        engine.remember("Dogs bark.")
        engine.remember("The canary no longer sings at dawn.")
    return home


def test_a_dry_run_shows_where_it_stands(filled: Path) -> None:
    run = inside(filled, "forget", "Canary sings", "--erase", "--dry-run")
    assert run.code == 0
    assert ".md#L" in run.out
    assert "agents/main/sessions/s1" in run.out
    assert "near, not touched" in run.out
    assert "dry run" in run.err
    assert left(filled, ["canary sings"]) != []


def test_without_a_terminal_it_must_be_told_yes(filled: Path) -> None:
    run = inside(filled, "forget", "canary", "--erase")
    assert run.code == 2
    assert "--yes" in run.err
    assert left(filled, ["canary"]) != []


def test_erasing_gives_a_receipt_and_leaves_nothing(filled: Path) -> None:
    run = inside(filled, "forget", "canary", "--erase", "--yes", "--json")
    assert run.code == 0
    *items, summary = run.lines
    assert {item["what"] for item in items} == {"goes", "marked"}
    assert summary["summary"] is True
    assert summary["remaining"] == []
    receipt = json.loads(Path(summary["receipt_path"]).read_text("utf-8"))
    assert receipt["receipt"] == summary["receipt"]
    assert left(filled, ["canary"]) == []
    again = inside(filled, "forget", "canary", "--erase", "--yes")
    assert (again.code, again.out) == (0, "")
    assert "Nothing matches" in again.err


def test_what_remains_is_said_with_what_to_do_and_fails(filled: Path) -> None:
    (filled / "config.toml").write_text("# canary\n")
    run = inside(filled, "forget", "canary", "--erase", "--yes")
    assert run.code == 1
    assert "config.toml" in run.out
    assert "→" in run.out


def test_without_erase_lines_are_archived_and_can_be_undone(filled: Path) -> None:
    run = inside(filled, "forget", "canary", "--yes", "--json")
    assert run.code == 0
    assert {item["what"] for item in run.lines[:-1]} == {"archived"}
    assert run.lines[-1]["operation"]
    assert inside(filled, "undo").code == 0
    (page,) = (filled / "agents" / "main" / "memory").glob("*.md")
    assert page.read_text("utf-8").casefold().count("canary") == 2


def test_a_text_too_short_is_refused(filled: Path) -> None:
    run = inside(filled, "forget", "x", "--erase", "--yes")
    assert run.code == 2
    assert "too short" in run.err


def test_a_person_is_asked_and_no_is_no(filled: Path) -> None:
    for answer, is_left in (("n\n", True), ("y\n", False)):
        run = inside(filled, "forget", "canary", "--erase", stdin=answer, is_asked=True)
        assert run.code == 0, run.err
        assert bool(left(filled, ["canary"])) == is_left
