"""OpenAI Chat Completions messages come back as they came, and so do ours."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.formats import (
    from_anthropic,
    from_openai,
    left_out_openai,
    to_anthropic,
    to_openai,
)
from holdfast.types import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from tests.foundation.provider_messages import Wire, openai_messages
from tests.scale import scaled


def same_json(left: Any, right: Any) -> bool:
    """Equality that tells True from 1 and 1 from 1.0, which == does not."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def back(*messages: Wire) -> list[Wire]:
    return to_openai(from_openai(list(messages)))


# ── the properties ──────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(150))
@given(st.lists(openai_messages, max_size=4))
def test_every_openai_conversation_comes_back_exactly(conversation: list[Wire]) -> None:
    returned = to_openai(from_openai(conversation))
    assert returned == conversation
    assert same_json(returned, conversation)


@settings(max_examples=scaled(80))
@given(st.lists(openai_messages, max_size=4))
def test_every_message_from_openai_is_the_same_after_a_trip_to_openai(
    conversation: list[Wire],
) -> None:
    messages = from_openai(conversation)
    assert from_openai(to_openai(messages)) == messages
    assert left_out_openai(messages) == ()


@settings(max_examples=scaled(80))
@given(st.lists(openai_messages, max_size=4))
def test_every_openai_conversation_survives_being_stored(conversation: list[Wire]) -> None:
    stored = json.dumps([m.to_json() for m in from_openai(conversation)], ensure_ascii=False)
    assert to_openai([Message.from_json(m) for m in json.loads(stored)]) == conversation


@settings(max_examples=scaled(80))
@given(openai_messages)
def test_the_order_of_keys_is_the_same_after_every_further_trip(message: Wire) -> None:
    once = back(message)
    assert json.dumps(back(*once)) == json.dumps(once)


@pytest.mark.data
def test_every_message_of_the_public_transcripts_comes_back_exactly(data_dir: Path) -> None:
    count = 0
    for path in sorted((data_dir / "transcripts").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                conversation = json.loads(line)["messages"]
                assert same_json(back(*conversation), conversation)
                count += len(conversation)
    assert count > 20_000


@pytest.mark.data
def test_every_call_of_the_public_transcripts_is_answered_in_the_next_anthropic_message(
    data_dir: Path,
) -> None:
    for path in sorted((data_dir / "transcripts").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                request = to_anthropic(from_openai(json.loads(line)["messages"]))
                turns = from_anthropic(request.messages)
                for turn, following in pairwise(turns):
                    answered = [result.call_id for result in following.tool_results]
                    assert sorted(call.id for call in turn.tool_calls) == sorted(answered)


# ── examples ────────────────────────────────────────────────────────────────────────────────


def test_a_plain_message_is_the_plain_message_of_ours() -> None:
    assert from_openai([{"role": "user", "content": "hi"}]) == [Message.of("user", "hi")]
    assert to_openai([Message.of("user", "hi")]) == [{"role": "user", "content": "hi"}]


def test_a_tool_call_with_broken_json_arguments_comes_back_byte_for_byte() -> None:
    broken = '{"path": "/tmp/x",\n  "text": "half\\ud83d'
    call = {"id": "call_1", "type": "function", "function": {"name": "w", "arguments": broken}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    (read,) = from_openai([message])
    assert read.tool_calls == (ToolCall(id="call_1", name="w", arguments=broken),)
    assert to_openai([read]) == [message]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": None},
        {"role": "assistant"},
        {"role": "assistant", "content": "", "tool_calls": []},
        {"role": "assistant", "content": None, "tool_calls": None},
        {"role": "assistant", "content": [], "tool_calls": [{"id": "a", "function": {}}]},
        {"role": "assistant", "content": [], "reasoning_content": "hm"},
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {"role": "tool", "tool_call_id": "a", "content": []},
        {"role": "tool", "tool_call_id": "a", "content": None},
        {"role": "tool", "tool_call_id": "a"},
        {"role": "tool", "content": "whose?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": None, "function": {"name": "f", "arguments": ""}},
                {"id": "b", "function": {"name": "f", "arguments": ""}},
            ],
        },
    ],
)
def test_empty_null_and_missing_are_told_apart(message: Wire) -> None:
    assert json.dumps(back(message), sort_keys=True) == json.dumps([message], sort_keys=True)


def test_an_answer_with_reasoning_and_a_refusal_is_readable_and_comes_back() -> None:
    message: Wire = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "they ask for too much",
        "refusal": "I cannot do that.",
        "annotations": [],
        "audio": None,
    }
    (read,) = from_openai([message])
    assert read.text == "I cannot do that."
    assert [part.text for part in read.parts if isinstance(part, Thinking)] == [
        "they ask for too much"
    ]
    assert json.dumps(to_openai([read])) == json.dumps([message])


def test_a_custom_tool_call_keeps_its_free_text() -> None:
    call = {"id": "call_1", "type": "custom", "custom": {"name": "shell", "input": "ls -la\n"}}
    message: Wire = {"role": "assistant", "content": None, "tool_calls": [call]}
    (read,) = from_openai([message])
    assert read.tool_calls[0].arguments == "ls -la\n"
    assert to_openai([read]) == [message]


def test_arguments_that_a_compatible_server_sent_as_an_object_go_back_as_an_object() -> None:
    call = {"id": "call_1", "function": {"name": "f", "arguments": {"b": 1, "a": 2}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    (read,) = from_openai([message])
    assert read.tool_calls[0].arguments == {"b": 1, "a": 2}
    assert json.dumps(to_openai([read])) == json.dumps([message])


def test_an_image_in_a_data_url_is_an_image_with_its_detail_kept() -> None:
    part = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"},
    }
    message = {"role": "user", "content": [{"type": "text", "text": "what is it?"}, part]}
    (read,) = from_openai([message])
    image = read.parts[1]
    assert isinstance(image, Image)
    assert (image.media_type, image.data, image.url) == ("image/png", "iVBORw0KGgo=", None)
    assert json.dumps(to_openai([read])) == json.dumps([message])


def test_base64_that_was_wrapped_into_lines_is_an_image_too() -> None:
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA\nBBBB\n"}}
    message: Wire = {"role": "user", "content": [part]}
    (read,) = from_openai([message])
    assert read.parts == (Image(media_type="image/png", data="AAAA\nBBBB\n"),)
    assert to_openai([read]) == [message]


def test_parts_of_unknown_type_are_kept_whole() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:…"}}
    message: Wire = {"role": "user", "content": [audio, file]}
    (read,) = from_openai([message])
    assert all(isinstance(part, Opaque) for part in read.parts)
    assert json.dumps(to_openai([read])) == json.dumps([message])


def test_the_function_messages_of_old_are_a_call_and_its_result() -> None:
    conversation: list[Wire] = [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "weather", "arguments": '{"city": "Oslo"}'},
        },
        {"role": "function", "name": "weather", "content": "rain"},
    ]
    asked, answered = from_openai(conversation)
    assert asked.tool_calls[0].id == answered.tool_results[0].call_id
    assert answered.text == "rain"
    assert to_openai([asked, answered]) == conversation


def test_a_shortened_result_goes_out_as_a_tool_message() -> None:
    (message,) = from_openai([{"role": "tool", "tool_call_id": "a", "content": "x" * 9000}])
    (result,) = message.tool_results
    short = replace(message, parts=(replace(result, content=(Text(text="x… [9000]"),)),))
    assert to_openai([short]) == [{"role": "tool", "content": "x… [9000]", "tool_call_id": "a"}]


def test_a_shortened_result_that_was_a_list_or_missing_still_goes_out() -> None:
    listed: Wire = {
        "role": "tool",
        "tool_call_id": "a",
        "content": [{"type": "text", "text": "long"}],
    }
    missing = {"role": "tool", "tool_call_id": "a"}
    for message in from_openai([listed, missing]):
        (result,) = message.tool_results
        short = replace(message, parts=(replace(result, content=(Text(text="cut"),)),))
        assert to_openai([short])[0]["content"] == [{"type": "text", "text": "cut"}]


def test_a_message_of_ours_with_a_picture_goes_out_as_a_list() -> None:
    message = Message(role="user", parts=(Text(text="see"), Image(url="https://example.org/a")))
    assert to_openai([message]) == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a"}},
            ],
        }
    ]


def test_a_message_of_ours_with_only_a_call_has_null_content() -> None:
    call = ToolCall(id="a", name="f", arguments={"x": "é"})
    (wire,) = to_openai([Message(role="assistant", parts=(call,))])
    assert wire["content"] is None
    assert wire["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"x":"é"}'}


def test_what_our_types_say_wins_over_a_kept_field() -> None:
    (message,) = from_openai([{"role": "assistant", "content": "x", "tool_calls": []}])
    call = ToolCall(id="a", name="f", arguments="{}")
    (wire,) = to_openai([replace(message, parts=(*message.parts, call))])
    assert [call["id"] for call in wire["tool_calls"]] == ["a"]


def test_changing_what_was_given_or_returned_changes_nothing_of_ours() -> None:
    given_message: Wire = {
        "role": "assistant",
        "content": [{"type": "new", "deep": {"list": [1]}}],
        "vendor": {"deep": [1]},
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"k": [1]}}}],
    }
    before = json.dumps(given_message)
    messages = from_openai([given_message])
    given_message["content"][0]["deep"]["list"].append(2)
    given_message["vendor"]["deep"].append(2)
    (returned,) = to_openai(messages)
    returned["content"][0]["deep"]["list"].append(3)
    returned["vendor"]["deep"].append(3)
    returned["tool_calls"][0]["function"]["arguments"]["k"].append(3)
    assert same_json(to_openai(messages), [json.loads(before)])


def test_results_that_hold_parts_of_another_format_go_out_without_them() -> None:
    foreign = Opaque(format="anthropic", data={"type": "document"})
    result = ToolResult(call_id="a", content=(Text(text="t"), foreign), form="parts")
    message = Message(role="tool", parts=(result,))
    assert to_openai([message])[0]["content"] == [{"type": "text", "text": "t"}]
    assert [left.what for left in left_out_openai([message])] == ["anthropic document"]
