"""``holdfast sessions``: what a person does with conversations."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast as library
from holdfast.testing.corpus import conversation
from tests.doors.inside import inside


@pytest.fixture
def filled(home: Path) -> Path:
    with library.open(home) as engine:
        session = engine.session("trip")
        session.append_all(conversation(2, 6))
        session.append_all(conversation(2, 6, language="zh")[1:])
        session.append({"role": "assistant", "content": "hello, 你好"})
    return home


def test_an_empty_home_says_what_to_do(home: Path) -> None:
    run = inside(home, "sessions", "list")
    assert run.out == ""
    assert "holdfast demo" in run.err


def test_the_list_shows_names_and_sizes(filled: Path) -> None:
    run = inside(filled, "sessions", "list")
    assert "trip" in run.out
    (listed, summary) = inside(filled, "sessions", "list", "--json").lines
    assert listed["name"] == "trip"
    assert summary["sessions"] == 1


def test_show_gives_every_entry_in_order(filled: Path) -> None:
    *entries, summary = inside(filled, "sessions", "show", "trip", "--json").lines
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    assert summary["entries"] == len(entries)
    last = inside(filled, "sessions", "show", "trip", "--last", "2", "--json").lines
    assert last[:2] == entries[-2:]
    text = inside(filled, "sessions", "show", "trip", "--full").out
    assert "hello, 你好" in text


def test_verify_finds_damage_and_says_so_with_its_exit_code(filled: Path) -> None:
    assert inside(filled, "sessions", "verify").code == 0
    file = filled / "agents/main/sessions/trip.jsonl"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    run = inside(filled, "sessions", "verify", "--json")
    assert run.code == 5
    checked, summary = run.lines
    assert checked["intact"] is False
    assert checked["damaged_regions"] == 1
    assert Path(checked["quarantine"]).exists()
    assert summary == {"summary": True, "sessions": 1, "damaged": 1}
    assert "damaged region" in inside(filled, "sessions", "verify", "trip").out


def test_fork_rename_and_delete(filled: Path) -> None:
    entries = inside(filled, "sessions", "show", "trip", "--json").lines[:-1]
    at = entries[4]["id"]
    (forked,) = inside(filled, "sessions", "fork", "trip", "other", "--at", at, "--json").lines
    assert forked == {"session": "other", "forked_from": "trip", "at": at, "entries": 6}
    assert inside(filled, "sessions", "rename", "other", "另一个").code == 0
    (deleted,) = inside(filled, "sessions", "delete", "另一个", "--yes", "--json").lines
    assert deleted == {"session": "另一个", "deleted": True, "entries": 6}
    gone = inside(filled, "sessions", "show", "另一个")
    assert gone.code == 3
    assert "was deleted on" in gone.err
    assert [each["name"] for each in inside(filled, "sessions", "list", "--json").lines[:-1]] == [
        "trip"
    ]


@pytest.mark.parametrize(("answer", "is_left"), [("y", False), ("n", True)])
def test_delete_asks_first_on_a_terminal(filled: Path, answer: str, is_left: bool) -> None:
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "holdfast",
        "--home",
        str(filled),
        "sessions",
        "delete",
        "trip",
    ]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.write(ours, f"{answer}\n".encode())
    _, told = process.communicate()
    os.close(ours)
    os.close(theirs)
    assert "There is no undo" in told.decode()
    assert (filled / "agents/main/sessions/trip.jsonl").exists() == is_left


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_an_export_for_a_provider_is_a_request_body(filled: Path, format: str) -> None:
    exported = json.loads(inside(filled, "sessions", "export", "trip", "-f", format).out)
    roles = [message["role"] for message in exported["messages"]]
    assert ("system" in exported) == (format == "anthropic")
    assert ("system" in roles) == (format == "openai")


def test_an_export_goes_to_a_file(filled: Path, tmp_path: Path) -> None:
    page = tmp_path / "trip.md"
    run = inside(filled, "sessions", "export", "trip", "-o", str(page))
    assert run.out == ""
    assert page.read_text(encoding="utf-8").startswith("# trip\n")


def test_an_export_does_not_overwrite_and_is_private(filled: Path, tmp_path: Path) -> None:
    page = tmp_path / "trip.md"
    inside(filled, "sessions", "export", "trip", "-o", str(page))
    assert page.stat().st_mode & 0o777 == 0o600
    again = inside(filled, "sessions", "export", "trip", "-o", str(page))
    assert (again.code, "already" in again.err) == (2, True)
    nowhere = inside(filled, "sessions", "export", "trip", "-o", str(tmp_path / "no" / "x"))
    assert nowhere.code == 1
    assert "Traceback" not in nowhere.err


def test_the_view_can_be_exported_and_shown_in_part(filled: Path) -> None:
    with library.open(filled) as engine:
        engine.session("trip").append_entry("marker", {"kind": "reset"})
        engine.session("trip").append({"role": "user", "content": "only this"})
        engine.session("trip").append({"role": "user", "content": "and this"})
    page = inside(filled, "sessions", "export", "trip", "--view").out
    assert page.count("###") == 2
    assert "only this" in page
    last = inside(filled, "sessions", "show", "trip", "--view", "--last", "1").out
    assert last == "user: and this\n"


def test_a_shortened_result_is_whole_when_expanded_or_shown_in_full(filled: Path) -> None:
    with library.open(filled) as engine:
        log = "".join(f"line {number}\n" for number in range(20_000))
        message = {"role": "tool", "tool_call_id": "c1", "content": log}
        entry_id = engine.session("trip").append(message)
    assert inside(filled, "sessions", "expand", "trip", entry_id).out.count("line 9999") == 1
    (expanded,) = inside(filled, "sessions", "expand", "trip", entry_id, "--json").lines
    assert expanded["text"] == log
    assert "line 9999" in inside(filled, "sessions", "show", "trip", "--full").out
    assert inside(filled, "sessions", "expand", "trip", "nosuchid").code == 3


def test_a_file_that_was_cut_is_not_called_intact(filled: Path) -> None:
    file = filled / "agents/main/sessions/trip.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-7]))
    for _ in range(2):
        checked = inside(filled, "sessions", "verify", "trip", "--json")
        assert (checked.code, checked.lines[0]["missing"]) == (5, 7)
    with library.open(filled) as engine:
        engine.session("trip").append({"role": "user", "content": "later"})
    assert "7 entries are missing here" in inside(filled, "sessions", "show", "trip").out


def test_a_lost_artifact_leaves_a_note_in_an_export(filled: Path) -> None:
    with library.open(filled) as engine:
        engine.session("trip").append({"role": "user", "content": "long " * 20_000})
    for artifact in (filled / "agents/main/artifacts").iterdir():
        artifact.unlink()
    for format in ("markdown", "openai", "anthropic"):
        run = inside(filled, "sessions", "export", "trip", "-f", format)
        assert run.code == 0
        assert "missing or damaged" in run.out


def test_names_are_whole_when_the_list_is_piped(home: Path) -> None:
    name = "a-rather-long-session-name-that-must-not-be-cut-short-anywhere"
    with library.open(home) as engine:
        engine.session(name)
    assert name in inside(home, "sessions", "list").out
    environ = {"COLUMNS": "40"}
    keys = inside(home, "config", "show", environ=environ).out
    assert "index.include_default_memory" in keys
