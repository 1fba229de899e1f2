"""What is done while nobody speaks: old large conversations compacted, those at rest saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.events import Event
from holdfast.testing import FixedClock, ScriptedModel
from holdfast.types import Json

FACT = "My sister Anna moved to Lisbon in May 2025."
HOUR = 3_600


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def engine(home: Path, clock: FixedClock) -> Iterator[Engine]:
    config: dict[str, Json] = {
        "context.window": 10_000,
        "flush.soft_threshold_tokens": 300,
        "compaction.max_interval_seconds": HOUR,
    }
    with open_engine(home, config=config, clock=clock, background=False) as opened:
        yield opened


def heard_by(engine: Engine) -> list[Event]:
    heard: list[Event] = []
    engine.subscribe(heard.append)
    return heard


def small_talk(engine: Engine, name: str = "s", **about: Any) -> Session:
    session = engine.session(name, **about)
    session.prepare(FACT)
    session.commit("Noted.")
    return session


def large_talk(engine: Engine, name: str = "s", **about: Any) -> Session:
    """A conversation that is large enough to be pruned, and not to be compacted."""
    session = small_talk(engine, name, **about)
    number = 0
    while True:
        found = session.explain_context()
        if found.projection.tokens >= found.budget.prune_at:
            assert found.projection.tokens < found.budget.flush_at
            break
        number += 1
        session.append({"role": "user", "content": f"What comes after stop {number}?"})
        session.append({"role": "assistant", "content": f"Village {number} has a well. " * 20})
    session.prepare("Thanks.")
    session.commit("Welcome.")
    return session


def test_a_conversation_at_rest_is_saved_once(engine: Engine, clock: FixedClock) -> None:
    session = small_talk(engine)
    heard = heard_by(engine)
    assert engine.upkeep() == []
    clock.advance(seconds=HOUR - 1)
    assert engine.upkeep() == [], "not yet"
    clock.advance(seconds=2)
    (done,) = engine.upkeep()
    assert done.startswith("s: saved")
    assert "Lisbon" in engine.get(f"memory/{engine.today()}.md").text
    entries = session.entries()
    said = {each.id for each in entries if each.type == "message"}
    assert said <= covered_by(flush_records(entries), entries)
    assert flush_records(entries)[-1].mode == "rules"
    assert [each.name for each in heard].count("memory_flush_end") == 1
    assert engine.upkeep() == []
    clock.advance(days=2)
    assert engine.upkeep() == [], "there is nothing new to save"
    assert len(session.view()) == 2, "and nothing left"


def test_idle_conversations_ask_no_model(engine: Engine, clock: FixedClock) -> None:
    model = ScriptedModel([])
    small_talk(engine, flusher=model)
    clock.advance(seconds=HOUR + 1)
    assert engine.upkeep() != []
    assert model.requests == []


def test_a_large_old_conversation_is_compacted_and_what_leaves_is_saved(
    engine: Engine, clock: FixedClock
) -> None:
    session = large_talk(engine)
    heard = heard_by(engine)
    clock.advance(seconds=HOUR + 1)
    assert engine.upkeep() == ["s: compacted"]
    names = [each.name for each in heard]
    assert names.index("memory_flush_end") < names.index("compaction_end")
    start = next(each for each in heard if each.name == "compaction_start")
    assert start.to_json()["reason"] == "interval"
    state = session.state()
    assert state["compaction_count"] == 1
    entries = session.entries()
    dropped = {each.id for each in entries if each.type == "message"} - {
        id
        for item in session.view().items
        if item.kind in ("message", "pin")
        for id in item.stands_for
    }
    assert dropped
    assert dropped <= covered_by(flush_records(entries), entries)
    assert [each for each in engine.upkeep() if "compacted" in each] == [], "it begins anew"
    assert engine.upkeep() == []
    assert session.prepare("And now?").request.violations == ()


def test_a_large_conversation_whose_cache_is_warm_is_left_alone(
    engine: Engine, clock: FixedClock
) -> None:
    session = large_talk(engine)
    clock.advance(seconds=HOUR + 1)
    session.prepare("Still here.")
    session.commit("Good.")
    clock.advance(seconds=60)
    assert engine.upkeep() == []
    assert session.state()["compaction_count"] == 0


@pytest.mark.parametrize("open_end", ["user", "call", "result"])
def test_a_conversation_in_the_midst_of_a_turn_is_left_alone(
    engine: Engine, clock: FixedClock, open_end: str
) -> None:
    session = large_talk(engine)
    session.prepare("Look it up.")
    if open_end != "user":
        call: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        session.commit({"role": "assistant", "content": None, "tool_calls": [call]})
    if open_end == "result":
        session.prepare({"role": "tool", "tool_call_id": "c1", "content": "found"})
    clock.advance(days=3)
    before = session.entries()
    assert engine.upkeep() == []
    assert session.entries() == before


def test_an_interval_of_nothing_switches_it_off(home: Path, clock: FixedClock) -> None:
    config: dict[str, Json] = {
        "context.window": 10_000,
        "flush.soft_threshold_tokens": 300,
        "compaction.max_interval_seconds": 0,
    }
    with open_engine(home, config=config, clock=clock, background=False) as engine:
        large_talk(engine)
        clock.advance(days=30)
        assert engine.upkeep() == []


def test_only_conversations_that_are_led_here_are_looked_after(
    home: Path, engine: Engine, clock: FixedClock
) -> None:
    small_talk(engine, "closed").close()
    with open_engine(home, clock=clock, background=False) as other:
        small_talk(other, "elsewhere")
        small_talk(engine, "here")
        clock.advance(seconds=HOUR + 1)
        assert [each.partition(":")[0] for each in engine.upkeep()] == ["here"]


def test_one_that_fails_keeps_no_other_waiting(
    engine: Engine, clock: FixedClock, home: Path
) -> None:
    small_talk(engine, "broken")
    small_talk(engine, "well")
    engine._rooms.release("broken")
    engine._rooms.talks["broken"] = lambda: engine.session("well")._exchange._ask({})
    (home / "agents" / "main" / "sessions" / "broken.jsonl").unlink()
    clock.advance(seconds=HOUR + 1)
    assert [each.partition(":")[0] for each in engine.upkeep()] == ["well"]


def test_memory_that_is_off_stays_off(engine: Engine, clock: FixedClock, home: Path) -> None:
    session = small_talk(engine, memory="off")
    clock.advance(days=2)
    engine.upkeep()
    assert not list(home.rglob("memory/*.md"))
    assert session.state()["messages"] == 2


def test_a_thread_of_its_own_begins_with_the_first_reply_and_ends_with_the_engine(
    home: Path,
) -> None:
    engine = open_engine(home)
    session = engine.session("s")
    session.prepare("hi")
    assert engine._rooms._upkeep is None
    session.commit("Hello")
    upkeep = engine._rooms._upkeep
    assert upkeep is not None
    assert upkeep._thread.is_alive()
    engine.close()
    upkeep._thread.join(10)
    assert not upkeep._thread.is_alive()
