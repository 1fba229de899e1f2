"""The ways to save: which come first, when a model's word is not taken, and what it costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.extract import Heard
from holdfast.context.flush import flush_records
from holdfast.context.flush.found import Prefix
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.ladder import Climbed, Help, Way, climb, ways
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.compacting import CompactionDone
from holdfast.engine.turn.helping import help_of
from holdfast.engine.turn.measuring import Measurer
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.testing import FixedClock
from holdfast.types import Message, Text, ToolCall, Usage
from tests.scale import scaled

FACTS = (
    "My sister Anna moved to Lisbon in May 2025.",
    "We decided to use PostgreSQL 16 for billing.",
    "Remember that Peter is allergic to peanuts.",
    "The deployment key lives in the blue safe.",
)


class Saver:
    """A model for flushes that behaves as the test says."""

    name = "saver"

    def __init__(self, behave: Callable[[ModelRequest], Any], **traits: Any) -> None:
        self._behave = behave
        self.traits = Traits(**({"window": 32_000} | traits))
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        found = self._behave(request)
        if isinstance(found, Exception):
            raise found
        if asyncio.iscoroutine(found):
            found = await found
        assert isinstance(found, ModelReply)
        return found

    @property
    def stages(self) -> list[str]:
        """What was asked of it: a turn of its own has tools, an extraction has none."""
        return ["agent" if request.tools else "extract" for request in self.requests]


USAGE = Usage(input_tokens=1_000, output_tokens=50)


def says(text: str) -> ModelReply:
    return ModelReply(message=Message.of("assistant", text), usage=USAGE)


def retains(*texts: str) -> ModelReply:
    arguments = {"memories": [{"text": text} for text in texts]}
    parts = (Text(text="Saving."), ToolCall(id="c1", name="memory_retain", arguments=arguments))
    return ModelReply(message=Message(role="assistant", parts=parts), usage=USAGE)


def well(request: ModelRequest) -> ModelReply:
    """A silent turn as it should be, and an extraction as it should be."""
    if request.tools:
        is_done = any(message.tool_results for message in request.messages)
        return says("NO_REPLY") if is_done else retains("Anna moved to Lisbon in May 2025.")
    facts = [{"turn": 1, "who": "user", "fact": "Anna moved to Lisbon in May 2025."}]
    return says(json.dumps({"facts": facts}))


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, clock=FixedClock()) as opened:
        yield opened


def heard(*texts: str) -> list[Heard]:
    at = FixedClock().now()
    return [
        Heard(entry=f"e{number}", at=at, message=Message.of("user", text))
        for number, text in enumerate(texts or FACTS)
    ]


def climbed(engine: Engine, model: Saver | None, order: tuple[Way, ...], **more: Any) -> Climbed:
    said = more.pop("said", None) or heard()
    seconds = more.pop("seconds", 20.0)
    help = Help(model=model, window=32_000, price=len_of, tools=allowed(engine), **more)
    return climb(engine._rooms, said, help, order, seconds=seconds)


def len_of(value: Message | str) -> int:
    return len(value if isinstance(value, str) else value.text) // 4 + 4


def allowed(engine: Engine) -> list[Any]:
    names = {"memory_write", "memory_retain", "memory_search"}
    return [tool for tool in engine.tools() if tool["function"]["name"] in names]


# ── the order ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("mode", "traits", "order"),
    [
        ("auto", {}, ("agent", "extract", "rules")),
        ("auto", {"tool_calls": False}, ("extract", "rules")),
        ("auto", {"is_local": True}, ("extract", "rules")),
        ("auto", {"is_local": True, "prefill_per_second": 900.0}, ("agent", "extract", "rules")),
        ("auto", {"is_local": True, "prefill_per_second": 87.0}, ("extract", "rules")),
        ("auto", {"prefill_per_second": 10.0}, ("rules",)),
        ("agent", {"is_local": True}, ("agent", "extract", "rules")),
        ("extract", {}, ("extract", "rules")),
        ("rules", {}, ("rules",)),
    ],
)
def test_the_best_way_a_model_is_good_for_comes_first(
    mode: str, traits: dict[str, Any], order: tuple[Way, ...]
) -> None:
    help = Help(model=Saver(well, **traits), reading=2_000)
    assert ways(mode, help, seconds=60) == order


@settings(max_examples=scaled(100))
@given(
    mode=st.sampled_from(["auto", "agent", "extract", "rules"]),
    traits=st.fixed_dictionaries(
        {
            "tool_calls": st.booleans(),
            "is_local": st.booleans(),
            "prefill_per_second": st.none() | st.floats(0.1, 10_000),
        }
    ),
    reading=st.integers(0, 200_000),
    seconds=st.floats(0, 600),
    has_model=st.booleans(),
)
def test_rules_are_always_the_last_way_and_no_way_comes_twice(
    mode: str, traits: dict[str, Any], reading: int, seconds: float, has_model: bool
) -> None:
    model = Saver(well, **traits) if has_model else None
    order = ways(mode, Help(model=model, reading=reading), seconds=seconds)
    assert order[-1] == "rules"
    assert len(set(order)) == len(order)
    speed = traits["prefill_per_second"]
    if not has_model or (speed and reading / speed > seconds):
        assert order == ("rules",)


# ── one way after another ───────────────────────────────────────────────────────────────────


def test_what_an_agent_saves_stands_on_what_was_said(engine: Engine) -> None:
    found = climbed(engine, Saver(well), ("agent", "extract", "rules"))
    assert (found.mode, found.tried) == ("agent", ())
    (line,) = found.lines
    assert "Lisbon" in line.text
    assert line.sources == ("e0",)
    assert found.spent.calls == 2
    assert found.spent.input_tokens == 2_000


def test_what_nobody_said_is_not_written(engine: Engine) -> None:
    def invents(request: ModelRequest) -> ModelReply:
        is_done = any(message.tool_results for message in request.messages)
        if is_done or not request.tools:
            return says("NO_REPLY")
        return retains(FACTS[0], "Anna was born in Paris in 1987.")

    found = climbed(engine, Saver(invents), ("agent", "extract", "rules"))
    assert not any("Paris" in line.text for line in found.lines)
    assert found.ungrounded >= 1


def test_a_model_that_only_invents_is_not_believed_and_its_lines_are_counted(
    engine: Engine,
) -> None:
    def invents(request: ModelRequest) -> ModelReply:
        if request.tools and not any(message.tool_results for message in request.messages):
            return retains("Anna was born in Paris in 1987.")
        return says("NO_REPLY")

    found = climbed(engine, Saver(invents), ("agent", "rules"))
    assert found.mode == "rules"
    assert found.ungrounded == 1
    assert "stands in the conversation" in found.tried[0]


@pytest.mark.parametrize(
    "answer",
    [
        RuntimeError("down"),
        says("I am sorry, I cannot do that."),
        says("Sure! Everything is saved."),
        says("{{{{ garbage \ufffd"),
        says(""),
    ],
    ids=repr,
)
def test_whatever_a_model_does_rules_save_in_the_end(engine: Engine, answer: Any) -> None:
    model = Saver(lambda request: answer)
    found = climbed(engine, model, ("agent", "extract", "rules"))
    assert found.mode == "rules"
    assert len(found.lines) >= 3
    assert [each.partition(":")[0] for each in found.tried] == ["agent", "extract"]
    assert set(model.stages) == {"agent", "extract"}


def test_an_extraction_takes_over_from_an_agent_that_fails(engine: Engine) -> None:
    model = Saver(lambda request: RuntimeError("no tools") if request.tools else well(request))
    found = climbed(engine, model, ("agent", "extract", "rules"))
    assert found.mode == "extract"
    assert found.tried[0].startswith("agent: ")
    assert any("Lisbon" in line.text for line in found.lines)


def test_silence_is_believed_where_rules_find_next_to_nothing(engine: Engine) -> None:
    model = Saver(lambda request: says("NO_REPLY"))
    found = climbed(engine, model, ("agent", "extract", "rules"), said=heard("hi", "thanks!"))
    assert (found.mode, found.lines, found.tried) == ("agent", (), ())
    assert len(model.requests) == 1


def test_silence_is_suspicious_where_rules_find_much(engine: Engine) -> None:
    model = Saver(lambda request: says("NO_REPLY"))
    found = climbed(engine, model, ("agent", "rules"))
    assert found.mode == "rules"
    assert len(found.lines) >= 3
    assert "kept nothing, where rules find" in found.tried[0]


def test_the_time_is_for_all_ways_together(engine: Engine) -> None:
    async def hang() -> ModelReply:
        await asyncio.sleep(60)
        raise AssertionError

    model = Saver(lambda request: hang())
    found = climbed(engine, model, ("agent", "extract", "rules"), seconds=0.2)
    assert found.mode == "rules"
    assert len(found.tried) == 2
    assert len(model.requests) <= 2


def test_without_a_model_only_rules_are_asked(engine: Engine) -> None:
    found = climbed(engine, None, ("agent", "extract", "rules"))
    assert (found.mode, found.tried, found.spent.calls) == ("rules", (), 0)
    assert engine.spent() == {}


def test_a_model_may_look_into_memory_first(engine: Engine) -> None:
    asked: list[str] = []

    def looks(request: ModelRequest) -> ModelReply:
        results = [result for message in request.messages for result in message.tool_results]
        if not results:
            call = ToolCall(id="c0", name="memory_search", arguments={"query": "Anna"})
            return ModelReply(message=Message(role="assistant", parts=(call,)))
        if len(results) == 1:
            assert "She lives in Porto" in results[0].text
            return retains("Anna moved to Lisbon in May 2025.")
        return says("NO_REPLY")

    def search(query: str) -> str:
        asked.append(query)
        return "She lives in Porto"

    found = climbed(engine, Saver(looks), ("agent", "rules"), search=search)
    assert asked == ["Anna"]
    assert found.mode == "agent"


# ── what a model has not read ───────────────────────────────────────────────────────────────


def live(*texts: str, engine: Engine) -> Prefix:
    messages = tuple(Message.of("user", text) for text in texts)
    return Prefix(system="Be kind.", tools=tuple(allowed(engine)), messages=messages)


def test_rules_read_what_the_live_request_shows_shortened(engine: Engine) -> None:
    model = Saver(well)
    prefix = live(FACTS[0], "[shortened]", engine=engine)
    said = heard(FACTS[0], FACTS[2])
    found = climbed(
        engine, model, ("agent", "rules"), said=said, prefix=prefix, unseen=frozenset({"e1"})
    )
    assert found.mode == "agent"
    assert model.requests[0].system == "Be kind.", "the live request is repeated"
    assert tuple(model.requests[0].messages[:2]) == prefix.messages
    assert any("Lisbon" in line.text for line in found.lines)
    assert any("peanuts" in line.text for line in found.lines), "rules have read it"


def test_rules_read_nothing_twice(engine: Engine) -> None:
    prefix = live(*FACTS, engine=engine)
    found = climbed(engine, Saver(well), ("agent", "rules"), prefix=prefix)
    assert len(found.lines) == 1


# ── in a conversation ───────────────────────────────────────────────────────────────────────


def measured_help(session: Session, ask: Ask) -> Help:
    measurer = Measurer(session._rooms, session._transcript, ask)
    return help_of(session._rooms, session._transcript, ask, measurer.measure(), measurer)


def test_the_live_request_is_repeated_only_where_that_is_cheap(engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": FACTS[0]})
    for caches, model, is_repeated in [
        (True, "saver", True),
        (False, "saver", False),
        (True, "another", False),
    ]:
        flusher = Saver(well, caches_prefix=caches)
        ask = Ask(flusher=flusher, model=model, system="Be kind.", restored="Known.")
        help = measured_help(session, ask)
        assert (help.prefix is not None) == is_repeated
        if help.prefix is not None:
            assert help.prefix.system == "Be kind.\n\nKnown."
            assert [message.text for message in help.prefix.messages] == [FACTS[0]]


def test_a_flush_is_offered_three_tools_and_searches_the_real_memory(engine: Engine) -> None:
    engine.remember("Anna keeps her bicycle in the cellar.", entity="Anna")
    session = engine.session("s")
    session.append({"role": "user", "content": FACTS[0]})
    help = measured_help(session, Ask(flusher=Saver(well)))
    names = {tool["function"]["name"] for tool in help.tools}
    assert names == {"memory_write", "memory_retain", "memory_search"}
    assert help.window == 32_000
    assert help.search is not None
    assert "cellar" in help.search("Anna bicycle")
    assert "failed" in help.search("")


def saved(engine: Engine, **about: Any) -> FlushDone:
    session = engine.session("s", **about)
    session.append_all([{"role": "user", "content": text} for text in FACTS])
    done = session.flush()
    assert isinstance(done, FlushDone)
    return done


PRICED = {"input_price": 3.0, "output_price": 15.0}


def test_what_a_flush_cost_is_in_its_receipt_its_record_and_the_ledger(home: Path) -> None:
    model = Saver(well, **PRICED)
    with open_engine(home, clock=FixedClock()) as engine:
        done = saved(engine, flusher=model)
        dollars = (2_000 * 3.0 + 100 * 15.0) / 1_000_000
        assert (done.mode, done.calls) == ("agent", 2)
        assert done.cost == pytest.approx(dollars)
        record = flush_records(engine.session("s").entries())[-1]
        assert record.cost is not None
        assert record.cost["dollars"] == pytest.approx(dollars)
        (spent,) = engine.spent().values()
        assert spent.dollars == pytest.approx(dollars)
        assert (spent.calls, spent.input_tokens, spent.output_tokens) == (2, 2_000, 100)


def test_beyond_the_daily_limit_rules_save_and_it_is_told_once(home: Path) -> None:
    model = Saver(well, **PRICED)
    told: list[Event] = []
    clock = FixedClock()
    with open_engine(home, clock=clock, config={"cost.daily_limit": 0.005}) as engine:
        engine.subscribe(told.append)
        assert saved(engine, flusher=model).mode == "agent"
        for number in range(3):
            session = engine.session(f"later-{number}", flusher=model)
            session.append_all([{"role": "user", "content": text} for text in FACTS])
            done = session.flush()
            assert isinstance(done, FlushDone)
            assert (done.mode, done.calls) == ("rules", 0)
        assert len(model.requests) == 2
        (event,) = (each for each in told if each.name == "cost_limit_reached")
        assert event.to_json()["limit"] == 0.005
        clock.advance(days=1)
        session = engine.session("tomorrow", flusher=model)
        session.append({"role": "user", "content": FACTS[0]})
        done = session.flush()
        assert isinstance(done, FlushDone)
        assert done.mode == "agent", "a new day"


# ── what is odd ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "odd",
    [
        ModelReply(message=Message.of("assistant", "NO_REPLY"), usage={"input_tokens": 5}),  # type: ignore[arg-type]
        ModelReply(message=Message(role="assistant", parts=None)),  # type: ignore[arg-type]
        ModelReply(
            message=Message(role="assistant", parts=(ToolCall(id="c", name=None, arguments={}),))  # type: ignore[arg-type]
        ),
    ],
    ids=["usage", "parts", "name"],
)
def test_a_malformed_reply_is_a_way_that_failed(engine: Engine, odd: ModelReply) -> None:
    found = climbed(engine, Saver(lambda request: odd), ("agent", "extract", "rules"))
    assert (found.mode, len(found.tried)) == ("rules", 2)
    assert all("a reply that is malformed" in each for each in found.tried)
    assert len(found.lines) >= 3


def test_whatever_goes_wrong_on_the_way_the_next_one_is_taken(engine: Engine) -> None:
    def looks(request: ModelRequest) -> ModelReply:
        call = ToolCall(id="c0", name="memory_search", arguments={"query": "Anna"})
        return ModelReply(message=Message(role="assistant", parts=(call,)), usage=USAGE)

    def search(query: str) -> str:
        raise KeyError("secret words")

    model = Saver(lambda request: looks(request) if request.tools else well(request))
    found = climbed(engine, model, ("agent", "extract", "rules"), search=search)
    assert (found.mode, found.tried) == ("extract", ("agent: it failed: KeyError",))
    assert found.spent.calls == len(model.requests) == 2, "what it had cost until then counts"


def test_what_a_model_s_error_says_is_in_no_event_and_no_record(home: Path) -> None:
    told: list[Event] = []
    model = Saver(lambda request: RuntimeError(f"cannot answer: {FACTS[2]}"))
    with open_engine(home, clock=FixedClock()) as engine:
        engine.subscribe(told.append)
        done = saved(engine, flusher=model)
        assert (done.mode, done.reason) == (
            "rules",
            "agent: saver: RuntimeError; extract: saver: RuntimeError",
        )
        records = [each.entry_data() for each in flush_records(engine.session("s").entries())]
    kept = (home / "events.jsonl").read_text() + json.dumps(records)
    kept += json.dumps([each.to_json() for each in told], default=str)
    assert "RuntimeError" in kept
    assert "peanuts" not in kept


def test_a_compaction_whose_model_makes_us_fail_goes_on_without_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("secret words")

    model = Saver(lambda request: says("## Goal\nA long summary [#1]"), **PRICED)
    monkeypatch.setattr("holdfast.context.compaction.writing.judge_reply", fails)
    with open_engine(home, clock=FixedClock()) as engine:
        session = engine.session("s", summariser=model, strategy="summary", window=20_000)
        for number in range(20):
            text = f"Step {number} changes src/a{number}.py. " + "lorem ipsum dolor " * 30
            session.append({"role": "user", "content": text})
            session.append({"role": "assistant", "content": f"Done with step {number}."})
        prepared = session.compact()
        (done,) = (each for each in prepared.done if isinstance(each, CompactionDone))
        assert "summary: it failed: KeyError" in done.fallbacks
        assert model.requests
        assert sum(spent.calls for spent in engine.spent().values()) == len(model.requests)


# ── a price that nobody names ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limit", "traits", "dollars"),
    [
        (5.0, {}, (2_000 * 3.0 + 100 * 15.0) / 1e6),
        (5.0, {"output_price": 1.0}, 100 * 1.0 / 1e6),
        (5.0, {"is_local": True, "prefill_per_second": 9_000.0}, 0.0),
        (None, {}, 0.0),
    ],
    ids=["hosted", "priced", "local", "no limit"],
)
def test_under_a_limit_a_hosted_model_is_not_taken_for_free(
    home: Path, limit: float | None, traits: dict[str, Any], dollars: float
) -> None:
    config = {"cost.daily_limit": limit}
    with open_engine(home, clock=FixedClock(), config=config) as engine:
        done = saved(engine, flusher=Saver(well, **traits))
        if not traits.get("is_local"):  # a local one is tried first, and this one fails
            assert (done.mode, done.calls) == ("agent", 2)
        assert done.cost == pytest.approx(dollars)


def test_calls_that_fail_are_booked_as_they_were_asked_and_reach_the_limit(home: Path) -> None:
    model = Saver(lambda request: RuntimeError("no"))
    config = {"cost.daily_limit": 0.0001}
    with open_engine(home, clock=FixedClock(), config=config) as engine:
        done = saved(engine, flusher=model)
        asked = len(model.requests)
        assert done.calls == asked > 0
        assert done.input_tokens > 0
        assert done.output_tokens == 0
        session = engine.session("later", flusher=model)
        session.append({"role": "user", "content": FACTS[0]})
        session.flush()
        assert len(model.requests) == asked
