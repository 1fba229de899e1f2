"""Saving what leaves: one saver at a time, none that blocks for ever, nothing half told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.context.flush import FlushRecord, NoFlush, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone, Saver
from holdfast.engine.session import Session
from holdfast.errors import StorageError
from holdfast.events import Event
from holdfast.memory.notes import Notes, Written
from holdfast.testing import FixedClock
from holdfast.types import GENESIS

SAID = (
    "My sister Anna moved to Lisbon in May 2025.",
    "We decided to use PostgreSQL 16 for billing.",
    "Remember that Peter is allergic to peanuts.",
)


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, clock=FixedClock()) as opened:
        yield opened


def talk(engine: Engine) -> tuple[Session, list[str]]:
    session = engine.session("s")
    return session, [session.append({"role": "user", "content": text}) for text in SAID]


def saver(session: Session) -> Saver:
    return Saver(session._rooms, session._transcript)


def records(session: Session) -> list[FlushRecord]:
    return flush_records(session.entries())


def test_what_is_saved_is_in_the_file_and_in_a_record(home: Path, engine: Engine) -> None:
    session, ids = talk(engine)
    done = saver(session).save(ids, reason="threshold", must=True)
    assert isinstance(done, FlushDone)
    assert done.outcome == "flushed"
    assert done.covers == tuple(ids)
    assert done.file is not None
    text = (home / "agents" / "main" / done.file).read_text()
    assert "Lisbon" in text
    assert "PostgreSQL 16" in text
    assert f"s#{ids[0]}" in text
    assert [record.outcome for record in records(session)] == ["flushing", "flushed"]
    assert session.state()["memory_flushing"] is False
    assert session.state()["last_memory_flush"]["saved"] == done.saved > 0


def test_saving_again_finds_it_covered(engine: Engine) -> None:
    session, ids = talk(engine)
    saver(session).save(ids, reason="threshold", must=True)
    again = saver(session).save(ids, reason="threshold", must=True)
    assert isinstance(again, NoFlush)
    assert "covered" in again.reason


def test_small_talk_leaves_an_empty_record_and_no_file(home: Path, engine: Engine) -> None:
    session = engine.session("s")
    ids = [session.append({"role": "user", "content": text}) for text in ("hi", "thanks!", "ok")]
    done = saver(session).save(ids, reason="threshold", must=True)
    assert isinstance(done, FlushDone)
    assert (done.outcome, done.saved) == ("empty", 0)
    assert not list(home.rglob("*.md"))


def test_another_s_lease_is_respected_by_those_who_need_not_drop(engine: Engine) -> None:
    session, ids = talk(engine)
    _lease(session, ids, seconds=60)
    busy = saver(session).save(ids, reason="flush_at is reached", must=False)
    assert isinstance(busy, NoFlush)
    assert "somebody" in busy.reason


def test_a_lease_whose_owner_died_is_taken_over_after_its_deadline(home: Path) -> None:
    clock = FixedClock()
    with open_engine(home, clock=clock) as engine:
        session, ids = talk(engine)
        _lease(session, ids, seconds=60)
        clock.advance(seconds=61)
        done = saver(session).save(ids, reason="threshold", must=False)
        assert isinstance(done, FlushDone)
        assert records(session)[-1].attempt == 2


def test_whoever_must_drop_waits_only_so_long_for_a_dead_owner(home: Path) -> None:
    with open_engine(home, clock=FixedClock(), config={"flush.inline_seconds": 0.1}) as engine:
        session, ids = talk(engine)
        _lease(session, ids, seconds=3600)
        done = saver(session).save(ids, reason="threshold", must=True)
        assert isinstance(done, FlushDone)
        assert done.covers == tuple(ids)


def _lease(session: Session, ids: list[str], *, seconds: float) -> None:
    plan = saver(session).plan(session._rooms.store.look(session._transcript), ids, reason="test")
    assert not isinstance(plan, NoFlush)
    record = FlushRecord(
        outcome="flushing",
        cycle=GENESIS,
        owner="somebody",
        attempt=1,
        mode="rules",
        covers=tuple(ids),
        hashes=plan.hashes,
        deadline=session._rooms.clock.now() + timedelta(seconds=seconds),
    )
    session.append_entry("flush", record.entry_data())


def test_of_many_who_save_at_once_one_does(home: Path) -> None:
    with open_engine(home) as engine:
        session, ids = talk(engine)
        results: list[FlushDone | NoFlush] = []
        start = threading.Barrier(8)

        def save() -> None:
            start.wait()
            results.append(saver(session).save(ids, reason="threshold", must=True))

        threads = [threading.Thread(target=save) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(result, FlushDone) for result in results) == 1
        assert [record.outcome for record in records(session)] == ["flushing", "flushed"]


def test_a_disk_that_refuses_the_memory_is_told_and_covers_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ids = talk(engine)
    heard: list[Event] = []
    engine.subscribe(heard.append)

    def refuse(self: Notes, lines: object, **_: object) -> Written:
        raise StorageError("the disk is full")

    monkeypatch.setattr(Notes, "write", refuse)
    with pytest.raises(StorageError):
        saver(session).save(ids, reason="threshold", must=True)
    names = [event.name for event in heard]
    assert names[-2:] == ["memory_flush_start", "memory_flush_end"]
    assert [record.outcome for record in records(session)] == ["flushing", "failed"]
    assert session.state()["memory_flushing"] is False
