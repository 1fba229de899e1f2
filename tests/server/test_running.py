"""The server as a whole: how it begins, what it does while nobody asks, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from fastapi import Request
from starlette.responses import StreamingResponse

import holdfast
from holdfast.disk import Directory
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.errors import UsageError
from holdfast.events import IndexChanged, MemoryFlushEnd
from holdfast.gatehouse.listening import listening
from holdfast.server import app as app_module
from holdfast.server import saving
from holdfast.server.places import OWN, Place, Places
from holdfast.server.presence import PRESENCE, Presence, announce, find, occupy, withdraw
from holdfast.server.running import Server
from tests.server.furnishing import CONFIG
from tests.server.speaking import Speaker

FERRY = "Remember: the ferry to Bergen leaves at 7:40 on Friday."


def served(engine: Engine, home: Path) -> Server:
    return Server(Places([Place(name=OWN, engine=engine)]), home=home)


def memory_at(home: Path) -> str:
    with holdfast.open(home) as engine:
        return "".join(engine.get(each).text for each in engine.files())


def said(place: Place, name: str, text: str = FERRY) -> None:
    said_to(place.keep(place.engine.session(name)), text)


def said_to(session: Session, text: str) -> None:
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


def test_only_who_holds_the_lock_of_a_home_is_its_server(home: Path) -> None:
    """What a killed server left behind is not believed: its port may be anybody's by now."""
    folder = Directory.open(home)
    about = {"url": "http://127.0.0.1:1", "started_at": "", "address": "127.0.0.1", "host": "x"}
    found = Presence(pid=os.getpid(), port=1, **about)
    announce(folder, found)
    assert find(folder) is None, "its process is there, and is no server"
    with occupy(folder):
        assert find(folder) is None, "who takes the home over clears it first"
        announce(folder, found)
        assert find(folder) == find(Directory.open(home)) == found
        for nonsense in (b"", b"[]", b"{}", b'{"pid": "x"}', b"\xff"):
            (home / PRESENCE).write_bytes(nonsense)
            assert find(folder) is None
        withdraw(folder, found)
        assert (home / PRESENCE).exists(), "it is not the one that was announced"
        announce(folder, found)
        withdraw(folder, found)
        assert not (home / PRESENCE).exists()
    announce(folder, found)
    assert find(folder) is None


def test_a_second_server_of_a_home_is_refused_and_the_first_goes_on(home: Path) -> None:
    with served(holdfast.open(home), home) as first, holdfast.open(home) as engine:
        told = (home / PRESENCE).read_bytes()
        with pytest.raises(UsageError, match="runs already") as refused:
            served(engine, home).start()
        assert first.url in refused.value.message
        assert refused.value.hint is not None
        assert "holdfast serve link" in refused.value.hint
        assert (home / PRESENCE).read_bytes() == told
        assert httpx.get(f"{first.url}/healthz").status_code == 200
    with served(holdfast.open(home), home) as again:
        assert httpx.get(f"{again.url}/healthz").status_code == 200


def test_a_model_that_does_not_answer_costs_its_time_once_for_all_conversations(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than are saved at once; and those that were only looked at cost nothing."""
    monkeypatch.setattr(saving, "_AT_ONCE", 3)
    speaker = Speaker()
    speaker.let_save.clear()
    config = {**CONFIG, "flush.inline_seconds": 0.4, "flush.total_seconds": 60}
    engine = open_engine(home, models=lambda _: speaker, config=config)
    engine.session("old").append({"role": "user", "content": FERRY.replace("Bergen", "Oslo")})
    place = Place(name=OWN, engine=engine)
    flushed: list[str | None] = []
    engine.subscribe(
        lambda event: flushed.append(event.session) if isinstance(event, MemoryFlushEnd) else None
    )
    with Server(Places([place]), home=home):
        for number in range(7):
            session = place.keep(engine.session(f"trip-{number}", model=speaker))
            said_to(session, FERRY.replace("Bergen", f"Island{number}"))
        place.session("old")
    assert sorted(map(str, flushed)) == [f"trip-{number}" for number in range(7)]
    memory = memory_at(home)
    assert all(f"Island{number}" in memory for number in range(7))
    assert "Oslo" not in memory


def test_an_answer_that_must_be_cut_says_so_and_is_kept_and_nothing_is_raised(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("holdfast.server.running._ANSWER_SECONDS", 0.2)
    speaker = Speaker(say=["It leaves at seven."])
    engine = open_engine(home, models=lambda _: speaker, config=CONFIG)
    place = Place(name=OWN, engine=engine)
    speaker.let_speak.clear()
    heard: list[Any] = []
    is_heard = Event()
    server = Server(Places([place]), home=home).start()
    headers = {"Authorization": f"Bearer {server.token}"}
    base = f"{server.url}/api/v1/sessions"
    httpx.post(base, json={"name": "trip"}, headers=headers).raise_for_status()

    def ask() -> None:
        body = {"text": "When does it leave?"}
        with httpx.stream(
            "POST", f"{base}/trip/messages", json=body, headers=headers, timeout=60
        ) as stream:
            for line in stream.iter_lines():
                if line.startswith("data: "):
                    heard.append(json.loads(line[6:]))
                    is_heard.set()

    asking = Thread(target=ask)
    asking.start()
    assert is_heard.wait(30)
    with caplog.at_level(logging.WARNING):
        server.stop()
    asking.join(30)
    speaker.let_speak.set()
    assert [each["kind"] for each in heard] == ["accepted", "error"]
    assert heard[-1]["error"]["type"] == "failed"
    assert "server" in heard[-1]["error"]["message"]
    assert not [each for each in caplog.records if each.exc_info], caplog.text
    with open_engine(home, models=lambda _: speaker, config=CONFIG) as opened:
        said = [each.message for each in opened.session("trip").entries() if each.message]
    assert [each.text for each in said] == ["When does it leave?"]


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
