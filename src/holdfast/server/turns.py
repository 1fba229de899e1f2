"""Turns that are led for somebody who may leave: one per conversation at a time.

Promise: a second turn of a conversation is refused as long as the first is at it, and so is
whatever would take the conversation away; a turn that nobody waits for ends, and what was heard
of its answer is kept, once (``tests/server/test_messages.py``); what waits for a model takes no
thread of those that answer (``tests/server/test_context.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from holdfast.engine.turn.leaving import Turn, broke_off_mark, stopped_mark
from holdfast.engine.turn.running import Step
from holdfast.errors import HoldfastError
from holdfast.server.failing import Busy

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from holdfast.engine.session import Session
    from holdfast.server.places import Place

__all__ = ["Held", "Led", "Played", "Turns", "turns_of"]

T = TypeVar("T")

_SLOW: Final = 16
"""Threads for what may wait for a model."""
_END_SECONDS: Final = 8.0
"""How long what was stopped may take to come to its end: a tool that runs has five seconds."""


class Held:
    """The right to change one conversation, until it is let go of."""

    def __init__(self, let_go: Callable[[], None]) -> None:
        self._let_go = let_go
        self.on_stop: Callable[[], None] = lambda: None
        """What is done when the server cannot wait any longer."""

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        self._let_go()


class Turns:
    """The conversations that somebody is at, in all places."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: dict[tuple[str, str, str], Held] = {}
        self._slow = CapacityLimiter(_SLOW)

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, place: Place, name: str) -> Held:
        """
        Raises:
            Busy: somebody is at it.
        """
        return self._hold(
            ("turn", place.name, name),
            f"An answer is being given in {name!r}.",
            "Wait for its end, or stop it where it was asked for.",
        )

    def hold_saving(self, place: Place, name: str) -> Held:
        """To save it beside whatever else goes on: once at a time.

        Raises:
            Busy: it is being saved.
        """
        return self._hold(
            ("saving", place.name, name), f"{name!r} is being saved.", "Wait for its end."
        )

    def _hold(self, key: tuple[str, str, str], busy: str, hint: str) -> Held:
        def let_go() -> None:
            with self._lock:
                if self._held.get(key) is held:
                    del self._held[key]

        held = Held(let_go)
        with self._lock:
            if key in self._held:
                raise Busy(busy, hint=hint)
            self._held[key] = held
        return held

    def stop(self) -> None:
        """Let every answer that is being given break off now, and say so."""
        with self._lock:
            held = list(self._held.values())
        for each in held:
            each.on_stop()

    async def at_length(self, work: Callable[[], T]) -> T:
        """Do in a thread what may wait for a model. There are few of those, apart from the ones
        that answer: who waits for one keeps nobody else waiting."""
        return await run_sync(work, limiter=self._slow)


def turns_of(app: Starlette) -> Turns:
    """Those of one app."""
    found = getattr(app.state, "turns", None)
    if found is None:
        found = app.state.turns = Turns()
    assert isinstance(found, Turns)
    return found


class Led:
    """The steps of a turn that the engine leads. Whoever closes it has left the turn.

    Before the last step is given the conversation is free again, so that whoever has read it can
    go on.
    """

    def __init__(self, session: Session, text: str, given: dict[str, Any], held: Held) -> None:
        self._loop = asyncio.get_running_loop()
        self._heard: asyncio.Queue[Step | BaseException | None] = asyncio.Queue()
        self._turn = Turn(session, (text,), on_step=self._put, on_end=self._put, given=given)
        self._text = text
        self._mark = stopped_mark(text)
        self._held = held
        self._held.on_stop = partial(self._put, _stopping())
        self._is_begun = self._is_closed = False

    @property
    def answer(self) -> str | None:
        """The entry of the answer."""
        return self._turn.witness.answer

    def _put(self, item: Step | BaseException | None) -> None:
        with suppress(RuntimeError):  # the server is gone: nobody hears it
            self._loop.call_soon_threadsafe(self._heard.put_nowait, item)

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        if self._is_closed:
            raise StopAsyncIteration
        if not self._is_begun:
            self._is_begun = True  # also for whoever leaves while it begins
            try:
                await asyncio.to_thread(self._turn.begin)
            except Exception:
                self._is_begun = False  # it never will: nothing is to be waited for
                raise
        item = await self._heard.get()
        if isinstance(item, Step) and item.kind != "end":
            return item
        if isinstance(item, Step):
            await self._heard.get()
            await self.aclose()
            return item
        if item is None:
            await self.aclose()
            raise StopAsyncIteration
        self._mark = broke_off_mark(self._text)
        await self.aclose()
        raise _told(item)

    async def aclose(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_begun:
            self._held.let_go()
            return
        await asyncio.shield(_apart(self._end))

    def _end(self) -> None:
        try:
            if not self._turn.over.is_set():
                self._turn.stop()
            self._turn.witness.leave_patiently(self._mark)
            self._turn.over.wait(_END_SECONDS)
        finally:
            self._held.let_go()


class Played:
    """The steps of a turn that a player tells; the conversation is free again before the last."""

    def __init__(self, steps: AsyncIterator[Step], held: Held) -> None:
        self._steps = steps
        self._held = held
        self.answer: str | None = None

    def __aiter__(self) -> AsyncIterator[Step]:
        return self

    async def __anext__(self) -> Step:
        step = await anext(self._steps)
        if step.kind == "end":
            async for _ in self._steps:
                pass
            self._held.let_go()
        return step

    async def aclose(self) -> None:
        close = getattr(self._steps, "aclose", None)
        try:
            if close is not None:
                await close()
        finally:
            self._held.let_go()


def _stopping() -> HoldfastError:
    return HoldfastError(
        "The answer broke off: the server stops.",
        hint="What was said is kept. Send the message again when it runs: holdfast serve",
    )


def _told(error: BaseException) -> Exception:
    if isinstance(error, Exception):
        return error
    return RuntimeError(f"the turn was ended: {type(error).__name__}")


def _apart(work: Callable[[], None]) -> asyncio.Future[None]:
    """Work in a thread that nothing cancels, and for which a process that ends does not wait:
    the turn it waits for may never come to its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failed: BaseException | None = None
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            failed = error
        with suppress(RuntimeError):  # the loop is gone: nobody awaits it
            loop.call_soon_threadsafe(settle, failed)

    Thread(target=run, name="holdfast-leaving", daemon=True).start()
    return done
