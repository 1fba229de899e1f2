"""``remember``, ``get`` and ``undo`` on the command line, as a person and as a script use them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doors.inside import inside


def test_a_memory_is_written_read_and_taken_back(home: Path) -> None:
    run = inside(home, "remember", "Prefers tea.", "--kind", "O", "--entity", "Ana", "--json")
    assert run.code == 0
    (told,) = run.lines
    assert told["added"][0]["text"] == "Prefers tea."
    assert (told["added"][0]["kind"], told["added"][0]["entity"]) == ("O", "Ana")
    got = inside(home, "get", told["path"])
    assert "- O @Ana: Prefers tea." in got.out
    undone = inside(home, "undo")
    assert undone.code == 0
    assert "Prefers tea." in undone.out
    assert inside(home, "get", told["path"]).code == 3


def test_a_confidence_makes_an_opinion(home: Path) -> None:
    (told,) = inside(home, "remember", "Likes jazz.", "--confidence", "0.7", "--json").lines
    assert (told["added"][0]["kind"], told["added"][0]["confidence"]) == ("O", 0.7)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("daily", None),
        ("memory", "MEMORY.md"),
        ("topic:travel", "memory/topics/travel.md"),
        ("topic:旅行", "memory/topics/旅行.md"),
    ],
)
def test_the_target_says_where(home: Path, target: str, path: str | None) -> None:
    run = inside(home, "remember", "Goes to Porto.", "--target", target, "--json")
    assert run.lines[0]["path"] == path or (path is None and "memory/20" in run.lines[0]["path"])


def test_a_text_may_come_from_stdin(home: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(home), "remember", "-"],
        input="One thing.\n\nAnother thing.\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(run.stdout.splitlines()) == 2
    assert f"holdfast --home {home} undo" in run.stderr


def test_people_are_told_of_repeats_and_contradictions(home: Path) -> None:
    inside(home, "remember", "The port is 8080.", "--entity", "api")
    again = inside(home, "remember", "the port is 8080", "--entity", "api")
    assert "not written again" in again.out
    other = inside(home, "remember", "The port is 9090.", "--entity", "api")
    assert "contradicts" in other.err
    assert "The port is 8080." in other.err
    assert f"holdfast --home {home} conflicts resolve" in other.err
    listed = inside(home, "conflicts", "list", "--json").lines
    assert listed[-1]["summary"] is True
    resolved = inside(home, "conflicts", "resolve", listed[0]["id"], "--keep", "old")
    assert resolved.code == 0, resolved.err
    assert [each["text"] for each in inside(home, "facts", "list", "--json").lines[:-1]] == [
        "The port is 8080."
    ]


def test_a_chat_and_a_user_have_folders_of_their_own(home: Path) -> None:
    for options, folder in (
        (("--chat", "team"), "chats/team"),
        (("--user", "bob"), "users/bob"),
    ):
        run = inside(home, *options, "remember", f"For {folder} only.", "--target", "memory")
        assert run.code == 0, run.err
        assert f"Written to {folder}/MEMORY.md" in run.err
        assert (home / "agents" / "main" / folder / "MEMORY.md").is_file()
    assert not (home / "agents" / "main" / "MEMORY.md").exists()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["remember", ""], 2),
        (["remember", "x y", "--kind", "Z"], 2),
        (["remember", "x y", "--target", "elsewhere"], 2),
        (["get", "../../etc/passwd"], 6),
        (["get", "memory/1999-01-01.md"], 3),
        (["undo"], 3),
        (["undo", "nosuch"], 3),
        (["facts", "show", "nosuch"], 3),
        (["conflicts", "resolve", "nosuch", "--keep", "new"], 3),
        (["tasks", "show", "nosuch"], 3),
        (["archive", "restore", "nosuch"], 3),
        (["forget"], 2),
        (["forget", "x", "--stale"], 2),
        (["facts", "list", "--as-of", "soon"], 2),
    ],
)
def test_a_mistake_is_told_with_what_to_do(home: Path, command: list[str], code: int) -> None:
    run = inside(home, *command)
    assert run.code == code, run.err
    assert run.err.strip()
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    "command",
    [["facts", "list"], ["conflicts", "list"], ["tasks", "list"], ["archive", "list"]],
    ids=" ".join,
)
def test_an_empty_list_says_how_to_fill_it(home: Path, command: list[str]) -> None:
    run = inside(home, *command)
    assert run.code == 0
    assert run.out == ""
    assert run.err.strip()
