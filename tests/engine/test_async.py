"""The async engine: the same calls, and none of them blocks the loop."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import holdfast
from holdfast.disk import GrowingFile
from holdfast.engine.aio import AsyncEngine, AsyncSession
from holdfast.engine.facade import Engine
from holdfast.engine.session import Session


def test_the_async_contract(home: Path) -> None:
    async def converse() -> None:
        async with holdfast.aopen(home, agent="main") as engine:
            session = await engine.session("s1")
            entry_id = await session.append({"role": "user", "content": "hi"})
            assert [message.text for message in await session.view()] == ["hi"]
            fork = await session.fork(entry_id, "s2")
            assert [entry.type for entry in await fork.entries()] == [
                "session",
                "message",
                "marker",
            ]
            assert (await session.expand(entry_id)).text == "hi"
            await session.set_goal("win")
            await session.set_vars({"a": 1})
            state = await session.state()
            assert (state["goal"], state["vars"]) == ("win", {"a": 1})
            await session.close()

    asyncio.run(converse())
    with holdfast.open(home) as engine:
        assert [message.text for message in engine.session("s1").view()] == ["hi"]


def test_an_awaited_engine_is_open_until_it_is_closed(home: Path) -> None:
    async def converse() -> None:
        engine = await holdfast.aopen(home)
        await (await engine.session("s1")).append({"role": "user", "content": "hi"})
        await engine.close()

    asyncio.run(converse())
    with holdfast.open(home) as engine:
        assert len(engine.session("s1").view()) == 1


def test_appends_awaited_together_share_syncs(disk_path: Path) -> None:
    async def converse() -> int:
        async with holdfast.aopen(disk_path / "home") as engine:
            session = await engine.session("s1")
            writes = 0
            append = GrowingFile.append

            def counting(self: GrowingFile, data: bytes, *, at: int) -> None:
                nonlocal writes
                writes += 1
                append(self, data, at=at)

            GrowingFile.append = counting  # type: ignore[method-assign]
            try:
                messages = [{"role": "user", "content": str(number)} for number in range(300)]
                ids = await asyncio.gather(*map(session.append, messages))
            finally:
                GrowingFile.append = append  # type: ignore[method-assign]
            assert len(set(ids)) == 300
            assert len(await session.view()) == 300
            return writes

    assert asyncio.run(converse()) < 150


def test_events_can_be_iterated(home: Path) -> None:
    async def converse() -> list[str]:
        async with holdfast.aopen(home) as engine:
            names = []
            events = engine.events()
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0)
            await engine.session("s1")
            names.append((await waiting).name)
            await (await engine.session("s2")).close()
            names += [(await anext(events)).name for _ in range(3)]
            await events.aclose()  # type: ignore[attr-defined]
            return names

    assert asyncio.run(converse()) == [
        "session_started",
        "session_started",
        "memory_flush_skipped",
        "session_closed",
    ]


def test_the_sync_engine_works_inside_a_running_loop(home: Path) -> None:
    async def converse() -> int:
        with holdfast.open(home) as engine:
            session = engine.session("s1")
            session.append({"role": "user", "content": "hi"})
            return len(session.view())

    assert asyncio.run(converse()) == 1


def public(kind: type) -> dict[str, inspect.Signature | None]:
    names = {name for name in vars(kind) if not name.startswith("_")}
    return {
        name: inspect.signature(getattr(kind, name)) if callable(getattr(kind, name)) else None
        for name in names
    }


def test_both_engines_offer_the_same_calls() -> None:
    for sync, twin, only_async in (
        (Engine, AsyncEngine, {"events"}),
        (Session, AsyncSession, set[str]()),
    ):
        there, here = public(sync), public(twin)
        assert set(there) == set(here) - only_async
        for name in set(there) & set(here):
            signature, other = there[name], here[name]
            if signature is None or other is None:
                assert signature is other
                continue
            assert list(signature.parameters.values()) == list(other.parameters.values()), name
