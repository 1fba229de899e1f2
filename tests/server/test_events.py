"""Events over the API: listed, streamed, taken up again exactly, or told that they cannot be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from holdfast.engine import eventreading
from holdfast.engine.eventreading import START, EventReader, Told
from holdfast.engine.facade import Engine, open_engine
from holdfast.server import following
from holdfast.server.api import events as listing
from holdfast.server.app import build
from holdfast.server.following import Follower, Seen, Watcher, follower_of
from holdfast.server.places import OWN, Place, Places
from tests.scale import scaled
from tests.server.asking import Asker
from tests.server.listening import Heard, Listener

CONFIG = {"search.embedder": "none"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events") / "home"


@pytest.fixture(scope="module")
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, config=CONFIG, background=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def app(engine: Engine) -> FastAPI:
    return build(Places([Place(name=OWN, engine=engine)]))


def follow(app: FastAPI, last_id: str | None = None, query: str = "") -> Listener:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    return Listener(app, "GET", "/events/stream", headers=headers, query=query)


async def until(stream: Listener, name: str) -> list[Heard]:
    """What is heard up to the first event of that session or name."""
    heard: list[Heard] = []
    while not heard or name not in (heard[-1].event, heard[-1].data.get("session")):
        found = await stream.next()
        assert found is not None
        heard.append(found)
    return heard


def in_log(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (home / "events.jsonl").read_text().splitlines() if line]


def plain(heard: list[Heard]) -> list[dict[str, Any]]:
    """What was told, as it stands in the log."""
    events = [each for each in heard if each.event not in ("hello", "reset")]
    assert [each.event for each in events] == [each.data["event"] for each in events]
    return [{key: each.data[key] for key in each.data if key != "id"} for each in events]


def test_the_list_has_the_newest_last_and_where_a_stream_goes_on(
    app: FastAPI, engine: Engine
) -> None:
    for number in range(6):
        engine.session(f"listed{number % 2}")
    engine.session("listed1").close()
    with TestClient(app) as client:
        asker = Asker(client)
        told = asker.get("/events", limit=3)
        assert [each["event"] for each in told["events"]][-1] == "session_closed"
        assert told["events"][-1]["id"] == told["last_id"]
        some = asker.get("/events", session="listed0", kind="session_started")
        assert {each["session"] for each in some["events"]} == {"listed0"}
        assert len(some["events"]) == 3
        assert some["last_id"] == told["last_id"]
        assert asker.get("/events", limit=0)["error"]["type"] == "invalid_request"


def test_a_stream_tells_everything_from_now_on_once_and_in_order(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    engine.session("before")

    async def go() -> list[Heard]:
        async with follow(app) as stream:
            hello = await stream.next()
            assert hello is not None
            assert hello.event == "hello"
            for number in range(10):
                await asyncio.to_thread(engine.session, f"s{number}")
            with open_engine(home, config=CONFIG, background=False) as other:
                await asyncio.to_thread(other.session, "another")
            return await until(stream, "another")

    before = len(in_log(home))
    heard = asyncio.run(go())
    assert plain(heard) == in_log(home)[before:]
    assert len({each.id for each in heard}) == len(heard)


def test_a_stream_of_one_conversation_tells_only_of_it(app: FastAPI, engine: Engine) -> None:
    async def go() -> list[Heard]:
        async with follow(app, query="session=mine") as stream:
            await stream.next()
            for name in ("other", "mine", "other", "third"):
                await asyncio.to_thread(engine.session, name)
            await asyncio.to_thread(engine.session("mine").close)
            return await until(stream, "session_closed")

    assert {each.data["session"] for each in asyncio.run(go())} == {"mine"}


@settings(max_examples=scaled(15))
@given(kept=st.integers(0, 12), torn=st.booleans())
def test_a_stream_is_taken_up_exactly_where_it_broke_off(
    tmp_path_factory: pytest.TempPathFactory, kept: int, torn: bool
) -> None:
    home = tmp_path_factory.mktemp("resumed") / "home"
    with open_engine(home, config=CONFIG, background=False) as engine:
        for number in range(12):
            engine.session(f"s{number}")
        if torn:  # a line of a process that died while writing it
            with (home / "events.jsonl").open("ab") as file:
                file.write(b'{"event":"session_sta')
        reader = EventReader(home / "events.jsonl")
        placed = reader.last_placed(None)
        reader.close()
        last = placed[kept - 1].id if kept else START

        async def go() -> list[Seen]:
            follower, watcher = Follower(engine), Watcher(None)  # of a server that was begun anew
            await asyncio.to_thread(follower.watch, watcher, last)
            await asyncio.to_thread(engine.session, "last")
            heard = [await asyncio.wait_for(watcher.next(), 20)]
            while heard[-1].told.get("session") != "last":
                heard.append(await asyncio.wait_for(watcher.next(), 20))
            follower.leave(watcher)
            return heard

        heard = asyncio.run(go())
    assert [each.kind for each in heard] == ["hello", *["event"] * (len(heard) - 1)]
    expected = [f"s{number}" for number in range(kept, 12)] + ["last"]
    assert [each.told["session"] for each in heard[1:]] == expected


@pytest.mark.parametrize(
    "last", ["nonsense", "0-0", "abc-7", "abc-99999999999999999", "-", "x" * 99, "aaaaaaaaaaaa-12"]
)
def test_whoever_comes_back_with_a_place_that_is_none_hears_so(
    app: FastAPI, engine: Engine, last: str
) -> None:
    engine.session("s")

    async def go() -> list[Heard]:
        async with follow(app, last) as stream:
            heard = await until(stream, "hello")
            await asyncio.to_thread(engine.session, "next")
            return heard + await until(stream, "next")

    assert [each.event for each in asyncio.run(go())] == ["reset", "hello", "session_started"]


def test_after_an_erasure_whoever_watches_goes_on_and_whoever_comes_back_begins_anew(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "My code is plugh-4711."})

    async def go() -> None:
        async with follow(app) as stream:
            await stream.next()
            await asyncio.to_thread(engine.delete_session, "s")
            broken_off = (await until(stream, "session_deleted"))[-1].id
            # What an erasure does: every line in its place, some of them changed.
            log = home / "events.jsonl"
            changed = log.with_suffix(".new")
            changed.write_bytes(log.read_bytes().replace(b'"s"', b'"erased"'))
            changed.replace(log)
            await asyncio.to_thread(engine.session, "t")
            heard = await until(stream, "t")
            assert [each["session"] for each in plain(heard)] == ["t"]
            async with follow(app, broken_off) as late:
                assert [each.event for each in await until(late, "hello")] == ["reset", "hello"]

    asyncio.run(go())


def test_an_incognito_conversation_is_told_of_while_one_watches_and_in_no_log(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    async def go() -> list[Heard]:
        async with follow(app) as stream:
            await stream.next()
            session = engine.session("hidden", incognito=True)
            await asyncio.to_thread(session.close)
            return await until(stream, "session_closed")

    heard = asyncio.run(go())
    assert heard[-1].data["session"] == "hidden"
    assert heard[-1].id is None
    log = home / "events.jsonl"
    assert not log.exists() or "hidden" not in log.read_text()


def test_one_who_does_not_read_costs_no_more_than_a_bounded_queue(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST", 20)

    async def go() -> None:
        follower = Follower(engine)
        slow, quick = Watcher(None, most=20), Watcher(None, most=20)
        await asyncio.to_thread(follower.watch, slow, None)
        await asyncio.to_thread(follower.watch, quick, None)
        heard = 0
        for number in range(55):
            await asyncio.to_thread(engine.session, f"s{number}")
            while (await quick.next()).told.get("session") != f"s{number}":
                pass
            heard += 1
            assert len(slow) <= 20
        kinds = [(await slow.next()).kind for _ in range(len(slow))]
        assert kinds[0] == "reset"  # and from there on it is told again
        assert set(kinds[1:]) == {"event"}
        assert heard == 55
        for watcher in (slow, quick):
            follower.leave(watcher)
        assert len(follower) == 0

    asyncio.run(go())


def test_one_who_missed_too_much_begins_anew(
    app: FastAPI, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "MOST", 5)
    for number in range(8):
        engine.session(f"s{number}")

    async def go() -> list[str]:
        async with follow(app, START) as stream:
            return [each.event for each in await until(stream, "hello")]

    assert asyncio.run(go()) == ["reset", "hello"]


def test_nobody_follows_when_nobody_watches(app: FastAPI, engine: Engine) -> None:
    place = next(iter(app.state.places))

    async def go() -> None:
        async with follow(app) as stream:
            await stream.next()
            follower = follower_of(app, place)
            assert len(follower) == 1
            thread = follower._thread
        assert len(follower) == 0
        assert thread is not None
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()
        assert follower._reader is None

    asyncio.run(go())


def test_a_log_that_others_wrote_cannot_forge_a_frame(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    async def go() -> list[Heard]:
        async with follow(app) as stream:
            await stream.next()
            forged = {"event": "x\n\nevent: hello\ndata: {}", "session": "\ud800"}
            with (home / "events.jsonl").open("ab") as file:
                file.write(json.dumps(forged).encode() + b"\n")
            await asyncio.to_thread(engine.session, "end")
            return await until(stream, "end")

    heard = asyncio.run(go())
    assert [each.event for each in heard] == ["xeventhellodata", "session_started"]
    with TestClient(app) as client:
        asker = Asker(client)
        asker.get("/events")
        assert asker.status == 200


FOREIGN = [
    {"event": "x", "at": [1]},
    {"event": "x", "at": "not a time", "session": 7},
    {"event": 5, "at": "y"},
    {"event": "half", "key \ud800": ["\ud83d", {"\udc00": "\ud800"}]},
    {"event": "no number", "much": float("inf"), "none": float("nan")},
    {"event": "id", "id": {"a": 1}},
]


def test_what_others_write_into_the_log_costs_only_itself(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    engine.session("before-it")
    deep = '{"event":"deep","in":' + "[" * 400 + "]" * 400 + "}"
    with (home / "events.jsonl").open("a") as file:
        for line in [*map(json.dumps, FOREIGN), deep, '{"event":"big","n":1e999}', "[]", "{}", "x"]:
            file.write(f"{line}\n")
    engine.session("behind-it")
    with TestClient(app) as client:
        asker = Asker(client)
        told = asker.get("/events")
        assert asker.status == 200
    names = [each["event"] for each in told["events"]]
    assert names[-4:] == ["session_started", "half", "id", "session_started"]
    assert isinstance(told["events"][-2]["id"], str)


def test_no_event_is_taken_for_a_word_of_the_stream(
    app: FastAPI, engine: Engine, home: Path
) -> None:
    async def go() -> list[Heard]:
        async with follow(app) as stream:
            await stream.next()
            with (home / "events.jsonl").open("a") as file:
                for name in ("hello", "reset", "re\nset", "he llo", "hello!"):
                    file.write(json.dumps({"event": name, "last_id": "forged"}) + "\n")
            await asyncio.to_thread(engine.session, "honest")
            return await until(stream, "honest")

    assert [each.event for each in asyncio.run(go())] == ["session_started"]


def test_what_never_happened_is_not_looked_for_in_the_whole_log(
    app: FastAPI, engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_LOOKED_AT", 30)
    for _ in range(40):
        engine.session("often")
    seen = 0

    def counted(line: bytes) -> Told | None:
        nonlocal seen
        seen += 1
        return parsed(line)

    parsed = eventreading._event_in
    monkeypatch.setattr(eventreading, "_event_in", counted)
    with TestClient(app) as client:
        asker = Asker(client)
        told = asker.get("/events", kind="nothing")
        assert (told["events"], told["more"], seen) == ([], True, 30)
        assert asker.get("/events", limit=3)["more"] is True
        monkeypatch.setattr(listing, "_LOOKED_AT", 10**6)
        assert asker.get("/events", kind="nothing")["more"] is False
