"""A conversation becomes chunks entry by entry: what was said, by whom, and nothing else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.fencing import Quoted, fence
from holdfast.formats import from_anthropic, from_openai
from holdfast.scope import Place
from holdfast.search.chunking import chunk_entries, entry_text
from holdfast.search.documents import Chunk, Document
from holdfast.types import (
    Entry,
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.scale import scaled

START = datetime(2026, 3, 4, 9, tzinfo=UTC)
SESSION = Document(
    key="sessions/s1", source="session", place=Place(tenant="local", agent="main"), title="Trip"
)


def entry(message: Message, number: int = 0) -> Entry:
    return raw_entry(message.to_json(), number)


def raw_entry(data: dict[str, Json], number: int = 0, kind: str = "message") -> Entry:
    return Entry(
        id=f"e{number}",
        parent=None,
        seq=number,
        at=START + timedelta(minutes=number),
        type=kind,
        data=data,
    )


def chunked(*messages: Message) -> list[Chunk]:
    return chunk_entries(SESSION, [entry(message, n) for n, message in enumerate(messages)])


def of(role: str, *parts: Part) -> list[Chunk]:
    return chunked(Message(role=role, parts=parts))


# ── who said what ───────────────────────────────────────────────────────────────────────────


def test_a_message_is_one_chunk_with_its_speaker_time_and_entry() -> None:
    one, two = chunked(Message.of("user", "I like tea."), Message.of("assistant", "Noted."))
    assert (one.kind, one.text, one.speaker, one.trust) == ("turn", "I like tea.", "user", "user")
    assert (one.entry, one.part, one.at, one.context) == ("e0", 0, START, "")
    assert (two.speaker, two.trust, two.entry) == ("assistant", "agent", "e1")
    assert one.importance > two.importance


def test_a_name_given_with_a_message_is_the_speaker() -> None:
    named = from_openai([{"role": "user", "name": "Alice", "content": "hi there"}])
    plain = Message(role="user", parts=(Text(text="hi there"),), extra={"name": " 爱丽丝\n"})
    hidden = Message(role="user", parts=(Text(text="hi there"),), extra={"name": "\u200b"})
    assert [c.speaker for c in chunked(*named, plain, hidden)] == ["Alice", "爱丽丝", "user"]


def test_a_tool_result_is_the_tools_word_whoever_carries_it() -> None:
    openai = from_openai(
        [
            {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "rain in Oslo"},
            {"role": "tool", "tool_call_id": "c2", "content": "sun in Rome"},
        ]
    )
    anthropic = from_anthropic(
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c3", "content": "snow in Kiruna"},
                    {"type": "text", "text": "and I packed gloves"},
                ],
            }
        ]
    )
    found = chunked(*openai, *anthropic)
    assert [(c.kind, c.trust, c.speaker, c.text) for c in found] == [
        ("tool", "tool", "weather", "rain in Oslo"),
        ("tool", "tool", "tool", "sun in Rome"),
        ("turn", "user", "user", "and I packed gloves"),
        ("tool", "tool", "tool", "snow in Kiruna"),
    ]
    assert [c.part for c in found] == [0, 0, 0, 1]


def test_calls_are_part_of_the_turn_and_bounded() -> None:
    call = ToolCall(id="c", name="book_flight", arguments='{"to": "Lisbon", "seats": 2, "x": null}')
    (found,) = of("assistant", Text(text="Booking it."), call)
    assert found.text == "Booking it.\nbook_flight: to=Lisbon, seats=2"
    nested = ToolCall(
        id="c", name="edit", arguments={"edits": [{"path": "a.py"}, {"path": "b.py"}]}
    )
    assert of("assistant", nested)[0].text == "edit: path=a.py, path=b.py"
    odd = ToolCall(id="c", name="run", arguments="not json {")
    assert of("assistant", odd)[0].text == "run: not json {"
    long = ToolCall(id="c", name="write", arguments={"text": "很长 " * 5_000, "n": 10**5_000})
    (bounded,) = of("assistant", Text(text="ok"), *[long] * 5)
    assert len(bounded.text) <= 510


# ── what is left out ────────────────────────────────────────────────────────────────────────


def test_thoughts_pictures_and_what_we_do_not_understand_are_not_indexed() -> None:
    parts = (
        Thinking(text="secretly"),
        Image(url="https://example.org/cat.png"),
        Opaque(format="x", data={"text": "opaque"}),
    )
    assert of("assistant", *parts) == []
    assert [c.text for c in of("user", *parts, Text(text="shown"))] == ["shown"]


@pytest.mark.parametrize(
    "kind", ["recall", "flush", "prune", "compaction", "marker", "session", "x"]
)
def test_only_messages_are_indexed(kind: str) -> None:
    stored = {"message": Message.of("user", "summary of it all").to_json(), "role": "user"}
    assert chunk_entries(SESSION, [raw_entry(stored, kind=kind)]) == []
    assert entry_text(raw_entry(stored, kind=kind)) is None


@pytest.mark.parametrize("role", ["system", "developer"])
def test_what_the_system_says_is_not_indexed(role: str) -> None:
    assert chunked(Message.of(role, "You are helpful.")) == []


def test_recalled_text_is_never_indexed_again() -> None:
    quoted = fence([Quoted(text="likes tea", citation="MEMORY.md#L3")], nonce="3f9c3f9c")
    assert [c.text for c in chunked(Message.of("user", f"{quoted}\nWhat do I like?"))] == [
        "What do I like?"
    ]
    assert chunked(Message.of("user", quoted)) == []
    result = ToolResult(call_id="c", content=(Text(text=f"found: {quoted}"),))
    assert [c.text for c in of("tool", result)] == ["found:"]
    cut_off = quoted.rsplit("\n", 1)[0]
    call = ToolCall(id="c", name="look", arguments={"at": "Rome"})
    assert [c.text for c in of("assistant", Text(text=f"so {cut_off}"), call)] == [
        "so \nlook: at=Rome"
    ]


def test_credentials_are_in_no_chunk() -> None:
    token = "ghp_" + "a1B2" * 9
    call = ToolCall(id="c", name="login", arguments={"token": token, "password": "hunter2-long"})
    found = of("assistant", Text(text=f"my token is {token}"), call)
    found += of("tool", ToolResult(call_id="c", content=(Text(text=f"TOKEN={token}"),)))
    assert len(found) == 2
    assert all(token not in c.text and "hunter2" not in c.text for c in found)


# ── long ones ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sentence", ["The ferry leaves at nine. ", "渡轮早上九点出发。"])
def test_a_long_message_is_cut_at_sentences_and_paragraphs(sentence: str) -> None:
    found = chunked(Message.of("user", "\n\n".join([sentence * 30] * 5)))
    assert [c.part for c in found] == list(range(len(found)))
    assert len(found) > 1
    assert all(len(c.text) <= 1_200 and c.text.endswith(sentence.strip()[-1]) for c in found)
    assert sum(c.text.count(sentence.strip()) for c in found) == 150


def test_a_long_result_is_cut_at_lines() -> None:
    lines = [f"row {n}: {'v' * (n % 90)}. done" for n in range(300)]
    found = of("tool", ToolResult(call_id="c", content=(Text(text="\r\n".join(lines)),)))
    assert all(len(c.text) <= 2_000 for c in found)
    assert [line for c in found for line in c.text.split("\n")] == lines


# ── any entries ─────────────────────────────────────────────────────────────────────────────

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["tea. ", "茶。", "word "]).flatmap(
        lambda word: st.integers(1, 500).map(lambda n: word * n)
    ),
    st.sampled_from(
        ["⟦recalled:3f9c3f9c⟧ x", "⟦/recalled:3f9c3f9c⟧", "\ud800", "a\r\nb\rc", "\x00"]
    ),
)
PARTS = st.one_of(
    st.builds(Text, text=TEXTS),
    st.builds(Thinking, text=TEXTS),
    st.builds(
        ToolCall,
        id=st.just("c"),
        name=TEXTS,
        arguments=st.one_of(
            TEXTS,
            st.dictionaries(
                TEXTS, st.recursive(TEXTS | st.integers() | st.floats() | st.none(), st.lists)
            ),
        ),
    ),
    st.builds(
        ToolResult,
        call_id=st.just("c"),
        content=st.lists(st.builds(Text, text=TEXTS), max_size=2).map(tuple),
    ),
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system", "other"]),
    parts=st.lists(PARTS, max_size=4).map(tuple),
    extra=st.sampled_from(
        [{}, {"name": "Al"}, {"openai": {"name": "Bo"}}, {"openai": {"name": 3}}]
    ),
)


@settings(max_examples=scaled(50))
@given(messages=st.lists(MESSAGES, max_size=5), at=st.integers(0, 5))
def test_chunked_as_it_grows_is_the_same_as_chunked_at_once(
    messages: Sequence[Message], at: int
) -> None:
    entries = [entry(message, n) for n, message in enumerate(messages)]
    together = chunk_entries(SESSION, entries)
    first = chunk_entries(SESSION, entries[:at])
    assert first + chunk_entries(SESSION, entries[at:]) == together
    assert first + chunk_entries(SESSION, entries, start=at) == together
    assert len({chunk.id for chunk in together}) == len(together)
    for chunk in together:
        chunk.text.encode("utf-8")
        assert chunk.text.strip()
        whole = entry_text(entries[int((chunk.entry or "e0")[1:])])
        assert whole is not None
        assert chunk.text in whole


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"role": None, "text": "x"},
        {"role": "user", "text": None},
        {"role": "user", "text": 3},
        {"role": "user", "parts": 3},
        {"role": "user", "parts": [{"type": "text"}]},
        {"role": "user", "parts": [{"type": "tool_call", "id": 1, "name": None, "arguments": 1}]},
        {"role": "user", "text": "x", "extra": [1]},
        {"role": "user", "text": "x", "extra": {"openai": None}},
        {
            "role": "user",
            "parts": [{"type": "tool_result", "call_id": "c", "content": [{"type": 1}]}],
        },
    ],
)
def test_an_entry_that_is_not_as_it_should_be_stops_nobody(data: dict[str, Json]) -> None:
    good = entry(Message.of("user", "found all the same"), 1)
    assert chunk_entries(SESSION, [raw_entry(data), good])[-1].text == "found all the same"


def test_a_message_of_megabytes_is_cut_in_one_go() -> None:
    found = chunked(Message.of("user", "x" * 1_000_000), Message.of("tool", "行\n" * 300_000))
    assert len(found) < 2_000
    assert max(len(c.text) for c in found) <= 2_000


@pytest.mark.data
def test_of_real_conversations_every_word_said_is_in_a_chunk(data_dir: Path) -> None:
    with gzip.open(
        data_dir / "transcripts" / "tau-airline.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        conversations = [json.loads(line) for line, _ in zip(file, range(scaled(10)), strict=False)]
    for conversation in conversations:
        messages = from_openai(conversation["messages"])
        entries = [entry(message, n) for n, message in enumerate(messages)]
        by_entry: dict[str, str] = {}
        for chunk in chunk_entries(SESSION, entries):
            by_entry[chunk.entry or ""] = f"{by_entry.get(chunk.entry or '', '')} {chunk.text}"
        for each, message in zip(entries, messages, strict=True):
            if message.role in ("user", "assistant"):
                said = set(message.text.split())
                assert said <= set(by_entry.get(each.id, "").split())
