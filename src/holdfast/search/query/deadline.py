"""Time that may run out: a search answers with what it has.

Work that cannot be interrupted (an encoder, a reranker) runs in a thread of its own; when it is
not there in time its result is dropped. A thread that is done waits for the next call: starting
one takes longer than many a search.

Promise: nobody waits longer than the time that is left; threads nobody waits for any more are
at most ``MOST_ABANDONED``, and one that is free is used again
(``tests/search/test_pipeline_ports.py``, ``test_pipeline_reading.py``). A process that ends
waits for calls that run, but only so long: one that is cut off inside an encoder would take the
process down with it (``tests/engine/test_exit.py``).
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Final, Generic, TypeVar

__all__ = ["MOST_ABANDONED", "Deadline", "Started", "TooBusy", "TooSlow", "start"]

MOST_ABANDONED: Final = 4
_MOST_FREE: Final = 8
_EXIT_SECONDS: Final = 10.0

_Result = TypeVar("_Result")


class TooSlow(Exception):
    """Not there in time."""


class TooBusy(Exception):
    """Earlier calls that nobody waits for any more are still running, or the process ends."""


@dataclass(slots=True, kw_only=True)
class Deadline:
    """Counts from its making. ``skipped`` names what did not run because time was over."""

    seconds: float
    monotonic: Callable[[], float]
    skipped: list[str] = field(default_factory=list)
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.monotonic()

    def elapsed(self) -> float:
        return self.monotonic() - self._began

    def left(self) -> float:
        return max(0.0, self.seconds - self.elapsed())

    def allows(self, stage: str) -> bool:
        """Whether there is time for a stage; if not it is named."""
        if self.left() > 0:
            return True
        self.skipped.append(stage)
        return False


class _Abandoned:
    """How many threads still work for nobody."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = Lock()

    def add(self, by: int) -> None:
        with self._lock:
            self._count += by

    @property
    def full(self) -> bool:
        return self._count >= MOST_ABANDONED


_abandoned: Final = _Abandoned()


class _Threads:
    """Threads that are free; each runs one call at a time."""

    def __init__(self) -> None:
        self._free: list[SimpleQueue[Callable[[], None]]] = []
        self.running: set[Event] = set()
        """Of each call that has begun: set when it has ended."""
        self.is_ending = False

    def run(self, work: Callable[[], None]) -> None:
        """Let a free thread do the work, or a new one. It must not raise."""
        try:
            calls = self._free.pop()
        except IndexError:
            calls = SimpleQueue()
            # A daemon: a call that never returns must not keep the process alive.
            Thread(target=self._serve, args=(calls,), name="holdfast-search", daemon=True).start()
        calls.put(work)

    def _serve(self, calls: SimpleQueue[Callable[[], None]]) -> None:
        while True:
            calls.get()()
            if len(self._free) >= _MOST_FREE:
                return
            self._free.append(calls)

    def forget(self) -> None:
        """In a process that was forked there are none."""
        self._free = []
        self.running = set()

    def finish(self) -> None:
        """The process ends: begin nothing more, and wait for what runs."""
        self.is_ending = True
        until = monotonic() + _EXIT_SECONDS
        for done in self.running.copy():
            done.wait(max(0.0, until - monotonic()))


_threads: Final = _Threads()
atexit.register(_threads.finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.forget)


class Started(Generic[_Result]):
    """A call that runs in a thread of its own."""

    def __init__(self, call: Callable[[], _Result]) -> None:
        self._call = call
        self._done = Event()
        self._lock = Lock()
        self._given_up = False
        self._result: list[_Result] = []
        self._error: Exception | None = None
        _threads.running.add(self._done)
        _threads.run(self._run)

    def _run(self) -> None:
        try:
            self._result.append(self._call())
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self._error = error
        with self._lock:
            if self._given_up:
                _abandoned.add(-1)
            self._done.set()
        _threads.running.discard(self._done)

    def result(self, seconds: float) -> _Result:
        """What the call returned or raised.

        Raises:
            TooSlow: it has not returned within ``seconds``.
        """
        if not self._done.wait(seconds):
            self.give_up()
            if not self._done.is_set():
                raise TooSlow
        if self._error is not None:
            raise self._error
        return self._result[0]

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within ``seconds``; its result can still be asked for."""
        return self._done.wait(seconds)

    def give_up(self) -> None:
        """Nobody will ask for the result."""
        with self._lock:
            if not self._done.is_set() and not self._given_up:
                self._given_up = True
                _abandoned.add(1)


def start(call: Callable[[], _Result]) -> Started[_Result]:
    """Begin a call in a thread of its own.

    Raises:
        TooBusy: too many earlier ones never came back, or the process ends.
    """
    if _abandoned.full or _threads.is_ending:
        raise TooBusy
    return Started(call)
