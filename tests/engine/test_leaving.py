"""A turn that is left at any moment: what was acknowledged and what was heard is kept, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.validity import validate
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.session import Session
from holdfast.engine.turn.leaving import Turn, broke_off_mark, described, stopped_mark
from holdfast.engine.turn.running import Step
from holdfast.errors import ModelUnavailable
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Message, ToolCall
from tests.scale import scaled


@dataclass
class Slow:
    """Says its pieces one by one, each when it is let on; may call a tool first."""

    pieces: list[str] = field(default_factory=list)
    calls: list[Message] = field(default_factory=list)
    name: str = "desk:slow"
    traits: Traits = field(default_factory=lambda: Traits(window=30_000))
    requests: list[ModelRequest] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise ModelUnavailable("only streams")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        self.requests.append(request)
        if self.calls:
            yield ModelReply(message=self.calls.pop(0))
            return
        for piece in self.pieces:
            yield piece
            await asyncio.sleep(0)
        yield ModelReply(message=Message.of("assistant", "".join(self.pieces)))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = {"search.embedder": "none", "recall.mode": "off", "restore.max_tokens": 0}
    with open_engine(
        tmp_path_factory.mktemp("left") / "home", config=config, background=False
    ) as opened:
        yield opened


def said(session: Session) -> list[tuple[str, str]]:
    found = [entry.message for entry in session.entries()]
    return [(each.role, each.text) for each in found if each is not None]


_names = iter(f"s{number}" for number in range(10**6))


@settings(max_examples=scaled(25))
@given(
    pieces=st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=6),
    stop_at=st.integers(0, 8),
    has_tool=st.booleans(),
)
def test_whenever_it_is_left_what_was_heard_is_kept_once_and_the_next_request_is_valid(
    engine: Engine, pieces: list[str], stop_at: int, has_tool: bool
) -> None:
    call = ToolCall(id="c1", name="memory_get", arguments={"path": "MEMORY.md"})
    model = Slow(pieces=pieces, calls=[Message(role="assistant", parts=(call,))] * has_tool)
    session = engine.session(next(_names), model=model)
    steps: list[Step] = []
    ended = Event()

    def on_step(step: Step) -> None:
        steps.append(step)
        if len(steps) == stop_at:
            turn.stop()

    turn = Turn(session, ("Hello",), on_step=on_step, on_end=lambda error: ended.set())
    if stop_at == 0:
        turn.stop()
    turn.begin()
    assert ended.wait(30)
    is_kept = turn.witness.leave_patiently("[mark]")
    assert turn.witness.leave_patiently("[mark]") is False  # only once
    told = said(session)
    assert told[0] == ("user", "Hello")
    heard = "".join(step.text for step in steps if step.kind == "text")
    if steps and steps[-1].kind == "end":
        assert not is_kept
        assert told[-1] == ("assistant", "".join(pieces))
    elif heard.rstrip():
        assert is_kept or told[-1] == ("assistant", "".join(pieces))
        if is_kept:
            assert told[-1] == ("assistant", f"{heard.rstrip()}\n\n[mark]")
    else:
        assert not is_kept
    assert sum("[mark]" in text for _, text in told) == int(is_kept)
    request = session.prepare("And now?")
    assert validate("openai", request.messages) == []


def test_the_mark_is_in_the_language_of_what_was_said() -> None:
    assert stopped_mark("What now?") == "[The user stopped this answer here.]"
    assert stopped_mark("现在怎么办？") == "[用户在这里停止了回答。]"
    assert broke_off_mark("What now?") != broke_off_mark("现在怎么办？")


def test_a_conversation_goes_on_with_the_model_it_was_led_with_if_that_can_be_had(
    home: Path,
) -> None:
    models = {name: Slow(name=name) for name in ("desk:first", "desk:second")}

    def find(name: str) -> Slow:
        if name not in models:
            raise ModelUnavailable(f"There is no {name}.")
        return models[name]

    config = {"model.name": "desk:second", "search.embedder": "none"}
    with open_engine(home, models=find, config=config, background=False) as engine:
        session = engine.session("s")
        assert described(session, "desk:first")["model"].name == "desk:first"
        assert described(session)["model"].name == "desk:first"
        again = engine.existing_session("s")
        assert described(again)["model"].name == "desk:first"
        assert again.state()["window"] == 30_000
        del models["desk:first"]
        assert described(engine.existing_session("s"))["model"].name == "desk:second"
        assert engine.existing_session("s").state()["model"] == "desk:second"
        with pytest.raises(ModelUnavailable, match="no desk:first"):
            described(engine.existing_session("s"), "desk:first")
