"""The stand-ins that ship with the package, and the conversations they come with."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.engine.clock import SystemClock, TimeOrderedIds
from holdfast.errors import HoldfastError
from holdfast.formats import from_openai, to_openai
from holdfast.ports import Clock, Ids, Model, ModelReply, ModelRequest
from holdfast.testing import FixedClock, ScriptedModel, SequentialIds
from holdfast.testing.corpus import conversation
from holdfast.types import Message, Usage

REQUEST = ModelRequest(messages=[Message.of("user", "hi")])


def test_a_scripted_model_gives_its_answers_in_order_and_remembers_the_questions() -> None:
    usage = Usage(input_tokens=7, cache_read_tokens=3)
    scripted = ScriptedModel(
        [
            "first",
            ModelReply(message=Message.of("assistant", "second"), usage=usage),
            TimeoutError(),
        ]
    )
    model: Model = scripted

    async def ask() -> list[ModelReply]:
        return [await model.complete(REQUEST) for _ in range(2)]

    first, second = asyncio.run(ask())
    assert first.message.text == "first"
    assert second.usage is not None
    assert second.usage.context_tokens == 10
    with pytest.raises(TimeoutError):
        asyncio.run(model.complete(REQUEST))
    with pytest.raises(HoldfastError, match="asked 4 times"):
        asyncio.run(model.complete(REQUEST))
    assert scripted.requests == [REQUEST] * 4


def test_time_stands_still_until_it_is_told_to_move() -> None:
    clock: Clock = FixedClock()
    assert clock.now() == clock.now()
    moving = FixedClock(step=timedelta(seconds=1))
    assert (moving.now(), moving.now())[1] - FixedClock().now() == timedelta(seconds=1)
    moving.advance(days=1)
    assert moving.now().day == 15


def test_ids_of_a_later_time_sort_later_and_none_comes_twice() -> None:
    ids: Ids = TimeOrderedIds()
    start = datetime(2026, 3, 14, tzinfo=UTC)
    made = [ids.new(start + timedelta(milliseconds=n)) for n in range(1000)]
    assert made == sorted(made)
    same_moment = {ids.new(start) for _ in range(5000)}
    assert len(same_moment) == 5000
    assert all(len(each) == 18 and each.isalnum() for each in same_moment)
    assert SystemClock().now().tzinfo is UTC
    assert [SequentialIds("x").new(start)] == ["x000001"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_conversations_are_the_same_for_the_same_seed_and_have_what_real_ones_have(
    language: str,
) -> None:
    assert conversation(1, 20, language=language) == conversation(1, 20, language=language)
    assert conversation(1, 20, language=language) != conversation(2, 20, language=language)
    messages = [
        message for seed in range(5) for message in conversation(seed, 20, language=language)
    ]
    kinds = {type(part).__name__ for message in messages for part in message.parts}
    assert kinds == {"Text", "Image", "Thinking", "ToolCall", "ToolResult"}
    plain = [message for message in messages if message.form != "parts"]
    assert from_openai(to_openai(plain)) == plain


def test_ids_of_a_process_are_in_the_order_in_which_they_were_made() -> None:
    ids = TimeOrderedIds()
    moment = datetime(2026, 3, 4, tzinfo=UTC)
    backwards = [moment - timedelta(seconds=second) for second in range(50)]
    made = [ids.new(at) for at in [moment] * 500 + backwards + [moment + timedelta(seconds=1)]]
    assert made == sorted(set(made))
