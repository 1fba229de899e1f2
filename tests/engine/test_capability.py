"""Who is tried before it may save on its own, how often, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from holdfast.context.extract import Heard
from holdfast.context.flush.capability import FACTS
from holdfast.engine.facade import Engine, open_engine
from holdfast.engine.flush.ladder import Climbed, Help, climb, ways
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.testing import FixedClock
from holdfast.types import Message, ToolCall

SAID = {
    "en": "Remember that my sister Anna moved to Oslo in May 2025.",
    "zh": "请记住，我妹妹安娜二〇二五年五月搬到了奥斯陆。",
}
KEPT = {"en": "Anna moved to Oslo in May 2025.", "zh": "安娜二〇二五年五月搬到了奥斯陆。"}


class Local:
    """A fast model on this machine that calls tools, or writes prose."""

    def __init__(self, can: bool, *, says: bool = True, is_local: bool = True) -> None:
        self.name = f"local-{uuid4()}"  # what was tried is remembered by name
        self.can = can
        self.learnt: list[bool] = []
        self.trials = 0
        self.agents = 0
        self._says = says
        self._is_local = is_local

    @property
    def traits(self) -> Traits:
        return Traits(
            window=32_000, is_local=self._is_local, prefill_per_second=900.0, tool_calls=False
        )

    def learn_tool_calls(self, can: bool) -> None:
        self.learnt.append(can)

    async def complete(self, request: ModelRequest) -> ModelReply:
        asked = request.messages[0].text
        language = "zh" if "妹妹" in asked else "en"
        is_trial = FACTS[language] in asked  # type: ignore[index]
        self.trials += is_trial
        self.agents += bool(request.tools) and not is_trial
        if is_trial and not self._says:
            raise ConnectionError("gone")
        if not self.can or not request.tools:
            return ModelReply(message=Message.of("assistant", "I have saved it."))
        if any(message.tool_results for message in request.messages):
            return ModelReply(message=Message.of("assistant", "NO_REPLY"))
        text = FACTS[language] if is_trial else KEPT[language]  # type: ignore[index]
        call = ToolCall(id="c1", name="memory_retain", arguments={"memories": [{"text": text}]})
        return ModelReply(message=Message(role="assistant", parts=(call,)))


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with open_engine(home, clock=FixedClock()) as opened:
        yield opened


def saved(
    engine: Engine, model: Local, language: str = "en", *, more: tuple[str, ...] = ()
) -> Climbed:
    names = {"memory_write", "memory_retain", "memory_search"}
    tools: list[Any] = [each for each in engine.tools() if each["function"]["name"] in names]
    help = Help(model=model, window=32_000, tools=tools)
    mode = engine._rooms.settings.flush.mode
    said = [
        Heard(entry=f"e{number}", at=FixedClock().now(), message=Message.of("user", text))
        for number, text in enumerate((SAID[language], *more))
    ]
    return climb(engine._rooms, said, help, ways(mode, help, seconds=30.0), seconds=30.0)


def test_a_model_that_can_is_tried_once_in_each_language_and_then_saves(engine: Engine) -> None:
    model = Local(can=True)
    assert [saved(engine, model).mode for _ in range(2)] == ["agent", "agent"]
    assert (model.trials, model.learnt) == (1, [True])
    assert saved(engine, model, "zh").mode == "agent"
    assert (model.trials, model.agents > 0) == (2, True)


def test_a_model_that_cannot_is_tried_once_and_only_rewrites_what_rules_chose(
    engine: Engine,
) -> None:
    model = Local(can=False)
    for _ in range(2):
        found = saved(engine, model)
        assert found.tried[0] == "agent: asked to save a fact with a tool, it called none"
        assert found.mode == "rules"
        assert "Oslo" in found.lines[0].text
    assert (model.trials, model.agents, model.learnt) == (1, 0, [False])


def test_a_model_that_gave_no_answer_is_tried_again_the_next_time(engine: Engine) -> None:
    model = Local(can=True, says=False)
    assert [saved(engine, model).mode for _ in range(2)] == ["rules", "rules"]
    assert (model.trials, model.agents, model.learnt) == (2, 0, [])


def test_whoever_asks_for_the_agent_by_hand_gets_it_untried(home: Path) -> None:
    model = Local(can=True)
    with open_engine(home, clock=FixedClock(), config={"flush.mode": "agent"}) as engine:
        assert saved(engine, model).mode == "agent"
    assert model.trials == 0


def test_what_a_local_model_keeps_nothing_of_is_read_by_rules(engine: Engine) -> None:
    said = "The spare key of the boat lies in the blue box under the bench."
    found = saved(engine, Local(can=True), more=(said,))
    assert found.mode == "agent"
    assert [line.sources for line in found.lines] == [("e0",), ("e1",)]
    assert "blue box" in found.lines[1].text


def test_a_hosted_model_is_taken_at_its_word(engine: Engine) -> None:
    model = Local(can=True, is_local=False)
    assert saved(engine, model).mode == "agent"
    assert model.trials == 0
