"""Work that is done after the reply: one job of a kind at a time, each kind in its own thread.

A flush or a task record must not keep anybody waiting, and must not be done twice at once. A
job is known by its key, ``kind:session``; while one of that key waits, another is not put beside
it, and a slow job of one kind keeps no other kind waiting.

Promise: ``submit`` never blocks and never raises; ``close`` waits for what was begun, but only
so long; without threads (``is_on=False``) the job is done at once, in the caller's
(``tests/engine/test_background.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Condition, Thread, current_thread

__all__ = ["Background"]

log = logging.getLogger("holdfast.engine")

Job = Callable[[], object]


class Background:
    """The jobs of one engine in one process."""

    def __init__(self, *, is_on: bool = True) -> None:
        self.is_on = is_on
        self._waiting: dict[str, Job] = {}
        self._running: set[str] = set()
        self._threads: dict[str, Thread] = {}
        self._is_closed = False
        self._changed = Condition()

    def submit(self, key: str, job: Job) -> None:
        """Do this soon, unless a job of that key waits already."""
        with self._changed:
            is_taken = self.is_on and not self._is_closed
            if is_taken:
                self._waiting.setdefault(key, job)
                self._start(_kind(key))
                self._changed.notify_all()
        if not is_taken:
            _do(key, job)

    def _start(self, kind: str) -> None:
        if kind not in self._threads:
            thread = Thread(target=self._work, args=(kind,), name=f"holdfast-{kind}", daemon=True)
            self._threads[kind] = thread
            thread.start()

    def is_busy(self, key: str) -> bool:
        """Whether a job of that key waits or is being done."""
        return key in self._waiting or key in self._running

    def wait(self, key: str | None = None, *, seconds: float) -> bool:
        """Whether the jobs of that key, or all, were done within that time."""
        if current_thread() in self._threads.values():
            return True  # a job that waits for itself would wait for ever
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._is_left(key):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _is_left(self, key: str | None) -> bool:
        return self.is_busy(key) if key is not None else bool(self._waiting or self._running)

    def close(self, *, seconds: float) -> bool:
        """Whether everything was done in time. Later jobs are done by whoever brings them."""
        done = self.wait(seconds=seconds)
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        return done

    def _work(self, kind: str) -> None:
        while True:
            with self._changed:
                while (key := self._next(kind)) is None:
                    if self._is_closed:
                        return
                    self._changed.wait()
                job = self._waiting.pop(key)
                self._running.add(key)
            try:
                _do(key, job)
            except BaseException:  # a job that ends its thread must not end those after it
                log.exception("background work %s failed", key)
            with self._changed:
                self._running.discard(key)
                self._changed.notify_all()

    def _next(self, kind: str) -> str | None:
        return next((key for key in self._waiting if _kind(key) == kind), None)


def _kind(key: str) -> str:
    return key.partition(":")[0]


def _do(key: str, job: Job) -> None:
    try:
        job()
    except Exception:  # the border: nobody waits for this thread to raise
        log.exception("background work %s failed", key)
