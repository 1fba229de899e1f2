"""What hosts hand over: objects of the real clients, dicts, results of tools, counts of tokens."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types import Message as AnthropicMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

import holdfast
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.talking import (
    incoming,
    read_reply,
    reported_in,
    usage_data,
)
from holdfast.errors import InvalidMessage
from holdfast.ports import ModelReply
from holdfast.testing import FixedClock
from holdfast.types import Entry, Message, Text, Usage
from tests.engine.receivers import Receiver, answer, receiver
from tests.scale import scaled

THINKING: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "He wants Porto.", "signature": "EqoBCkgIARAB=="},
    {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4a"},
    {"type": "text", "text": "I look it up."},
    {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "Porto"}},
]


def from_anthropic(content: list[dict[str, Any]], **usage: int) -> AnthropicMessage:
    return AnthropicMessage.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5",
            "content": content,
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7} | usage,
        }
    )


def from_openai(message: dict[str, Any], **more: Any) -> ChatCompletion:
    return ChatCompletion.model_validate(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_770_000_000,
            "model": "gpt-5",
            "choices": [
                {"index": 0, "message": {"role": "assistant"} | message, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
        }
        | more
    )


CALLS: list[dict[str, Any]] = [
    {
        "id": "call_1",
        "type": "function",
        "function": {"name": "find", "arguments": '{"city": "Porto"}'},
    }
]


# ── answers ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("as_dict", [False, True])
def test_an_answer_of_anthropic_is_read_with_its_thinking_and_its_call(as_dict: bool) -> None:
    given_back = from_anthropic(
        THINKING, cache_read_input_tokens=3_000, cache_creation_input_tokens=400
    )
    read = read_reply(given_back.to_dict() if as_dict else given_back)
    assert read.message.text == "I look it up."
    assert [call.name for call in read.message.tool_calls] == ["find"]
    assert read.usage == Usage(
        input_tokens=11, output_tokens=7, cache_read_tokens=3_000, cache_write_tokens=400
    )
    assert read.usage.context_tokens == 3_411, "what was cached was read as well"
    assert read.stop_reason == "tool_use"


def test_thinking_goes_back_to_anthropic_with_its_signature_byte_for_byte(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        session.prepare("To Porto, please.")
        session.commit(from_anthropic(THINKING))
        done = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "TP 123"}
        request = session.prepare(done)
    asked, answered, result = request.anthropic()["messages"]
    assert answered == {"role": "assistant", "content": THINKING}
    assert result == {"role": "user", "content": [done]}
    assert asked["role"] == "user"


@pytest.mark.parametrize("as_dict", [False, True])
def test_an_answer_of_openai_is_read_with_its_cached_tokens_counted_once(as_dict: bool) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 64, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    completion = from_openai({"content": None, "tool_calls": CALLS}, usage=usage)
    read = read_reply(completion.to_dict() if as_dict else completion)
    assert read.message.text == ""
    assert [call.id for call in read.message.tool_calls] == ["call_1"]
    assert read.usage == Usage(input_tokens=36, output_tokens=7, cache_read_tokens=64)
    assert read.usage.context_tokens == 100


def test_a_refusal_is_an_answer(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s", model="openai:gpt-5")
        session.prepare("Say something forbidden.")
        session.commit(from_openai({"content": None, "refusal": "I cannot do that."}))
        request = session.prepare("Why?")
    answered = request.openai()["messages"][1]
    assert answered["role"] == "assistant"
    assert "I cannot do that." in json.dumps(answered)


class City(BaseModel):
    city: str


def test_what_a_client_parsed_for_its_program_does_not_go_back_to_the_provider(
    home: Path,
) -> None:
    message = {"content": '{"city": "Porto"}', "tool_calls": CALLS, "annotations": []}
    with receiver() as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
        server.script = [_json(from_openai(message).to_dict())]
        parsed = client.chat.completions.parse(
            model="gpt-5",
            messages=[{"role": "user", "content": "Where?"}],
            response_format=City,
            tools=[openai.pydantic_function_tool(City, name="find")],
        )
    assert parsed.choices[0].message.parsed == City(city="Porto")
    with holdfast.open(home) as engine:
        session = engine.session("s", model="openai:gpt-5")
        session.prepare("Where?")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.commit(parsed)
        request = session.prepare({"role": "tool", "tool_call_id": "call_1", "content": "ok"})
    assert request.openai()["messages"][1] == {
        "role": "assistant",
        "content": '{"city": "Porto"}',
        "tool_calls": CALLS,
    }


def test_what_anthropic_s_client_adds_does_not_go_back(home: Path) -> None:
    added = {"type": "text", "text": "Porto", "citations": None, "parsed_output": {"city": "Porto"}}
    with holdfast.open(home) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5")
        session.prepare("Where?")
        session.commit({"role": "assistant", "content": [added]})
        answered = session.prepare("Sure?").anthropic()["messages"][1]
    assert answered["content"] == [{"type": "text", "text": "Porto"}]


def test_citations_that_say_something_are_kept() -> None:
    cited = {
        "type": "text",
        "text": "Porto",
        "citations": [
            {
                "type": "char_location",
                "cited_text": "Porto",
                "document_index": 0,
                "document_title": None,
                "file_id": None,
                "start_char_index": 0,
                "end_char_index": 5,
            }
        ],
    }
    read = read_reply(from_anthropic([cited]))
    assert "char_location" in json.dumps(read.message.to_json())


# ── streams: what the clients put together at their end ─────────────────────────────────────


def _json(body: object, status: int = 200) -> Any:
    return answer(status, body, Content_Type="application/json", Connection="close")


def _events(pairs: list[tuple[str | None, Any]]) -> Any:
    lines = []
    for name, data in pairs:
        if name is not None:
            lines.append(f"event: {name}\n")
        lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    body = "".join(lines).encode()
    return answer(200, body, Content_Type="text/event-stream", Connection="close")


def test_the_message_at_the_end_of_anthropic_s_stream_is_an_answer() -> None:
    start = from_anthropic([]).to_dict() | {"content": [], "stop_reason": None}
    pairs: list[tuple[str | None, Any]] = [
        ("message_start", {"type": "message_start", "message": start}),
        (
            "content_block_start",
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            },
        ),
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "你好"},
            },
        ),
        ("content_block_stop", {"type": "content_block_stop", "index": 0}),
        (
            "message_delta",
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": 9},
            },
        ),
        ("message_stop", {"type": "message_stop"}),
    ]
    with receiver() as server, anthropic.Anthropic(base_url=server.url, api_key="x") as client:
        server.script = [_events(pairs)]
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            final = stream.get_final_message()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_reply(final)
    assert read.message == Message(role="assistant", parts=(Text(text="你好"),), form="parts")
    assert read.usage == Usage(input_tokens=11, output_tokens=9)
    assert read.stop_reason == "end_turn"


def test_the_completion_at_the_end_of_openai_s_stream_is_an_answer() -> None:
    def chunk(delta: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": more.pop("finish", None)}
        return {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5",
            "choices": [choice],
        } | more

    counted = {"prompt_tokens": 50, "completion_tokens": 2, "total_tokens": 52}
    pairs: list[tuple[str | None, Any]] = [
        (None, chunk({"role": "assistant", "content": ""})),
        (None, chunk({"content": "He"})),
        (None, chunk({"content": "llo"}, finish="stop")),
        (None, chunk({}, choices=[], usage=counted)),
        (None, "[DONE]"),
    ]
    with receiver() as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
        server.script = [_events(pairs)]
        with client.chat.completions.stream(
            model="gpt-5", messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            final = stream.get_final_completion()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = read_reply(final)
    assert (read.message.role, read.message.text) == ("assistant", "Hello")
    assert read.usage == Usage(input_tokens=50, output_tokens=2)
    assert read.stop_reason == "stop"


# ── other answers, and what is none ─────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "reply",
    [
        "Hello",
        {"role": "assistant", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        Message.of("assistant", "Hello"),
        ModelReply(message=Message.of("assistant", "Hello")),
        {"choices": [{"message": {"content": "Hello"}}]},
        {"choices": [{"message": {"role": None, "content": "Hello", "tool_calls": None}}]},
    ],
    ids=repr,
)
def test_plain_answers_are_taken(reply: object) -> None:
    read = read_reply(reply)
    assert (read.message.role, read.message.text, read.usage) == ("assistant", "Hello", None)


@pytest.mark.parametrize(
    "reply",
    [
        None,
        17,
        b"Hello",
        {},
        [],
        {"choices": []},
        {"choices": [{"message": None}]},
        {"choices": [{"delta": {"content": "He"}}]},
        {"error": {"message": "no"}},
        {"role": "user", "content": "Hello"},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        Message.of("user", "Hello"),
        {"type": "tool_result", "tool_use_id": "t", "content": "x"},
    ],
    ids=repr,
)
def test_what_is_no_answer_is_refused_with_what_to_give(reply: object, home: Path) -> None:
    with pytest.raises(InvalidMessage) as refused:
        read_reply(reply)
    assert refused.value.hint
    with holdfast.open(home) as engine:
        session = engine.session("s")
        session.prepare("hi")
        before = session.entries()
        with pytest.raises(InvalidMessage):
            session.commit(reply)
        assert session.entries() == before, "nothing was written"


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": None, "completion_tokens": None, "prompt_tokens_details": None},
        {"prompt_tokens": -3, "completion_tokens": 4},
        {"prompt_tokens": "many"},
        "none",
    ],
    ids=repr,
)
def test_a_report_of_nothing_is_none(usage: object) -> None:
    given = {"choices": [{"message": {"content": "Hello"}}], "usage": usage}
    assert read_reply(given).usage is None


# ── what comes in ───────────────────────────────────────────────────────────────────────────


def test_a_text_is_the_user_s() -> None:
    assert incoming(["Book the flight", "订机票"]) == [
        Message.of("user", "Book the flight"),
        Message.of("user", "订机票"),
    ]


def test_bare_results_stand_together_in_one_message() -> None:
    results = [
        {"type": "tool_result", "tool_use_id": f"t{number}", "content": str(number)}
        for number in range(3)
    ]
    (message,) = incoming([results])
    assert message.role in ("user", "tool")
    assert [each.call_id for each in message.tool_results] == ["t0", "t1", "t2"]
    both = incoming([results[:2], "and now?", results[2:]])
    assert [len(each.tool_results) for each in both] == [2, 0, 1]


def test_results_of_openai_are_messages_of_their_own() -> None:
    given_back = [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(2)]
    assert [each.tool_results[0].call_id for each in incoming([given_back])] == ["c0", "c1"]


def test_nothing_is_nothing() -> None:
    assert incoming([]) == []
    assert incoming([[], ()]) == []


def test_objects_of_a_client_are_taken_as_messages() -> None:
    completion = from_openai({"content": "Hello"})
    (message,) = incoming([completion.choices[0].message])
    assert (message.role, message.text) == ("assistant", "Hello")


@pytest.mark.parametrize("given_in", [17, None, b"x", {"content": "x"}, {"role": "nobody"}])
def test_what_cannot_be_said_is_refused_before_anything_is_written(
    given_in: Any, home: Path
) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s")
        with pytest.raises(InvalidMessage):
            session.prepare("first", given_in)
        assert session.state()["messages"] == 0


# ── the count ───────────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(100))
@given(
    usage=st.builds(
        Usage,
        input_tokens=st.integers(0, 10**9),
        output_tokens=st.integers(0, 10**9),
        cache_read_tokens=st.integers(0, 10**9),
        cache_write_tokens=st.integers(0, 10**9),
    )
)
def test_a_kept_count_reads_back_as_the_tokens_of_the_whole_request(usage: Usage) -> None:
    kept = json.loads(json.dumps(usage_data(usage, "e1")))
    found = reported_in([_entry("assistant", usage=kept)])
    if usage.context_tokens:
        assert found is not None
        assert (found.tokens, found.entry) == (usage.context_tokens, "e1")
    else:
        assert found is None


def test_only_the_last_answer_s_count_holds() -> None:
    kept = usage_data(Usage(input_tokens=5), "e1")
    with_count = _entry("assistant", usage=kept)
    assert reported_in([with_count, _entry("user")]) is not None
    assert reported_in([with_count, _entry("assistant")]) is None
    assert reported_in([]) is None


@pytest.mark.parametrize("kept", ["x", {}, {"last": 3, "input_tokens": 4}, {"last": "e"}])
def test_a_count_that_makes_no_sense_is_none(kept: Any) -> None:
    assert reported_in([_entry("assistant", usage=kept)]) is None


def _entry(role: str, **more: Any) -> Entry:
    return Entry(
        id="e2",
        seq=2,
        parent="e1",
        at=FixedClock().now(),
        type="message",
        data={"role": role, "parts": [], **more},
    )


# ── what a host says about its requests ─────────────────────────────────────────────────────


def test_what_a_session_was_opened_with_holds_until_a_call_says_otherwise(home: Path) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s", model="openai:gpt-5", system="Be kind.", window=50_000)
        assert session.prepare("hi").budget.window == 50_000
        session.commit("Hello")
        other = session.prepare("again", window=20_000, system="Be short.")
        assert other.budget.window == 20_000
        assert "Be short." in json.dumps(other.messages)
        assert "Be kind." not in json.dumps(other.messages)


def test_the_system_text_stands_before_what_was_restored() -> None:
    assert Ask(system="Be kind.", restored="Known.").whole_system == "Be kind.\n\nKnown."
    assert Ask(restored="Known.").whole_system == "Known."
    assert Ask().whole_system is None


@pytest.fixture
def server() -> Any:
    with receiver() as running:
        yield running


def test_a_request_goes_through_the_client_it_was_made_for(home: Path, server: Receiver) -> None:
    with holdfast.open(home) as engine:
        session = engine.session("s", model="anthropic:claude-sonnet-5", system="Be kind.")
        request = session.prepare("hi")
        with pytest.raises(holdfast.errors.UsageError, match="anthropic"):
            request.openai()
        server.script = [_json(from_anthropic([{"type": "text", "text": "Hello"}]).to_dict())]
        with anthropic.Anthropic(base_url=server.url, api_key="x") as client:
            session.commit(client.messages.create(**request.anthropic()))
        sent = server.requests[0].json
        assert sent["model"] == "claude-sonnet-5"
        assert "Be kind." in json.dumps(sent["system"])
        assert session.view()[-1].text == "Hello"
