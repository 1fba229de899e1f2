"""Blocks and groups: what the planners see, and what stays together."""

from __future__ import annotations

import random

from holdfast.context.blocks import Block, blocks_of, category_of, group_blocks, is_user
from holdfast.testing.corpus import conversation
from holdfast.types import Image, Message, Text, ToolCall, ToolResult, View, ViewItem
from tests.scale import scaled


def blocks(*messages: Message) -> list[Block]:
    return [
        Block(item=ViewItem(message=message, stands_for=(f"e{index}",)), tokens=10)
        for index, message in enumerate(messages)
    ]


def call(*ids: str) -> Message:
    calls = tuple(ToolCall(id=each, name="read", arguments={}) for each in ids)
    return Message(role="assistant", parts=calls)


def result(call_id: str, text: str = "ok") -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, content=(Text(text=text),)),))


def test_a_call_and_the_results_that_follow_it_are_one_group() -> None:
    found = group_blocks(
        blocks(Message.of("user", "go"), call("a", "b"), result("b"), result("a"), call("c"))
    )
    assert [len(group.blocks) for group in found] == [1, 3, 1]


def test_what_a_user_says_while_a_tool_works_belongs_to_the_group() -> None:
    found = group_blocks(
        blocks(call("a", "b"), result("a"), Message.of("user", "hurry"), result("b"), call("c"))
    )
    assert [len(group.blocks) for group in found] == [4, 1]
    assert found[0].is_user
    unanswered = group_blocks(blocks(call("a"), Message.of("user", "hurry"), call("b")))
    assert [len(group.blocks) for group in unanswered] == [1, 1, 1]


def test_a_late_a_second_and_a_foreign_result_stand_alone() -> None:
    late = [call("a"), Message.of("user", "hurry"), call("b"), result("a")]
    twice = [call("a"), result("a"), result("a")]
    assert [len(group.blocks) for group in group_blocks(blocks(*late))] == [1, 1, 1, 1]
    assert [len(group.blocks) for group in group_blocks(blocks(*twice))] == [2, 1]
    assert [len(group.blocks) for group in group_blocks(blocks(result("x")))] == [1]


def test_the_same_id_in_a_later_turn_belongs_to_the_later_call() -> None:
    found = group_blocks(blocks(call("a"), result("a"), call("a"), result("a")))
    assert [len(group.blocks) for group in found] == [2, 2]


def test_every_block_is_in_one_group_and_in_order() -> None:
    for seed in range(scaled(20)):
        messages = conversation(seed, 12)
        random.Random(seed).shuffle(messages)
        given = blocks(*messages)
        assert [block for group in group_blocks(given) for block in group.blocks] == given


def test_a_carrier_of_results_is_no_person_speaking() -> None:
    carrier = Message(role="user", parts=(ToolResult(call_id="a"),))
    mixed = Message(role="user", parts=(ToolResult(call_id="a"), Text(text="and now?")))
    assert not is_user(carrier)
    assert not is_user(Message.of("user", "  "))
    assert is_user(mixed)
    assert is_user(Message(role="user", parts=(Image(url="https://example.org/a.png"),)))


def test_images_are_priced_apart_also_inside_results() -> None:
    picture = Image(media_type="image/png", data="AAAA")
    inside = Message(role="tool", parts=(ToolResult(call_id="a", content=(picture, picture)),))
    view = View(items=(ViewItem(message=inside, stands_for=("e",)),))
    (block,) = blocks_of(view, lambda message: 210, lambda image: 100)
    assert (block.tokens, block.images) == (210, 200)
    assert category_of(block) == "tool_results"
