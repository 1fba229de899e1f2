"""Many runners at one session, in threads and processes: one model flush per cycle, nothing lost.

Each runner has an engine of its own, as each process would: they share nothing but the files.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Event, Lock, Thread
from typing import Any, Final

import pytest

from holdfast.context.flush import FlushRecord, covered_by, flush_records, lease_of
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone, Prepared
from holdfast.ports import ModelReply, ModelRequest
from tests.engine.losing import (
    OUTCOMES,
    Flusher,
    audit,
    called,
    check_request,
    grow,
    model_flushes,
    records_of,
    said,
)
from tests.scale import scaled

RUNNERS: Final = 16
WINDOW: Final = 8_000
"""Wide enough that 16 turns at once cannot jump from below the flush over the hard mark."""
HANGS_SECONDS: Final = 60.0
"""Only to end a test that would otherwise never end."""

CONFIG: Final[dict[str, Any]] = {
    "context.window": WINDOW,
    "context.reserve_tokens_floor": 500,
    "prune.mode": "off",
    "recall.mode": "off",
}


def start(engine: Engine, model: Flusher | None = None) -> Session:
    return engine.session("s", flusher=model or OUTCOMES["ok"](), system="You are helpful.")


def words(number: int) -> str:
    """What a runner says: some 60 tokens, with something to remember."""
    fact = f"Remember this: customer {number} has id CUST-{number:05d}. "
    return fact + "More of it follows here. " * 7


def together(work: Any, count: int) -> None:
    """All at once, and whatever one of them raises is raised here."""
    failed: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [Thread(target=guarded, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS_SECONDS)
        assert not thread.is_alive(), "somebody waits for ever"
    for error in failed:
        raise error


def check_all(session: Session, texts: set[str]) -> None:
    """Everything was heard once, nothing left unsaved, and nobody asked a model twice."""
    entries = session.entries()
    heard = [each.data.get("text") for each in entries if each.data.get("role") == "user"]
    assert len(heard) == len(set(heard))
    assert set(heard) == texts
    assert audit(entries).uncovered == []
    assert max(model_flushes(session).values(), default=0) <= 1
    assert all(each.outcome != "failed" for each in records_of(session))
    assert ended(records_of(session)), "every lease has its end"
    assert session.verify().is_intact


def ended(records: list[FlushRecord]) -> bool:
    held: set[tuple[str, str, int]] = set()
    for record in records:
        key = (record.owner, record.cycle, record.attempt)
        if record.outcome == "flushing":
            held.add(key)
        else:
            held.discard(key)
    return not held


# ── threads ─────────────────────────────────────────────────────────────────────────────────


def test_sixteen_runners_flush_once_per_cycle_by_a_model(fast_path: Path) -> None:
    rounds = scaled(18)
    texts: set[str] = set()
    noting, meeting = Lock(), Barrier(RUNNERS)
    engines = [open_engine(fast_path / "home", config=CONFIG, background=False) for _ in range(16)]
    compactions: list[str] = []

    def run(number: int) -> None:
        session = start(engines[number])
        for turn in range(rounds):
            meeting.wait(HANGS_SECONDS)  # so that all of them see every mark together
            n = turn * RUNNERS + number
            text = words(n)
            prepared = session.prepare(text)
            check_request(prepared)
            session.commit("Yes, I see. ")
            with noting:
                texts.add(text)
                compactions.extend(
                    each.entry for each in prepared.done if isinstance(each, CompactionDone)
                )

    try:
        together(run, RUNNERS)
        session = start(engines[0])
        check_all(session, texts)
        state = session.state()
        assert state["compaction_count"] == len(set(compactions)) == len(compactions) >= 3
        assert state["compaction_count"] <= rounds // 3, "no loop"
        flushes = model_flushes(session)
        assert len(flushes) >= state["compaction_count"], "one for every cycle that has ended"
        assert set(flushes.values()) == {1}
        assert {each.mode for each in records_of(session) if each.asked_a_model} == {"agent"}
        assert state["memory_flushing"] is False
    finally:
        for engine in engines:
            engine.close()


def test_sixteen_threads_of_one_engine_compact_a_session_at_once(fast_path: Path) -> None:
    with open_engine(fast_path / "home", config=CONFIG, background=False) as engine:
        model = OUTCOMES["ok"]()
        grow(start(engine), 20)
        meeting = Barrier(RUNNERS)
        prepared: list[Prepared] = []

        def run(_: int) -> None:
            session = start(engine, model)
            meeting.wait(HANGS_SECONDS)
            prepared.append(session.compact())

        together(run, RUNNERS)
        session = start(engine)
        assert audit(session.entries()).uncovered == []
        assert max(model_flushes(session).values()) == 1
        for each in prepared:
            check_request(each)
        # Some come too late and find that it was done; nobody does it sixteen times over.
        assert 1 <= session.state()["compaction_count"] <= RUNNERS
        assert ended(records_of(session))


def test_an_old_lease_of_the_same_owner_hides_no_new_one() -> None:
    now = datetime(2026, 3, 14, tzinfo=UTC)

    def lease(cycle: str, minutes: int) -> FlushRecord:
        return FlushRecord(
            outcome="flushing",
            cycle=cycle,
            owner="a",
            attempt=1,
            mode="agent",
            covers=("e1",),
            hashes=("h1",),
            deadline=now + timedelta(minutes=minutes),
        )

    records = [lease("genesis", -5), lease("e9", 5)]
    held = lease_of(records, ["e1"], now)
    assert held is not None, "the first was never ended, and has run out"
    assert lease_of([*records, replace(records[1], outcome="flushed")], ["e1"], now) is None


def test_of_sixteen_who_flush_at_once_one_asks_its_model(fast_path: Path) -> None:
    engines = [open_engine(fast_path / "home", config=CONFIG) for _ in range(RUNNERS)]
    models = [OUTCOMES["ok"]() for _ in engines]
    ids = grow(start(engines[0]), 20)
    meeting = Barrier(RUNNERS)
    results: list[object] = []

    def run(number: int) -> None:
        session = start(engines[number], models[number])
        meeting.wait(HANGS_SECONDS)
        results.append(session.flush())

    try:
        together(run, RUNNERS)
        done = [each for each in results if isinstance(each, FlushDone)]
        assert [set(each.covers) for each in done] == [set(ids)]
        assert sum(bool(model.requests) for model in models) == 1
        assert [r.outcome for r in records_of(start(engines[0]))] == ["flushing", "flushed"]
    finally:
        for engine in engines:
            engine.close()


def test_what_is_appended_while_a_model_saves_stays_and_is_saved_later(fast_path: Path) -> None:
    asked, go_on = Event(), Event()

    def slowly(_: Flusher, request: ModelRequest) -> ModelReply:
        asked.set()
        assert go_on.wait(HANGS_SECONDS)
        if any(message.role == "tool" for message in request.messages):
            return said("NO_REPLY")
        return called(("memory_retain", {"memories": [{"text": "customer 3 has id CUST-00003."}]}))

    with (
        open_engine(fast_path / "home", config=CONFIG, background=False) as engine,
        open_engine(fast_path / "home", config=CONFIG, background=False) as other,
    ):
        grow(start(engine), 20)
        done: list[Prepared] = []
        compacting = Thread(target=lambda: done.append(start(engine, Flusher(slowly)).compact()))
        compacting.start()
        assert asked.wait(HANGS_SECONDS)
        later = grow(start(other), 3, start=20)
        go_on.set()
        compacting.join(HANGS_SECONDS)
        check_request(done[0])
        session = start(engine)
        shown = {id for item in session.view().items for id in item.stands_for}
        assert set(later) <= shown, "appends never wait, and stay"
        entries = session.entries()
        assert not set(later) & covered_by(flush_records(entries), entries)
        session.close()
        entries = session.entries()
        assert set(later) <= covered_by(flush_records(entries), entries)
        assert audit(entries).uncovered == []


def test_after_the_reply_a_flush_runs_beside_the_conversation_which_does_not_wait(
    fast_path: Path,
) -> None:
    asked, go_on = Event(), Event()

    def slowly(flusher: Flusher, _: ModelRequest) -> ModelReply:
        asked.set()
        assert go_on.wait(HANGS_SECONDS)
        return said("NO_REPLY")

    model = Flusher(slowly, window=100_000)
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        session = start(engine, model)
        grow(session, 20)
        explained = session.explain_context()
        number = 20
        while explained.projection.tokens < explained.budget.flush_at:
            grow(session, 1, start=number)
            number += 1
            explained = session.explain_context()
        assert session.prepare("What is next?").done == ()
        assert not asked.is_set(), "not before the answer"
        session.commit("This is next.")
        assert asked.wait(HANGS_SECONDS)
        assert session.phase == "FLUSHING"
        for n in range(5):
            prepared = session.prepare(f"Question {n}?")
            assert prepared.done == ()
            check_request(prepared)
            session.commit("An answer.")
        assert session.state()["memory_flushing"] is True
        assert len(model.requests) == 1, "and it runs once"
        go_on.set()
        engine._rooms.background.wait(seconds=HANGS_SECONDS)
        assert session.state()["memory_flushing"] is False
        assert len(model_flushes(session)) == 1


# ── processes ───────────────────────────────────────────────────────────────────────────────

WORK: Final = """
import sys
from threading import Thread
from pathlib import Path
from holdfast.engine.facade import open_engine
from tests.engine.losing import OUTCOMES
from tests.engine.test_flush_races import CONFIG, start, words

home, process, turns = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
failed = []

def run(number):
    try:
        with open_engine(home, config=CONFIG, background=False) as engine:
            session = start(engine)
            for turn in range(turns):
                n = (process * 4 + number) * 1000 + turn
                prepared = session.prepare(words(n))
                assert prepared.request.violations == ()
                assert prepared.request.tokens <= prepared.budget.compact_at
                session.commit("Yes, I see. ")
    except BaseException as error:
        failed.append(error)

threads = [Thread(target=run, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if failed: raise failed[0]
"""


def spawn(code: str, *args: object) -> subprocess.Popen[str]:
    here = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(here)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_four_processes_of_four_runners_each_share_a_session_over_several_cycles(
    fast_path: Path,
) -> None:
    turns = scaled(12)
    processes = [spawn(WORK, fast_path / "home", number, turns) for number in range(4)]
    for process in processes:
        _, told = process.communicate(timeout=HANGS_SECONDS * 5)
        assert process.returncode == 0, told
    numbers = [p * 1000 + t for p in range(RUNNERS) for t in range(turns)]
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        session = start(engine)
        check_all(session, set(map(words, numbers)))
        state = session.state()
        assert 2 <= state["compaction_count"] <= len(numbers) // 20
        assert len(model_flushes(session)) >= 1


DIES: Final = """
import os, sys
from pathlib import Path
from holdfast.engine.facade import open_engine
from tests.engine.losing import Flusher
from tests.engine.test_flush_races import CONFIG, start

def die(flusher, request):
    if sys.argv[2] == "kills itself":
        os._exit(9)
    print("asked", flush=True)
    import time; time.sleep(600)

with open_engine(Path(sys.argv[1]), config={**CONFIG, "flush.total_seconds": 600}) as engine:
    start(engine, Flusher(die)).flush()
"""


@pytest.mark.parametrize("how", ["kills itself", "is killed"])
def test_a_process_that_is_killed_while_its_model_flushes_blocks_nobody(
    fast_path: Path, how: str
) -> None:
    home = fast_path / "home"
    with open_engine(home, config=CONFIG) as engine:
        ids = grow(start(engine), 20)
    process = spawn(DIES, home, how)
    if how == "is killed":
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANGS_SECONDS)
    config = {**CONFIG, "flush.inline_seconds": 0.2}
    with open_engine(home, config=config, background=False) as engine:
        session = start(engine)
        (lease,) = records_of(session)
        assert lease.outcome == "flushing"
        assert lease.deadline is not None
        done = session.compact().done
        assert any(isinstance(each, CompactionDone) for each in done)
        assert audit(session.entries()).uncovered == []
        session.close()
        entries = session.entries()
        assert set(ids) <= covered_by(flush_records(entries), entries)


FLUSHES: Final = """
import sys
from pathlib import Path
from holdfast.engine.facade import open_engine
from tests.engine.test_flush_races import CONFIG, start
from tests.engine.losing import OUTCOMES

with open_engine(Path(sys.argv[1]), config=CONFIG) as engine:
    model = OUTCOMES["ok"]()
    session = start(engine, model)
    print("ready", flush=True)
    sys.stdin.readline()
    session.flush()
    print(len(model.requests), flush=True)
"""


def test_of_two_processes_that_flush_at_once_one_asks_a_model(fast_path: Path) -> None:
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        ids = grow(start(engine), 20)
    here = Path(__file__).parents[2]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", FLUSHES, str(fast_path / "home")],
            cwd=here,
            env={**os.environ, "PYTHONPATH": str(here)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=HANGS_SECONDS)[0]) for process in processes]
    assert sorted(counts) == [0, 2]
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        session = start(engine)
        assert [record.outcome for record in records_of(session)] == ["flushing", "flushed"]
        assert set(records_of(session)[-1].covers) == set(ids)
