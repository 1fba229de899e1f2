"""A conversation that came from one provider can be sent to the other one.

What must arrive: text, calls, results, images and call ids. What may be missing is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.formats import (
    AnthropicRequest,
    from_anthropic,
    from_openai,
    left_out_anthropic,
    left_out_openai,
    to_anthropic,
    to_openai,
)
from holdfast.types import Image, Json, Message, Part, Text, ToolCall, ToolResult
from tests.foundation.provider_messages import (
    Wire,
    anthropic_messages,
    anthropic_systems,
    openai_messages,
)
from tests.scale import scaled

# ── what a conversation says, however it is written ─────────────────────────────────────────


@dataclass(frozen=True)
class Said:
    instructions: list[str]
    words: list[str]
    calls: list[tuple[str, str, Json]]
    results: list[tuple[str, list[str]]]
    images: list[tuple[str | None, str | None, str | None]]


def said(messages: Sequence[Message]) -> Said:
    parts = [(message, part) for message in messages for part in message.parts]
    results = [part for _, part in parts if isinstance(part, ToolResult)]
    shown = [
        *(part for _, part in parts),
        *(inner for result in results for inner in result.content),
    ]
    return Said(
        instructions=words(part for message, part in parts if is_instruction(message)),
        words=words(part for message, part in parts if not is_instruction(message)),
        calls=[
            (part.id, part.name, meaning(part)) for _, part in parts if isinstance(part, ToolCall)
        ],
        results=[(result.call_id, words(result.content)) for result in results],
        images=sorted(
            (
                (part.media_type, part.data, part.url)
                for part in shown
                if isinstance(part, Image) and is_portable(part)
            ),
            key=str,
        ),
    )


def words(parts: Iterable[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text) and part.text]


def is_instruction(message: Message) -> bool:
    return message.role in ("system", "developer")


def is_portable(image: Image) -> bool:
    """Both providers take base64 and web addresses; the rest is theirs alone."""
    if image.url is not None:
        return not image.url.startswith("data:")
    return image.data is not None


def meaning(call: ToolCall) -> Json:
    """The arguments as an object; those that are none, wrapped as the promise says."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    if call.extra.get("shape") == "custom":
        return {"input": call.arguments}
    if not call.arguments.strip():
        return {}
    try:
        parsed = json.loads(call.arguments)
        json.dumps(parsed, allow_nan=False)
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": call.arguments}


# ── what the other side takes ───────────────────────────────────────────────────────────────

OPENAI_KEYS = {
    "text": {"type", "text"},
    "image_url": {"type", "image_url"},
}

ANTHROPIC_KEYS = {
    "text": {"type", "text"},
    "image": {"type", "source"},
    "tool_use": {"type", "id", "name", "input"},
    "tool_result": {"type", "tool_use_id", "content"},
}


def assert_openai_takes(wires: list[Wire]) -> None:
    for wire in wires:
        role, content = wire["role"], wire["content"]
        assert set(wire) <= {"role", "content", "tool_calls", "tool_call_id"}
        assert (role == "tool") == ("tool_call_id" in wire)
        assert content is not None or wire["tool_calls"]
        for part in content if isinstance(content, list) else []:
            assert set(part) == OPENAI_KEYS[part["type"]]
            assert part["type"] == "text" or role == "user"
        for call in wire.get("tool_calls", ()):
            assert set(call) == {"id", "type", "function"}
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


def assert_anthropic_takes(request: AnthropicRequest) -> None:
    for wire in request.messages:
        assert set(wire) == {"role", "content"}
        assert wire["role"] in ("user", "assistant", "critic")
        blocks = wire["content"] if isinstance(wire["content"], list) else []
        for block in blocks:
            assert set(block) <= ANTHROPIC_KEYS[block["type"]]
            assert isinstance(block.get("input", {}), dict)
        kinds = [block["type"] == "tool_result" for block in blocks]
        assert kinds == sorted(kinds, reverse=True)  # results first
    if isinstance(request.system, list):
        assert all(block["type"] in ("text", "image") for block in request.system)


# ── the properties ──────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(150))
@given(st.lists(anthropic_messages, max_size=4), anthropic_systems)
def test_what_anthropic_messages_say_arrives_at_openai(
    conversation: list[Wire], system: str | list[Wire] | None
) -> None:
    messages = from_anthropic(conversation, system)
    wires = to_openai(messages)
    assert said(from_openai(wires)) == said(messages)
    assert json.dumps(wires) == json.dumps(to_openai(messages))
    if all(message.parts for message in messages):
        assert_openai_takes(wires)


@settings(max_examples=scaled(150))
@given(st.lists(openai_messages, max_size=5))
def test_what_openai_messages_say_arrives_at_anthropic(conversation: list[Wire]) -> None:
    messages = from_openai(conversation)
    request = to_anthropic(messages)
    assert said(from_anthropic(request.messages, request.system)) == said(messages)
    assert request == to_anthropic(messages)
    assert_anthropic_takes(request)


def weight(messages: Sequence[Message]) -> int:
    """How many parts say something; a text without characters does not."""
    parts = [part for message in messages for part in message.parts]
    inner = [part for message in messages for r in message.tool_results for part in r.content]
    return sum(not isinstance(part, Text) or bool(part.text) for part in (*parts, *inner))


@settings(max_examples=scaled(80))
@given(st.lists(openai_messages, max_size=4))
def test_every_part_of_openai_arrives_at_anthropic_or_is_named(conversation: list[Wire]) -> None:
    messages = from_openai(conversation)
    request = to_anthropic(messages)
    named = [left for left in left_out_anthropic(messages) if left.part is not None]
    arrived = from_anthropic(request.messages, request.system)
    assert weight(messages) == weight(arrived) + len(named)


@settings(max_examples=scaled(80))
@given(st.lists(anthropic_messages, max_size=4))
def test_every_part_of_anthropic_arrives_at_openai_or_is_named(conversation: list[Wire]) -> None:
    messages = from_anthropic(conversation)
    named = [left for left in left_out_openai(messages) if left.what != "is_error"]
    assert weight(messages) == weight(from_openai(to_openai(messages))) + len(named)


# ── examples ────────────────────────────────────────────────────────────────────────────────


def test_an_anthropic_tool_loop_becomes_an_openai_one() -> None:
    conversation: list[Wire] = [
        {"role": "user", "content": "compare the two"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "two reads", "signature": "Eq=="},
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "t2", "name": "read", "input": {"path": "ü"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "A"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [{"type": "text", "text": "U"}],
                    "is_error": True,
                },
                {"type": "text", "text": "and hurry", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ]
    messages = from_anthropic(conversation, system=[{"type": "text", "text": "be brief"}])
    assert to_openai(messages) == [
        {"role": "system", "content": [{"type": "text", "text": "be brief"}]},
        {"role": "user", "content": "compare the two"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Reading."}],
            "tool_calls": [
                {
                    "id": "t1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"a"}'},
                },
                {
                    "id": "t2",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path":"ü"}'},
                },
            ],
        },
        {"role": "tool", "content": "A", "tool_call_id": "t1"},
        {"role": "tool", "content": "U", "tool_call_id": "t2"},
        {"role": "user", "content": "and hurry"},
    ]
    assert [(left.message, left.part, left.what) for left in left_out_openai(messages)] == [
        (2, 0, "thinking"),
        (3, 1, "is_error"),
    ]


def test_an_openai_tool_loop_becomes_an_anthropic_one() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    broken = {"id": "c2", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    conversation: list[Wire] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go", "name": "ann"},
        {"role": "assistant", "content": "", "refusal": None, "tool_calls": [call, broken]},
        {"role": "tool", "tool_call_id": "c1", "content": "1", "name": "f"},
        {"role": "tool", "tool_call_id": "c2", "content": "bad arguments"},
        {"role": "developer", "content": "the user is away"},
        {"role": "user", "content": "well?"},
        {"role": "assistant", "content": "done", "reasoning_content": "finally"},
    ]
    messages = from_openai(conversation)
    assert to_anthropic(messages) == AnthropicRequest(
        system=[
            {"type": "text", "text": "be brief"},
            {"type": "text", "text": "the user is away"},
        ],
        messages=[
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "c2", "name": "f", "input": {"arguments": '{"a": '}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "1"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "bad arguments"},
                    {"type": "text", "text": "well?"},
                ],
            },
            {"role": "assistant", "content": "done"},
        ],
    )
    assert [(left.message, left.what) for left in left_out_anthropic(messages)] == [(7, "thinking")]


def test_images_of_tool_results_follow_the_tool_messages() -> None:
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    conversation: list[Wire] = [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [image]}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "no image"}],
        },
    ]
    assert to_openai(from_anthropic(conversation)) == [
        {"role": "tool", "content": "", "tool_call_id": "t1"},
        {"role": "tool", "content": "no image", "tool_call_id": "t2"},
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
    ]


def test_images_of_tool_results_come_before_the_words_that_follow() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image]}
    conversation: list[Wire] = [
        {"role": "user", "content": [result, {"type": "text", "text": "see?"}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "yes"},
    ]
    shown = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert to_openai(from_anthropic(conversation)) == [
        {"role": "tool", "content": "", "tool_call_id": "t"},
        {"role": "user", "content": [shown, {"type": "text", "text": "see?"}]},
        {"role": "tool", "content": "", "tool_call_id": "t"},
        {"role": "user", "content": [shown]},
        {"role": "assistant", "content": "yes"},
    ]


def test_results_come_first_when_messages_of_both_formats_meet() -> None:
    late = ToolResult(call_id="c2", content=(Text(text="2"),))
    messages = [
        *from_openai([{"role": "tool", "tool_call_id": "c1", "content": "1"}]),
        Message(role="user", parts=(Text(text="and?"), late), form="parts"),
    ]
    (wire,) = to_anthropic(messages).messages
    assert [block["type"] for block in wire["content"]] == ["tool_result", "tool_result", "text"]


def test_an_answer_that_was_only_reasoning_is_not_sent_as_empty_text() -> None:
    answer: Wire = {"role": "assistant", "content": "", "reasoning_content": "hm"}
    assert to_anthropic(from_openai([answer])).messages == []


def test_a_message_of_which_nothing_is_left_is_not_sent() -> None:
    thought: Wire = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "E"}]}
    assert to_openai(from_anthropic([thought])) == []
    spoken: Wire = {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
    assert to_anthropic(from_openai([spoken])).messages == []
    assert [left.what for left in left_out_anthropic(from_openai([spoken]))] == ["empty message"]


def test_a_refusal_is_what_the_assistant_said() -> None:
    refusal: Wire = {"role": "assistant", "content": None, "refusal": "I cannot do that."}
    assert to_anthropic(from_openai([refusal])).messages == [
        {"role": "assistant", "content": [{"type": "text", "text": "I cannot do that."}]}
    ]


def test_a_result_of_a_tool_that_said_nothing_has_no_content_at_anthropic() -> None:
    for content in ("", [], None, [{"type": "text", "text": ""}]):
        wire: Wire = {"role": "tool", "tool_call_id": "c", "content": content}
        assert to_anthropic(from_openai([wire])).messages == [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
        ]


def test_one_shortened_result_goes_out_in_either_format() -> None:
    short = Text(text="first lines … [120 000 chars, e42]")
    message = Message(role="user", parts=(ToolResult(call_id="c", content=(short,)),))
    assert to_openai([message]) == [{"role": "tool", "content": short.text, "tool_call_id": "c"}]
    assert to_anthropic([message]).messages == [
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": short.text}],
        }
    ]


def test_a_field_set_for_one_format_goes_out_in_that_format_only() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    for owner in ("openai", "anthropic"):
        message = Message(role="user", parts=(Text(text="hi", extra={owner: mark}),))
        marked = {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]}
        plain = {"role": "user", "content": "hi"}
        wanted = (marked, plain) if owner == "openai" else (plain, marked)
        assert (*to_openai([message]), *to_anthropic([message]).messages) == wanted
