"""The shared words: messages survive storage, citations survive text, views are sequences."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.types import (
    GENESIS,
    Citation,
    Entry,
    Form,
    Image,
    Json,
    LineSpan,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    View,
    ViewItem,
)
from tests.foundation.provider_messages import texts, values
from tests.scale import scaled

objects = st.dictionaries(texts, values, max_size=3)
extras: st.SearchStrategy[dict[str, Json]] = st.just({}) | objects
forms = st.sampled_from(["text", "parts", "null", "absent"])
optional_texts = st.none() | texts

opaque_parts = st.builds(
    Opaque, format=st.sampled_from(["openai", "anthropic", "openai tool_call"]), data=objects
)

newer_parts = st.builds(
    lambda data: Opaque(format="holdfast", data={**data, "type": "hologram"}), objects
)

flat_parts: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, text=texts, extra=extras),
    st.builds(Text, text=texts),
    st.builds(
        Image, media_type=optional_texts, data=optional_texts, url=optional_texts, extra=extras
    ),
    st.builds(ToolCall, id=texts, name=texts, arguments=texts | objects, extra=extras),
    st.builds(Thinking, text=texts, signature=optional_texts, extra=extras),
    opaque_parts,
    newer_parts,
)

results = st.builds(
    ToolResult,
    call_id=texts,
    content=st.lists(flat_parts, max_size=3).map(tuple),
    form=forms,
    is_error=st.none() | st.booleans(),
    extra=extras,
)

messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool", "critic"]),
    parts=st.lists(flat_parts | results, max_size=3).map(tuple),
    form=forms,
    extra=extras,
)


# ── messages ────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(120))
@given(messages)
def test_every_message_is_the_same_after_being_stored(message: Message) -> None:
    assert Message.from_json(message.to_json()) == message


@settings(max_examples=scaled(120))
@given(messages)
def test_every_message_is_the_same_after_being_written_as_json(message: Message) -> None:
    written = json.dumps(message.to_json(), ensure_ascii=False)
    read = Message.from_json(json.loads(written))
    assert read == message
    assert json.dumps(read.to_json(), ensure_ascii=False) == written


def test_the_usual_message_is_stored_short() -> None:
    assert Message.of("user", "hi").to_json() == {"role": "user", "text": "hi"}
    assert Message.from_json({"role": "user", "text": "hi"}) == Message.of("user", "hi")


def test_a_part_of_a_newer_version_is_stored_again_as_it_was() -> None:
    stored: dict[str, Json] = {"role": "user", "parts": [{"type": "hologram", "depth": [1, 2]}]}
    message = Message.from_json(stored)
    assert message.parts == (Opaque(format="holdfast", data=stored["parts"][0]),)
    assert message.to_json() == stored


@pytest.mark.parametrize("form", ["text", "parts", "null", "absent"])
def test_the_form_of_the_content_is_kept_even_when_there_is_none(form: Form) -> None:
    message = Message(role="assistant", form=form)
    assert Message.from_json(message.to_json()).form == form


def test_the_text_of_a_message_is_what_a_person_would_read() -> None:
    message = Message(
        role="user",
        parts=(
            ToolResult(call_id="c", content=(Text(text="22 °"), Text(text="C"))),
            Thinking(text="hidden"),
            Text(text=""),
            Text(text="thanks"),
        ),
    )
    assert message.text == "22 °C\nthanks"


def test_calls_and_results_are_found_in_their_order() -> None:
    first, second = (ToolCall(id=id, name="f", arguments="{}") for id in ("a", "b"))
    result = ToolResult(call_id="a")
    message = Message(role="assistant", parts=(first, Text(text="x"), result, second))
    assert message.tool_calls == (first, second)
    assert message.tool_results == (result,)


def test_messages_and_parts_cannot_be_changed() -> None:
    message = Message.of("user", "hi")
    with pytest.raises(FrozenInstanceError):
        message.role = "assistant"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        message.parts[0].text = "ho"  # type: ignore[misc, union-attr]


# ── usage, entries, views ───────────────────────────────────────────────────────────────────


def test_cached_tokens_fill_the_window_and_the_answer_does_not() -> None:
    usage = Usage(input_tokens=1, output_tokens=10, cache_read_tokens=100, cache_write_tokens=1000)
    assert usage.context_tokens == 1101


def entry(type: str, data: dict[str, Json]) -> Entry:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return Entry(id="e1", parent=None, seq=1, at=at, type=type, data=data)


def test_an_entry_shows_the_message_it_holds() -> None:
    message = Message.of("user", "hi")
    assert entry("message", message.to_json()).message == message
    assert entry("recall", {"message": message.to_json()}).message == message


def test_an_entry_without_a_message_shows_none() -> None:
    assert entry("marker", {}).message is None
    assert entry("flush", {"state": "flushed"}).message is None


def test_a_view_is_the_sequence_of_its_messages() -> None:
    said = [Message.of("user", text) for text in ("a", "b", "c")]
    view = View(items=tuple(ViewItem(message=m, stands_for=(m.text,)) for m in said))
    assert view.cycle == GENESIS
    assert (list(view), view.messages, len(view)) == (said, said, 3)
    assert (view[1], view[-1], view[1:]) == (said[1], said[2], said[1:])
    assert said[1] in view


# ── citations ───────────────────────────────────────────────────────────────────────────────

sources = st.text(st.characters(exclude_characters="#"), min_size=1, max_size=20)
spans = st.builds(
    lambda start, more: LineSpan(start=start, end=start + more), st.integers(1), st.integers(0, 9)
)


@given(sources, spans)
def test_every_citation_of_lines_can_be_read_back(source: str, span: LineSpan) -> None:
    citation = Citation(source=source, span=span)
    assert Citation.parse(str(citation)) == citation


@given(st.text("abcdef0123456789-", min_size=1), st.text("0123456789ABCDEFGHJKMN", min_size=26))
def test_every_citation_of_an_entry_can_be_read_back(session: str, entry_id: str) -> None:
    citation = Citation(source=session, entry=entry_id)
    assert Citation.parse(str(citation)) == citation


def test_citations_are_written_for_people() -> None:
    assert str(Citation(source="a.md", span=LineSpan(start=3, end=3))) == "a.md#L3"
    assert str(Citation(source="a.md", span=LineSpan(start=3, end=5))) == "a.md#L3-L5"
    assert str(Citation(source="s1", entry="e9")) == "s1#e9"


@pytest.mark.parametrize("text", ["", "a.md", "#L3", "a.md#", "a.md#has space", "a#b#L3 "])
def test_what_is_not_a_citation_is_not_taken_for_one(text: str) -> None:
    assert Citation.parse(text) is None
