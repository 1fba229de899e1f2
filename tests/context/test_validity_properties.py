"""Repair, on generated conversations: valid, idempotent, stable, nothing lost, nothing in vain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from holdfast.context.validity import (
    Capabilities,
    Format,
    Rendered,
    Repaired,
    Violation,
    capabilities_of,
    render,
    repair,
    validate,
)
from holdfast.context.validity.messages import is_paused
from holdfast.context.validity.target import CONTINUE, START
from holdfast.errors import InvalidMessage
from holdfast.formats import (
    from_anthropic,
    from_openai,
    left_out_anthropic,
    left_out_openai,
)
from holdfast.types import Json, Message, Text, Thinking, ViewItem
from tests.context.messy import clean_messages, items_of, messy_entries, messy_messages
from tests.foundation.provider_messages import (
    anthropic_messages,
    anthropic_systems,
    openai_messages,
)
from tests.scale import scaled

OPENAI = capabilities_of(None, "openai")
ANTHROPIC = capabilities_of(None, "anthropic")

TARGETS: list[tuple[Format, Capabilities]] = [
    ("openai", OPENAI),
    ("openai", capabilities_of("gpt-4o", "openai")),
    ("openai", capabilities_of("mistral-large-latest", "openai")),
    ("openai", capabilities_of("gemma-3-27b", "openai")),
    ("openai", capabilities_of("gemini-2.5-pro", "openai")),
    ("openai", capabilities_of("anthropic/claude-sonnet-4.5", "openai")),
    ("openai", replace(OPENAI, max_string=150, max_images=2, name_length=12)),
    ("anthropic", ANTHROPIC),
    ("anthropic", capabilities_of("claude-haiku-4-5", "anthropic")),
    ("anthropic", replace(capabilities_of("claude-opus-4-1", "anthropic"), thinking=True)),
    ("anthropic", replace(ANTHROPIC, max_images=2, cache_marks=1)),
]


def sent(
    items: Sequence[ViewItem], format: Format, caps: Capabilities
) -> tuple[Rendered, list[Violation]]:
    rendered = render(items, format=format, caps=caps)
    return rendered, validate(format, rendered.messages, system=rendered.system, caps=caps)


def check_all(messages: Sequence[Message], format: Format, caps: Capabilities) -> Repaired:
    """Every promise that can be checked on one conversation."""
    items = items_of(messages)
    repaired = repair(items, format=format, caps=caps)
    if repaired.thinking_off:
        caps = replace(caps, thinking=False)
    assert sent(repaired.items, format, caps)[1] == []

    again = repair(repaired.items, format=format, caps=caps)
    assert again.changes == ()
    assert [id(item) for item in again.items] == [id(item) for item in repaired.items]

    before = {entry for item in items for entry in item.stands_for}
    after = {entry for item in repaired.items for entry in item.stands_for}
    assert before <= after
    return repaired


targets = st.sampled_from(TARGETS)


# ── generated conversations ─────────────────────────────────────────────────────────────────


@settings(max_examples=scaled(250))
@given(messy_entries(), targets, st.booleans())
def test_any_conversation_is_valid_after_repair_and_keeps_its_entries(
    messages: list[Message], target: tuple[Format, Capabilities], strip: bool
) -> None:
    format, caps = target
    check_all(messages, format, caps)
    repaired = repair(items_of(messages), format=format, caps=caps, strip_thinking=strip)
    caps = replace(caps, thinking=False) if repaired.thinking_off else caps
    assert sent(repaired.items, format, caps)[1] == []
    if strip:
        parts = [part for item in repaired.items for part in item.message.parts]
        assert not any(isinstance(part, Thinking) for part in parts)
        assert not any("redacted_thinking" in str(part) for part in parts)


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_many_long_conversations_are_valid_after_repair(format: Format) -> None:
    for seed in range(scaled(250)):
        own = [target for target in TARGETS if target[0] == format]
        check_all(messy_messages(seed, 10 + seed % 60), *own[seed % len(own)])


@settings(max_examples=scaled(250))
@given(st.lists(openai_messages, max_size=6), targets)
def test_whatever_an_openai_client_wrote_is_valid_after_repair(
    wires: list[dict[str, Json]], target: tuple[Format, Capabilities]
) -> None:
    try:
        messages = from_openai(wires)
    except InvalidMessage:
        reject()
    check_all(messages, *target)


@settings(max_examples=scaled(250))
@given(st.lists(anthropic_messages, max_size=6), anthropic_systems, targets)
def test_whatever_an_anthropic_client_wrote_is_valid_after_repair(
    wires: list[dict[str, Json]], system: Json, target: tuple[Format, Capabilities]
) -> None:
    try:
        messages = from_anthropic(wires, system)
    except InvalidMessage:
        reject()
    check_all(messages, *target)


def is_regular(messages: Sequence[Message], format: Format) -> bool:
    """Whether the formats show these messages whole and in their order, with nothing to guess."""
    left_out = left_out_openai if format == "openai" else left_out_anthropic
    if any(each.what != "is_error" for each in left_out(messages)):
        return False
    roles = [message.role for message in messages]
    is_system = [role in ("system", "developer") for role in roles]
    if format == "anthropic" and is_system != sorted(is_system, reverse=True):
        return False
    return all(map(is_plain, messages)) and not any(
        before != "assistant" and not earlier.tool_results and later.tool_results
        for earlier, later, before in zip(messages, messages[1:], roles, strict=False)
    )


def is_plain(message: Message) -> bool:
    inner = [part for each in message.tool_results for part in each.content]
    texts = [part for part in (*message.parts, *inner) if isinstance(part, Text)]
    if message.extra or not message.parts or any(not part.text.strip() for part in texts):
        return False
    if not all(each.content for each in message.tool_results):
        return False
    if message.role in ("user", "tool"):
        return not message.tool_calls and (message.role == "user" or bool(message.tool_results))
    return not message.tool_results


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_what_is_valid_comes_back_as_the_same_objects(format: Format) -> None:
    untouched = 0
    for seed in range(scaled(150)):
        messages = clean_messages(seed, 2 + seed % 30)
        own = [target for target in TARGETS if target[0] == format]
        caps = own[seed % len(own)][1]
        items = items_of(messages)
        if not messages or not is_regular(messages, format) or sent(items, format, caps)[1]:
            continue
        repaired = repair(items, format=format, caps=caps)
        assert repaired.changes == ()
        assert [id(item) for item in repaired.items] == [id(item) for item in items]
        untouched += 1
    assert untouched >= scaled(150) // 8


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_messy_conversations_that_happen_to_be_valid_are_left_alone(format: Format) -> None:
    caps = OPENAI if format == "openai" else ANTHROPIC
    untouched = 0
    for seed in range(scaled(300)):
        items = items_of(messy_messages(seed, 1 + seed % 8))
        messages = [item.message for item in items]
        if is_regular(messages, format) and not sent(items, format, caps)[1]:
            assert repair(items, format=format, caps=caps).changes == ()
            untouched += 1
    assert untouched >= scaled(300) // 50


def settled(repaired: Repaired) -> list[Message]:
    """What must not change any more: all before the last group or the last message."""
    messages = [item.message for item in repaired.items]
    while messages and messages[-1].role != "assistant":
        messages.pop()
    return messages[:-1]


@settings(max_examples=scaled(250))
@given(messy_entries(20), targets, st.data())
def test_what_was_repaired_stays_when_the_conversation_goes_on(
    messages: list[Message], target: tuple[Format, Capabilities], data: st.DataObject
) -> None:
    format, caps = target
    caps = replace(caps, max_images=None, many_images=None, cache_marks=10_000)
    at = data.draw(st.integers(0, len(messages)))
    items = items_of(messages)
    short = settled(repair(items[:at], format=format, caps=caps))
    long = [item.message for item in repair(items, format=format, caps=caps).items]
    assert long[: len(short)] == short


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_what_was_sent_once_is_sent_the_same_ever_after(format: Format) -> None:
    caps = OPENAI if format == "openai" else ANTHROPIC
    caps = replace(caps, max_images=None, many_images=None, cache_marks=10_000)
    compared = 0
    for seed in range(scaled(40)):
        items = items_of(messy_messages(seed, 24))
        long = blocks_of(sent(repair(items, format=format, caps=caps).items, format, caps)[0])
        for at in range(1, len(items)):
            if not is_request(items[at].message):
                continue
            repaired = repair(items[:at], format=format, caps=caps).items
            if repaired[-1].message in (Message.of("user", START), Message.of("user", CONTINUE)):
                repaired = repaired[:-1]  # nobody had said anything, or nothing since
            if repaired and is_paused(repaired[-1].message):
                continue  # this answer would have gone on with the result
            short = blocks_of(sent(repaired, format, caps)[0])
            assert long[: len(short)] == short
            compared += 1
    assert compared > scaled(40)


def is_request(following: Message) -> bool:
    """Whether a request ended here: the model answered."""
    return following.role == "assistant"


def blocks_of(rendered: Rendered) -> list[Json]:
    """The request as a flat list, as a prompt cache sees it."""
    flat: list[Json] = []
    for message in rendered.messages:
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        flat += [(message["role"], block) for block in content or ()]
        flat += [(message["role"], call) for call in message.get("tool_calls", ())]
    return flat
