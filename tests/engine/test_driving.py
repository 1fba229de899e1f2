"""A model that hangs, fails or is not there costs a bounded time and is heard of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator

from holdfast.engine.driving import drive
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.testing import ScriptedModel
from holdfast.types import Message

Answer = ModelReply | ModelFailure


def ask(times: int) -> Generator[ModelRequest, Answer, list[Answer]]:
    answers = []
    for number in range(times):
        answers.append((yield ModelRequest(messages=[Message.of("user", str(number))])))
    return answers


class Hanging:
    """Waits for ever; ``politely`` if it lets itself be cancelled."""

    name = "hanging"

    def __init__(self, *, politely: bool) -> None:
        self._politely = politely

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self._politely:
            await asyncio.sleep(60)
        time.sleep(5)  # noqa: ASYNC251 - that is the fault it stands for
        raise AssertionError("nobody waits that long")


def test_answers_reach_the_work_in_order() -> None:
    first, second = drive(ask(2), ScriptedModel(["one", "two"]), seconds=10)
    assert isinstance(first, ModelReply)
    assert isinstance(second, ModelReply)
    assert (first.message.text, second.message.text) == ("one", "two")


def test_work_that_asks_nothing_needs_no_model() -> None:
    assert drive(ask(0), None, seconds=0) == []


def test_no_model_an_error_and_no_time_are_failures_with_a_reason() -> None:
    (missing,) = drive(ask(1), None, seconds=10)
    (raised,) = drive(ask(1), ScriptedModel([ValueError("bad key")]), seconds=10)
    (late,) = drive(ask(1), ScriptedModel(["one"]), seconds=0)
    assert missing == ModelFailure(reason="no model is configured")
    assert isinstance(raised, ModelFailure)
    assert "ValueError: bad key" in raised.reason
    assert isinstance(late, ModelFailure)


def test_a_model_that_hangs_is_cancelled_or_left_behind() -> None:
    for politely in (True, False):
        begun = time.monotonic()
        (answer,) = drive(ask(1), Hanging(politely=politely), seconds=0.05)
        assert isinstance(answer, ModelFailure)
        assert time.monotonic() - begun < 4


def test_it_works_inside_a_running_loop() -> None:
    async def host() -> list[Answer]:
        return drive(ask(1), ScriptedModel(["one"]), seconds=10)

    (answer,) = asyncio.run(host())
    assert isinstance(answer, ModelReply)
