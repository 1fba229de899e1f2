"""The thin turn on a real session: prune → flush → compact, and nothing leaves unsaved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.context.accounting import Reported
from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone, Prepared, PruneDone
from holdfast.errors import IrreducibleContext
from holdfast.events import ContextMeasured
from holdfast.testing import FixedClock, ScriptedModel, SequentialIds
from holdfast.testing.corpus import conversation
from holdfast.types import Json

WINDOW = 8_000


def opened(home: Path) -> Engine:
    return open_engine(
        home,
        config={"context.window": WINDOW},
        clock=FixedClock(),
        ids=SequentialIds(),
        background=False,  # so that what is done is seen in the request that needed it
    )


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with opened(home) as engine:
        yield engine


def agent_run(session: Session, steps: int, *, size: int = 1_200, start: int = 0) -> None:
    """One request and many calls with results, as coding agents work."""
    if not start:
        session.append({"role": "system", "content": "You fix bugs."})
        session.append(
            {"role": "user", "content": "Fix issue #42 in src/app.py. Never push to main."}
        )
    for number in range(start, start + steps):
        call: Json = {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": "bash",
                "arguments": json.dumps({"command": f"cat file{number}.py"}),
            },
        }
        session.append({"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]})
        body = f"def function_{number}():\n    return {number}\n" * (size // 36)
        session.append({"role": "tool", "tool_call_id": f"call_{number}", "content": body})


def fill(session: Session, steps: int, **about: Any) -> list[Prepared]:
    """A run of so many steps, with a request before each."""
    agent_run(session, 0)
    prepared = []
    for number in range(steps):
        prepared.append(session.prepare(**about))
        agent_run(session, 1, start=number + 1)
    return [*prepared, session.prepare(**about)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRun:
    """Sixty steps, and the request before each of them."""

    session: Session
    requests: list[Prepared]

    @property
    def compactions(self) -> list[CompactionDone]:
        done = (each for request in self.requests for each in request.done)
        return [each for each in done if isinstance(each, CompactionDone)]


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], LongRun]]:
    """The long run by a strategy: made once, and looked at by all tests of it."""
    made: dict[str, LongRun] = {}
    with ExitStack() as stack:

        def run(strategy: str) -> LongRun:
            if strategy not in made:
                home = tmp_path_factory.mktemp("long") / "home"
                session = stack.enter_context(opened(home)).session("s")
                requests = fill(session, 60, strategy=strategy)
                made[strategy] = LongRun(session=session, requests=requests)
            return made[strategy]

        yield run


def entries_said(session: Session) -> dict[str, str]:
    return {each.id: each.type for each in session.entries() if each.type == "message"}


def covered(session: Session) -> set[str]:
    entries = session.entries()
    return covered_by(flush_records(entries), entries)


def test_a_short_conversation_is_sent_as_it_is(engine: Engine) -> None:
    session = engine.session("s")
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]
    session.append_all(said)
    prepared = session.prepare()
    assert prepared.messages == said
    assert prepared.done == ()
    assert prepared.request.violations == ()
    assert prepared.max_tokens == WINDOW - prepared.request.tokens
    assert [entry.type for entry in session.entries()] == ["session", "message", "message"]


@pytest.mark.parametrize("strategy", ["layered", "summary", "selective"])
def test_a_long_run_never_exceeds_its_budget_and_drops_nothing_unsaved(
    long_run: Callable[[str], LongRun], strategy: str
) -> None:
    run = long_run(strategy)
    assert len(run.compactions) >= 2
    safe: set[str] = set()
    for prepared in run.requests:
        assert prepared.request.tokens <= prepared.budget.compact_at
        assert prepared.request.violations == ()
        for done in prepared.done:
            if isinstance(done, FlushDone):
                safe |= set(done.covers)
            elif isinstance(done, CompactionDone):
                assert set(done.dropped) <= safe, "saved before it was dropped"
    assert safe <= covered(run.session)
    missing = entries_said(run.session).keys() - set(run.requests[-1].request.stands_for) - safe
    assert not missing


@pytest.mark.parametrize("strategy", ["layered", "summary", "selective"])
def test_the_task_and_the_constraint_stay_word_for_word(
    long_run: Callable[[str], LongRun], strategy: str
) -> None:
    for prepared in long_run(strategy).requests:
        task = "Fix issue #42 in src/app.py. Never push to main."
        assert task in [message["content"] for message in prepared.messages]
        assert prepared.messages[0] == {"role": "system", "content": "You fix bugs."}


def test_what_was_dropped_can_be_expanded(long_run: Callable[[str], LongRun]) -> None:
    run = long_run("layered")
    dropped = [entry for done in run.compactions for entry in done.dropped]
    assert dropped
    originals = run.session.originals(dropped)
    assert len(originals) == len(dropped)
    for entry in dropped[:20]:
        assert run.session.expand(entry).message == originals[entry]


def test_consecutive_requests_share_their_prefix_unless_something_was_edited(
    long_run: Callable[[str], LongRun],
) -> None:
    for before, after in pairwise(long_run("layered").requests):
        if all(isinstance(done, FlushDone) for done in after.done):
            assert after.messages[: len(before.messages)] == before.messages


def test_the_same_request_comes_after_a_restart(home: Path, engine: Engine) -> None:
    before = fill(engine.session("s"), 40)[-1]
    engine.close()
    with open_engine(home, config={"context.window": WINDOW}, clock=FixedClock()) as again:
        after = again.session("s").prepare()
    assert after.messages == before.messages
    assert after.done == ()


def test_memory_is_written_to_the_daily_file_with_its_sources(home: Path, engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "Let us plan the summer."})  # stays: it is the task
    session.append({"role": "assistant", "content": "Gladly."})
    session.append({"role": "user", "content": "My sister Anna moved to Coimbra on 3 May 2025."})
    session.append({"role": "assistant", "content": "Noted."})
    for number, message in enumerate(conversation(5, 60)):
        if message.role == "assistant" and number % 3 == 0:
            session.prepare()
        session.append(message)
    session.compact()
    (file,) = (home / "agents" / "main" / "memory").glob("*.md")
    text = file.read_text()
    assert "## Retain" in text
    assert "Coimbra" in text
    line = next(line for line in text.splitlines() if "Coimbra" in line)
    assert "s#" in line.partition("<!--")[2], "its source stands in the hidden comment"


def test_a_compaction_by_hand_saves_what_leaves(engine: Engine) -> None:
    session = engine.session("s")
    agent_run(session, 6)
    prepared = session.compact()
    (done,) = (each for each in prepared.done if isinstance(each, CompactionDone))
    assert set(done.dropped) <= covered(session)
    assert session.state()["compaction_count"] == 1
    assert session.state()["last_memory_flush"] is not None


def test_everything_that_was_done_is_an_event(engine: Engine) -> None:
    heard: list[str] = []
    engine.subscribe(lambda event: heard.append(event.name))
    fill(engine.session("s"), 40)
    for name in ("context_measured", "context_pressure", "memory_flush_start", "compaction_end"):
        assert name in heard
    assert heard.count("memory_flush_start") == heard.count("memory_flush_end")
    assert heard.count("compaction_start") == heard.count("compaction_end")
    assert heard.index("memory_flush_end") < heard.index("compaction_end")


def test_a_giant_newest_result_is_shortened_rather_than_refused(engine: Engine) -> None:
    session = engine.session("s")
    agent_run(session, 1)
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for n in range(12)
    ]
    session.append({"role": "assistant", "content": None, "tool_calls": calls})
    ids = [
        session.append({"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} words " * 390})
        for n in range(12)
    ]
    prepared = session.prepare()
    assert prepared.request.tokens <= prepared.budget.compact_at
    assert set(ids) <= set(prepared.request.stands_for), "shortened, not dropped"
    assert session.expand(ids[0]).text == "0 words " * 390


def test_what_cannot_be_shortened_is_named(engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "Read this: " + "unforgettable prose " * 4_000})
    with pytest.raises(IrreducibleContext, match="user message") as failure:
        session.prepare()
    assert failure.value.blocks[0][1] > 6_000
    assert "window" in str(failure.value)


def test_system_text_and_tools_that_fill_the_window_are_named(engine: Engine) -> None:
    session = engine.session("s")
    session.append({"role": "user", "content": "hi"})
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "long " * 200}}
        for n in range(40)
    ]
    with pytest.raises(IrreducibleContext, match="system text and tools"):
        session.prepare(tools=tools)


def test_a_report_of_the_provider_counts_until_the_view_is_edited(engine: Engine) -> None:
    session = engine.session("s")
    agent_run(session, 3)
    last = session.entries()[-1].id
    full = session.explain_context(reported=Reported(tokens=5_950, entry=last))
    assert full.projection.source == "reported"
    assert full.pressure == "hard"
    prepared = session.prepare(reported=Reported(tokens=6_500, entry=last))
    assert any(isinstance(done, CompactionDone | PruneDone) for done in prepared.done)
    after = session.explain_context(reported=Reported(tokens=6_500, entry=last))
    assert after.projection.source == "estimated"


def test_a_summariser_is_asked_and_its_failure_costs_nothing(engine: Engine) -> None:
    session = engine.session("s")
    model = ScriptedModel([TimeoutError("slow")] * 10)
    requests = fill(session, 30, strategy="summary", summariser=model)
    done = [d for r in requests for d in r.done if isinstance(d, CompactionDone)]
    assert done
    assert model.requests
    assert done[0].strategy == "layered"
    assert done[0].fallbacks


def test_explaining_changes_nothing(home: Path, engine: Engine) -> None:
    session = engine.session("s")
    agent_run(session, 40)
    before = {path: path.read_bytes() for path in home.rglob("*.jsonl")}
    found = session.explain_context()
    assert found.pressure == "compact"
    assert {path: path.read_bytes() for path in home.rglob("*.jsonl")} == before
    assert not list((home / "agents" / "main").glob("memory/*.md"))


def test_memory_that_may_not_be_written_is_no_reason_to_lose_the_turn(home: Path) -> None:
    with open_engine(home, config={"context.window": WINDOW, "memory.mode": "off"}) as engine:
        session = engine.session("s")
        requests = fill(session, 30)
        flushes = [d for r in requests for d in r.done if isinstance(d, FlushDone)]
        assert {done.outcome for done in flushes} == {"empty"}
        assert not list(home.rglob("*.md"))


def test_too_many_messages_are_a_reason_to_compact(home: Path) -> None:
    config = {"compaction.max_messages": 50, "context.window": 200_000}
    with holdfast.open(home, config=config) as engine:
        session = engine.session("s")
        requests = fill(session, 40, window=200_000)
        done = [d for r in requests for d in r.done if isinstance(d, CompactionDone)]
        assert done
        assert max(len(r.messages) for r in requests) <= 52


def test_reports_of_the_provider_calibrate_the_estimate(engine: Engine) -> None:
    session = engine.session("s")
    asked = session.append({"role": "user", "content": "a rather ordinary sentence, " * 100})
    before = session.explain_context(model="gpt-5").projection.tokens
    other = session.explain_context(model="claude-sonnet-4-5").projection.tokens
    session.prepare(model="gpt-5", reported=Reported(tokens=2 * before, entry=asked))
    session.append({"role": "assistant", "content": "ok"})
    session.prepare(model="gpt-5", reported=Reported(tokens=2 * before, entry=asked))
    after = session.explain_context(model="gpt-5").projection.tokens
    assert 1.4 * before < after < 1.6 * before, "one step at a time, and a report counts once"
    same = session.explain_context(model="claude-sonnet-4-5").projection.tokens
    assert other <= same < 1.1 * other, "what one model counts says nothing about another"


def first_flush_at(home: Path, **config: Json) -> tuple[int, Prepared]:
    """How large the request was when the first flush began, and the request after it."""
    measured: list[int] = []
    settings = {"context.window": WINDOW, "prune.mode": "off", **config}
    with open_engine(home, config=settings, clock=FixedClock(), background=False) as engine:
        engine.subscribe(
            lambda event: (
                measured.append(event.projected) if isinstance(event, ContextMeasured) else None
            )
        )
        session = engine.session("s")
        agent_run(session, 0)
        for number in range(1, 80):
            prepared = session.prepare()
            if any(isinstance(done, FlushDone) for done in prepared.done):
                return measured[-1], prepared
            agent_run(session, 1, start=number, size=200)
    raise AssertionError("there was no flush")


def test_a_flush_comes_at_its_mark_or_at_the_hard_one_if_it_is_switched_off(home: Path) -> None:
    soft, prepared = first_flush_at(home / "on")
    assert prepared.budget.flush_at <= soft < prepared.budget.hard_at
    hard, prepared = first_flush_at(home / "off", **{"flush.enabled": False})
    assert prepared.budget.hard_at <= hard


def test_texts_pinned_by_the_configuration_are_in_every_compacted_request(home: Path) -> None:
    pin = "Answer in British English."
    with open_engine(home, config={"context.window": WINDOW, "compaction.pins": [pin]}) as engine:
        requests = fill(engine.session("s"), 40)
    is_compacted = False
    for prepared in requests:
        is_compacted |= any(isinstance(done, CompactionDone) for done in prepared.done)
        assert any(pin in str(message["content"]) for message in prepared.messages) == is_compacted
    assert is_compacted
