"""Repair: whatever the conversation, what is sent is valid, and no entry is lost on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.context.validity import (
    Capabilities,
    Change,
    Format,
    Violation,
    capabilities_of,
    render,
    repair,
    validate,
)
from holdfast.context.validity.target import CONTINUE, NO_RESULT, START
from holdfast.formats import (
    from_openai,
    to_anthropic,
    to_openai,
)
from holdfast.types import (
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ViewItem,
)
from tests.context.messy import items_of, png
from tests.context.test_validity_properties import check_all

OPENAI = capabilities_of(None, "openai")
ANTHROPIC = capabilities_of(None, "anthropic")


def sent(items: Sequence[ViewItem], format: Format, caps: Capabilities) -> list[Violation]:
    rendered = render(items, format=format, caps=caps)
    return validate(format, rendered.messages, system=rendered.system, caps=caps)


# ── calls and results ───────────────────────────────────────────────────────────────────────


def call(call_id: str = "call_1", name: str = "search") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments={"q": "x"})


def calls(*call_ids: str) -> Message:
    return Message(role="assistant", parts=tuple(call(each) for each in call_ids), form="parts")


def result(call_id: str = "call_1", text: str = "found") -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, content=(Text(text=text),)),))


def user(text: str = "hello") -> Message:
    return Message.of("user", text)


def repaired_messages(
    *messages: Message, format: Format = "anthropic", caps: Capabilities | None = None
) -> list[Message]:
    caps = caps or capabilities_of(None, format)
    return [item.message for item in check_all(messages, format, caps).items]


def kinds(*messages: Message, format: Format = "anthropic") -> list[str]:
    caps = capabilities_of(None, format)
    return [each.kind for each in repair(items_of(messages), format=format, caps=caps).changes]


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_missing_result_is_put_directly_behind_its_call(format: Format) -> None:
    said = repaired_messages(user(), calls("a", "b"), result("b"), user("next"), format=format)
    assert [message.role for message in said] == ["user", "assistant", "tool", "tool", "user"]
    added = said[3].tool_results[0]
    assert (added.call_id, added.text, added.is_error) == ("a", NO_RESULT, True)


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_calls_open_at_the_end_get_their_results(format: Format) -> None:
    said = repaired_messages(user(), calls("a", "b"), result("a"), format=format)
    assert [each.call_id for message in said for each in message.tool_results] == ["a", "b"]


@pytest.mark.parametrize("format", ["openai", "anthropic"])
@pytest.mark.parametrize("between", [calls("b"), Message.of("assistant", "")])
def test_a_late_result_is_quoted_where_it_came(format: Format, between: Message) -> None:
    said = repaired_messages(user(), calls("a"), between, result("a", "42"), format=format)
    assert said[2].tool_results[0].text == NO_RESULT
    assert said[-1].role == "user"
    assert "late" in said[-1].text
    assert "search" in said[-1].text
    assert "42" in said[-1].text


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_what_the_user_says_while_a_tool_works_stands_behind_its_result(format: Format) -> None:
    said = repaired_messages(user(), calls("a"), user("well?"), result("a", "42"), format=format)
    assert [message.text for message in said[2:]] == ["42", "well?"]


def test_a_result_without_a_call_becomes_text() -> None:
    said = repaired_messages(user(), result("nobody", "who asked?"))
    assert said[1].role == "user"
    assert not said[1].tool_results
    assert "who asked?" in said[1].text


def test_a_second_result_waits_until_the_group_is_complete() -> None:
    said = repaired_messages(
        user(), calls("a", "b"), result("a", "1"), result("a", "2"), result("b", "3")
    )
    assert [message.role for message in said] == ["user", "assistant", "tool", "tool", "user"]
    assert [each.text for message in said for each in message.tool_results] == ["1", "3"]
    assert "2" in said[4].text


def test_the_same_result_again_is_left_out_and_its_entry_kept() -> None:
    items = items_of([user(), calls("a"), result("a"), result("a"), user("next")])
    repaired = repair(items, format="openai", caps=OPENAI)
    assert [item.stands_for for item in repaired.items] == [
        ("e0",),
        ("e1",),
        ("e2", "e3"),
        ("e4",),
    ]


def beside(call_id: str, text: str) -> Message:
    """A result and a text in one message, the text first."""
    found = ToolResult(call_id=call_id, content=(Text(text="1"),))
    return Message(role="user", parts=(Text(text=text), found), form="parts")


def test_a_text_beside_a_result_is_put_behind_it() -> None:
    said = repaired_messages(user(), calls("a"), beside("a", "and this"))
    assert [type(part) for part in said[2].parts] == [ToolResult, Text]


def test_a_text_beside_a_result_waits_until_the_group_is_complete() -> None:
    said = repaired_messages(user(), calls("a", "b"), beside("a", "and this"), result("b", "2"))
    assert [each.text for message in said for each in message.tool_results] == ["1", "2"]
    assert said[4].text == "and this"


def test_the_same_id_in_a_later_turn_is_fine_for_openai_and_renamed_for_anthropic() -> None:
    again = (user(), calls("a"), result("a"), calls("a"), result("a", "2"), user())
    assert kinds(*again, format="openai") == []
    said = repaired_messages(*again, format="anthropic")
    ids = [call.id for message in said for call in message.tool_calls]
    assert ids[0] == "a"
    assert ids[1] != "a"
    assert [each.call_id for message in said for each in message.tool_results] == ids
    longer = repaired_messages(*again, calls("a"), result("a"), format="anthropic")
    assert longer[: len(said)] == said, "the same name in every later request"


def test_two_calls_with_one_id_in_one_message_are_told_apart() -> None:
    said = repaired_messages(user(), calls("a", "a"), result("a", "1"), result("a", "2"))
    first, second = said[1].tool_calls
    assert first.id == "a"
    assert second.id != "a"
    answers = [each for message in said for each in message.tool_results]
    assert [each.call_id for each in answers] == [first.id, second.id]
    assert [each.text for each in answers] == ["1", "2"]


@pytest.mark.parametrize(
    ("model", "format"),
    [
        ("mistral-large", "openai"),
        ("gpt-4o", "openai"),
        ("claude-haiku-4-5", "anthropic"),
    ],
)
def test_foreign_ids_are_replaced_alike_in_call_and_result(model: str, format: Format) -> None:
    caps = capabilities_of(model, format)
    foreign = ["functions.search:0", "x" * 90, "编号", "call_\ud800"]
    messages = [user(), calls(*foreign), *(result(each) for each in foreign), user()]
    said = repaired_messages(*messages, format=format, caps=caps)
    sent_ids = [each.id for each in said[1].tool_calls]
    assert len(set(sent_ids)) == 4
    assert [each.call_id for message in said for each in message.tool_results] == sent_ids
    again = repaired_messages(*messages, user("more"), format=format, caps=caps)
    assert [each.id for each in again[1].tool_calls] == sent_ids


def test_the_function_call_of_old_gets_the_result_of_old() -> None:
    wires: list[dict[str, Json]] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "user", "content": "well?"},
    ]
    items = repair(items_of(from_openai(wires)), format="openai", caps=OPENAI).items
    assert to_openai([item.message for item in items])[2] == {
        "role": "function",
        "content": NO_RESULT,
        "name": "f",
    }
    assert sent(items, "openai", OPENAI) == []


# ── texts, thinking, parts ──────────────────────────────────────────────────────────────────


def test_an_empty_message_is_left_out_and_a_neighbour_stands_for_it() -> None:
    messages = [user(""), user("a"), Message.of("assistant", " "), user("b"), user("\n")]
    repaired = repair(items_of(messages), format="anthropic", caps=ANTHROPIC)
    assert [item.stands_for for item in repaired.items] == [("e0", "e1", "e2"), ("e3", "e4")]


def test_a_conversation_of_nothing_still_makes_a_request() -> None:
    for messages in ([], [user("")], [Message.of("system", "be kind")], [Message.of("system", "")]):
        said = repaired_messages(*messages)
        assert said[-1] == user(START)


def test_lone_surrogates_become_replacement_characters_everywhere() -> None:
    broken = ToolCall(id="a", name="search", arguments={"q\ud800": ["\udfff"]})
    escaped = ToolCall(id="b", name="search", arguments='{"q": "\\ud800"}')
    answered = [result("a", "x\ud800"), result("b")]
    for format in ("openai", "anthropic"):
        said = repaired_messages(
            user("a\udfffb 🙂"),
            Message(role="assistant", parts=(broken, escaped)),
            *answered,
            user("\ud83d\ude42"),
            format=format,
        )
        assert said[0].text == "a\ufffdb 🙂"
        assert said[1].tool_calls[0].arguments == {"q\ufffd": ["\ufffd"]}
        assert said[-1].text == "🙂"


def test_a_string_above_the_limit_is_shortened_and_says_so() -> None:
    caps = replace(OPENAI, max_string=200)
    long_call = ToolCall(id="a", name="search", arguments={"text": "长" * 500, "n": 1})
    messages = [
        user("汉字👨‍👩‍👧" * 200),
        Message(role="assistant", parts=(long_call,)),
        result("a", "x" * 300),
    ]
    repaired = repair(items_of(messages), format="openai", caps=caps)
    assert sent(repaired.items, "openai", caps) == []
    assert all(item.shortened for item in repaired.items)
    assert "left out" in repaired.items[0].message.text
    arguments = to_openai([item.message for item in repaired.items])[1]["tool_calls"][0]
    assert arguments["function"]["arguments"].startswith('{"text":"长')


def assistant(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, form="parts")


SIGNED = Thinking(text="hm", signature="EqQB")
REDACTED = Opaque(format="anthropic", data={"type": "redacted_thinking", "data": "Emw"})


def test_only_signed_thinking_is_sent_to_anthropic() -> None:
    unsigned = Thinking(text="hm", extra={"shape": "unsigned"})
    foreign = Thinking(text="hm", extra={"shape": "reasoning_content"})
    said = repaired_messages(user(), assistant(SIGNED, unsigned, foreign, Text(text="so")), user())
    assert said[1].parts == (SIGNED, Text(text="so"))


def test_strip_thinking_leaves_no_thinking_and_no_empty_message() -> None:
    messages = [
        user("a"),
        assistant(SIGNED, REDACTED, Text(text="so")),
        user("b"),
        assistant(SIGNED),
        user("c"),
    ]
    repaired = repair(items_of(messages), format="anthropic", caps=ANTHROPIC, strip_thinking=True)
    assert [item.message.parts for item in repaired.items] == [
        user("a").parts,
        (Text(text="so"),),
        user("b").parts,
        user("c").parts,
    ]
    assert repaired.items[2].stands_for == ("e2", "e3")


def test_an_open_turn_without_its_thinking_is_sent_without_asking_for_it() -> None:
    caps = replace(capabilities_of("claude-haiku-4-5", "anthropic"), thinking=True)
    lost = repair(items_of([user(), calls("a"), result("a")]), format="anthropic", caps=caps)
    assert lost.thinking_off
    kept = [user(), assistant(SIGNED, call("a")), result("a"), calls("b"), result("b")]
    assert not repair(items_of(kept), format="anthropic", caps=caps).thinking_off


def server_pair(number: int) -> tuple[Opaque, Opaque]:
    call_id = f"srvtoolu_{number}"
    return (
        Opaque(
            format="anthropic",
            data={"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}},
        ),
        Opaque(
            format="anthropic",
            data={"type": "web_search_tool_result", "tool_use_id": call_id, "content": []},
        ),
    )


def test_a_pair_of_a_server_tool_is_kept_and_a_half_of_one_is_not() -> None:
    first, second = server_pair(1), server_pair(2)
    said = repaired_messages(
        user(), assistant(*first, Text(text="so")), user(), assistant(second[1], Text(text="x")),
        assistant(second[0], Text(text="y")), user(),
    )  # fmt: skip
    assert said[1].parts == (*first, Text(text="so"))
    assert [message.parts for message in said[3:5]] == [(Text(text="x"),), (Text(text="y"),)]


def test_a_turn_the_provider_paused_is_sent_as_it_is() -> None:
    assert kinds(user(), assistant(Text(text="searching"), server_pair(1)[0])) == []


def test_a_turn_that_goes_on_after_a_pause_keeps_the_call_and_its_result() -> None:
    called, found = server_pair(1)
    first = assistant(Text(text="searching"), called)
    second = assistant(found, Text(text="so"))
    assert kinds(user(), first, second, user()) == []
    items = items_of([user(), first, second, user()])
    assert len(render(items, format="anthropic", caps=ANTHROPIC).messages[1]["content"]) == 4
    assert kinds(user(), first, user(), second, user()) == ["server_tool", "server_tool"]


def test_parts_of_the_other_format_are_named_to_the_user_side_and_dropped_on_the_other() -> None:
    audio = Opaque(format="openai", data={"type": "input_audio", "input_audio": {}})
    said = repaired_messages(
        Message(role="user", parts=(audio,)), assistant(audio, Text(text="I hear")), user()
    )
    assert "input_audio" in said[0].text
    assert said[1].parts == (Text(text="I hear"),)


def test_images_that_cannot_be_sent_are_named() -> None:
    huge = Image(media_type="image/png", data=png(9000, 20))
    odd = Image(media_type="image/tiff", data=png())
    good = Image(media_type="image/png", data=png())
    said = repaired_messages(Message(role="user", parts=(huge, odd, good), form="parts"))
    assert [isinstance(part, Image) for part in said[0].parts] == [False, False, True]


def test_the_oldest_images_go_first_when_there_are_too_many() -> None:
    caps = replace(ANTHROPIC, max_images=3)
    image = Image(media_type="image/png", data=png())
    said = repaired_messages(
        *[Message(role="user", parts=(image,), form="parts") for _ in range(5)], caps=caps
    )
    assert [isinstance(message.parts[0], Image) for message in said] == [False] * 2 + [True] * 3


def test_many_images_must_be_smaller() -> None:
    large = Image(media_type="image/png", data=png(3000, 30))
    small = Image(media_type="image/png", data=png(30, 30))
    few = repaired_messages(Message(role="user", parts=(large, small), form="parts"))
    assert all(isinstance(part, Image) for part in few[0].parts)
    many = repaired_messages(Message(role="user", parts=(large, *[small] * 20), form="parts"))
    assert [isinstance(part, Image) for part in many[0].parts] == [False] + [True] * 20


def test_images_of_a_tool_are_shown_behind_the_results_to_openai() -> None:
    pictured = ToolResult(
        call_id="a",
        content=(Text(text="see"), Image(media_type="image/png", data=png())),
        form="parts",
    )
    items = repair(
        items_of([user(), calls("a", "b"), Message(role="tool", parts=(pictured,)), result("b")]),
        format="openai",
        caps=OPENAI,
    ).items
    wires = render(items, format="openai", caps=OPENAI).messages
    assert [wire["role"] for wire in wires] == ["user", "assistant", "tool", "tool", "user"]
    assert wires[4]["content"][0]["type"] == "image_url"


# ── ends and order ──────────────────────────────────────────────────────────────────────────


def test_a_conversation_that_begins_with_the_assistant_gets_a_first_message() -> None:
    said = repaired_messages(Message.of("system", "s"), Message.of("assistant", "hi"), user())
    assert said[1] == user(START)


def test_a_last_word_of_the_assistant_is_followed_only_where_it_must_be() -> None:
    messages = (user(), Message.of("assistant", "so far: "))
    assert repaired_messages(*messages)[-1] == user(CONTINUE)
    old = capabilities_of("claude-haiku-4-5", "anthropic")
    assert repaired_messages(*messages, caps=old)[-1] == Message.of("assistant", "so far:")
    assert repaired_messages(*messages, format="openai") == list(messages)


def test_a_system_message_in_the_middle_keeps_its_place() -> None:
    messages = [Message.of("system", "first"), user(), Message.of("system", "from now on: short")]
    said = repaired_messages(*messages)
    assert [message.role for message in said] == ["system", "user", "user"]
    assert "from now on: short" in said[2].text
    assert repaired_messages(*messages, format="openai") == messages


def test_cache_marks_above_the_limit_are_taken_off_the_oldest_messages() -> None:
    def marked(role: str, text: str) -> Message:
        extra = {"anthropic": {"cache_control": {"type": "ephemeral"}}}
        return Message(role=role, parts=(Text(text=text, extra=extra),), form="parts")

    messages = [marked("system", "s"), *(marked("user", str(number)) for number in range(6))]
    said = repaired_messages(*messages)
    has_mark = [bool(message.parts[0].extra) for message in said]  # type: ignore[union-attr]
    assert has_mark == [True, False, False, False, True, True, True]


def test_neighbours_of_one_role_are_merged_when_they_are_sent() -> None:
    items = items_of([user("a"), user("b"), Message.of("assistant", "c"), user("d")])
    assert repair(items, format="anthropic", caps=ANTHROPIC).changes == ()
    wires = render(items, format="anthropic", caps=ANTHROPIC).messages
    assert wires == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


def test_a_change_names_the_entries_and_no_words() -> None:
    repaired = repair(
        items_of([user("secret"), result("nobody", "secret")]), format="anthropic", caps=ANTHROPIC
    )
    assert repaired.changes == (Change(kind="orphan_result", index=1, entries=("e1",)),)
    assert "secret" not in repr(repaired.changes)


def test_what_was_already_valid_reads_the_same_through_the_formats() -> None:
    items = items_of([user(), calls("a"), result("a"), Message.of("assistant", "so"), user()])
    messages = [item.message for item in items]
    assert render(items, format="openai", caps=OPENAI).messages == to_openai(messages)
    assert render(items, format="anthropic", caps=ANTHROPIC).messages == (
        to_anthropic(messages).messages
    )
