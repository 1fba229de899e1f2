"""What went wrong around a turn once: each test is a fault that a review found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from holdfast.context.accounting import Reported
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone
from holdfast.errors import IrreducibleContext
from holdfast.ports import ModelReply, ModelRequest
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Message

WINDOW = 8_000
NOTHING: Any = None
_HANGS_SECONDS = 20.0
"""Only to end a test that would otherwise never end."""


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(
        home,
        config={"context.window": WINDOW},
        clock=FixedClock(),
        ids=SequentialIds(),
        background=False,  # so that what is done is seen in the request that needed it
    ) as opened:
        yield opened


def talk(session: Session, turns: int, *, start: int = 0) -> None:
    """A chat with something to remember in every turn, some 165 tokens each."""
    for number in range(start, start + turns):
        fact = f"Remember this: customer {number} has id CUST-{number:05d} on plan {number % 7}. "
        session.append({"role": "user", "content": fact + "Some more words about it. " * 11})
        session.append({"role": "assistant", "content": "More text follows here. " * 12})


def refuse_memory(engine: Engine) -> None:
    """Today's memory file cannot be written: a folder has its name."""
    rooms = engine._rooms
    folder = rooms.home_path / "agents" / "main" / "memory"
    (folder / f"{rooms.today().isoformat()}.md").mkdir(parents=True)


class Answers:
    """A model that answers by calling a function."""

    name = "answers"

    def __init__(self, answer: Callable[[ModelRequest], Any]) -> None:
        self._answer = answer

    async def complete(self, request: ModelRequest) -> Any:
        return self._answer(request)


def test_whoever_holds_the_session_can_append_while_another_thread_waits_to(home: Path) -> None:
    # Not closed: if this fails, closing would wait for ever as well.
    session = open_engine(home).session("s")
    transcript = session._transcript
    holding, wrote = Event(), Event()

    def hold_and_append() -> None:
        with transcript.exclusive():
            holding.set()
            while not transcript._commits._leader.locked():  # the other leads, and waits for us
                time.sleep(0.001)
            session.append({"role": "user", "content": "mine"})
        wrote.set()

    def append() -> None:
        holding.wait()
        session.append({"role": "user", "content": "theirs"})

    threads = [Thread(target=each, daemon=True) for each in (hold_and_append, append)]
    for thread in threads:
        thread.start()
    assert wrote.wait(_HANGS_SECONDS), "both wait for each other"
    threads[1].join(_HANGS_SECONDS)
    said = [each.data.get("text") for each in session.entries() if each.type == "message"]
    assert said == ["mine", "theirs"]


def test_a_flush_ahead_that_fails_does_not_cost_the_turn(engine: Engine) -> None:
    session = engine.session("s")
    refuse_memory(engine)
    talk(session, 28)
    explained = session.explain_context()
    assert explained.budget.flush_at <= explained.projection.tokens < explained.budget.compact_at
    prepared = session.prepare()
    assert len(prepared.messages) == 56
    assert prepared.done == ()


def test_memory_that_refuses_does_not_fill_the_transcript(engine: Engine) -> None:
    session = engine.session("s")
    refuse_memory(engine)
    talk(session, 28)
    for _ in range(20):
        session.prepare()
    failed = [each for each in session.entries() if each.data.get("outcome") == "failed"]
    assert 1 <= len(failed) <= engine.settings.flush.attempts


@pytest.mark.parametrize("strategy", ["summary", "layered"])
@pytest.mark.parametrize(
    "garbage", [None, "text", {"message": "x"}, ModelReply(message=NOTHING)], ids=repr
)
def test_a_model_that_returns_no_reply_at_all_costs_nothing(
    engine: Engine, strategy: Any, garbage: Any
) -> None:
    session = engine.session("s")
    talk(session, 60)
    prepared = session.prepare(strategy=strategy, summariser=Answers(lambda _: garbage))
    (compaction,) = [each for each in prepared.done if isinstance(each, CompactionDone)]
    assert compaction.fallbacks


def test_the_room_for_the_answer_goes_by_what_the_provider_counted(engine: Engine) -> None:
    session = engine.session("s")
    talk(session, 60)
    reported = Reported(tokens=5_900, entry=session.entries()[-1].id)
    prepared = session.prepare(reported=reported)
    assert prepared.max_tokens == WINDOW - 5_900


def test_a_report_that_cannot_be_true_is_not_believed(engine: Engine) -> None:
    session = engine.session("s")
    talk(session, 60)
    for tokens in (0, -5, 10):
        prepared = session.prepare(reported=Reported(tokens=tokens, entry=session.entries()[-1].id))
        assert prepared.request.tokens <= prepared.budget.compact_at


def test_what_cannot_fit_is_named_before_anything_is_shortened(engine: Engine) -> None:
    session = engine.session("s")
    talk(session, 4)
    before = session.view()
    with pytest.raises(IrreducibleContext):
        session.prepare(system="You are good at it. " * 2_000)
    assert session.view() == before


def test_a_record_that_names_an_entry_that_never_was_covers_nothing(engine: Engine) -> None:
    session = engine.session("s")
    talk(session, 60)
    said = [each.id for each in session.entries() if each.type == "message"]
    session.append_entry(
        "flush",
        {
            "outcome": "flushed",
            "cycle": "genesis",
            "owner": "somebody",
            "attempt": 1,
            "mode": "rules",
            "covers": [*said, "ghost"],
            "input": "not the hash of anything",
        },
    )
    done = session.prepare().done
    dropped = {id for each in done if isinstance(each, CompactionDone) for id in each.dropped}
    saved = {id for each in done if isinstance(each, FlushDone) for id in each.covers}
    assert dropped
    assert dropped <= saved


def test_a_reset_during_a_compaction_does_not_bring_back_what_was_reset(engine: Engine) -> None:
    session = engine.session("s")
    talk(session, 60)

    def reset(_: ModelRequest) -> ModelReply:
        session.append_entry("marker", {"kind": "reset"})
        session.append({"role": "user", "content": "Write a poem about the sea."})
        return ModelReply(message=Message.of("assistant", ""))

    session.prepare(strategy="summary", summariser=Answers(reset))
    compacted = 0
    for _ in range(40):
        session.append({"role": "assistant", "content": "The waves are green and wide. " * 25})
        session.append({"role": "user", "content": "Another verse please. " * 10})
        prepared = session.prepare()
        compacted += any(isinstance(each, CompactionDone) for each in prepared.done)
        assert "CUST-" not in str(prepared.messages)
    assert compacted
