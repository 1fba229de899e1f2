"""The last mark before something must leave: saved without a model, said, and a program run."""

from __future__ import annotations

import json
import logging
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.context.flush import flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock
from holdfast.types import Message
from tests.engine.receivers import Receiver, hang, receiver

WINDOW = 10_000


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def program(tmp_path: Path) -> tuple[Path, Path]:
    """A program that notes what it was told, and where it notes that."""
    told = tmp_path / "told.jsonl"
    file = tmp_path / "save"
    file.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        f"with open({str(told)!r}, 'a') as file:\n"
        "    file.write(sys.stdin.read())\n"
        "print('saved', os.environ['HOLDFAST_HARD_SESSION'])\n"
    )
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file, told


def configure(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(f"[context]\nwindow = {WINDOW}\n{text}\n")


def opened(home: Path, **more: Any) -> tuple[Engine, list[Event]]:
    engine = open_engine(home, clock=FixedClock(), **more)
    heard: list[Event] = []
    engine.subscribe(heard.append)
    return engine, heard


def grow_to(session: Session, mark: str, *, language: str = "en") -> None:
    """Speak until the next request would be just over that mark, and below the next."""
    number = len(session.entries())
    question = {"en": "What comes after stop {}?", "zh": "第{}站之后是什么地方？请告诉我。"}[
        language
    ]
    while True:
        found = session.explain_context()
        if found.projection.tokens >= getattr(found.budget, mark):
            assert found.projection.tokens < found.budget.compact_at
            return
        number += 1
        session.append({"role": "user", "content": question.format(number)})
        session.append({"role": "assistant", "content": f"Village {number} has a well. " * 12})


def events(heard: list[Event], name: str) -> list[dict[str, Any]]:
    return [event.to_json() for event in heard if event.name == name]


def told_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


# ── the command ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("background", [True, False])
def test_the_command_is_run_once_per_cycle_and_told_what_leaves(
    home: Path, tmp_path: Path, background: bool
) -> None:
    file, told = program(tmp_path)
    configure(home, f"[flush]\nhard_threshold_command = [{json.dumps(str(file))}]")
    engine, heard = opened(home, background=background)
    with engine:
        session = engine.session("s")
        grow_to(session, "hard_at")
        for _ in range(3):
            assert session.prepare().messages
        again = open_engine(home, clock=FixedClock())
        with again:
            again.session("s").prepare()
        assert engine._rooms.background.wait("command:s", seconds=20)
        (first,) = told_in(told)
        assert (first["event"], first["session"], first["cycle"]) == (
            "hard_threshold",
            "s",
            "genesis",
        )
        assert first["tokens"] >= first["mark"]
        assert (first["window"], first["home"]) == (WINDOW, str(home))
        (ran,) = events(heard, "command_ran")
        assert (ran["outcome"], ran["exit_code"], ran["cycle"]) == ("ok", 0, "genesis")
        session.compact()
        grow_to(session, "hard_at")
        session.prepare()
        assert engine._rooms.background.wait("command:s", seconds=20)
        assert [each["cycle"] for each in told_in(told)] == ["genesis", session.state()["cycle"]]


def test_below_the_mark_nothing_is_run(home: Path, tmp_path: Path) -> None:
    file, told = program(tmp_path)
    configure(home, f"[flush]\nhard_threshold_command = [{json.dumps(str(file))}]")
    engine, heard = opened(home, background=False)
    with engine:
        session = engine.session("s")
        session.prepare("hi")
        session.commit("Hello")
    assert told_in(told) == []
    assert events(heard, "command_ran") == []


@pytest.mark.parametrize(("when", "times"), [("unflushed", 0), ("always", 1)])
def test_a_cycle_that_was_flushed_needs_the_command_only_if_one_says_so(
    home: Path, tmp_path: Path, when: str, times: int
) -> None:
    file, told = program(tmp_path)
    command = f"hard_threshold_command = [{json.dumps(str(file))}]"
    configure(home, f'[flush]\n{command}\nhard_when = "{when}"')
    engine, heard = opened(home, background=False)
    with engine:
        session = engine.session("s")
        grow_to(session, "flush_at")
        session.prepare()
        assert flush_records(session.entries())[-1].outcome in ("flushed", "empty")
        grow_to(session, "hard_at")
        session.prepare()
        session.prepare()
    assert len(told_in(told)) == times
    assert len(events(heard, "command_ran")) == times


@pytest.mark.parametrize(
    ("body", "outcome"),
    [("import sys; sys.exit(3)", "failed"), ("raise SystemExit('no')", "failed")],
)
def test_a_command_that_fails_costs_nothing_but_its_event(
    home: Path, tmp_path: Path, body: str, outcome: str
) -> None:
    command = json.dumps([sys.executable, "-c", body])
    configure(home, f"[flush]\nhard_threshold_command = {command}")
    engine, heard = opened(home)
    with engine:
        session = engine.session("s")
        grow_to(session, "hard_at")
        assert session.prepare("And now?").messages[-1]["content"] == "And now?"
        assert engine._rooms.background.wait("command:s", seconds=20)
    (ran,) = events(heard, "command_ran")
    assert ran["outcome"] == outcome


def test_a_command_that_is_missing_is_told(home: Path) -> None:
    configure(home, '[flush]\nhard_threshold_command = ["no-such-program-of-ours"]')
    engine, heard = opened(home, background=False)
    with engine:
        session = engine.session("s")
        grow_to(session, "hard_at")
        session.prepare()
    (ran,) = events(heard, "command_ran")
    assert ran["outcome"] == "missing"


def test_a_compaction_waits_for_the_command_that_was_begun(home: Path, tmp_path: Path) -> None:
    done = tmp_path / "done"
    body = f"import time; time.sleep(0.5); open({str(done)!r}, 'w').close()"
    command = json.dumps([sys.executable, "-c", body])
    configure(home, f"[flush]\nhard_threshold_command = {command}")
    engine, heard = opened(home)
    with engine:
        session = engine.session("s")
        grow_to(session, "hard_at")
        session.prepare()
        session.compact()
        assert done.exists()
        names = [event.name for event in heard]
        assert names.index("command_ran") < names.index("compaction_end")


# ── saving, and telling ─────────────────────────────────────────────────────────────────────


class Down:
    name = "down"
    asked = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        raise ConnectionError("the model is down")


class Quiet:
    """Says that there is nothing to keep, whatever it is asked."""

    name = "quiet"
    asked = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        return ModelReply(message=Message.of("assistant", "NO_REPLY"))


def test_at_the_hard_mark_rules_save_and_no_model_is_asked(home: Path) -> None:
    configure(home, "")
    model = Quiet()
    engine, heard = opened(home)
    with engine:
        session = engine.session("s", flusher=model)
        session.append({"role": "user", "content": "My sister Anna moved to Lisbon in May 2025."})
        grow_to(session, "hard_at")
        session.prepare()
        (end,) = events(heard, "memory_flush_end")
        assert end["mode"] == "rules"
        assert model.asked == 0
        record = flush_records(session.entries())[-1]
        assert (record.outcome, record.reason) in [("flushed", None), ("empty", None)]
        session.prepare()
        assert len(events(heard, "memory_flush_end")) == 1, "once per cycle"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_user_is_told_once_per_cycle_in_the_language_of_the_talk(
    home: Path, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    configure(home, "")
    engine, heard = opened(home)
    with engine, caplog.at_level(logging.WARNING, logger="holdfast.notices"):
        session = engine.session("s")
        grow_to(session, "hard_at", language=language)
        for _ in range(3):
            session.prepare()
        assert engine._rooms.notices.drain(20)
    sent = events(heard, "notice_sent")
    assert [each["kind"] for each in sent] == ["nearly_full", "hard_threshold"]
    assert {each["outcome"] for each in sent} == {"sent"}
    assert len(caplog.messages) == 2
    words = "快满了" if language == "zh" else "nearly full"
    assert words in caplog.messages[0]


def test_the_user_is_told_by_webhook_also_when_the_model_is_down(
    home: Path, server: Receiver
) -> None:
    configure(
        home,
        f'[notices]\nallow_hosts = ["{server.place}"]\n'
        f'[notices.webhook]\nurl = "{server.url}/hook"\nsecret = "a signing secret"\n'
        "[notices.log]\nenabled = false",
    )
    model = Down()
    engine, _ = opened(home)
    with engine:
        session = engine.session("s", flusher=model, summariser=model)
        session.append({"role": "user", "content": "My sister Anna moved to Lisbon in May 2025."})
        grow_to(session, "hard_at")
        session.prepare()
        request = session.compact()
        assert request.messages
        session.append({"role": "user", "content": "Remember that Peter is allergic to peanuts."})
        session.close()
        assert engine._rooms.notices.drain(20)
    kinds = [each.json["kind"] for each in server.requests]
    assert kinds[:2] == ["nearly_full", "hard_threshold"]
    assert "model_down" in kinds, "and told that it is down"
    assert len(kinds) == len(set(kinds)), "each once"
    assert all(any("signature" in name for name in request.headers) for request in server.requests)
    assert "Lisbon" not in str([each.body for each in server.requests]), "no words of the talk"
    assert model.asked >= 1
    text = (home / "agents" / "main").rglob("*.md")
    assert any("Lisbon" in each.read_text() for each in text), "saved all the same"


def test_a_server_that_hangs_keeps_no_turn_waiting(home: Path, server: Receiver) -> None:
    configure(
        home,
        f'[notices]\nallow_hosts = ["{server.place}"]\n'
        f'[notices.webhook]\nurl = "{server.url}/hook"\nsecret = "a signing secret"\n'
        "[notices.log]\nenabled = false",
    )
    server.script = [hang] * 10
    engine, heard = opened(home, config={"flush.total_seconds": 1, "flush.inline_seconds": 1})
    with engine:
        session = engine.session("s")
        grow_to(session, "hard_at")
        assert session.prepare("And now?").messages
        assert events(heard, "notice_sent") == [], "nobody has answered, and nobody waited"
    assert {each["outcome"] for each in events(heard, "notice_sent")} == {"failed"}
