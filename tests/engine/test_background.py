"""Work after the reply: never in anybody's way, never twice at once, waited for at the end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.engine.background import Background
from tests.scale import scaled


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background()
    yield made
    made.close(seconds=10)


class Gate:
    """A job that waits until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        self.begun.set()
        assert self.let_go.wait(20)


def test_a_job_is_done_in_another_thread(background: Background) -> None:
    where: list[str] = []
    background.submit("flush:s", lambda: where.append(threading.current_thread().name))
    assert background.wait("flush:s", seconds=10)
    assert where == ["holdfast-flush"]


def test_submitting_does_not_wait_and_a_waiting_job_is_not_put_twice(
    background: Background,
) -> None:
    gate, done = Gate(), list[int]()
    background.submit("flush:s", gate)
    assert gate.begun.wait(10)
    for number in range(5):
        background.submit("flush:s", partial(done.append, number))
    assert background.is_busy("flush:s")
    assert not background.is_busy("flush:t")
    gate.let_go.set()
    assert background.wait("flush:s", seconds=10)
    assert done == [0], "one more, for what came after the one that was being done"
    assert not background.is_busy("flush:s")


def test_a_slow_kind_keeps_no_other_waiting(background: Background) -> None:
    gate = Gate()
    background.submit("flush:s", gate)
    background.submit("flush:t", lambda: None)
    background.submit("tasks:s", lambda: None)
    assert background.wait("tasks:s", seconds=10)
    assert background.is_busy("flush:t"), "one of a kind at a time"
    gate.let_go.set()
    assert background.wait(seconds=10)


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt()])
def test_a_job_that_fails_ends_nothing_but_itself(
    background: Background, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    done = threading.Event()
    background.submit("flush:s", fail)
    assert background.wait("flush:s", seconds=10)
    background.submit("flush:t", done.set)
    assert done.wait(10)


def test_waiting_ends_when_the_time_is_up(background: Background) -> None:
    gate = Gate()
    background.submit("flush:s", gate)
    assert background.wait("flush:s", seconds=0.01) is False
    assert background.wait("tasks:s", seconds=0.01) is True, "nothing to wait for"
    gate.let_go.set()


def test_a_job_does_not_wait_for_itself(background: Background) -> None:
    found: list[bool] = []
    background.submit("flush:s", lambda: found.append(background.wait("flush:s", seconds=60)))
    assert background.wait("flush:s", seconds=10)
    assert found == [True]


def test_closing_waits_for_what_was_brought(background: Background) -> None:
    done: list[int] = []
    for number in range(20):
        background.submit(f"flush:{number}", partial(done.append, number))
    assert background.close(seconds=10) is True
    assert sorted(done) == list(range(20))


def test_closing_does_not_wait_for_ever_and_begins_nothing_more() -> None:
    background, gate, done = Background(), Gate(), list[int]()
    background.submit("flush:s", gate)
    assert gate.begun.wait(10)
    background.submit("flush:t", lambda: done.append(1))
    assert background.close(seconds=0.01) is False
    gate.let_go.set()
    assert background.wait("flush:s", seconds=10)
    assert done == []


def test_what_comes_after_closing_is_done_by_whoever_brings_it() -> None:
    background, where = Background(), list[object]()
    background.close(seconds=1)
    background.submit("flush:s", lambda: where.append(threading.current_thread()))
    assert where == [threading.current_thread()]


def test_without_threads_a_job_is_done_at_once() -> None:
    background, where = Background(is_on=False), list[object]()
    background.submit("flush:s", lambda: where.append(threading.current_thread()))
    assert where == [threading.current_thread()]
    background.submit("flush:s", lambda: 1 / 0)  # logged, not raised
    assert background.wait(seconds=0)
    assert background.close(seconds=0)


@settings(max_examples=scaled(30))
@given(
    jobs=st.lists(
        st.tuples(st.sampled_from(["flush", "tasks"]), st.integers(0, 3), st.booleans()),
        max_size=40,
    )
)
def test_of_every_key_the_last_word_is_done_and_none_runs_twice_at_once(
    jobs: list[tuple[str, int, bool]],
) -> None:
    background = Background()
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    done: dict[str, int] = {}
    lock = threading.Lock()

    def job(key: str, fails: bool) -> None:
        with lock:
            running[key] = running.get(key, 0) + 1
            most[key] = max(most.get(key, 0), running[key])
        with lock:
            running[key] -= 1
            done[key] = done.get(key, 0) + 1
        if fails:
            raise ValueError("broken")

    for kind, number, fails in jobs:
        key = f"{kind}:{number}"
        background.submit(key, partial(job, key, fails))
    assert background.close(seconds=20)
    assert set(done) == {f"{kind}:{number}" for kind, number, _ in jobs}
    assert all(count == 1 for count in most.values())
