"""``holdfast doctor`` and ``holdfast status``."""

from __future__ import annotations

import os
import time
from pathlib import Path

import holdfast as library
from tests.doors.inside import inside


def results(home: Path, *options: str) -> dict[str, str]:
    run = inside(home, "doctor", *options, "--json")
    return {line["name"]: line["result"] for line in run.lines if "name" in line}


def test_a_healthy_home_gets_a_clean_bill(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("s1").append({"role": "user", "content": "hi"})
    assert set(results(home).values()) == {"ok"}


def test_files_others_can_read_are_found_and_made_private_when_asked(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("s1").append({"role": "user", "content": "hi"})
    state = home / "agents/main/sessions/s1.state.json"
    state.chmod(0o644)
    assert results(home)["privacy"] == "warning"
    assert state.stat().st_mode & 0o077, "looking changes nothing"
    assert results(home, "--fix")["privacy"] == "ok"
    assert not state.stat().st_mode & 0o077


def test_half_written_files_of_a_crash_are_found_and_removed_when_asked(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("s1")
    leftover = home / "agents/main/sessions/.tmp-1-x"
    leftover.write_text("half")
    leftover.chmod(0o600)
    long_ago = time.time() - 7200
    os.utime(leftover, (long_ago, long_ago))
    assert results(home)["leftovers"] == "warning"
    assert leftover.exists()
    assert results(home, "--fix")["leftovers"] == "ok"
    assert not leftover.exists()


def test_damage_that_was_set_aside_is_mentioned_until_somebody_looks(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("s1")
    with (home / "agents/main/sessions/s1.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    inside(home, "sessions", "show", "s1")
    run = inside(home, "doctor")
    assert run.code == 0
    assert "holdfast sessions verify s1" in run.out


def test_a_home_that_cannot_be_opened_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "agents").symlink_to(tmp_path)
    run = inside(tmp_path, "doctor")
    assert run.code == 1
    assert "✗" in run.out
    assert "symbolic link" in run.out


def test_status_shows_the_three_tiers(home: Path) -> None:
    with library.open(home) as engine:
        engine.session("s1").append({"role": "user", "content": "12345"})
    memory = home / "agents/main/memory"
    memory.mkdir()
    (memory / "2026-03-14.md").write_text("note")
    (status,) = inside(home, "status", "--json").lines
    assert status["newest_session"] == "s1"
    assert (status["view_messages"], status["view_chars"]) == (1, 5)
    assert (status["sessions"], status["session_entries"]) == (1, 2)
    assert (status["memory_files"], status["memory_bytes"]) == (1, 4)
    text = inside(home, "status").out
    for tier in ("immediate", "short-term", "long-term"):
        assert tier in text


def test_the_check_up_says_which_model_answers_and_why(home: Path) -> None:
    without = inside(home, "doctor").out
    assert "✓ model: none; rules do without one (a key in the environment: " in without
    assert "holdfast model get qwen2.5-coder-1.5b" in without
    keyed = inside(home, "doctor", environ={"ANTHROPIC_API_KEY": "sk-ant-x"}).out
    assert "because ANTHROPIC_API_KEY is set" in keyed
    named = inside(home, "doctor", environ={"HOLDFAST_MODEL_NAME": "openai:gpt-5"}).out
    assert "! model: openai:gpt-5, because model.name is set, but it cannot be had" in named
    assert "export OPENAI_API_KEY" in named
