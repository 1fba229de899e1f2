"""``holdfast import``: what it says, what it does, and how it is taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.cli import bringing_in
from tests.doors.inside import inside
from tests.engine.past_logs import SESSION, claude_lines, write_all, write_lines


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody who used Claude Code before."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    write_lines(tmp_path / ".claude" / "projects" / "p" / f"{SESSION}.jsonl", claude_lines())
    return tmp_path


def sessions(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("agents/main/sessions/*.jsonl"))


def test_without_a_source_it_only_says_what_there_is(person: Path, home: Path) -> None:
    run = inside(home, "import")
    assert (run.code, sessions(home)) == (0, [])
    assert "claude-code" in run.out
    assert "Nothing was imported. Do it: holdfast --home" in run.err
    [row, summary] = inside(home, "import", "--json").lines
    assert (row["source"], row["files"], row["unchanged"]) == ("claude-code", 1, 0)
    assert summary == {"summary": True, "sources": 1, "imported": False}


def test_one_command_brings_in_and_the_next_finds_it(person: Path, home: Path) -> None:
    dry = inside(home, "import", "claude-code", "--dry-run")
    assert "messages       6, would be new: 5" in dry.out
    assert sessions(home) == []
    run = inside(home, "import", "claude-code")
    assert "Imported: 1 conversation, 5 messages, from 2025-11-01 to 2025-11-01." in run.out
    assert "1 messages of subagents" in run.err
    assert "Search it:" in run.err
    found = inside(home, "search", "port of the gateway", "--json").lines
    assert any("8443" in str(line) for line in found)
    again = inside(home, "import", "claude-code")
    assert again.out.splitlines()[-1] == "Nothing new."


def test_a_large_import_is_indexed_by_two_processes(
    person: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bringing_in, "_WORTH_TWO_BYTES", 1)
    for number in range(4):
        log = person / ".claude" / "projects" / "p" / f"{number}.jsonl"
        write_lines(log, claude_lines(f"{number}a", said=f"needle{number}"))
    assert inside(home, "import", "claude-code").code == 0
    assert inside(home, "index", "verify").out == "The index is what the files say.\n"
    for number in range(4):
        [found] = inside(home, "search", f"needle{number}", "--json").lines
        assert f"needle{number}" in found["passages"][0]["text"]


def test_an_import_is_listed_and_taken_back(person: Path, home: Path) -> None:
    logs = write_all(person / "all")
    [done] = inside(home, "import", str(logs), "--json", "--no-index").lines
    assert done["sources"]["codex"]["new_messages"] == 9
    assert done["problems"] == []
    [row, _] = inside(home, "import", "--list", "--json").lines
    assert (row["id"], row["conversations"], row["notes"]) == (done["import"], 7, 2)
    would = inside(home, "import", "--undo", str(row["id"]), "--dry-run")
    assert would.out.startswith("Would be removed: 7 sessions")
    taken = inside(home, "import", "--undo", str(row["id"]))
    assert taken.out.startswith("Removed: 7 sessions")
    assert taken.out.rstrip().endswith("2 notes.")
    assert sessions(home) == []
    assert inside(home, "import", "--list").out == "Nothing was imported yet.\n"


def test_what_cannot_be_read_is_an_error_with_the_next_step(person: Path, home: Path) -> None:
    unknown = inside(home, "import", "claude-cod")
    assert (unknown.code, "Did you mean" in unknown.err) == (3, True)
    (person / "x.json").write_text("{}")
    nothing = inside(home, "import", str(person / "x.json"))
    assert nothing.code == 1
    assert "Known are" not in nothing.out
    assert "holds no conversation" in nothing.err
    assert nothing.out.splitlines()[-1] == "Nothing was imported: nothing of it could be read."
    assert inside(home, "import", "--undo", "2020-01-01-1").code == 3
    assert inside(home, "import", "codex").code == 3


def test_ctrl_c_says_how_it_goes_on(
    person: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bringing_in, "bring_in", stopped)
    run = inside(home, "import", "claude-code")
    assert run.code != 0
    assert "the same command goes on from there" in run.err


def test_a_usual_place_that_is_a_link_is_said(person: Path, home: Path) -> None:
    (person / ".codex").mkdir()
    (person / ".codex" / "sessions").symlink_to(person / ".claude" / "projects")
    run = inside(home, "import")
    assert (run.code, "claude-code" in run.out) == (0, True)
    assert "is a link, and links are not followed" in run.err


def test_a_pipe_sees_no_bars(person: Path, home: Path) -> None:
    run = inside(home, "import", "claude-code")
    assert not set(run.err) & {"\x1b", "\r"}


def test_nothing_a_log_says_can_move_the_cursor(person: Path, home: Path) -> None:
    lines = [{**line, "cwd": "/x/\x1b[2Jevil"} for line in claude_lines("bad")]
    lines.append({"type": "\x1b[31mred", "uuid": "u", "sessionId": "bad"})
    log = write_lines(person / "bad.jsonl", lines)
    run = inside(home, "import", str(log))
    assert "\x1b" not in run.out + run.err
