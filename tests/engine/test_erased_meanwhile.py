"""A text that is erased while a model works on it does not come back by what the model says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.turn import CompactionDone
from holdfast.events import Event
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Message, ToolCall

WORD = "xyzzyplugh"
SAID = f"I decided that the project {WORD} needs PostgreSQL in Oslo."


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, background=False) as opened:
        yield opened


@pytest.fixture
def heard(engine: Engine) -> list[Event]:
    told: list[Event] = []
    engine.subscribe(told.append)
    return told


class Forgetful:
    """A model that says what it has read, after somebody had it erased meanwhile."""

    name = "m"
    traits = Traits(window=200_000, tool_calls=True)

    def __init__(self, meanwhile: Callable[[], object], *, writes: bool = False) -> None:
        self._meanwhile = meanwhile
        self._writes = writes
        self.calls = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        has_word = any(WORD in each.text for each in request.messages)
        if self.calls == 1:
            self._meanwhile()
            if self._writes:
                note = ToolCall(id="c", name="memory_write", arguments={"text": SAID})
                return ModelReply(message=Message(role="assistant", parts=(note,)))
        if self._writes:
            return ModelReply(message=Message.of("assistant", "NO_REPLY"))
        said = f"The user builds {WORD}." if has_word else "The user builds something."
        return ModelReply(message=Message.of("assistant", f"## Goal\n{said}"))


def erase(engine: Engine) -> Callable[[], object]:
    return lambda: engine.forget(WORD, erase=True)


def holding(home: Path) -> list[str]:
    files = (each for each in home.rglob("*") if each.is_file())
    return [each.name for each in files if WORD.encode() in each.read_bytes()]


def long_talk(engine: Engine, summariser: Forgetful) -> Session:
    session = engine.session(
        "s", summariser=summariser, flusher=None, strategy="summary", window=20_000
    )
    for number in range(20):
        text = f"Step {number} of the project {WORD} changes src/a{number}.py. "
        session.append({"role": "user", "content": text + "lorem ipsum dolor " * 20})
        session.append({"role": "assistant", "content": f"Done {number}. " + "sit amet " * 20})
    return session


def test_a_compaction_is_given_up_and_told(home: Path, engine: Engine, heard: list[Event]) -> None:
    model = Forgetful(erase(engine))
    session = long_talk(engine, model)
    prepared = session.compact()
    assert model.calls > 0
    assert not any(isinstance(each, CompactionDone) for each in prepared.done)
    failed = [each for each in heard if each.name == "compaction_failed"]
    assert [each.to_json()["reason"] for each in failed] == ["text was erased meanwhile"]
    assert holding(home) == []
    assert WORD not in str(prepared.messages)
    again = session.compact()
    assert any(isinstance(each, CompactionDone) for each in again.done)
    assert holding(home) == []


def test_a_compaction_goes_on_if_something_else_was_erased(home: Path, engine: Engine) -> None:
    engine.session("other").append({"role": "user", "content": "The word is frobnicate."})
    model = Forgetful(lambda: engine.forget("frobnicate", erase=True))
    prepared = long_talk(engine, model).compact()
    assert any(isinstance(each, CompactionDone) for each in prepared.done)


def test_a_request_that_must_be_smaller_still_is(home: Path, engine: Engine) -> None:
    model = Forgetful(erase(engine))
    session = long_talk(engine, model)
    prepared = session.prepare("Go on.", window=4_096)
    assert prepared.projected <= prepared.budget.compact_at
    assert holding(home) == []
    assert WORD not in str(prepared.messages)


def talk(engine: Engine, model: Forgetful) -> tuple[Session, list[str]]:
    session = engine.session("s", flusher=model, summariser=None)
    said = [SAID, "I decided that the harbour permit for Aurora is HP-9931."]
    return session, [session.append({"role": "user", "content": text}) for text in said]


def test_a_flush_is_done_again_by_rules_from_what_is_left(
    home: Path, engine: Engine, heard: list[Event]
) -> None:
    model = Forgetful(erase(engine), writes=True)
    session, ids = talk(engine, model)
    done = session.flush()
    assert isinstance(done, FlushDone)
    assert (done.mode, done.covers) == ("rules", tuple(ids))
    assert done.tried == ("agent: text was erased meanwhile",)
    assert "HP-9931" in engine.get(done.file or "").text
    assert holding(home) == []
    entries = session.entries()
    assert covered_by(flush_records(entries), entries) >= set(ids)
    assert not [each for each in heard if each.to_json().get("kind") == "model_down"]


def test_a_model_is_believed_if_something_else_was_erased(home: Path, engine: Engine) -> None:
    engine.session("other").append({"role": "user", "content": "The word is frobnicate."})
    model = Forgetful(lambda: engine.forget("frobnicate", erase=True), writes=True)
    session, _ = talk(engine, model)
    done = session.flush()
    assert isinstance(done, FlushDone)
    assert done.mode == "agent"
    assert WORD in engine.get(done.file or "").text


def test_an_erasure_by_another_program_in_between_counts_as_well(
    home: Path, engine: Engine
) -> None:
    with open_engine(home, background=False) as other:
        model = Forgetful(erase(other), writes=True)
        session, _ = talk(engine, model)
        session.flush()
    assert holding(home) == []


def test_erasing_and_saving_at_once_ends_and_leaves_nothing(home: Path, engine: Engine) -> None:
    """Two locks are taken, here and there: in one order, or this would wait for ever."""
    session = engine.session("s", flusher=None)
    for round_ in range(3):
        session.append({"role": "user", "content": f"{SAID} That was round {round_}."})
        began = threading.Barrier(2, timeout=20)

        def save(began: threading.Barrier = began) -> None:
            began.wait()
            session.flush()

        saving = threading.Thread(target=save)
        saving.start()
        with open_engine(home, background=False) as other:
            began.wait()
            other.forget(WORD, erase=True)
        saving.join(30)
        assert not saving.is_alive()
        assert holding(home) == []
