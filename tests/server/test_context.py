"""How full the window is, over the API; flush and compact by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event, Semaphore

import pytest
from anyio.to_thread import current_default_thread_limiter

from holdfast.context.flush import NoFlush
from holdfast.engine.facade import Engine
from holdfast.engine.session import Session
from holdfast.server import turns
from holdfast.server.app import build
from holdfast.server.places import OWN, Place, Places
from tests.server.asking import Asker, asking
from tests.server.furnishing import LONG, open_home
from tests.server.listening import Listener
from tests.server.speaking import CHATTY, WINDOW, Speaker


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with open_home(tmp_path_factory.mktemp("context") / "home", Speaker()) as opened:
        session = opened.session(LONG, model=Speaker())
        for _ in session.run("My sister Anna lives in Lisbon and visits us in June."):
            pass
        for number in range(3):
            for _ in session.run(f"{CHATTY} step {number}."):
                pass
        yield opened


@pytest.fixture(scope="module")
def asker(engine: Engine) -> Iterator[Asker]:
    with asking(engine) as opened:
        yield opened


def test_the_marks_are_those_the_next_request_is_judged_by(asker: Asker, engine: Engine) -> None:
    told = asker.get(f"/sessions/{LONG}/context")
    found = engine.session(LONG).explain_context()
    assert told["marks"] == found.budget.to_json()
    assert told["source"] == "reported"
    assert [each["tokens"] for each in told["fills"]] == sorted(
        (each["tokens"] for each in told["fills"]), reverse=True
    )
    assert sum(each["tokens"] for each in told["fills"]) == found.breakdown.total
    assert [each["at"] - told["projected"] for each in told["next_marks"]] == [
        each["away"] for each in told["next_marks"]
    ]
    small = asker.get(f"/sessions/{LONG}/context", window=2_000)
    assert small["pressure"] == "compact"
    assert small["would_do"] == "compact"
    assert small["would"].startswith("Compact: ")
    large = asker.get(f"/sessions/{LONG}/context", window=1_000_000)
    assert (large["pressure"], large["would_do"]) == ("none", "nothing")
    assert asker.get(f"/sessions/{LONG}/context", window=10)["error"]["type"] == "invalid_request"


def test_after_an_answer_in_this_process_the_marks_are_still_those_of_its_model(
    asker: Asker,
) -> None:
    asker.post("/sessions", name="marks")
    asker.post("/sessions/marks/messages", text="Hello?", stream=False)
    told = asker.get("/sessions/marks/context")
    marks = told["marks"]
    assert (marks["window"], told["would_do"]) == (WINDOW, "nothing")
    assert f"({min(marks['prune_at'], marks['flush_at']):,})" in told["would"]


def test_a_conversation_is_saved_once_at_a_time_and_nobody_else_waits_for_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often somebody asks while a model does not answer, and however few threads are
    kept for this."""
    monkeypatch.setattr(turns, "_SLOW", 2)
    may_end = Event()
    begun = Semaphore(0)

    def flush(session: Session, reason: str = "manual") -> NoFlush:
        begun.release()
        assert may_end.wait(30)
        return NoFlush(reason="nothing to save")

    monkeypatch.setattr(Session, "flush", flush)
    app = build(Places([Place(name=OWN, engine=engine)]))
    for number in range(4):
        engine.session(f"slow-{number}")

    async def ask(method: str, path: str) -> int:
        async with Listener(app, method, path) as heard:
            await heard.json()
            return heard.status

    async def work() -> None:
        saving = [asyncio.ensure_future(ask("POST", f"/sessions/slow-{n}/flush")) for n in range(4)]
        for _ in range(2):
            await asyncio.to_thread(begun.acquire)
        current_default_thread_limiter().total_tokens = 1
        again = [await ask("POST", f"/sessions/slow-{n}/flush") for n in range(4)]
        assert again == [409] * 4
        assert await ask("GET", "/sessions/slow-0") == 200
        assert not begun.acquire(blocking=False), "the others wait, in no thread"
        may_end.set()
        assert await asyncio.gather(*saving) == [200] * 4
        assert await ask("POST", "/sessions/slow-0/flush") == 200

    asyncio.run(work())


def test_a_flush_tells_what_it_saved_and_the_next_why_there_was_nothing(asker: Asker) -> None:
    assert asker.get(f"/sessions/{LONG}/context")["unsaved"] > 0
    done = asker.post(f"/sessions/{LONG}/flush")
    assert (done["did"], done["outcome"]) == (True, "flushed")
    assert len(done["lines"]) == done["saved"] > 0
    assert any("Lisbon" in line["text"] and line["number"] for line in done["lines"])
    told = asker.get(f"/sessions/{LONG}/context")
    assert told["unsaved"] == 0
    assert told["last_flush"]["lines"] == done["lines"]
    again = asker.post(f"/sessions/{LONG}/flush")
    assert (again["did"], again["lines"]) == (False, [])
    assert again["reason"]
    assert asker.get(f"/sessions/{LONG}/context")["last_flush"]["saved"] == done["saved"]


def test_a_compaction_tells_what_left_and_one_in_vain_why(asker: Asker, engine: Engine) -> None:
    done = asker.post(f"/sessions/{LONG}/compact", focus="Lisbon")
    assert done["did"] is True
    assert done["dropped"] > 0
    assert done["tokens_after"] < done["tokens_before"]
    assert asker.get(f"/sessions/{LONG}/context")["compaction_count"] == 1
    engine.session("empty")
    vain = asker.post("/sessions/empty/compact")
    assert (vain["did"], vain["dropped"]) == (False, 0)
    assert vain["reason"]
