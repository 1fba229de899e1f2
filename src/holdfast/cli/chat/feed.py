"""What reaches the one thread that draws: steps of a turn, events, warnings, Ctrl-C.

Whoever has something to show puts it here, from whatever thread or signal handler; one thread
takes it out and draws, so nothing is ever drawn over. At a prompt, ``wake`` calls it.

Promise: nothing is lost and the order is kept; ``put`` never blocks
(``tests/doors/test_chat.py``).
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from holdfast.engine.turn.running import Step
from holdfast.events import Event, MessageUpdate

__all__ = ["Ended", "Feed", "Item", "Logged", "Stop", "Waits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Ctrl-C."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A turn, or work in a thread of its own, is over."""

    work: object
    result: object = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """A warning of the engine's."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """A model that runs here says what it is doing before it speaks."""

    phase: str
    tokens: int
    seconds: float | None


Item: TypeAlias = Step | Event | Stop | Ended | Logged | Waits


class Feed:
    """A queue with a bell."""

    def __init__(self) -> None:
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self.wake: Callable[[], None] | None = None

    def put(self, item: Item) -> None:
        self._items.put(item)
        wake = self.wake
        if wake is not None:
            with suppress(RuntimeError):  # the prompt has just ended: whoever is next will look
                wake()

    def tell(self, event: Event) -> None:
        """A listener of the engine's; pieces of answers come as steps."""
        if not isinstance(event, MessageUpdate):
            self.put(event)

    def get(self, seconds: float) -> Item | None:
        """The next, or None if there is none for so long."""
        try:
            return self._items.get(timeout=seconds)
        except queue.Empty:
            return None

    def waiting(self) -> Iterator[Item]:
        """What is there now."""
        while True:
            try:
                yield self._items.get_nowait()
            except queue.Empty:
                return

    @contextmanager
    def logging(self) -> Iterator[None]:
        """Hear the engine's warnings, which would otherwise be written across the screen."""
        handler = _Handler(self)
        logger = logging.getLogger("holdfast")
        before = logger.propagate
        logger.addHandler(handler)
        logger.propagate = False
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.propagate = before


class _Handler(logging.Handler):
    def __init__(self, feed: Feed) -> None:
        super().__init__(logging.WARNING)
        self._feed = feed

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "holdfast.notices":  # those are shown in the language of the chat
            self._feed.put(Logged(text=record.getMessage()))
