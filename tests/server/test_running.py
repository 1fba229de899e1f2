"""The server as a whole: how it begins, what it does while nobody asks, and how it ends."""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
from fastapi import Request
from starlette.responses import StreamingResponse

import holdfast
from holdfast.disk import Directory
from holdfast.engine.facade import Engine
from holdfast.events import IndexChanged
from holdfast.gatehouse.listening import listening
from holdfast.server import app as app_module
from holdfast.server.places import OWN, Place, Places
from holdfast.server.presence import PRESENCE, Presence, announce, find, withdraw
from holdfast.server.running import Server

FERRY = "Remember: the ferry to Bergen leaves at 7:40 on Friday."


def served(engine: Engine, home: Path) -> Server:
    return Server(Places([Place(name=OWN, engine=engine)]), home=home)


def memory_at(home: Path) -> str:
    with holdfast.open(home) as engine:
        return "".join(engine.get(each).text for each in engine.files())


def said(place: Place, name: str, text: str = FERRY) -> None:
    session = place.keep(place.engine.session(name))
    session.append({"role": "user", "content": text})
    session.append({"role": "assistant", "content": "Noted."})


def test_what_conversations_hold_is_saved_when_it_stops_whatever_happens_to_one_of_them(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place(name=OWN, engine=holdfast.open(home))
    with caplog.at_level(logging.ERROR), Server(Places([place]), home=home):
        said(place, "gone")
        said(place, "trip")
        hidden = place.keep(place.engine.session("hidden", incognito=True))
        hidden.append({"role": "user", "content": "Remember: nobody may know of Oslo."})
        place.engine.delete_session("gone")
    assert "session gone: not all was saved" in caplog.text
    memory = memory_at(home)
    assert "Bergen" in memory
    assert "Oslo" not in memory


def test_it_tells_where_it_is_while_it_runs(home: Path) -> None:
    with served(holdfast.open(home), home) as server:
        folder = Directory.open(home)
        found = find(folder)
        assert found is not None
        assert (found.pid, found.url) == (os.getpid(), server.url)
        assert stat.S_IMODE((home / PRESENCE).stat().st_mode) == 0o600
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
    assert not (home / PRESENCE).exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/healthz")


def test_a_server_that_is_gone_is_not_found_and_a_later_one_is_left_alone(home: Path) -> None:
    folder = Directory.open(home)
    about = {"url": "http://127.0.0.1:1", "started_at": "", "address": "127.0.0.1", "host": "x"}
    first = Presence(pid=os.getpid(), port=1, **about)
    announce(folder, first)
    assert find(folder) == first
    second = Presence(pid=os.getpid(), port=2, **about)
    announce(folder, second)
    withdraw(folder, first)
    assert find(folder) == second
    ended = os.fork()
    if ended == 0:
        os._exit(0)
    os.waitpid(ended, 0)
    announce(folder, Presence(pid=ended, port=3, **about))
    assert find(folder) is None
    for nonsense in (b"", b"[]", b"{}", b'{"pid": "x"}', b"\xff"):
        (home / PRESENCE).write_bytes(nonsense)
        assert find(folder) is None


def test_who_only_listens_is_sent_away_and_who_waits_for_an_answer_has_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that would never end, and an answer that takes until after the server was told
    to stop."""
    is_asked, may_answer, is_left = Event(), Event(), Event()
    plain = app_module.build

    def build(*given: object, **more: object) -> object:
        app = plain(*given, **more)  # type: ignore[arg-type]

        @app.get("/api/v1/test/endless")
        async def endless(request: Request) -> StreamingResponse:
            async def lines() -> AsyncIterator[bytes]:
                import anyio  # noqa: PLC0415

                try:
                    yield b": hello\n\n"
                    await anyio.sleep_forever()
                finally:
                    is_left.set()

            return StreamingResponse(lines(), media_type="text/event-stream")

        @app.post("/api/v1/test/slow")
        def slow() -> dict[str, bool]:
            is_asked.set()
            return {"done": may_answer.wait(30)}

        return app

    monkeypatch.setattr("holdfast.server.running.build", build)
    heard: list[bytes] = []
    answered: list[object] = []
    server = served(holdfast.open(home), home).start()
    headers = {"Authorization": f"Bearer {server.token}"}
    is_heard = Event()

    def listen() -> None:
        with httpx.stream("GET", f"{server.url}/api/v1/test/endless", headers=headers) as stream:
            for part in stream.iter_raw():
                heard.append(part)
                is_heard.set()

    def wait() -> None:
        answer = httpx.post(f"{server.url}/api/v1/test/slow", headers=headers, timeout=60)
        answered.append(answer.json())

    threads = [Thread(target=listen), Thread(target=wait)]
    for each in threads:
        each.start()
    assert is_heard.wait(30)
    assert is_asked.wait(30)
    assert server.open_streams == 1
    stopping = Thread(target=server.stop)
    stopping.start()
    assert is_left.wait(30), "the stream ended first"
    assert not answered
    may_answer.set()
    for each in (*threads, stopping):
        each.join(60)
    assert heard == [b": hello\n\n"], "and it ended as a stream ends"
    assert answered == [{"done": True}]


def test_the_index_follows_the_files_before_anybody_searches(home: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Anna lives in Lisbon.")
    engine = holdfast.open(home)
    heard = Event()
    engine.subscribe(lambda event: heard.set() if isinstance(event, IndexChanged) else None)
    with served(engine, home):
        assert heard.wait(60)
        assert engine.index.index.status().documents >= 1
        heard.clear()
        with holdfast.open(home) as other:  # as another process does
            other.remember("Bo lives in Bergen.")
        engine.index.wake()
        assert heard.wait(60)


def test_an_answer_does_not_wait_for_the_other_side_to_acknowledge_its_head() -> None:
    """An accepted socket takes this from the one that listens; asyncio looks at it."""
    with listening("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
