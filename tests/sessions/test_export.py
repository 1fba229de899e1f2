"""A page for people: everything is on it, and nothing on it can break out of its place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import markdown
from holdfast.sessions.export import to_markdown
from holdfast.types import Entry, Image, Message, Text, Thinking, ToolCall, ToolResult
from tests.scale import scaled

AT = datetime(2026, 3, 14, 23, 30, tzinfo=UTC)


def entry(number: int, message: Message, at: datetime = AT) -> Entry:
    return Entry(
        id=f"e{number}", parent=None, seq=number, at=at, type="message", data=message.to_json()
    )


def headings(page: str) -> list[str]:
    return [block.text for block in markdown.parse(page).blocks if block.kind == "heading"]


def test_a_page_has_a_heading_per_day_of_the_user_and_per_message() -> None:
    entries = [
        entry(1, Message.of("user", "late in London")),
        entry(2, Message.of("assistant", "early the next day"), AT + timedelta(hours=1)),
    ]
    there = to_markdown("trip", entries, zone=ZoneInfo("UTC"))
    assert [each.split(" · ")[0] for each in headings(there)] == [
        *("trip", "2026-03-14", "user", "2026-03-15", "assistant")
    ]
    here = to_markdown("trip", entries, zone=ZoneInfo("Asia/Shanghai"))
    assert [each.split(" · ")[0] for each in headings(here)] == [
        *("trip", "2026-03-15", "user", "assistant")
    ]


def test_every_kind_of_part_is_on_the_page() -> None:
    message = Message(
        role="assistant",
        parts=(
            Thinking(text="let me see"),
            Text(text="I will look."),
            ToolCall(id="c1", name="search", arguments={"q": "航班"}),
            ToolResult(call_id="c1", content=(Text(text="14:05"),), is_error=True),
            Image(media_type="image/png", data="AAAA"),
        ),
    )
    compaction = Entry(
        id="k1",
        parent=None,
        seq=2,
        at=AT,
        type="compaction",
        data={"summary": [{"text": "so far"}]},
    )
    page = to_markdown("s", [entry(1, message), compaction], zone=ZoneInfo("UTC"))
    for expected in (
        "let me see",
        "I will look.",
        "search",
        "航班",
        "14:05",
        "image/png",
        "so far",
    ):
        assert expected in page


HOSTILE = st.lists(
    st.sampled_from(
        [
            "# heading",
            "```",
            "~~~~",
            "- item",
            "> quote",
            "<script>",
            "---",
            "| a | b |",
            "words",
            "",
            "\t",
        ]
    ),
    max_size=8,
).map("\n".join)


@settings(max_examples=scaled(150))
@given(
    st.lists(st.tuples(st.sampled_from(["user", "# role", "assistant\n# x"]), HOSTILE), max_size=4)
)
def test_nothing_said_becomes_a_heading_of_the_page(said: list[tuple[str, str]]) -> None:
    entries = [entry(n, Message.of(role, text)) for n, (role, text) in enumerate(said)]
    tools = [
        entry(
            100 + n,
            Message(role="tool", parts=(ToolResult(call_id=text, content=(Text(text=text),)),)),
        )
        for n, (_, text) in enumerate(said)
    ]
    page = to_markdown("a # name", [*entries, *tools], zone=ZoneInfo("UTC"))
    assert len(headings(page)) == 1 + bool(said) + 2 * len(said)
