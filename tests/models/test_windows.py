"""Windows by the names of models, however they are spelled."""

from __future__ import annotations

import pytest

from holdfast.models.windows import window_of


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-4.1-mini", 1_047_576),
        ("GPT-5", 400_000),
        ("gpt-3.5-turbo", 16_385),
        ("o3", 200_000),
        ("o1-mini", 128_000),
        ("claude-sonnet-4-5", 200_000),
        ("anthropic:claude-sonnet-5-5", 1_000_000),
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("claude-opus-4-5-20251101", 200_000),
        ("openai:gpt-5.4-mini", 400_000),
        ("gpt-6.1-terra", 1_000_000),
        ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000),
        ("gemini-2.5-pro", 1_048_576),
        ("meta-llama/Llama-3.1-8B-Instruct", 128_000),
        ("llama3", 8_192),
        ("Qwen2.5-Coder-1.5B-Instruct", 32_768),
        ("somebody-else-7b", None),
        ("", None),
    ],
)
def test_a_window_is_found_by_name_or_not_at_all(name: str, window: int | None) -> None:
    assert window_of(name) == window
