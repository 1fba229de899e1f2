"""Fifty conversations at once, each watched by a live stream of events: for as long as it takes,
without an error, without an event lost or told twice, in bounded memory."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from holdfast.engine.eventreading import EventReader
from holdfast.engine.facade import open_engine
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.server.app import API
from holdfast.server.following import MOST, follower_of
from holdfast.server.places import OWN, Place, Places
from holdfast.server.running import Server
from holdfast.server.turns import turns_of
from holdfast.types import Message, Usage
from tests.scale import SCALE

SESSIONS: Final = 50
SECONDS: Final = 20 if SCALE <= 1 else 30 * SCALE
"""Twenty seconds by default, ten minutes at a scale of twenty."""
_IDLE: Final = 2 * SESSIONS + 20
"""Handles that may come and go: both ends of a connection that each guest keeps for its next
message, or that was closed because it was idle when they were counted."""
_MEGABYTE: Final = 1 << 20


@dataclass
class Chatterbox:
    """Repeats what it is told, word by word."""

    name: str = "desk:chatterbox"
    traits: Traits = field(default_factory=lambda: Traits(window=40_000, tool_calls=False))

    async def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(message=Message.of("assistant", "NO_REPLY"))

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        said = f"You said: {request.messages[-1].text}"
        for word in said.split(" "):
            yield f"{word} "
            await asyncio.sleep(0)
        read = sum(len(each.text) for each in request.messages) // 4
        usage = Usage(input_tokens=read, output_tokens=len(said) // 4)
        yield ModelReply(message=Message.of("assistant", said), usage=usage)


@dataclass
class Guest:
    """One conversation, and the stream that watches it."""

    client: httpx.AsyncClient
    name: str
    turns: int = 0
    heard: list[dict[str, Any]] = field(default_factory=list)
    first_id: str = ""
    resets: int = 0
    watching: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self) -> None:
        async with self.client.stream("GET", "/events/stream", params={"session": self.name}) as it:
            assert it.status_code == 200
            kind = ""
            async for line in it.aiter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    self._take(kind, json.loads(line.removeprefix("data: ")))

    def _take(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "hello":
            self.first_id = data["last_id"]
            self.watching.set()
        elif kind == "reset":
            self.resets += 1
        else:
            self.heard.append(data)

    async def talk(self, deadline: float) -> None:
        await self.watching.wait()
        before = self.turns
        while time.monotonic() < deadline or self.turns == before:
            said = f"message {self.turns} of {self.name}"
            path = f"/sessions/{self.name}/messages"
            kinds, text = [], ""
            async with self.client.stream("POST", path, json={"text": said}) as answer:
                assert answer.status_code == 200
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        step = json.loads(line.removeprefix("data: "))
                        kinds.append(step["kind"])
                        text += step.get("text", "")
            assert kinds[-1] == "end", kinds
            assert text.strip() == f"You said: {said}"
            self.turns += 1


@dataclass(frozen=True)
class Used:
    """What the process holds."""

    threads: int
    handles: int
    resident: int

    @classmethod
    def now(cls) -> Used:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            threads=threading.active_count(),
            handles=len(os.listdir("/proc/self/fd")),
            resident=pages * os.sysconf("SC_PAGE_SIZE"),
        )


class Errors(logging.Handler):
    """What the server and the engine say went wrong."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads what Linux says")
def test_fifty_conversations_with_live_events_hold(home: Path) -> None:
    model = Chatterbox()
    config = {
        "search.embedder": "none",
        "model.name": model.name,
        "recall.mode": "off",  # fifty searches at once measure the search
        "notices.log.enabled": False,
    }
    errors = Errors()
    logging.getLogger("holdfast").addHandler(errors)
    engine = open_engine(home, models=lambda _: model, config=config)
    place = Place(name=OWN, engine=engine)
    with Server(Places([place]), home=home) as server:
        guests, warm, at_end, held = asyncio.run(_party(server, place))
        for guest in guests:
            _check(guest, home, engine.existing_session(guest.name).entries())
    logging.getLogger("holdfast").removeHandler(errors)
    assert errors.told == []
    assert sum(guest.turns for guest in guests) >= 2 * SESSIONS
    assert at_end.threads <= warm.threads + 20
    assert at_end.handles <= warm.handles + _IDLE
    assert sum(guest.turns for guest in guests) > _IDLE, "else a handle lost per turn is not seen"
    assert at_end.resident - warm.resident < 200 * _MEGABYTE
    assert held == (0, 0)


async def _party(server: Server, place: Place) -> tuple[list[Guest], Used, Used, tuple[int, int]]:
    headers = {"Authorization": f"Bearer {server.token}"}
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    base = f"{server.url}{API}"
    async with httpx.AsyncClient(
        base_url=base, headers=headers, limits=limits, timeout=120, trust_env=False
    ) as client:
        guests = [Guest(client=client, name=f"guest-{number}") for number in range(SESSIONS)]
        for guest in guests:
            begun = await client.post("/sessions", json={"name": guest.name})
            assert begun.status_code == 201
        watching = [asyncio.ensure_future(guest.watch()) for guest in guests]
        began = time.monotonic()
        await asyncio.gather(*(guest.talk(began + SECONDS / 3) for guest in guests))
        warm = Used.now()
        await asyncio.gather(*(guest.talk(began + SECONDS) for guest in guests))
        follower = follower_of(_app(server), place)
        assert len(follower) == SESSIONS
        assert all(len(each) <= MOST for each in follower._watchers)
        at_end = Used.now()
        await _all_heard(guests, place)
        for each in watching:
            each.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        for _ in range(400):
            if not len(follower):
                break
            await asyncio.sleep(0.05)
        return guests, warm, at_end, (len(follower), len(turns_of(_app(server))))


def _app(server: Server) -> Any:
    """What stands behind the entrance."""
    assert server._entrance is not None
    return server._entrance._app


async def _all_heard(guests: list[Guest], place: Place) -> None:
    """Until every stream has told the last event of its conversation."""
    await asyncio.to_thread(place.engine._rooms.finish_background, seconds=30)
    reader = EventReader(place.engine.home / "events.jsonl")
    last = {each.told.get("session"): each.id for each in reader.last_placed(None)}
    reader.close()
    for _ in range(400):
        if all(guest.heard and guest.heard[-1]["id"] == last[guest.name] for guest in guests):
            return
        await asyncio.sleep(0.05)


def _check(guest: Guest, home: Path, entries: list[Any]) -> None:
    """Every event once and in order; every message on disk."""
    reader = EventReader(home / "events.jsonl", lambda told: told.get("session") == guest.name)
    assert reader.resume(guest.first_id)
    expected = [{**each.told, "id": each.id} for each in reader.new_placed()]
    reader.close()
    assert guest.resets == 0
    assert guest.heard == expected
    assert [each["event"] for each in guest.heard].count("turn_finished") == guest.turns
    said = [each.message.text for each in entries if each.type == "message"]
    asked = [f"message {number} of {guest.name}" for number in range(guest.turns)]
    assert said == [text for each in asked for text in (each, f"You said: {each}")]
