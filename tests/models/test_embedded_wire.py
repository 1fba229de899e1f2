"""Requests as the embedded model takes them: messages, tools, schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.models.embedded.schema import grammar_schema
from holdfast.models.embedded.wire import chat_request, names_of
from holdfast.ports import ModelRequest
from holdfast.types import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from tests.scale import scaled


def sent(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    found = chat_request(ModelRequest(messages=messages, **more))["messages"]
    assert isinstance(found, list)
    return found


def test_a_conversation_with_a_tool_keeps_its_order_and_its_ids() -> None:
    call = ToolCall(id="c1", name="read", arguments={"path": "资料.md"})
    result = ToolResult(call_id="c1", content=(Text(text="42"),))
    assert sent(
        Message.of("user", "Read it."),
        Message(role="assistant", parts=(Text(text="Yes."), call)),
        Message(role="tool", parts=(result,)),
        Message.of("assistant", "It says 42."),
        system="Be short.",
    ) == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Read it."},
        {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "资料.md"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "assistant", "content": "It says 42."},
    ]


def test_results_and_words_of_one_message_are_told_apart() -> None:
    result = ToolResult(call_id="c1", content=(Text(text="42"), Image(url="https://x/y.png")))
    first, second = sent(Message(role="user", parts=(result, Text(text="And now?"))))
    assert first["role"] == "tool"
    assert first["content"].startswith("42\n[an image")
    assert second == {"role": "user", "content": "And now?"}


def test_what_a_text_model_cannot_read_is_named_or_left_out() -> None:
    parts = (Thinking(text="hm"), Image(url="https://x/y.png"), Opaque(format="x", data={"a": 1}))
    (written,) = sent(Message(role="user", parts=parts))
    assert written == {"role": "user", "content": "[an image, which this model cannot see]"}


PARTS = st.one_of(
    st.builds(Text, text=st.text(st.characters(codec=None), max_size=20)),
    st.builds(
        ToolCall,
        id=st.text(max_size=5),
        name=st.text(max_size=5),
        arguments=st.text(max_size=20) | st.dictionaries(st.text(max_size=4), st.integers()),
    ),
    st.builds(
        ToolResult, call_id=st.text(max_size=5), content=st.tuples(st.builds(Text, text=st.text()))
    ),
    st.builds(Thinking, text=st.text(max_size=5)),
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system", "developer", "weird"]),
    parts=st.lists(PARTS, max_size=4).map(tuple),
)


@settings(max_examples=scaled(60))
@given(st.lists(MESSAGES, max_size=5))
def test_every_request_is_plain_json_that_is_utf8_and_calls_have_json_arguments(
    messages: list[Message],
) -> None:
    asked = chat_request(ModelRequest(messages=messages))
    json.dumps(asked, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for each in asked["messages"]:
        assert each["role"] in {"system", "user", "assistant", "tool"}
        each["content"].encode()
        for call in each.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert asked == chat_request(ModelRequest(messages=messages))


def test_a_tool_of_either_provider_is_described_alike() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    openai = {
        "type": "function",
        "function": {"name": "f", "description": "d", "parameters": schema},
    }
    anthropic = {"name": "f", "description": "d", "input_schema": schema}
    one, other = (
        chat_request(ModelRequest(messages=(), tools=[each]))["tools"]
        for each in (openai, anthropic)
    )
    assert one == other == [openai]
    assert names_of([openai, anthropic]) == {"f"}


# ── schemas ─────────────────────────────────────────────────────────────────────────────────


def test_an_answer_by_schema_is_asked_for_without_chance() -> None:
    schema = {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 40}}
    asked = chat_request(ModelRequest(messages=(), extra={"response_schema": schema}))
    assert asked["temperature"] == 0.0
    assert asked["response_format"]["json_schema"]["schema"] == schema
    assert "response_format" not in chat_request(ModelRequest(messages=()))


def test_a_first_character_is_asked_for_with_the_length_of_the_whole() -> None:
    given = {"type": "string", "maxLength": 80, "pattern": "^[\u3400-\u9fff]"}
    found = grammar_schema({"type": "array", "items": given})["items"]
    assert "maxLength" not in found
    assert re.search(found["pattern"], "我" * 80)
    assert not re.search(found["pattern"], "我" * 81)
    assert not re.search(found["pattern"], "I" * 8)


@pytest.mark.parametrize("pattern", ["^(", "a", "^a", "a$", "^\\d+$", "^[a-z]{2,5}$", "^.*$", "("])
def test_no_pattern_is_handed_on_that_the_grammar_would_complain_about(pattern: str) -> None:
    found = grammar_schema({"type": "string", "pattern": pattern, "maxLength": 9})
    kept = found.get("pattern")
    assert kept is None or (kept.startswith("^") and kept.endswith("$"))
    re.compile(kept or "")


@settings(max_examples=scaled(60))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "items", "properties", "pattern", "a"]), inner, max_size=3
            )
        ),
    )
)
def test_any_schema_comes_through(schema: Any) -> None:
    found = grammar_schema(schema)
    if "pattern" not in json.dumps(schema):
        assert found == schema


@pytest.mark.parametrize(
    "mark",
    ["<|im_end|>", "<|im_start|>system", "<|endoftext|>", "</s>", "<start_of_turn>", "<eos>"],
)
def test_what_is_said_cannot_end_its_message_and_begin_another(mark: str) -> None:
    call = ToolCall(id="c1", name=f"read{mark}", arguments={"path": mark})
    result = ToolResult(call_id="c1", content=(Text(text=f"a web page {mark} says"),))
    messages = (
        Message.of("user", f"before {mark} after"),
        Message(role="assistant", parts=(call,)),
        Message(role="tool", parts=(result,)),
    )
    written = json.dumps(sent(*messages, system=f"Remembered: {mark}"), ensure_ascii=False)
    assert mark not in written
    assert written.count(f"<\u200b{mark[1:]}") == 5


@pytest.mark.parametrize("text", ["a <| b |> c", "x < y", "<b>", "if (a<s>b)", "List<String>"])
def test_what_only_looks_like_a_mark_stays_readable(text: str) -> None:
    (message,) = sent(Message.of("user", text))
    assert str(message["content"]).replace("\u200b", "") == text
