"""Conversation as plain text for a writer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.blocks import Block, group_blocks
from holdfast.context.compaction.flatten import RESULT_CHARS, fenced, flatten, pack
from holdfast.types import Image, Message, Text, Thinking, ToolCall, ToolResult, ViewItem
from tests.context.compacting import Transcript, price, used_tool
from tests.scale import scaled


def test_roles_tools_and_results_are_named_and_numbered() -> None:
    pieces = flatten(group_blocks(Transcript([Message.of("user", "Hi"), *used_tool(1)]).blocks))
    assert [piece.number for piece in pieces] == [1, 2, 3]
    assert pieces[0].text == "[#1 user] Hi"
    assert "[#2 assistant calls bash] " in pieces[1].text
    assert pieces[2].text.startswith("[#3 result of bash] <returncode>")
    assert [piece.entry for piece in pieces] == ["e000000", "e000001", "e000002"]


def test_thinking_and_system_text_are_left_out_and_images_are_only_named() -> None:
    picture = Image(media_type="image/png", data="QUJD")
    thought = Thinking(text="secret thought", signature="s")
    messages = [
        Message.of("system", "system text"),
        Message(role="assistant", parts=(thought, Text(text="I see."))),
        Message(role="user", parts=(picture,)),
    ]
    text = "\n".join(piece.text for piece in flatten(group_blocks(Transcript(messages).blocks)))
    assert text == "[#2 assistant] I see.\n[#3 user] (image)"


def test_recalled_memory_is_left_out() -> None:
    item = ViewItem(message=Message.of("user", "You like tea."), stands_for=("r",), kind="recall")
    assert flatten(group_blocks([Block(item=item, tokens=5)])) == ()


def test_results_are_shortened_and_say_by_how_much() -> None:
    call = ToolCall(id="c", name="cat", arguments={})
    result = ToolResult(call_id="c", content=(Text(text="x" * 50_000),), is_error=True)
    messages = [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(result,))]
    pieces = flatten(group_blocks(Transcript(messages).blocks))
    assert "result of cat, failed]" in pieces[1].text
    assert len(pieces[1].text) < RESULT_CHARS + 100
    assert "48000 characters left out" in pieces[1].text


@given(st.text(max_size=300))
@settings(max_examples=scaled(100))
def test_no_text_can_close_its_fence(text: str) -> None:
    whole = fenced(text, "data")
    first, last = whole.split("\n")[0], whole.split("\n")[-1]
    assert last == f"</{first[1:]}"
    assert last not in text


@given(st.lists(st.integers(1, 3_000), max_size=30), st.integers(20, 400))
@settings(max_examples=scaled(60))
def test_pieces_are_packed_in_order_within_the_room(sizes: list[int], room: int) -> None:
    messages = [Message.of("user", "字" * size) for size in sizes]
    pieces = flatten(group_blocks(Transcript(messages).blocks))
    runs = pack(pieces, room, price)
    assert [piece.number for run in runs for piece in run] == [piece.number for piece in pieces]
    for run in runs:
        assert sum(price(piece.text) + 1 for piece in run) <= room
