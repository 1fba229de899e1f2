"""Several threads and processes append to one session and lose nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.disk import System
from holdfast.errors import StorageError, UsageError
from holdfast.sessions.groupcommit import GroupCommit, Ticket
from holdfast.sessions.transcript import Draft
from tests.scale import SCALE, scaled
from tests.sessions.rooms import open_store, open_transcript, said, texts

PROCESSES, THREADS = 8, 4


def test_eight_processes_of_four_threads_lose_no_append(tmp_path: Path) -> None:
    appends = 1000 if SCALE >= 20 else 250
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.sessions.append_worker",
                *(str(tmp_path), str(process), str(THREADS), str(appends)),
            ]
        )
        for process in range(PROCESSES)
    ]
    assert [worker.wait() for worker in workers] == [0] * PROCESSES
    with holdfast.open(tmp_path) as engine:
        session = engine.session("shared")
        order: dict[str, list[int]] = defaultdict(list)
        for message in session.view():
            process, thread, number = message.text.split()
            order[f"{process}-{thread}"].append(int(number))
        assert order == {
            f"{process}-{thread}": list(range(appends))
            for process in range(PROCESSES)
            for thread in range(THREADS)
        }
        entries = session.entries()
        assert [entry.seq for entry in entries] == list(range(len(entries)))
        assert [entry.parent for entry in entries[1:]] == [entry.id for entry in entries[:-1]]
        assert session.verify().is_intact


class CountingDisk(System):
    """Counts syncs, and makes the first one last until the test lets it go on."""

    def __init__(self) -> None:
        self.syncs = 0
        self.is_slow = False
        self.has_started = threading.Event()
        self.may_finish = threading.Event()

    def sync(self, fd: int) -> None:
        self.syncs += 1
        if self.is_slow:
            self.is_slow = False
            self.has_started.set()
            self.may_finish.wait(10)
        super().sync(fd)


def test_appends_that_arrive_during_a_sync_share_the_next_one(tmp_path: Path) -> None:
    disk = CountingDisk()
    transcript = open_transcript(open_store(tmp_path, system=disk))
    disk.syncs, disk.is_slow = 0, True
    first = threading.Thread(target=transcript.append, args=([said("first")],))
    first.start()
    assert disk.has_started.wait(10)
    others = [
        threading.Thread(target=transcript.append, args=([said(f"other {number}")],))
        for number in range(20)
    ]
    for each in others:
        each.start()
    while transcript._commits.waiting < 20:  # all of them stand in line
        pass
    disk.may_finish.set()
    for each in [first, *others]:
        each.join()
    assert disk.syncs == 2, "one for the first, one for the twenty that waited"
    assert len(texts(transcript)) == 21


def test_a_message_that_cannot_be_stored_fails_alone(tmp_path: Path) -> None:
    transcript = open_transcript(open_store(tmp_path))
    errors: list[Exception] = []

    def append(data: str | float) -> None:
        try:
            transcript.append([Draft(type="message", data={"role": "user", "text": data})])
        except holdfast.HoldfastError as error:
            errors.append(error)

    workers = [
        threading.Thread(target=append, args=(float("nan") if n % 5 == 0 else "fine",))
        for n in range(20)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(errors) == 4
    assert len(texts(transcript)) == 16
    assert transcript.verify().is_intact


def test_two_open_transcripts_see_each_others_entries(tmp_path: Path) -> None:
    one = open_transcript(open_store(tmp_path))
    other = open_store(tmp_path).open("s1")
    one.append([said("from one")])
    other.append([said("from other")])
    one.append([said("from one again")])
    assert texts(one) == texts(other) == ["from one", "from other", "from one again"]
    assert one.state().entries == other.state().entries == 4


class InterruptedDisk(System):
    """Raises what Ctrl-C raises, in the middle of the first sync after it is armed."""

    is_armed = False

    def sync(self, fd: int) -> None:
        if self.is_armed:
            self.is_armed = False
            raise KeyboardInterrupt
        super().sync(fd)


def test_an_interrupted_append_leaves_the_transcript_usable(tmp_path: Path) -> None:
    disk = InterruptedDisk()
    transcript = open_transcript(open_store(tmp_path, system=disk))
    transcript.append([said("before")])
    disk.is_armed = True
    with pytest.raises(KeyboardInterrupt):
        transcript.append([said("interrupted")])
    transcript.append([said("after")])
    assert texts(transcript) == ["before", "after"]


def test_those_who_wait_for_an_interrupted_thread_learn_that_it_failed() -> None:
    is_leading, may_fail = threading.Event(), threading.Event()
    outcomes: list[object] = []

    def commit(batch: list[Ticket[str, str]]) -> None:
        if batch[0].drafts == ["first"]:
            is_leading.set()
            may_fail.wait(10)
        elif batch[0].drafts == ["second"]:
            raise KeyboardInterrupt
        for ticket in batch:
            ticket.results = [draft.upper() for draft in ticket.drafts]

    commits: GroupCommit[str, str] = GroupCommit(commit)

    def submit(draft: str) -> None:
        try:
            outcomes.append(commits.submit([draft]))
        except (KeyboardInterrupt, StorageError) as error:
            outcomes.append(type(error).__name__)

    threads = [
        threading.Thread(target=submit, args=(name,)) for name in ("first", "second", "third")
    ]
    threads[0].start()
    assert is_leading.wait(10)
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        while commits.waiting < number:
            pass
    may_fail.set()
    for thread in threads:
        thread.join(10)
    assert sorted(map(str, outcomes)) == ["KeyboardInterrupt", "StorageError", "['FIRST']"]
    assert commits.submit(["next"]) == ["NEXT"]


APPENDS_THROUGH_INTERRUPTS = """
import random, signal, sys, threading
import holdfast

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
chance = random.Random(7)
with holdfast.open(sys.argv[1]) as engine:
    session = engine.session("s1")
    stop, others = threading.Event(), []

    def keep_busy():
        while not stop.is_set():
            try:
                others.append(session.append({"role": "user", "content": "other"}))
            except holdfast.StorageError:
                pass

    threads = [threading.Thread(target=keep_busy, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    kept, interrupts = [], 0
    for number in range(int(sys.argv[2])):
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0001, 0.004))
            while True:
                kept.append(session.append({"role": "user", "content": str(number)}))
        except KeyboardInterrupt:
            interrupts += 1
        except holdfast.StorageError:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    with holdfast.open(sys.argv[1]) as other:
        other.session("s1").append({"role": "user", "content": "the lock is free"})
    ids = [entry.id for entry in session.entries()]
    assert len(ids) == len(set(ids))
    missing = (set(kept) | set(others)) - set(ids)
    assert not missing, f"{len(missing)} acknowledged appends are lost"
    assert session.verify().missing == 0
print(interrupts)
"""


def test_ctrl_c_at_any_moment_neither_wedges_nor_loses_anything(fast_path: Path) -> None:
    attempts = scaled(400)
    run = subprocess.run(
        [sys.executable, "-c", APPENDS_THROUGH_INTERRUPTS, str(fast_path / "home"), str(attempts)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert int(run.stdout) > attempts // 2


def test_an_append_inside_an_append_is_refused_instead_of_waiting_for_itself() -> None:
    commits: GroupCommit[str, str]

    def commit(batch: list[Ticket[str, str]]) -> None:
        commits.submit(["inner"])

    commits = GroupCommit(commit)
    with pytest.raises(UsageError, match="in the middle of an append"):
        commits.submit(["outer"])


def test_while_one_has_the_session_to_itself_others_wait(tmp_path: Path) -> None:
    one = open_transcript(open_store(tmp_path))
    other = open_store(tmp_path).open("s1")
    with one.exclusive():
        waiting = threading.Thread(target=other.append, args=([said("after")],))
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        one.append([said("before")])
    waiting.join()
    assert texts(one) == ["before", "after"]


def test_a_session_renamed_while_open_is_still_the_same_conversation(tmp_path: Path) -> None:
    mine = open_transcript(open_store(tmp_path), "old")
    mine.append([said("first")])
    other = open_store(tmp_path)
    other.rename("old", "new")
    mine.append([said("second")])
    other.open("new").append([said("third")])
    mine.append([said("fourth")])
    mine.close()
    assert texts(other.open("new")) == ["first", "second", "third", "fourth"]
    assert other.open("new").verify().is_intact
    assert [path.name for path in (tmp_path / "sessions").glob("old*")] == []


def test_a_file_an_editor_replaced_is_the_one_that_is_appended_to(tmp_path: Path) -> None:
    mine = open_transcript(open_store(tmp_path))
    mine.append([said("first")])
    file = tmp_path / "sessions" / "s1.jsonl"
    content = file.read_bytes()
    file.rename(file.with_suffix(".jsonl.bak"))  # as `sed -i.bak` does
    file.write_bytes(content)
    mine.append([said("second")])
    assert texts(mine) == texts(open_store(tmp_path).open("s1")) == ["first", "second"]
    assert b"second" not in file.with_suffix(".jsonl.bak").read_bytes()


class DiskWithAHandler(System):
    """Runs a handler in the middle of a sync, as a signal would."""

    def __init__(self) -> None:
        self.handlers: list[Callable[[], object]] = []
        self.refused = 0

    def sync(self, fd: int) -> None:
        super().sync(fd)
        while self.handlers:
            try:
                self.handlers.pop()()
            except UsageError:
                self.refused += 1


def test_a_signal_handler_that_uses_the_session_is_refused_not_obeyed(tmp_path: Path) -> None:
    disk = DiskWithAHandler()
    store = open_store(tmp_path, system=disk)
    transcript = open_transcript(store)
    disk.handlers = [
        transcript.state,
        transcript.entries,
        lambda: store.view(transcript),
        lambda: transcript.append([said("inside")]),
    ]
    transcript.append([said("outside")])
    assert disk.refused == 4
    assert transcript.state().entries == 2
    assert [message.text for message in store.view(transcript)] == ["outside"]


def test_a_ticket_that_an_interrupted_leader_lost_is_an_error_not_an_empty_success() -> None:
    commits: GroupCommit[str, str] = GroupCommit(lambda batch: None)

    class Losing(list[Ticket[str, str]]):
        def append(self, ticket: Ticket[str, str]) -> None:
            """Lost between being taken out of the line and being marked as taken."""

    commits._waiting = Losing()
    with pytest.raises(StorageError, match="interrupted"):
        commits.submit(["lost"])
