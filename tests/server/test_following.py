"""A log of events that cannot be read for a while: nothing is passed over in silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.eventreading import EventReader, Placed
from holdfast.engine.facade import open_engine
from holdfast.server.following import Follower, Watcher


def test_what_was_read_before_the_log_failed_is_told_and_then_one_reset(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    read, opened = EventReader.new_placed, EventReader.last_placed
    is_broken = False
    tries = 0

    def reads(self: EventReader) -> Iterator[Placed]:
        found = list(read(self))
        yield from found[:2] if is_broken else found
        if is_broken and found:
            raise PermissionError("the disk")

    def opens(self: EventReader, count: int | None, **more: Any) -> list[Placed]:
        nonlocal tries
        tries += is_broken
        if is_broken:
            raise PermissionError("the disk")
        return opened(self, count, **more)

    monkeypatch.setattr(EventReader, "new_placed", reads)
    monkeypatch.setattr(EventReader, "last_placed", opens)
    config = {"search.embedder": "none"}

    async def work() -> list[tuple[str, str]]:
        nonlocal is_broken
        heard: list[tuple[str, str]] = []

        async def hear(count: int) -> None:
            for _ in range(count):
                seen = await asyncio.wait_for(watcher.next(), 20)
                heard.append((seen.kind, str(seen.told.get("session", ""))))

        with open_engine(home, config=config, background=False) as engine:
            follower = Follower(engine, poll_seconds=0.01)
            watcher = Watcher(None)
            await asyncio.to_thread(follower.watch, watcher, None)
            await hear(1)
            with follower._lock:  # so that all three are read at once
                is_broken = True
                for name in ("one", "two", "three"):
                    engine.session(name)
            await hear(3)
            while tries < 5:  # noqa: ASYNC110 - it goes on trying by itself
                await asyncio.sleep(0.01)
            is_broken = False
            await hear(1)
            engine.session("four")
            await hear(1)
            follower.leave(watcher)
        return heard

    with caplog.at_level(logging.WARNING, "holdfast.server"):
        heard = asyncio.run(work())
    assert heard == [
        ("hello", ""),
        ("event", "one"),
        ("event", "two"),
        ("reset", ""),
        ("reset", ""),
        ("event", "four"),
    ]
    told = [each for each in caplog.records if "cannot be read" in each.message]
    assert len(told) == 1, "said once, however often it is tried"
