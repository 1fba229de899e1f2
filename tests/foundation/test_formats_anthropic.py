"""Anthropic Messages requests come back as they came, and so do ours."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidMessage
from holdfast.formats import from_anthropic, left_out_anthropic, to_anthropic
from holdfast.types import Image, Json, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from tests.foundation.provider_messages import Wire, anthropic_messages, anthropic_systems
from tests.foundation.test_formats_openai import same_json
from tests.scale import scaled


def back(*messages: Wire) -> list[Wire]:
    return to_anthropic(from_anthropic(list(messages))).messages


# ── the properties ──────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(150))
@given(st.lists(anthropic_messages, max_size=4), anthropic_systems)
def test_every_anthropic_request_comes_back_exactly(
    conversation: list[Wire], system: str | list[Wire] | None
) -> None:
    request = to_anthropic(from_anthropic(conversation, system))
    assert request.messages == conversation
    assert request.system == system
    assert same_json([request.system, request.messages], [system, conversation])


@settings(max_examples=scaled(80))
@given(st.lists(anthropic_messages, max_size=4), anthropic_systems)
def test_every_message_from_anthropic_is_the_same_after_a_trip_to_anthropic(
    conversation: list[Wire], system: str | list[Wire] | None
) -> None:
    messages = from_anthropic(conversation, system)
    request = to_anthropic(messages)
    assert from_anthropic(request.messages, request.system) == messages
    assert left_out_anthropic(messages) == ()


@settings(max_examples=scaled(80))
@given(st.lists(anthropic_messages, max_size=4))
def test_every_anthropic_request_survives_being_stored(conversation: list[Wire]) -> None:
    stored = json.dumps([m.to_json() for m in from_anthropic(conversation)], ensure_ascii=False)
    messages = [Message.from_json(message) for message in json.loads(stored)]
    assert to_anthropic(messages).messages == conversation


@settings(max_examples=scaled(80))
@given(anthropic_messages)
def test_the_order_of_keys_is_the_same_after_every_further_trip(message: Wire) -> None:
    once = back(message)
    assert json.dumps(back(*once)) == json.dumps(once)


# ── examples ────────────────────────────────────────────────────────────────────────────────


def test_a_signature_and_redacted_thinking_come_back_byte_for_byte() -> None:
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": " step 1…\n", "signature": "EqQB+/==\u2028 "},
            {"type": "redacted_thinking", "data": "Emw=\n"},
            {"type": "text", "text": "done"},
        ],
    }
    (read,) = from_anthropic([message])
    assert read.parts[0] == Thinking(text=" step 1…\n", signature="EqQB+/==\u2028 ")
    assert json.dumps(back(message)) == json.dumps([message])


def test_a_search_of_the_provider_keeps_its_encrypted_content() -> None:
    message = {
        "role": "assistant",
        "content": [
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "tides"},
            },
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [{"type": "web_search_result", "encrypted_content": "Eo8P=="}],
            },
            {
                "type": "text",
                "text": "High at noon.",
                "citations": [{"type": "web_search_result_location", "encrypted_index": "Ep=="}],
            },
        ],
    }
    (read,) = from_anthropic([message])
    assert read.tool_calls == ()  # the provider made it and answered it: nobody here runs it
    assert read.text == "High at noon."
    assert json.dumps(back(message)) == json.dumps([message])


def test_tool_use_and_results_are_calls_and_results() -> None:
    asked, answered = from_anthropic(
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": 2}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "no such file",
                        "is_error": True,
                    },
                    {"type": "text", "text": "go on", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ]
    )
    assert asked.tool_calls == (ToolCall(id="t1", name="f", arguments={"b": 1, "a": 2}),)
    assert answered.tool_results == (
        ToolResult(call_id="t1", content=(Text(text="no such file"),), is_error=True),
    )
    assert answered.text == "no such file\ngo on"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_result", "tool_use_id": "t"},
        {"type": "tool_result", "tool_use_id": "t", "content": ""},
        {"type": "tool_result", "tool_use_id": "t", "content": []},
        {"type": "tool_result", "tool_use_id": "t", "content": None},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": ""}]},
        {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": False},
        {"type": "text", "text": ""},
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "thinking", "thinking": "unsigned"},
        {"type": "tool_use", "id": "t", "name": "f", "input": "not an object"},
    ],
)
def test_blocks_come_back_as_they_were_written(block: Wire) -> None:
    message = {"role": "user", "content": [block]}
    assert json.dumps(back(message)) == json.dumps([message])


@pytest.mark.parametrize("flag", [1, "true", None])
def test_only_a_boolean_is_taken_for_the_error_flag(flag: Json) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "is_error": flag}
    message: Wire = {"role": "user", "content": [block]}
    assert from_anthropic([message])[0].tool_results[0].is_error is None
    assert json.dumps(back(message)) == json.dumps([message])


@pytest.mark.parametrize("system", [None, "", "be brief", [], [{"type": "text", "text": "a"}]])
def test_a_system_message_in_the_list_is_not_taken_for_the_top_level_one(system: Json) -> None:
    conversation: list[Wire] = [
        {"role": "system", "content": "first of all"},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": [{"type": "text", "text": "the user is away"}]},
    ]
    request = to_anthropic(from_anthropic(conversation, system))
    assert (request.system, request.messages) == (system, conversation)


def test_a_response_becomes_the_message_that_repeats_it() -> None:
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": "hi", "citations": None}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    assert back(response) == [
        {"role": "assistant", "content": [{"type": "text", "text": "hi", "citations": None}]}
    ]


def test_a_file_only_the_provider_knows_is_an_image_all_the_same() -> None:
    block = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    (read,) = from_anthropic([{"role": "user", "content": [block]}])
    assert isinstance(read.parts[0], Image)


def test_a_shortened_result_goes_out_as_a_tool_result_whatever_it_was() -> None:
    for content in ("long", [{"type": "text", "text": "long"}], None):
        block = {"type": "tool_result", "tool_use_id": "t", "content": content}
        (message,) = from_anthropic([{"role": "user", "content": [block]}])
        (result,) = message.tool_results
        short = replace(result, content=(Text(text="cut"),), form="text")
        assert to_anthropic([replace(message, parts=(short,))]).messages == [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "cut"}],
            }
        ]


def test_changing_what_was_given_or_returned_changes_nothing_of_ours() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"k": [1]}, "caller": {"l": [1]}}
    message: Wire = {"role": "assistant", "content": [call, {"type": "new", "deep": [1]}]}
    before = json.dumps(message)
    messages = from_anthropic([message])
    message["content"][0]["input"]["k"].append(2)
    (returned,) = to_anthropic(messages).messages
    returned["content"][0]["input"]["k"].append(3)
    returned["content"][0]["caller"]["l"].append(3)
    returned["content"][1]["deep"].append(3)
    assert json.dumps(to_anthropic(messages).messages) == f"[{before}]"


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "user"}, "messages[0].content is missing"),
        ({"role": "user", "content": 3}, "messages[0].content is a int"),
        ({"role": "user", "content": ["hi"]}, "messages[0].content[0] is a str"),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": {"a": 1}}],
            },
            "messages[0].content[0].content is a dict",
        ),
    ],
)
def test_content_of_the_wrong_type_is_refused_with_its_place(message: Wire, place: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        from_anthropic([message])
    assert place in refused.value.message
    assert refused.value.hint


def test_parts_of_another_format_are_left_out_and_named() -> None:
    message = Message(
        role="user",
        parts=(
            Text(text="listen"),
            Opaque(format="openai", data={"type": "input_audio"}),
            Image(url="data:text/plain,x"),
            Thinking(text="nobody signed this"),
        ),
        form="parts",
    )
    assert to_anthropic([message]).messages == [
        {"role": "user", "content": [{"type": "text", "text": "listen"}]}
    ]
    assert [(left.part, left.what) for left in left_out_anthropic([message])] == [
        (1, "openai input_audio"),
        (2, "image"),
        (3, "thinking"),
    ]
