"""A view becomes a request: valid, priced, standing for everything, the same bytes each time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest

from holdfast.context.assembly import Request, WireFormat, assemble
from holdfast.context.tokens import TokenEstimator
from holdfast.context.validity import capabilities_of
from holdfast.testing.corpus import conversation
from holdfast.types import Json, Message, Opaque, Text, Thinking, ToolCall, ToolResult, ViewItem
from tests.context.messy import clean_messages, items_of, messy_messages
from tests.scale import scaled

ESTIMATOR = TokenEstimator()


def made(items: list[ViewItem], format: WireFormat = "openai", **more: Json) -> Request:
    about: dict[str, Json] = {"capabilities": capabilities_of(None, format)}
    return assemble(items, format=format, estimator=ESTIMATOR, **about | more)


@pytest.mark.parametrize("format", get_args(WireFormat))
def test_every_entry_of_a_messy_view_is_in_a_valid_request(format: WireFormat) -> None:
    for seed in range(scaled(60)):
        items = items_of(messy_messages(seed, 12))
        request = made(items, format)
        assert request.violations == ()
        assert {id for item in items for id in item.stands_for} <= set(request.stands_for)


@pytest.mark.parametrize("format", get_args(WireFormat))
def test_the_same_view_gives_the_same_bytes(format: WireFormat) -> None:
    items = items_of(messy_messages(7, 20))
    assert made(items, format) == made(items, format)


def test_a_longer_conversation_begins_with_the_shorter_one() -> None:
    messages = clean_messages(3, 12)
    answers = [at for at, message in enumerate(messages) if message.role == "assistant"]
    requests = [made(items_of(messages[:at])) for at in answers]
    for before, after in pairwise(requests):
        assert after.messages[: len(before.messages)] == before.messages


def test_the_system_text_of_the_host_comes_first_and_stands_for_nothing() -> None:
    items = items_of([Message.of("user", "hi")])
    openai = made(items, system="Be kind.")
    assert openai.messages[0] == {"role": "system", "content": "Be kind."}
    assert openai.stands_for == items[0].stands_for
    anthropic = made(items, "anthropic", system="Be kind.")
    assert anthropic.system == "Be kind."
    assert anthropic.messages == [{"role": "user", "content": "hi"}]


def test_tools_and_messages_add_up_to_the_tokens() -> None:
    tools = [{"type": "function", "function": {"name": "read", "parameters": {}}}]
    items = items_of([message for message in conversation(1, 3) if message.role != "system"])
    request = made(items, tools=tools)
    assert request.tokens == sum(request.sizes) + ESTIMATOR.tools(tools)
    assert len(request.sizes) == len(request.messages)


def test_thinking_from_before_an_edit_is_left_out_where_it_is_bound_to_its_words() -> None:
    thinking = Thinking(text="hm", signature="c2ln")
    sealed = Opaque(format="anthropic", data={"type": "redacted_thinking", "data": "eA=="})
    call = ToolCall(id="a", name="read", arguments={})
    old = Message(role="assistant", parts=(thinking, sealed, call))
    new = Message(role="assistant", parts=(thinking, Text(text="done")))
    result = Message(role="user", parts=(ToolResult(call_id="a", content=(Text(text="x"),)),))
    user = Message.of("user", "go")
    items = items_of([user, old, result, new, user])
    caps = replace(capabilities_of("claude-opus-4-6", "anthropic"), thinking_bound=True)
    edited = items[1].stands_for
    bound = made(items, "anthropic", capabilities=caps, edited=edited)
    kinds = [[block["type"] for block in each["content"]] for each in bound.messages[1:4]]
    assert kinds == [["tool_use"], ["tool_result"], ["thinking", "text"]]
    free = made(items, "anthropic", capabilities=replace(caps, thinking_bound=False), edited=edited)
    assert free.messages[1]["content"][0]["type"] == "thinking"
