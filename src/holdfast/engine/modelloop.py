"""Where models are called: one event loop for the whole process, in a thread of its own.

What a model holds, connections above all, belongs to the event loop it was first used in: so
every call that is not made in the host's own loop is made in this one, from the first to the
last. It is started by the first call, and a child that was forked has its own.

Code that blocks its loop cannot be cancelled, only left behind. While a loop does not answer,
calls go to another; as soon as it answers again it is the one that is used.

Promise: two calls of a model are made in the same loop; a model that blocks keeps no other
waiting for longer than ``PATIENCE_SECONDS``; a call is begun once, or never
(``tests/engine/test_driving.py``).
"""

from __future__ import annotations

import asyncio
import atexit
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event, Lock, Thread, current_thread
from typing import Any, Final, Generic, TypeVar

from holdfast.disk import PROCESS

__all__ = ["PATIENCE_SECONDS", "Call", "NotEnded", "on_model_loop"]

T = TypeVar("T")

log = logging.getLogger("holdfast.models")

PATIENCE_SECONDS: Final = 1.0
"""How long a loop may take to begin a call before it counts as blocked."""
_EXIT_SECONDS: Final = 1.0
_WORKERS: Final = 512
"""A tool may lead a conversation of its own, whose tools do so as well: nobody may have to wait
for a thread. They are started as they are needed."""


class NotEnded(Exception):
    """A call has not come to its end in time."""


class Call(Generic[T]):
    """A coroutine that was begun."""

    def __init__(self, loop: _Loop, future: Future[T]) -> None:
        self._loop = loop
        self._future = future

    def result(self, seconds: float) -> T:
        """What it returned or raised.

        Raises:
            NotEnded: it did neither within ``seconds``; it is cancelled, if that helps.
        """
        if not wait([self._future], seconds).done:
            self._loop.doubt()
            self.cancel()
            raise NotEnded
        return self._future.result()

    def cancel(self) -> None:
        """End it at its next await; nothing happens if it has ended."""
        self._future.cancel()


class _Loop:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(
            ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="holdfast-model-work")
        )
        self._is_ending = False
        self.is_blocked = False
        # A daemon: a model that never returns must not keep the process alive.
        self.thread = Thread(target=self._serve, name="holdfast-model", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._is_ending:
            try:
                self._loop.run_forever()
            except BaseException:  # SystemExit in a task of a model leaves through the loop
                log.exception("a task of a model ended its event loop; it goes on")

    def begin(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Call[T] | None:
        """The call, once it has begun; None if the loop is blocked, and then it never begins."""
        claim, begun = Lock(), Event()

        async def first() -> T:
            if not claim.acquire(blocking=False):
                raise asyncio.CancelledError  # begun elsewhere meanwhile
            begun.set()
            return await make()

        call = Call(self, asyncio.run_coroutine_threadsafe(first(), self._loop))
        if begun.wait(PATIENCE_SECONDS) or not claim.acquire(blocking=False):
            return call
        self.doubt()
        call.cancel()
        return None

    def doubt(self) -> None:
        """Count it as blocked until it answers."""
        self.is_blocked = True
        self._loop.call_soon_threadsafe(self._answers)

    def _answers(self) -> None:
        self.is_blocked = False

    def end(self) -> None:
        """Stop where it is. Nothing is cancelled: whoever waits ends with the process as well."""
        self._is_ending = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.thread.join(_EXIT_SECONDS)


class _Loops:
    """The loops of this process, the one that is used first in front."""

    def __init__(self) -> None:
        self._generation = -1
        self._loops: list[_Loop] = []

    def begin(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Call[T]:
        while True:
            if (call := self._free().begin(make)) is not None:
                return call

    def _free(self) -> _Loop:
        """The first that is not blocked, and not by whoever asks; a new one if all are."""
        with PROCESS.lock:
            if self._generation != PROCESS.generation:
                self._generation, self._loops = PROCESS.generation, []
            for each in self._loops:
                if not each.is_blocked and each.thread is not current_thread():
                    return each
            self._loops.append(_Loop())
            return self._loops[-1]

    def end(self) -> None:
        if self._generation == PROCESS.generation:
            for each in self._loops:
                if not each.is_blocked:
                    each.end()


_loops: Final = _Loops()
atexit.register(_loops.end)


def on_model_loop(make: Callable[[], Coroutine[Any, Any, T]]) -> Call[T]:
    """Begin a coroutine in the loop of models, from whatever thread or loop."""
    return _loops.begin(make)
