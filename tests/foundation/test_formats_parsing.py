"""The border: what is taken as a message, and what is refused with a reason and a remedy."""

from __future__ import annotations

import json
from enum import Enum, IntEnum
from types import MappingProxyType

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast import formats
from holdfast.errors import InvalidMessage
from holdfast.formats import from_anthropic, from_openai, parse_message, to_anthropic, to_openai
from holdfast.formats.wire import MAX_DEPTH, copy_in
from holdfast.types import Json, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from tests.foundation.provider_messages import Wire, anthropic_messages, openai_messages, values
from tests.scale import scaled


class SdkObject:
    """Dumps like the models of the SDKs: what the server sent, if that is asked for."""

    def __init__(self, sent: Json, **defaults: Json) -> None:
        self.sent = sent
        self.defaults = defaults

    def model_dump(
        self,
        *,
        mode: str = "python",
        by_alias: bool = False,
        exclude_unset: bool = False,
        warnings: bool = True,
    ) -> Json:
        assert mode == "json"
        assert by_alias
        return self.sent if exclude_unset else {**self.defaults, **self.sent}


def refusal(value: object) -> InvalidMessage:
    with pytest.raises(InvalidMessage) as refused:
        parse_message(value)
    assert refused.value.hint, "a refusal says what to do next"
    return refused.value


# ── what is taken ───────────────────────────────────────────────────────────────────────────


def test_the_package_exports_what_it_names() -> None:
    assert sorted(formats.__all__) == sorted(
        [
            "AnthropicRequest",
            "LeftOut",
            "from_anthropic",
            "from_openai",
            "left_out_anthropic",
            "left_out_openai",
            "parse_message",
            "plain_json",
            "to_anthropic",
            "to_openai",
        ]
    )


def test_a_message_of_ours_is_taken_as_it_is() -> None:
    message = Message(role="assistant", parts=(Text(text="\ud800\0"), Thinking(text="hm")))
    assert parse_message(message) == message


def test_lone_surrogates_and_nul_survive() -> None:
    message: Wire = {"role": "user", "content": "a\0b\ud83d"}
    assert to_openai([parse_message(message)]) == [message]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url"}]},
        {"role": "user", "content": [{"type": "file", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [{"type": "thinking"}], "tool_calls": []},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "image"}]},
        {"role": "assistant", "tool_calls": [{"id": "c"}]},
        {"role": "developer", "content": [{"type": "text", "text": "x", "citations": []}]},
    ],
)
def test_messages_of_openai_are_known_by_their_fields_and_parts(message: Wire) -> None:
    assert parse_message(message) == from_openai([message])[0]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]},
        {"role": "assistant", "content": [{"type": "web_search_tool_result"}]},
        {"role": "user", "content": [{"type": "document", "source": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]},
        {"role": "assistant", "content": [], "type": "message", "id": "msg_1"},
    ],
)
def test_messages_of_anthropic_are_known_by_their_blocks(message: Wire) -> None:
    assert parse_message(message) == from_anthropic([message])[0]


@settings(max_examples=scaled(150))
@given(openai_messages | anthropic_messages)
def test_every_message_of_a_provider_goes_back_to_it(message: Wire) -> None:
    assume(message["role"] != "critic")
    assume("content" in message or message["role"] in ("assistant", "tool"))
    try:
        parsed = parse_message(message)
    except InvalidMessage:
        assert "content" not in message
        return
    assert parse_message(parsed) == parsed
    request = to_anthropic([parsed])
    if message["role"] in ("system", "developer"):
        assert message["content"] in (request.system, to_openai([parsed])[0]["content"])
    else:
        assert message in (*to_openai([parsed]), *request.messages)


def test_a_system_message_with_a_cache_mark_is_the_system_text_of_anthropic() -> None:
    block = {"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}
    request = to_anthropic([parse_message({"role": "system", "content": [block]})])
    assert (request.system, request.messages) == ([block], [])


def test_the_answer_object_of_an_sdk_is_taken_as_the_server_sent_it() -> None:
    call = SdkObject(
        {
            "id": "c",
            "type": "function",
            "function": SdkObject({"name": "f", "arguments": "{}"}),
        }
    )
    answer = SdkObject(
        {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]},
        audio=None,
        function_call=None,
    )
    assert to_openai([parse_message(answer)]) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
            "refusal": None,
        }
    ]


def test_the_blocks_of_an_answer_are_taken_inside_a_dictionary() -> None:
    block = SdkObject({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}})
    parsed = parse_message({"role": "assistant", "content": [block]})
    assert parsed.tool_calls == (ToolCall(id="t", name="f", arguments={"a": 1}),)


def test_read_only_mappings_and_enums_become_plain_json() -> None:
    class Role(str, Enum):  # noqa: UP042 - the older habit, still everywhere
        USER = "user"

    class Level(IntEnum):
        HIGH = 3

    class Score(float):
        pass

    given_message = {"role": Role.USER, "content": "hi", "level": Level.HIGH, "score": Score(0.5)}
    (wire,) = to_openai([parse_message(MappingProxyType(given_message))])
    assert wire == {"role": "user", "content": "hi", "level": 3, "score": 0.5}
    assert [type(value) for value in wire.values()] == [str, str, int, float]


# ── what is refused ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "message is a NoneType, not a message"),
        ("hello", "A str is not a message"),
        ([{"role": "user", "content": "hi"}], "A list is not a message"),
        ({"content": "hi"}, "has no role"),
        ({"role": "", "content": "hi"}, "has the role ''"),
        ({"role": 7, "content": "hi"}, "has the role 7"),
        ({"role": "human", "content": "hi"}, "'human', which no provider knows"),
        ({"role": "user"}, "has no content"),
        ({"role": "user", "text": "hi"}, "has no content"),
        ({"role": "user", "content": 3}, "message.content is a int"),
        ({"role": "user", "content": {"text": "hi"}}, "message.content is a dict"),
        ({"role": "user", "content": ["hi"]}, "message.content[0] is a str"),
        ({"role": "user", "content": float("nan")}, "message.content is nan"),
        ({"role": "user", "content": "x", "n": {"k": float("inf")}}, "message.n.k is inf"),
        ({"role": "user", "content": b"hi"}, "message.content is a bytes"),
        ({"role": "user", "content": "x", "tags": {"a"}}, "message.tags is a set"),
        ({"role": "user", "content": ("x",)}, "message.content is a tuple"),
        ({"role": "user", "content": "x", "o": [object()]}, "message.o[0] is a object"),
        ({"role": "user", "content": "x", "o": SdkObject}, "message.o is a type"),
        ({"role": "user", "content": "x", 3: "y"}, "message has the key 3, a int"),
        ({"role": "user", "content": "x", "n": 10**5000}, "more than 4000 digits"),
        ({"choices": [], "object": "chat.completion"}, "a whole completion"),
        (SdkObject("not an object"), "message is a SdkObject"),
        (Message.of("robot", "hi"), "'robot', which no provider knows"),
    ],
)
def test_what_is_not_a_message_is_refused_with_a_reason(value: object, reason: str) -> None:
    assert reason in refusal(value).message


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"role": "human", "content": "hi"}, "Did you mean 'user'?"),
        ({"role": "asistant", "content": "hi"}, "Did you mean 'assistant'?"),
        ({"role": "user", "parts": []}, "Message.from_json"),
        ({"choices": []}, "completion.choices[0].message"),
        ("hello", 'Message.of("user", "hello")'),
    ],
)
def test_a_refusal_says_what_to_do_instead(value: object, hint: str) -> None:
    assert hint in str(refusal(value))


def test_a_message_of_ours_that_cannot_be_written_is_refused() -> None:
    call = ToolCall(id="c", name="f", arguments={"when": float("nan")})
    result = ToolResult(call_id="c", content=(Opaque(format="x", data={"raw": b"\0"}),))
    assert "is nan" in refusal(Message(role="assistant", parts=(call,))).message
    assert "is a bytes" in refusal(Message(role="user", parts=(result,))).message


def test_text_that_nobody_wrapped_is_refused() -> None:
    unwrapped: Json = ("hello",)
    assert "a str among its parts" in refusal(Message(role="user", parts=unwrapped)).message


def test_an_sdk_object_that_cannot_be_dumped_is_refused_with_the_reason() -> None:
    class Broken:
        def model_dump(self, **options: Json) -> Json:
            raise ValueError("no idea")

    refused = refusal(Broken())
    assert "no idea" in refused.message
    assert isinstance(refused.__cause__, ValueError)


def test_a_value_that_contains_itself_is_refused() -> None:
    knot: list[Json] = []
    knot.append(knot)
    assert "nested more than" in refusal({"role": "user", "content": "x", "knot": knot}).message


def test_a_value_at_the_deepest_level_can_be_written_and_read() -> None:
    deep: Json = "x"
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    message: Wire = {"role": "user", "content": "x", "deep": deep}
    parsed = parse_message(message)
    assert to_openai([Message.from_json(json.loads(json.dumps(parsed.to_json())))]) == [message]
    message["deep"] = [deep]
    assert "nested more than" in refusal(message).message


@settings(max_examples=scaled(80))
@given(values)
def test_whatever_passes_the_border_can_be_written_and_read(value: Json) -> None:
    passed = copy_in(value, "value")
    assert json.loads(json.dumps(passed, ensure_ascii=False, allow_nan=False)) == value


def test_a_refusal_in_a_list_names_the_message() -> None:
    with pytest.raises(InvalidMessage, match=r"messages\[1\]\.content\[0\]\.text is a set"):
        from_openai(
            [
                {"role": "user", "content": "fine"},
                {"role": "user", "content": [{"type": "text", "text": {"a"}}]},
            ]
        )


@given(st.text())
def test_any_text_is_a_message_of_either_format(text: str) -> None:
    message = parse_message({"role": "user", "content": text})
    assert message == Message.of("user", text)
    assert to_openai([message]) == to_anthropic([message]).messages
