"""``holdfast tasks``, ``holdfast forget --stale`` and ``holdfast archive``.

The command as it is installed, called in this process: what a process of its own adds is tested
in ``test_cli_contract``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast as library
from holdfast.cli import main
from tests.doors.command import Run

Command = Callable[..., Run]


@pytest.fixture
def holdfast(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(home: Path, *arguments: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["holdfast", "--home", str(home), *arguments])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as exit:
            code = int(exit.code or 0)
        said = capsys.readouterr()
        return Run(code, said.out, said.err)

    return run


@pytest.fixture
def filled(home: Path) -> Path:
    with library.open(home) as engine:
        login = engine.tasks.open("Fix the login crash", id="t-1", sources=["trip#e1"])
        engine.tasks.update(login.id, note="found the cause \x1b[31m")
        engine.tasks.close(
            login.id,
            result="A longer timeout.",
            errors=["timeout → 30 s", "no module named bcrypt"],
            patterns=["worked: read the log first"],
        )
        engine.tasks.open("帮我订一张去成都的机票", id="t-2")
    daily = home / "agents/main/memory/2024-05-06.md"
    daily.parent.mkdir(parents=True, exist_ok=True)
    daily.write_text(
        "# 2024-05-06\n\nprose\n\n## Retain\n\n- W: old fact\n- W: Never push to main.\n"
    )
    return home


def test_an_empty_home_says_what_to_do(holdfast: Command, home: Path) -> None:
    for command in (("tasks", "list"), ("tasks", "stats"), ("tasks", "patterns")):
        run = holdfast(home, *command)
        assert (run.code, run.out) == (0, "")
        assert "holdfast tasks" in run.err
    run = holdfast(home, "archive", "list")
    assert (run.code, run.out) == (0, "")
    assert "forget --help" in run.err


def test_tasks_are_listed_shown_and_found_again(holdfast: Command, filled: Path) -> None:
    listed = holdfast(filled, "tasks", "list").out
    assert listed.index("t-2") < listed.index("t-1")  # open ones first
    *tasks, summary = holdfast(filled, "tasks", "list", "--json").lines
    assert [task["id"] for task in tasks] == ["t-2", "t-1"]
    assert summary == {"summary": True, "tasks": 2, "open": 1}
    assert holdfast(filled, "tasks", "list", "--type", "booking", "--json").lines[0]["id"] == "t-2"
    shown = holdfast(filled, "tasks", "show", "t-1").out
    for text in ("A longer timeout.", "timeout → 30 s", "not fixed", "worked: read the log first"):
        assert text in shown
    assert "\x1b" not in shown
    for name in (
        "fix the login crash",
        holdfast(filled, "tasks", "list", "--json").lines[1]["path"],
    ):
        assert holdfast(filled, "tasks", "show", str(name)).out == shown
    (task,) = holdfast(filled, "tasks", "show", "t-1", "--json").lines
    assert task["errors"][0] == {"what": "timeout", "fix": "30 s", "from_tool": False}
    found, _ = holdfast(filled, "tasks", "similar", "the login times out", "--json").lines
    assert found["id"] == "t-1"
    assert found["reasons"]
    assert "result: A longer timeout." in holdfast(filled, "tasks", "similar", "login").out
    missing = holdfast(filled, "tasks", "show", "nothing")
    assert missing.code == 3
    assert "holdfast tasks list" in missing.err


def test_figures_and_patterns(holdfast: Command, filled: Path) -> None:
    booking, fixes, totals = holdfast(filled, "tasks", "stats", "--json").lines
    assert (booking["type"], booking["success_rate"], booking["open"]) == ("booking", None, 1)
    assert (fixes["type"], fixes["success_rate"], fixes["open"]) == ("bug_fix", 1.0, 0)
    assert (totals["summary"], totals["count"], totals["done"]) == (True, 2, 1)
    shown = holdfast(filled, "tasks", "stats").out
    assert "100%" in shown
    assert "1 ×  timeout" in shown
    *found, summary = holdfast(filled, "tasks", "patterns", "--json").lines
    assert summary == {"summary": True, "patterns": 3}
    assert {(each["outcome"], each["text"]) for each in found} == {
        ("worked", "read the log first"),
        ("worked", "30 s"),
        ("failed", "no module named bcrypt"),
    }
    assert "against: timeout" in holdfast(filled, "tasks", "patterns").out


def test_tasks_are_opened_and_closed_by_hand(holdfast: Command, home: Path) -> None:
    (task,) = holdfast(home, "tasks", "open", "Write the report", "--json").lines
    assert (task["status"], task["type"]) == ("open", "writing")
    run = holdfast(home, "tasks", "close", task["id"], "--status", "failed", "--result", "no time")
    assert f"closed as failed, {task['path']}" in run.out
    wrong = holdfast(home, "tasks", "close", task["id"], "--status", "fail")
    assert wrong.code == 2
    assert "failed" in wrong.err


def test_what_is_stale_is_shown_moved_and_restored(holdfast: Command, filled: Path) -> None:
    daily = filled / "agents/main/memory/2024-05-06.md"
    before = daily.read_text()
    nothing = holdfast(filled, "forget", "--stale")
    assert nothing.code == 2
    assert "--after-days" in nothing.err
    stale = ("forget", "--stale", "--after-days", "100")
    dry = holdfast(filled, *stale, "--dry-run")
    assert "--- memory/2024-05-06.md" in dry.out
    assert "-- W: old fact" in dry.out
    assert "1 rule" in dry.err
    assert daily.read_text() == before
    asked = holdfast(filled, *stale)
    assert asked.code == 2
    assert "--yes" in asked.err
    moved, summary = holdfast(filled, *stale, "--yes", "--json").lines
    assert (moved["path"], moved["line"]) == ("memory/2024-05-06.md", 7)
    assert (summary["items"], summary["dry_run"]) == (1, False)
    assert summary["operation"]
    assert daily.read_text() == before.replace("- W: old fact\n", "")
    listed, count = holdfast(filled, "archive", "list", "--json").lines
    assert (listed["text"], count["items"]) == ("old fact", 1)
    assert "old fact" in holdfast(filled, "archive", "list").out
    restored = holdfast(filled, "archive", "restore", listed["id"])
    assert "back in memory/2024-05-06.md" in restored.out
    assert daily.read_text() == before
    assert holdfast(filled, "archive", "restore", listed["id"]).code == 3
    assert "Nothing is stale" in holdfast(filled, "forget", "--stale", "--after-days", "9999").err
