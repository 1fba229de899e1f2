"""What must never become a memory, and input of any size."""

from __future__ import annotations

import pytest

from holdfast.context.extract import extract, key_clauses
from holdfast.context.extract.heard import exchanges
from holdfast.types import Message
from tests.context.heard import call, heard, result, talk

FACT = "I adopted a dog named Rex in March."


@pytest.mark.parametrize(
    "recalled",
    [
        "<memory>\nI moved to Lisbon with Clara in May.\n</memory>",
        '<recalled source="s#1">\nI moved to Lisbon with Clara in May.\n</recalled>',
        "<system-reminder>I moved to Lisbon with Clara in May.</system-reminder>",
        '- W @user: I moved to Lisbon with Clara in May <!-- hf {"id":"m1"} -->',
        "> I moved to Lisbon with Clara in May.",
        "```\nI moved to Lisbon with Clara in May.\n```",
    ],
)
def test_what_came_out_of_memory_or_was_quoted_does_not_go_back_in(recalled: str) -> None:
    for text in (f"{recalled}\n{FACT}", f"{FACT}\n{recalled}"):
        written = " ".join(line.text for line in extract(talk(("user", text)), share=1.0).lines)
        assert "Rex" in written
        assert "Lisbon" not in written


def test_a_fence_that_is_never_closed_hides_the_rest() -> None:
    text = f"{FACT}\n<memory>\nI moved to Lisbon in May."
    written = " ".join(line.text for line in extract(talk(("user", text)), share=1.0).lines)
    assert "Rex" in written
    assert "Lisbon" not in written


def test_system_text_and_tool_output_are_not_speech() -> None:
    messages = heard(
        Message.of("system", "You must never reveal that I live in Lisbon."),
        call(1, "search", {"q": "x"}),
        result(1, "I moved to Lisbon with my sister Clara in May."),
        Message.of("user", FACT),
    )
    assert all("Lisbon" not in line.text for line in extract(messages, share=1.0).lines)


def test_of_a_long_tagged_request_only_the_request_is_read() -> None:
    rules = "You MUST always use the bash tool. Never use vi. " * 60
    text = (
        "<task>\nThe export drops the last page.\nNever change the page size.\n</task>\n"
        f"<instructions>\n{rules}\n</instructions>\n<critical>\nDo NOT commit.\n</critical>"
    )
    spoken = [
        turn.text for part in exchanges(talk(("user", text)), chinese=False) for turn in part.turns
    ]
    assert "page size" in spoken[0]
    assert "bash tool" not in spoken[0]
    assert "commit" not in spoken[0]


MEGABYTE = 1_000_000
HOSTILE = {
    "letters": "a" * MEGABYTE,
    "dots": "a." * (MEGABYTE // 2),
    "slashes": "/a" * (MEGABYTE // 2),
    "quotes": '"x ' * (MEGABYTE // 3),
    "brackets": "[" * MEGABYTE,
    "fences": "```\nx\n" * (MEGABYTE // 6),
    "tags": "<memory>" * (MEGABYTE // 8),
    "comments": "x <!-- hf " * (MEGABYTE // 10),
    "at": "a@" * (MEGABYTE // 2),
    "commas": "I, " * (MEGABYTE // 3),
    "dashes": " - " * (MEGABYTE // 3),
    "lines": "\n" * MEGABYTE,
    "chinese": "我叔叔的生日是9月13号，不是吗" * (MEGABYTE // 16),
    "denials": "不是" * (MEGABYTE // 2),
    "diff": "+++ b/a/b.py\n" * (MEGABYTE // 13),
    "passed": "1 passed, " * (MEGABYTE // 10),
    "rules": "Never push to main. " * (MEGABYTE // 20),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
@pytest.mark.timeout(60)
def test_a_megabyte_of_anything_is_read_in_bounded_work(name: str) -> None:
    text = HOSTILE[name]
    messages = heard(
        Message.of("user", text),
        call(1, "bash", {"command": text}),
        result(1, text),
        Message.of("assistant", text),
        Message.of("user", FACT),
    )
    found = extract(messages)
    assert found.read == ("e0", "e1", "e2", "e3", "e4")
    assert len(found.lines) <= 40
    assert len(key_clauses(messages, 3)) <= 3
    assert any("Rex" in line.text for line in extract(messages, share=0.5).lines)


def test_odd_tools_do_no_harm() -> None:
    messages = heard(
        call(1, "bash", {"command": ["git", "diff"]}),
        result(1, "", is_error=True),
        call(2, "edit", {"path": 3, "command": None}),
        result(7, "nobody asked"),
        call(3, "cancel_order", {}),
    )
    assert extract(messages).read == ("e0", "e1", "e2", "e3", "e4")
