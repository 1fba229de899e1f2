"""Several processes at once, and processes that die: nobody waits in vain, nothing is half."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from holdfast.disk import Directory
from holdfast.errors import HoldfastError
from holdfast.search.index import Index, Snapshot, Vector
from holdfast.search.index import catalogue as index_catalogue
from tests.scale import scaled
from tests.search.test_index import READING, STAMP, Asked, chunks, document, folder, index, put
from tests.search.test_index_edits import shown
from tests.search.test_index_vectors import unit

__all__ = ["folder", "index"]

SPAWN = multiprocessing.get_context("spawn")
PAIRS = 6


def texts_of(version: int) -> list[str]:
    """Each version holds the same number in every chunk: two numbers are two moments."""
    return [f"common part{each} version{version}" for each in range(PAIRS)]


def check(snapshot: Snapshot) -> None:
    """Every document is of one version, in the rows, the postings and the texts."""
    everywhere = set(snapshot.postings([Asked("common")])[0].positions.tolist())
    assert everywhere == set(range(len(snapshot.rows)))
    stored = snapshot.chunks(range(len(snapshot.rows)))
    versions: dict[str, set[str]] = {}
    for at, each in enumerate(stored):
        version = each.text.rpartition(" ")[2]
        versions.setdefault(each.document.key, set()).add(version)
        assert at in snapshot.postings([Asked(version)])[0].positions
    assert all(len(each) == 1 for each in versions.values()), versions
    assert len(stored) == PAIRS * len(versions)


def write(path: str, key: str, rounds: int) -> None:
    with Index.open(Directory.open(Path(path)), READING) as index:
        owner = document(key)
        for version in range(rounds):
            index.put(owner, chunks(owner, *texts_of(version)), STAMP)
            if version % 3 == 0:
                waiting = index.pending("e", 4)
                index.put_vectors("e", {p.chunk: Vector(vector=unit(1)[0]) for p in waiting})


def read(path: str, rounds: int) -> None:
    with Index.open(Directory.open(Path(path)), READING, read_only=True) as index:
        for _ in range(rounds):
            with index.snapshot() as snapshot:
                check(snapshot)


def rebuild(path: str, rounds: int) -> None:
    with Index.open(Directory.open(Path(path)), READING) as index:
        for _ in range(rounds):
            with index.rebuilding() as beside:
                for each in range(3):
                    owner = document(f"r{each}.md")
                    beside.put(owner, chunks(owner, *texts_of(each)), STAMP)
            index.maintain()


def work(path: str, jobs: Sequence[tuple[str, tuple[Any, ...]]], problems: Any) -> None:
    """Several threads of one process, each with its own index."""

    def run(name: str, values: tuple[Any, ...]) -> None:
        try:
            globals()[name](path, *values)
        except BaseException as error:  # noqa: BLE001 - told to the parent
            problems.put(f"{name}: {error!r}")

    threads = [Thread(target=run, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_readers_writers_and_a_rebuild_in_four_processes_disturb_nobody(tmp_path: Path) -> None:
    path = str(tmp_path / ".index")
    rounds = scaled(6)
    with Index.open(Directory.open(Path(path)), READING):
        pass
    problems = SPAWN.Queue()
    plans: list[list[tuple[str, tuple[Any, ...]]]] = [
        [("write", (f"{n}.md", rounds)), ("read", (rounds,)), ("read", (rounds,))] for n in range(4)
    ]
    plans[0].append(("rebuild", (scaled(3),)))
    workers = [SPAWN.Process(target=work, args=(path, plan, problems)) for plan in plans]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = []
    while not problems.empty():
        found.append(problems.get())
    assert found == []
    assert [worker.exitcode for worker in workers] == [0] * 4
    with Index.open(Directory.open(Path(path)), READING) as index:
        assert index.rebuilt_because is None
        assert index.verify() == []


def test_threads_share_an_index(index: Index) -> None:
    problems: list[BaseException] = []

    def run(number: int) -> None:
        owner = document(f"{number}.md")
        try:
            for version in range(scaled(6)):
                index.put(owner, chunks(owner, *texts_of(version)), STAMP)
                with index.snapshot() as snapshot:
                    check(snapshot)
        except BaseException as error:  # noqa: BLE001 - told to the test
            problems.append(error)

    threads = [Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_reader_does_not_wait_for_a_writer(index: Index) -> None:
    put(index, "a.md", *texts_of(1))
    with index._catalogue.writing() as connection:
        connection.execute("DELETE FROM chunk")
        with index.snapshot() as snapshot:
            check(snapshot)
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")


def test_a_lock_that_is_never_freed_is_told_in_words(
    index: Index, folder: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_catalogue, "WAIT_SECONDS", 0.05)
    with (
        Index.open(folder, READING) as other,
        other._catalogue.writing(),
        pytest.raises(HoldfastError, match="held by"),
    ):
        put(index, "a.md", "tea")


# ── death ───────────────────────────────────────────────────────────────────────────────────


def endless(path: str, kind: str, started: Any) -> None:
    with Index.open(Directory.open(Path(path)), READING) as index:
        session = document("sessions/s", source="session")
        for version in range(1_000_000):
            started.set()
            if kind == "put":
                owner = document("a.md")
                index.put(owner, chunks(owner, *texts_of(version) * 40), STAMP)
            elif kind == "extend":
                index.extend(session, chunks(session, f"{version} {'word ' * 50}"), STAMP)
            else:
                with index.rebuilding() as beside:
                    owner = document("a.md")
                    beside.put(owner, chunks(owner, *texts_of(version) * 40), STAMP)


@pytest.mark.parametrize("kind", ["put", "extend", "rebuild"])
def test_a_process_that_is_killed_leaves_an_index_that_catches_up(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / ".index"
    folder = Directory.open(path)
    for kill in range(scaled(1)):
        started = SPAWN.Event()
        worker = SPAWN.Process(target=endless, args=(str(path), kind, started))
        worker.start()
        assert started.wait(60)
        time.sleep(0.02 + 0.037 * (kill % 7))
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
        with Index.open(folder, READING) as index:
            assert index.rebuilt_because is None
            assert index.verify() == []
            assert index.lease.take()
            with index.snapshot() as snapshot:
                shown(snapshot)
    owner = document("a.md")
    with (
        Index.open(folder, READING) as index,
        Index.open(Directory.open(tmp_path / "new"), READING) as new,
    ):
        for key in index.known().keys() - {"a.md"}:
            index.drop(key)
        for each in (index, new):
            each.put(owner, chunks(owner, *texts_of(7)), STAMP)
        with index.snapshot() as here, new.snapshot() as expected:
            assert shown(here) == shown(expected)
        assert index.verify() == []


def test_a_forked_child_has_its_own_connections_and_no_lease(index: Index) -> None:
    put(index, "a.md", *texts_of(1))
    assert index.lease.take()
    with index.snapshot() as snapshot:
        check(snapshot)
    child = os.fork()
    if not child:  # pragma: no cover - another process
        is_fine = False
        try:
            put(index, "b.md", *texts_of(2))
            with index.snapshot() as inner:
                check(inner)
            is_fine = not index.lease.is_held and not index.lease.take()
        finally:
            os._exit(0 if is_fine else 1)
    assert os.waitpid(child, 0)[1] == 0
    with index.snapshot() as snapshot:
        check(snapshot)
        assert len(snapshot.documents) == 2
    assert index.lease.is_held
