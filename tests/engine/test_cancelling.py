"""Cancelled at every await: the old state or the new one, never half of it.

A task is cancelled at its k-th suspension, for every k it has: while it waits, and at the moment
at which what it waits for is done. Then the session is opened again, as after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from pathlib import Path
from types import coroutine
from typing import Any, Final, Literal

import pytest

import holdfast
from holdfast.context.flush import flush_records
from holdfast.engine.aio import AsyncEngine, AsyncSession
from holdfast.engine.facade import open_engine
from holdfast.errors import HoldfastError
from holdfast.ports import ModelReply, ModelRequest
from holdfast.types import Entry, Message, ToolCall
from tests.engine.losing import OUTCOMES, audit, check_request, turns

When = Literal["while it waits", "when that is done"]
WINDOW: Final = 8_000
MOST: Final = 60
"""More awaits than any of these calls has."""

CONFIG: Final[dict[str, Any]] = {
    "context.window": WINDOW,
    "flush.inline_seconds": 0.2,
    "recall.mode": "off",
}


@dataclass(slots=True)
class Cancelling:
    """Awaits something, and cancels the task at the k-th suspension of it."""

    at: int
    when: When
    seen: int = 0

    @coroutine
    def drive(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        assert task is not None
        send: Callable[[], Any] = lambda: work.send(None)  # noqa: E731 - replaced by a throw
        while True:
            try:
                waits_for = send()
            except StopIteration as stop:
                return stop.value
            self.seen += 1
            if self.seen == self.at:
                self._cancel(task, waits_for)
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is the work's
                thrown = error
                send = lambda: work.throw(thrown)  # noqa: B023, E731
            else:
                send = lambda: work.send(None)  # noqa: E731

    def _cancel(self, task: asyncio.Task[Any], waits_for: Any) -> None:
        if self.when == "while it waits" or waits_for is None:
            asyncio.get_running_loop().call_soon(task.cancel)
        else:
            waits_for.add_done_callback(lambda _: task.cancel())


async def cancelled(work: Coroutine[Any, Any, Any], at: int, when: When) -> bool:
    """Whether the work was still under way at its ``at``-th await; it is over in any case."""
    cancelling = Cancelling(at=at, when=when)

    async def run() -> Any:
        return await cancelling.drive(work)

    task = asyncio.create_task(run())
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return cancelling.seen >= at


class Talker:
    """Reads a file with a tool, then answers; streams its answer."""

    name = "talker"

    async def complete(self, request: ModelRequest) -> ModelReply:
        results = sum(len(message.tool_results) for message in request.messages)
        await asyncio.sleep(0)
        if not results:
            call = ToolCall(id="c0", name="read", arguments={"file": "a.py"})
            return ModelReply(message=Message(role="assistant", parts=(call,)))
        return ModelReply(message=Message.of("assistant", "It is read."))

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        reply = await self.complete(request)
        await asyncio.sleep(0)
        yield reply.message.text
        yield reply


async def prepare(session: AsyncSession) -> None:
    await session.prepare("A question.")


async def commit(session: AsyncSession) -> None:
    await session.commit("An answer.")


async def compact(session: AsyncSession) -> None:
    await session.compact()


async def flush(session: AsyncSession) -> None:
    await session.flush()


async def close(session: AsyncSession) -> None:
    await session.close()


async def new(session: AsyncSession) -> None:
    following = await session.new()
    await following.prepare("Hello again.")


async def turn(session: AsyncSession) -> None:
    await session.prepare("A question.")
    await session.commit("An answer.")
    await session.prepare("And another.")
    await session.recover(RuntimeError("prompt is too long: 9000 tokens > 5000 maximum"))


async def run(session: AsyncSession) -> None:
    async def read(file: str) -> str:
        await asyncio.sleep(0)
        return f"# {file}\n" + "x = 1\n" * 50

    async for _ in session.run("Read the file.", functions={"read": read}):
        await asyncio.sleep(0)


CALLS: Final[dict[str, Callable[[AsyncSession], Coroutine[Any, Any, None]]]] = {
    call.__name__: call for call in (prepare, commit, compact, flush, close, new, turn, run)
}


async def settle(engine: AsyncEngine) -> None:
    """Wait for the threads: what was begun in one is not stopped by a cancelled task."""
    engine._threads._pool.shutdown(wait=True)
    await asyncio.to_thread(engine._engine.close)


def check_after(home: Path, before: list[Entry], call: str) -> None:
    """Nothing that was is gone, what came is whole, and the conversation goes on."""
    with open_engine(home, config=CONFIG, background=False) as engine:
        session = engine.session("s")
        entries = session.entries()
        assert [each.id for each in entries[: len(before)]] == [each.id for each in before]
        assert session.verify().is_intact
        assert audit(entries).uncovered == []
        check_leases(entries)
        check_request(session.prepare())
        came = [each.data.get("text") for each in entries[len(before) :] if is_said(each)]
        assert came == expected(call)[: len(came)], "the old state, or a step towards the new one"
        check_request(session.prepare("Are you there?"))
        session.close()
        assert session.state()["memory_flushing"] is False


def is_said(entry: Entry) -> bool:
    return entry.type == "message" and bool(entry.data.get("text"))


def expected(call: str) -> list[str]:
    """What is said in the course of a call, in its order."""
    return {
        "prepare": ["A question."],
        "commit": ["An answer."],
        "turn": ["A question.", "An answer.", "And another."],
        "run": ["Read the file.", "It is read."],
    }.get(call, [])


def check_leases(entries: list[Entry]) -> None:
    """Whoever began to save has said how it ended: the thread goes on without its task."""
    open_leases = {
        (record.owner, record.cycle, record.attempt): record.outcome == "flushing"
        for record in flush_records(entries)
    }
    assert not any(open_leases.values())


async def one(home: Path, call: str, at: int, when: When) -> tuple[bool, list[Entry]]:
    """Whether there was an ``at``-th await, and what stood in the transcript before."""
    engine = await holdfast.aopen(home, config=CONFIG)
    session = await engine.session("s", model=Talker(), flusher=OUTCOMES["ok"](), window=WINDOW)
    await session.append_all(turns(14))
    before = await session.entries()
    try:
        is_under_way = await cancelled(CALLS[call](session), at, when)
    finally:
        await settle(engine)
    return is_under_way, before


@pytest.mark.parametrize("when", ["while it waits", "when that is done"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_cancelled_at_any_await_leaves_the_old_state_or_the_new(
    fast_path: Path, call: str, when: When
) -> None:
    at = 0
    is_under_way = True
    while is_under_way:
        at += 1
        assert at < MOST
        is_under_way, before = asyncio.run(one(fast_path / f"{at}", call, at, when))
        check_after(fast_path / f"{at}", before, call)
    assert at >= {"turn": 5, "run": 10, "new": 3}.get(call, 2), "it has been cancelled somewhere"


def test_a_reader_who_leaves_a_turn_in_its_midst_leaves_a_conversation_that_goes_on(
    fast_path: Path,
) -> None:
    for step in range(1, 9):
        home = fast_path / str(step)
        with open_engine(home, config=CONFIG) as engine:
            session = engine.session("s", model=Talker(), window=WINDOW)
            session.append_all(turns(3))
            before = session.entries()
            steps = session.run("Read the file.", functions={"read": lambda file: f"# {file}"})
            for _, _ in zip(range(step), steps, strict=False):
                pass
            steps.close()  # type: ignore[attr-defined]
        check_after(home, before, "run")


def test_a_flush_whose_caller_was_cancelled_ends_by_itself(fast_path: Path) -> None:
    async def leave(home: Path) -> None:
        engine = await holdfast.aopen(home, config={**CONFIG, "flush.inline_seconds": 0.3})
        session = await engine.session("s", flusher=OUTCOMES["timeout"](), window=WINDOW)
        await session.append_all(turns(14))
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hear(_: holdfast.Event) -> None:
            loop.call_soon_threadsafe(asked.set)

        engine.subscribe(hear)
        task = asyncio.create_task(waits(session.compact()))
        await asked.wait()
        while not (await session.state())["memory_flushing"]:
            asked.clear()
            await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await settle(engine)

    asyncio.run(leave(fast_path / "home"))
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        session = engine.session("s")
        check_leases(session.entries())
        assert session.state()["compaction_count"] == 1, "it was told to, and it did"
        assert audit(session.entries()).uncovered == []
        check_request(session.prepare("Are you there?"))


async def waits(work: Awaitable[Any]) -> Any:
    return await work


def test_who_is_in_a_conversation_when_its_engine_closes_shares_it_with_all_others(
    home: Path,
) -> None:
    """By two handles of one file, one would hold the lock that the other waits for."""
    with open_engine(home, config=CONFIG) as engine:
        engine.session("s").append({"role": "user", "content": "hi"})
        before = engine._rooms.transcript("s")
        engine.close()
        assert engine._rooms.transcript("s") is before
        assert [entry.type for entry in before.entries()][-1] == "message"


def test_an_engine_that_is_closed_beneath_a_call_loses_nothing(fast_path: Path) -> None:
    async def close_beneath(home: Path) -> None:
        engine = await holdfast.aopen(home, config=CONFIG)
        session = await engine.session("s", flusher=OUTCOMES["ok"](), window=WINDOW)
        await session.append_all(turns(14))
        calls = [asyncio.create_task(waits(session.compact())) for _ in range(4)]
        await asyncio.sleep(0)
        await engine.close()
        found = await asyncio.gather(*calls, return_exceptions=True)
        for each in found:
            assert not isinstance(each, BaseException) or isinstance(each, HoldfastError)

    asyncio.run(close_beneath(fast_path / "home"))
    with open_engine(fast_path / "home", config=CONFIG) as engine:
        session = engine.session("s")
        assert audit(session.entries()).uncovered == []
        assert session.verify().is_intact
        check_request(session.prepare("Are you there?"))
