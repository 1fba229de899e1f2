"""One turn, led so that it can be left at any moment.

The tool loop of the engine runs where models are called; its steps go into the feed. Between it
and the session stands a ``Witness``: it hears every piece of the answer, and lets a turn that
was left change nothing any more. So what came before Ctrl-C can be kept as what it is, an answer
that was stopped, without a second answer arriving behind it.

Promise: after a turn was left or broke off, the transcript has the user's message, every answer
and result that was acknowledged, and what was heard of the last answer with a mark where it
ends, once; the next request is valid (``tests/doors/test_chat.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final

from holdfast.cli.chat.feed import Ended, Feed
from holdfast.cli.chat.meter import Meter
from holdfast.engine.modelloop import Call, on_model_loop
from holdfast.engine.session import Session
from holdfast.engine.turn.running import run_async
from holdfast.errors import HoldfastError
from holdfast.ports import ModelReply
from holdfast.types import Json, Message

if TYPE_CHECKING:
    from holdfast.engine.turn.fit import Prepared

__all__ = ["Turn", "Witness"]

_LOOK_SECONDS: Final = 0.1


class Left(HoldfastError):
    """The turn was left: nobody waits for this any more."""


class Witness:
    """What the tool loop sees of a session (``running.Talk``)."""

    def __init__(self, session: Session, meter: Meter) -> None:
        self._session = session
        self._meter = meter
        self.begun = Event()
        """Set once what was said is being kept, which nothing breaks off, or the turn is over."""
        self.on_begun: Callable[[], None] = lambda: None
        self._lock = Lock()
        self._is_left = False
        self._heard: list[str] = []
        self.name = session.name

    @property
    def phase(self) -> str:
        return self._session.phase

    @property
    def memory_mode(self) -> str:
        return self._session.memory_mode

    @contextmanager
    def _acting(self) -> Iterator[None]:
        with self._lock:
            if self._is_left:
                raise Left("The turn was left.")
            yield

    def prepare(self, *messages: Any, **about: Any) -> Prepared:
        if not self._meter.traits.tool_calls:
            about["tools"] = ()  # a third of a small window, and a minute's reading, for nothing
        with self._acting():
            self.begun.set()
            self.on_begun()
            prepared = self._session.prepare(*messages, **about)
            self._meter.fits(prepared.budget, prepared.projected)
            return prepared

    def recover(self, error: object) -> Prepared | None:
        with self._acting():
            prepared = self._session.recover(error)
            if prepared is not None:
                self._meter.fits(prepared.budget, prepared.projected)
            return prepared

    def commit(self, reply: object) -> str:
        with self._acting():
            entry = self._session.commit(reply)
            self._heard.clear()
            if isinstance(reply, ModelReply):
                self._meter.answered(reply.usage)
            return entry

    def append(self, message: Message) -> str:
        return self._session.append(message)  # the result of a tool that ran when it was left

    def call_tool(self, name: str, arguments: Mapping[str, Json] | str) -> Json:
        return self._session.call_tool(name, arguments)

    def hear(self, piece: str) -> None:
        self._heard.append(piece)

    def leave(self, mark: str, *, seconds: float) -> bool | None:
        """Let the turn change nothing any more, and keep what was heard of an answer that was
        not kept yet. Whether there was something; None while somebody is still at it, or has not
        come to it yet."""
        if not self.begun.wait(seconds) or not self._lock.acquire(timeout=seconds):
            return None
        try:
            was_left, self._is_left = self._is_left, True
            heard = "".join(self._heard).rstrip()
            if was_left or not heard:
                return False
            self._heard.clear()
            self._session.commit(Message.of("assistant", f"{heard}\n\n{mark}"))
            return True
        finally:
            self._lock.release()


class Turn:
    """The user says something, or nothing: then the model is asked again."""

    def __init__(self, session: Session, said: Sequence[str], *, feed: Feed, meter: Meter) -> None:
        self.witness = Witness(session, meter)
        self._session = session
        self._said = said
        self._feed = feed
        self._call: Call[None] | None = None
        self._is_to_stop = False
        self.witness.on_begun = self._stop_if_asked

    def begin(self) -> None:
        self._call = on_model_loop(self._go)

    async def _go(self) -> None:
        error: BaseException | None = None
        try:
            given = self._session.run_with(None, {})
            async for step in run_async(self.witness, self._said, **given):
                if step.kind == "text":
                    self.witness.hear(step.text)
                self._feed.put(step)
        except asyncio.CancelledError as left:
            error = left
            raise
        except BaseException as raised:  # noqa: BLE001 - shown by the thread that draws
            error = raised
        finally:
            self.witness.begun.set()
            self._feed.put(Ended(work=self, error=error))

    def stop(self) -> None:
        """Ask it to end, but not before what was said is being kept; it says when it has."""
        self._is_to_stop = True
        if self.witness.begun.is_set():
            self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self._is_to_stop and self._call is not None:
            self._call.cancel()
