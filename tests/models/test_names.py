"""Names of models: whose they are, and how they are spoken to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models.names import format_of, split_name


@pytest.mark.parametrize(
    ("name", "provider", "model", "format"),
    [
        ("anthropic:claude-sonnet-5", "anthropic", "claude-sonnet-5", "anthropic"),
        ("claude-opus-4-5", None, "claude-opus-4-5", "anthropic"),
        ("Claude-3", None, "Claude-3", "anthropic"),
        ("openai:gpt-5", "openai", "gpt-5", "openai"),
        ("gpt-5", None, "gpt-5", "openai"),
        (
            "openrouter:anthropic/claude-sonnet-5",
            "openrouter",
            "anthropic/claude-sonnet-5",
            "openai",
        ),
        ("ollama:qwen2.5:7b", "ollama", "qwen2.5:7b", "openai"),
        ("qwen2.5:7b", None, "qwen2.5:7b", "openai"),
        ("llama3.2:latest", None, "llama3.2:latest", "openai"),
        ("ft:gpt-4o:acme::1", None, "ft:gpt-4o:acme::1", "openai"),
        ("anthropic:", None, "anthropic:", "openai"),
        (":x", None, ":x", "openai"),
        ("", None, "", "openai"),
        (None, None, None, "openai"),
        ("通义千问:72b", None, "通义千问:72b", "openai"),
    ],
)
def test_a_name_says_whose_it_is(
    name: str | None, provider: str | None, model: str | None, format: str
) -> None:
    assert split_name(name) == (provider, model)
    assert format_of(name) == format


@given(st.text())
def test_no_part_of_a_name_is_lost(name: str) -> None:
    provider, model = split_name(name)
    assert (f"{provider}:{model}" if provider else model) == name
    assert format_of(name) in ("openai", "anthropic")
