"""Who may use the weights now: one set of them per file, one request at a time, in its own thread.

Requests wait in the order in which they came. A request that nobody waits for any more is ended
at its next token, or between two batches of what it reads, and one that has not begun never does.

    after a fork      the child has none of the threads that serve the weights of its parent: it
                      leaves them untouched, for ever, and loads its own
    at the end        of the process what runs is cancelled, and the weights are let go

Promise: ``tests/models/test_embedded.py``.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from holdfast.errors import ModelUnavailable
from holdfast.models.embedded.native import Native, leave_without_cleaning, load
from holdfast.models.embedded.waiting import Waiting, loading, queued
from holdfast.types import Json

__all__ = ["Job", "Runtime", "Speed", "close_embedded", "runtime_of"]

log = logging.getLogger("holdfast.models")

_EXIT_SECONDS: Final = 10.0
"""How long the end of the process waits for the batch that is being read."""
_DISK_SPEED: Final = 300e6
"""Bytes of weights loaded in a second, as long as it was not measured."""
_TELLING: Final = 32
"""Tokens from which on a reading says how fast the model reads."""


@dataclass(slots=True, kw_only=True)
class Job:
    """One request, and who hears of it. All are called in the thread of the weights."""

    asked: dict[str, Json]
    on_chunk: Callable[[Json], None]
    on_wait: Callable[[Waiting], None]
    on_end: Callable[[BaseException | None], None]
    window: int
    threads: int | None
    is_cancelled: Event = field(default_factory=Event)

    def chunk(self, chunk: Json) -> bool:
        """Pass it on; True ends the answer."""
        if not self.is_cancelled.is_set():
            self.on_chunk(chunk)
        return self.is_cancelled.is_set()


class Speed:
    """How fast a model reads, from what was measured: newer counts more."""

    def __init__(self) -> None:
        self.per_second: float | None = None

    def note(self, tokens: int, seconds: float) -> None:
        if tokens < _TELLING or seconds <= 0:
            return
        now = tokens / seconds
        self.per_second = now if self.per_second is None else (self.per_second + now) / 2


class Runtime:
    """The weights of one file in this process."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self._name = name
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._current: Job | None = None
        self._waiting = 0
        self._is_ending = False
        self.native: Native | None = None
        self.speed = Speed()
        self.load_seconds: float | None = None

    @property
    def was_used(self) -> bool:
        return self._thread is not None

    @property
    def is_loaded(self) -> bool:
        return self.native is not None

    @property
    def seconds_to_load(self) -> float:
        """What is still to be waited for until the weights are there."""
        if self.native is not None:
            return 0.0
        return self.load_seconds or self._size() / _DISK_SPEED

    def submit(self, job: Job) -> bool:
        """Put it behind those that wait; False if these weights are being let go."""
        with self._lock:
            if self._is_ending:
                return False
            if self._waiting:
                job.on_wait(queued(self._waiting))
            self._waiting += 1
            if self._thread is None:
                # A daemon: whoever leaves in the midst of an answer must not wait for its end.
                self._thread = Thread(target=self._serve, name="holdfast-weights", daemon=True)
                self._thread.start()
            self._jobs.put(job)
        return True

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._current = job
            problem: BaseException | None = None
            try:
                self._answer(job)
            except BaseException as error:  # noqa: BLE001 - raised where the answer is awaited
                problem = error
            self._current = None
            with self._lock:
                self._waiting -= 1
            job.on_end(problem)
            del job, problem
        self._let_go()

    def _answer(self, job: Job) -> None:
        if not self._is_ending and not job.is_cancelled.is_set():
            self._ready(job).chat(job.asked, job.chunk)
        if self._is_ending:
            raise ModelUnavailable(
                f"{self._name} was closed.", hint="Ask again: it is loaded anew."
            )

    def _ready(self, job: Job) -> Native:
        """The weights, with at least the window that is asked for."""
        if self.native is not None and self.native.window < job.window:
            self._let_go()
        if self.native is None:
            job.on_wait(loading(self._size(), self.seconds_to_load))
            began = time.monotonic()
            native = load(self._file, name=self._name, window=job.window, threads=job.threads)
            self.load_seconds = time.monotonic() - began
            self.native = native
        return self.native

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except OSError:
            return 0

    def _let_go(self) -> None:
        native, self.native = self.native, None
        if native is not None:
            native.let_go(for_ever=_LOADED.is_child)

    def end(self) -> None:
        """Cancel what runs and what waits, and let the weights go."""
        with self._lock:
            self._is_ending = True
            thread = self._thread
        if thread is None:
            return
        if (current := self._current) is not None:
            current.is_cancelled.set()
        self._jobs.put(None)
        thread.join(_EXIT_SECONDS)

    def abandon(self) -> None:
        """In a forked child: never touch what the parent loaded, not even to free it."""
        if self.native is not None:
            self.native.let_go(for_ever=True)


class _Loaded:
    """The weights of this process, by file."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.runtimes: dict[Path, Runtime] = {}
        self.is_child = False
        """Forked from a process that had weights loaded: the library's threads are not here, and
        whoever frees what it holds waits for them. So nothing is freed."""


_LOADED: Final = _Loaded()


def runtime_of(file: Path, name: str) -> Runtime:
    """The weights of a file: the same for everybody in this process."""
    with _LOADED.lock:
        if file not in _LOADED.runtimes:
            _LOADED.runtimes[file] = Runtime(file, name)
        return _LOADED.runtimes[file]


def close_embedded() -> None:
    """Let go of all weights; whoever asks next loads them again."""
    with _LOADED.lock:
        ended = list(_LOADED.runtimes.values())
        _LOADED.runtimes.clear()
    for each in ended:
        each.end()


def _after_fork() -> None:
    _LOADED.lock = Lock()  # the parent's may be held by a thread that is not here
    if any(each.was_used for each in _LOADED.runtimes.values()) and not _LOADED.is_child:
        _LOADED.is_child = True
        leave_without_cleaning()
    for each in _LOADED.runtimes.values():
        each.abandon()
    _LOADED.runtimes.clear()


atexit.register(close_embedded)
os.register_at_fork(after_in_child=_after_fork)
