"""``holdfast facts`` and ``holdfast conflicts``: what a person sees and decides."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast as library
from holdfast.cli import archives, knowing
from holdfast.cli.options import Door
from holdfast.errors import NotFound, UsageError
from holdfast.types import Json
from tests.doors.command import Run
from tests.doors.inside import inside

OLD = '- W @Peter: Lives in Berlin. <!-- hf {"id":"aaaa1","observed":"2025-01-01"} -->'
NEW = '- W @Peter: Lives in Lisbon. <!-- hf {"id":"bbbb2","observed":"2026-01-01"} -->'
BELIEF = '- O(c=0.9) @Peter: Likes tea. <!-- hf {"id":"cccc3","trust":"tool"} -->'
ALL: dict[str, Json] = {
    "kind": None, "entity": None, "as_of": None, "trust": None, "ended": False, "text": None
}  # fmt: skip

Say = Callable[..., Run]


@pytest.fixture
def filled(home: Path) -> Path:
    folder = home / "agents" / "main"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(f"# Memory\n\n{OLD}\n{BELIEF}\n- W: 手写的一行\x1b[31m。\n")
    (folder / "memory").mkdir()
    (folder / "memory" / "2026-01-01.md").write_text(f"## Retain\n\n{NEW}\n")
    return home


@pytest.fixture
def say(home: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """A command in this process: what it does is the same, and it starts at once."""

    def said(command: Callable[..., None], *arguments: Json, **options: Json) -> Run:
        options = {"as_json": False, **options}
        command(Door(home=home, agent="main"), *arguments, **options)
        out, err = capsys.readouterr()
        return Run(0, out, err)

    return said


def test_an_empty_home_says_what_to_do(say: Say) -> None:
    run = say(knowing.facts_list, **ALL)
    assert run.out == ""
    assert " remember " in run.err
    assert say(knowing.facts_list, **ALL, as_json=True).lines == [{"summary": True, "facts": 0}]
    assert "No memories contradict" in say(knowing.conflicts_list).err
    assert "facts list --ended" in say(knowing.facts_list, **{**ALL, "entity": "nobody"}).err


def test_forgetting_what_is_stale_names_every_line_it_moves(filled: Path, say: Say) -> None:
    stale = {"after_days": 1, "below_importance": None, "max_bytes": None, "dry_run": False}
    with pytest.raises(UsageError):
        say(archives.forget_stale, **stale, yes=False, as_json=True)
    run = say(archives.forget_stale, **stale, yes=True)
    assert f"-{NEW}" in run.out
    assert "Moved 1 memory" in run.out


def test_the_list_shows_what_is_known_and_where_it_stands(filled: Path, say: Say) -> None:
    shown = say(knowing.facts_list, **ALL).out
    assert "MEMORY.md#L3" in shown
    assert "手写的一行" in shown
    assert "\x1b" not in shown
    *rows, summary = say(knowing.facts_list, **{**ALL, "kind": "o"}, as_json=True).lines
    assert summary == {"summary": True, "facts": 1}
    assert (rows[0]["id"], rows[0]["trust"], rows[0]["confidence"]) == ("cccc3", "tool", 0.9)


def test_a_day_is_asked_for(filled: Path, say: Say) -> None:
    wanted = {**ALL, "text": "lisbon"}
    (only, _) = say(knowing.facts_list, **{**wanted, "as_of": "2026-02-01"}, as_json=True).lines
    assert only["path"] == "memory/2026-01-01.md"
    none = say(knowing.facts_list, **{**wanted, "as_of": "2025-06-01"}, as_json=True)
    assert none.lines == [{"summary": True, "facts": 0}]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"kind": "X"}, "W, B, O, S"), ({"trust": "usr"}, "user"), ({"as_of": "soon"}, "2026-03-14")],
)
def test_what_cannot_be_asked_is_refused_with_what_can(
    filled: Path, say: Say, wrong: dict[str, Json], told: str
) -> None:
    with pytest.raises(UsageError) as refused:
        say(knowing.facts_list, **{**ALL, **wrong})
    assert told in (refused.value.hint or "")


def test_one_is_shown_with_everything_about_it(filled: Path, say: Say) -> None:
    run = say(knowing.facts_show, "aaaa1")
    assert "Lives in Berlin." in run.out
    assert "2025-01-01" in run.out
    assert "conflicts list" in run.err
    with pytest.raises(NotFound):
        say(knowing.facts_show, "zzzz")


def test_confirming_and_retracting_can_be_undone(filled: Path, say: Say) -> None:
    file = filled / "agents/main/MEMORY.md"
    before = file.read_bytes()
    (confirmed, _) = say(knowing.facts_confirm, ["cccc3"], as_json=True).lines
    assert (confirmed["trust"], confirmed["holds"]) == ("user", True)
    assert confirmed["verified"]
    assert "retracted cccc3" in say(knowing.facts_retract, ["cccc3"], reason="not so").out
    assert "Likes tea." not in say(knowing.facts_list, **ALL).out
    assert "Likes tea." in say(knowing.facts_list, **{**ALL, "ended": True}).out
    assert "not so" in say(knowing.facts_show, "cccc3").out
    with library.open(filled) as engine:
        engine.undo()
        engine.undo()
    assert file.read_bytes() == before


def test_a_contradiction_is_shown_and_decided(filled: Path, say: Say) -> None:
    run = say(knowing.conflicts_list)
    assert "Lives in Berlin." in run.out
    assert "Lives in Lisbon." in run.out
    (conflict, summary) = say(knowing.conflicts_list, as_json=True).lines
    assert summary == {"summary": True, "conflicts": 1}
    assert (conflict["old"]["id"], conflict["new"]["id"]) == ("aaaa1", "bbbb2")
    id = conflict["id"]
    assert id in run.err
    with pytest.raises(UsageError):
        say(knowing.conflicts_resolve, id, keep="neither")
    assert say(knowing.conflicts_resolve, id, keep="new").out.startswith("ended  aaaa1")
    assert say(knowing.conflicts_list, as_json=True).lines == [{"summary": True, "conflicts": 0}]
    *chain, _ = say(knowing.facts_history, "bbbb2", as_json=True).lines
    assert [each["id"] for each in chain] == ["aaaa1", "bbbb2"]
    with pytest.raises(NotFound):
        say(knowing.conflicts_resolve, id, keep="old")


def test_the_commands_are_there(filled: Path) -> None:
    (listed, _) = inside(filled, "facts", "list", "tea", "--entity", "peter", "--json").lines
    assert listed["id"] == "cccc3"
    (conflict, _) = inside(filled, "conflicts", "list", "--json").lines
    decided = inside(filled, "conflicts", "resolve", conflict["id"], "--keep", "both", "--json")
    assert [row.get("agrees") for row in map(json.loads, decided.out.splitlines())] == [
        ["bbbb2"],
        ["aaaa1"],
        None,
    ]
    assert inside(filled, "facts", "show", "zzzz").code == 3
