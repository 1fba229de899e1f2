"""One engine, many threads, and children that were forked while it was busy."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import holdfast


def test_threads_of_one_engine_share_a_session(home: Path) -> None:
    with holdfast.open(home) as engine:

        def work(thread: int) -> None:
            session = engine.session("s1")
            for number in range(50):
                session.append({"role": "user", "content": f"{thread} {number}"})
                session.view()

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(engine.session("s1").view()) == 200


def test_a_child_forked_from_a_busy_engine_can_append_and_so_can_its_parent(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        stop = threading.Event()

        def keep_busy() -> None:
            while not stop.is_set():
                session.append({"role": "user", "content": "busy"})

        busy = threading.Thread(target=keep_busy)
        busy.start()
        try:
            children = []
            for number in range(20):
                child = os.fork()
                if child == 0:
                    status = 1
                    try:
                        session.append({"role": "user", "content": f"child {number}"})
                        status = 0
                    finally:
                        os._exit(status)
                children.append(child)
            results = [os.waitpid(child, 0)[1] for child in children]
        finally:
            stop.set()
            busy.join()
        assert results == [0] * 20
        session.append({"role": "user", "content": "parent"})
        texts = [message.text for message in session.view()]
        assert {f"child {number}" for number in range(20)} <= set(texts)
        assert texts[-1] == "parent"
        assert session.verify().is_intact


def _in_a_process(session: holdfast.Session, number: int) -> None:
    session.append({"role": "user", "content": f"process {number}"})


def test_a_session_can_be_used_by_forked_worker_processes(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        fork = multiprocessing.get_context("fork")
        workers = [fork.Process(target=_in_a_process, args=(session, n)) for n in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0] * 4
        assert {message.text for message in session.view()} == {f"process {n}" for n in range(4)}


MANY_SESSIONS = """
import resource, sys
import holdfast
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
with holdfast.open(sys.argv[1]) as engine:
    sessions = [engine.session(f"s{number}") for number in range(300)]
    for session in sessions:
        session.append({"role": "user", "content": session.name})
    assert all(session.view()[-1].text == session.name for session in sessions)
    assert len(engine.sessions()) == 300
print("fine")
"""


def test_more_sessions_than_file_handles_can_be_in_use(home: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", MANY_SESSIONS, str(home)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "fine\n", run.stderr


def _first_calls_of_a_child(session: holdfast.Session, number: int) -> None:
    threads = [
        threading.Thread(target=_in_a_process, args=(session, number * 10 + thread))
        for thread in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_several_threads_of_a_child_may_make_its_first_call(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s1")
        fork = multiprocessing.get_context("fork")
        workers = [
            fork.Process(target=_first_calls_of_a_child, args=(session, n)) for n in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert [worker.exitcode for worker in workers] == [0] * 8
        assert len(session.view()) == 32
        assert session.verify().is_intact


ASYNC_IN_A_CHILD = """
import asyncio, os, sys
import holdfast
engine = asyncio.run(holdfast.aopen(sys.argv[1])._opened())

async def append():
    session = await engine.session("s1")
    await session.append({"role": "user", "content": str(os.getpid())})
    return len(await session.view())

assert asyncio.run(append()) == 1
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(append()) == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
print("fine")
"""


def test_an_async_engine_works_in_a_forked_child(home: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", ASYNC_IN_A_CHILD, str(home)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.stdout == "fine\n", run.stderr
