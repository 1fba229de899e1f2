"""The engine says what it did, with ids and numbers and never a word of the conversation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.events import Event, SessionClosed, SessionDeleted, SessionStarted
from holdfast.testing import FixedClock

SECRET = "the-word-nobody-may-log"


def test_every_change_of_a_session_is_told_and_logged(home: Path, clock: FixedClock) -> None:
    told: list[Event] = []
    with holdfast.open(home, clock=clock) as engine:
        stop = engine.subscribe(told.append)
        session = engine.session("s1")
        entry_id = session.append({"role": "user", "content": SECRET})
        session.fork(entry_id, "s2")
        engine.rename_session("s2", "s3")
        engine.delete_session("s3")
        session.close()
        stop()
        engine.session("s1")
    assert [event.name for event in told] == [
        "session_started",
        "session_started",
        "session_renamed",
        "session_deleted",
        "memory_flush_start",
        "memory_flush_end",
        "session_closed",
    ]
    assert told[0] == SessionStarted(at=clock.at, session="s1", resumed=False, entries=1)
    assert isinstance(told[3], SessionDeleted)
    assert told[3].entries == 3
    assert isinstance(told[-1], SessionClosed)
    log = (home / "events.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["event"] for line in lines][:7] == [event.name for event in told]
    assert lines[-1]["resumed"] is True
    assert SECRET not in log


def test_a_broken_listener_breaks_nothing(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    told: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("listener is broken")

    with holdfast.open(home) as engine:
        engine.subscribe(broken)
        engine.subscribe(told.append)
        engine.session("s1").append({"role": "user", "content": "hi"})
    assert told
    assert "listener is broken" in caplog.text


FILLS_THE_DISK = """
import resource, signal, sys
import holdfast
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
told = []
with holdfast.open(sys.argv[1]) as engine:
    engine.subscribe(told.append)
    session = engine.session("s1")
    kept = [session.append({"role": "user", "content": "before"})]
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    failures = 0
    for number in range(20):
        try:
            kept.append(session.append({"role": "user", "content": f"{number} " + "x" * 400}))
        except holdfast.StorageError as error:
            failures += 1
            assert "may not grow" in str(error), error
    assert 5 < failures < 20, failures
    assert [message.text.split()[0] for message in session.view()][0] == "before"
    assert len(session.view()) == len(kept)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    kept.append(session.append({"role": "user", "content": "after"}))
    assert session.verify().is_intact
degraded = [event.state for event in told if event.name == "storage_degraded"]
assert degraded == ["failing", "resumed"], degraded
with holdfast.open(sys.argv[1]) as engine:
    found = [entry.id for entry in engine.session("s1").entries() if entry.type == "message"]
assert found == kept, (found, kept)
print("fine")
"""


def test_a_real_file_that_may_not_grow_is_told_once_and_work_goes_on_when_it_may(
    home: Path,
) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FILLS_THE_DISK, str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "fine\n", run.stderr
