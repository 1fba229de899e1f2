"""What is known about a model from its name, and what is assumed when nothing is."""

from __future__ import annotations

import re

import pytest

from holdfast.context.validity import Format, capabilities_of


@pytest.mark.parametrize(
    ("model", "prefill", "bound"),
    [
        ("claude-haiku-4-5", True, False),
        ("claude-haiku-4-5-20251001", True, False),
        ("claude-sonnet-4-5-20250929", True, False),
        ("claude-opus-4-20250514", True, False),
        ("claude-opus-4-1@20250805", True, False),
        ("claude-3-5-sonnet-20241022", True, False),
        ("claude-2.1", True, False),
        ("claude-instant-1.2", True, False),
        ("claude-sonnet-4-6", False, False),
        ("claude-opus-4-6", False, False),
        ("anthropic/claude-opus-4.6", False, False),
        ("us.anthropic.claude-opus-4-6-v1:0", False, False),
        ("Claude-Opus-5", False, False),
        ("claude-fable-5-1", False, True),
        ("claude-fable-5.2-20261001", False, True),
        ("claude-opus-6", False, True),
        ("some-proxy-name", False, True),
        (None, False, True),
    ],
)
def test_prefill_and_bound_thinking_follow_the_version(
    model: str | None, prefill: bool, bound: bool
) -> None:
    caps = capabilities_of(model, "anthropic")
    assert (caps.prefill, caps.thinking_bound) == (prefill, bound)


@pytest.mark.parametrize(
    ("model", "format", "fits", "does_not"),
    [
        (None, "anthropic", "toolu_01-A", "call.1"),
        ("gpt-4o", "openai", "functions.search:0", ""),
        ("mistral-large-latest", "openai", "abcDEF123", "call_1"),
        ("anthropic/claude-opus-4.6", "openai", "toolu_1", "functions.search:0"),
        ("kimi-k2", "openai", "functions.search:0", ""),
    ],
)
def test_the_pattern_of_ids_is_the_server_s(
    model: str | None, format: Format, fits: str, does_not: str
) -> None:
    pattern = capabilities_of(model, format).id_pattern
    assert re.fullmatch(pattern, fits)
    assert not re.fullmatch(pattern, does_not)


@pytest.mark.parametrize(
    ("model", "arguments", "typed"),
    [
        ("gpt-4.1-mini", "text", True),
        ("openai/o3", "text", True),
        ("o4-mini", "text", True),
        ("qwen3-coder", "object", False),
        ("codestral-2508", "object", False),
        ("some-local-model", "any", False),
        (None, "any", False),
    ],
)
def test_arguments_are_as_strict_as_the_server(
    model: str | None, arguments: str, typed: bool
) -> None:
    caps = capabilities_of(model, "openai")
    assert (caps.arguments, caps.typed_calls) == (arguments, typed)


def test_templates_that_insist_on_alternation_are_known() -> None:
    assert capabilities_of("google/gemma-3-27b-it", "openai").strict_alternation
    assert capabilities_of("sonar-pro", "openai").user_first
    assert not capabilities_of("gpt-4o", "openai").strict_alternation
    assert capabilities_of("anything", "anthropic").strict_alternation


def test_a_name_as_long_as_a_book_is_only_a_name() -> None:
    assert capabilities_of("claude-" * 100_000, "anthropic") == capabilities_of(None, "anthropic")
