"""Calls of tools that are written as text, and what of such a text a person is shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.models.embedded.calls import Shown, calls_in
from tests.scale import scaled

NAMES = frozenset({"memory_retain", "memory_search"})
CALL = '{"name": "memory_retain", "arguments": {"text": "Tom is a cat. 汤姆是猫。"}}'
GIVEN = {"text": "Tom is a cat. 汤姆是猫。"}

WRITTEN = {
    "bare": CALL,
    "in marks": f"<tool_call>\n{CALL}\n</tool_call>",
    "in a block": f"```json\n{CALL}\n```",
    "in a nameless block": f"```\n{CALL}\n```",
    "with doubled brackets": "{" + CALL + "}",
    "in a list": f"[{CALL}]",
    "after a word": f"I will save this.\n\n```json\n{CALL}\n```",
    "as a function": json.dumps({"type": "function", "function": json.loads(CALL)}),
    "with its arguments as text": json.dumps(
        {"name": "memory_retain", "arguments": json.dumps(GIVEN)}
    ),
    "with parameters": CALL.replace("arguments", "parameters"),
    "over and over until it was cut": f"{CALL}\n{CALL}\n" * 3 + CALL[:40],
    "marked and cut": f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>\n{CALL[:30]}",
}

NO_CALLS = {
    "a tool that was not offered": CALL.replace("memory_retain", "shell"),
    "an answer that explains a call": f"You would write:\n{CALL}\nand then wait for the result.",
    "other JSON": '{"name": "Tom", "arguments": {"text": "x"}}',
    "a name alone": '{"name": "memory_retain"}',
    "arguments that are none": '{"name": "memory_retain", "arguments": "Tom"}',
    "prose": "memory_retain is a tool.",
    "nothing": "",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_call_that_is_written_as_text_is_a_call(text: str) -> None:
    (call,), before = calls_in(text, NAMES)
    assert (call.name, call.arguments) == ("memory_retain", GIVEN)
    assert before in ("", "I will save this.")


@pytest.mark.parametrize("text", NO_CALLS.values(), ids=NO_CALLS.keys())
def test_what_only_looks_like_a_call_stays_text(text: str) -> None:
    assert calls_in(text, NAMES) == ([], text)


def test_where_no_tools_are_offered_nothing_is_a_call() -> None:
    assert calls_in(CALL, frozenset()) == ([], CALL)


def test_calls_that_differ_are_all_kept_in_their_order_and_repeats_once() -> None:
    other = '{"name": "memory_search", "arguments": {"query": "cat"}}'
    calls, _ = calls_in(f"{CALL}\n{other}\n{CALL}", NAMES)
    assert [(call.id, call.name) for call in calls] == [
        ("call_1", "memory_retain"),
        ("call_2", "memory_search"),
    ]


PIECES = st.sampled_from(
    [
        *WRITTEN.values(),
        *NO_CALLS.values(),
        "```python\n{1: 2}\n```\n",
        "\n",
        "  {",
        "<",
        "`",
        "[1]\n",
    ]
) | st.text(max_size=12)


@settings(max_examples=scaled(100))
@given(pieces=st.lists(PIECES, max_size=8), cuts=st.integers(1, 9))
def test_what_is_shown_and_what_was_held_back_are_the_text(pieces: list[str], cuts: int) -> None:
    text = "".join(pieces)
    shown = Shown(NAMES)
    seen = "".join(shown.feed(text[at : at + cuts]) for at in range(0, len(text), cuts))
    assert text.startswith(seen)
    assert seen + shown.end() == text
    calls_in(text, NAMES)


@pytest.mark.parametrize(
    "how", ["bare", "in marks", "in a block", "in a nameless block", "in a list"]
)
def test_a_call_is_not_shown_while_it_is_written(how: str) -> None:
    shown = Shown(NAMES)
    text = f"Saving.\n{WRITTEN[how]}"
    assert "".join(map(shown.feed, text)).strip() == "Saving."


@pytest.mark.parametrize(
    "text",
    [
        "Here:\n```python\ndata = {\n  'name': 1}\n```\nThat is all.",
        "A list [1] and {a set} in a line, with `code` and <b>marks</b>.",
        "Hello there.",
        "```json\n" + "x" * 200,
    ],
)
def test_an_answer_with_code_is_shown_as_it_comes(text: str) -> None:
    shown = Shown(NAMES)
    seen = "".join(map(shown.feed, text))
    assert len(text) - len(seen) <= 12  # no more than what may become a mark


def test_without_tools_every_piece_is_shown_at_once() -> None:
    shown = Shown(frozenset())
    assert shown.feed("```") == "```"
    assert shown.feed(CALL) == CALL
    assert shown.end() == ""


def test_a_text_of_brackets_alone_is_read_in_bounded_time() -> None:
    assert calls_in("[{" * 200_000, NAMES)[0] == []
    shown = Shown(NAMES)
    for _ in range(200):
        shown.feed("\n{" * 100)
    assert shown.end() is not None
