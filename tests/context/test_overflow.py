"""Which errors mean that the window is full: and which sound like it and must not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.context.validity import classify, limit_in, silently_overflowed
from holdfast.context.validity.overflow import OVERFLOWS, Phrase
from holdfast.types import Usage
from tests.scale import scaled

RATE_LIMITS = [
    "429 Too Many Requests",
    "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, "
    "Used 28000, Requested 4000. Please try again in 4s.",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, "
    "Requested 41212. The input or output tokens must be reduced in order to run successfully.",
    "ThrottlingException: Too many tokens, please wait before trying again.",
    "Error: Too many requests; your prompt is too long to be served at this rate limit",
    "You exceeded your current quota, please check your plan and billing details.",
    "RESOURCE_EXHAUSTED: Quota exceeded for metric generate_content_free_tier_input_token_count",
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "Your credit balance is too low to access the Anthropic API.",
    "You have reached the concurrent request limit for this model",
    "insufficient_balance: insufficient balance",
    "rate_limit_exceeded: maximum context length is not the problem, RPM is",
    "请求过于频繁，请稍后再试",
    "已达到速率限制：每分钟 token 数超过上限",
    "The service is over capacity. Tokens per day limit reached.",
]

OTHERS = [
    "",
    "Internal server error",
    "Connection reset by peer",
    "Invalid API key provided",
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: t",
    "Unsupported parameter: 'max_tokens' is not supported with this model.",
    "max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens",
    "Invalid 'messages[2].tool_calls[0].id': string does not match the pattern",
    "messages: text content blocks must be non-empty",
    "The model `gpt-9` does not exist or you do not have access to it.",
    "The conversation must end with a user message.",
    "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "At least one of the image dimensions exceed max allowed size for many-image requests",
    "Your prompt was flagged by our content policy",
    "timeout of 600000ms exceeded",
    "Please set the context length in your config",
]


@pytest.mark.parametrize("phrase", OVERFLOWS, ids=lambda phrase: phrase.provider)
def test_each_provider_s_overflow_is_recognised(phrase: Phrase) -> None:
    assert classify(phrase.example) == "overflow"
    assert classify(f"400 Bad Request\n{phrase.example.upper()}") == "overflow" or (
        phrase.provider == "Cerebras"
    )


def test_the_table_knows_at_least_twenty_providers() -> None:
    assert len({phrase.provider.split(",")[0] for phrase in OVERFLOWS}) >= 20
    assert len({phrase.provider for phrase in OVERFLOWS}) == len(OVERFLOWS)


@pytest.mark.parametrize("text", RATE_LIMITS)
def test_a_rate_limit_is_never_taken_for_an_overflow(text: str) -> None:
    expected = "rate_limit" if text != "429 Too Many Requests" else classify(text, status=429)
    assert classify(text) == expected == "rate_limit"


@pytest.mark.parametrize("text", OTHERS)
def test_other_errors_are_neither(text: str) -> None:
    assert classify(text) == "other"


def test_status_and_code_decide_where_the_text_says_nothing() -> None:
    assert classify("", status=429) == "rate_limit"
    assert classify("", status=529) == "rate_limit"
    assert classify("", status=413) == "overflow"
    assert classify("", status=400) == "other"
    assert classify("", status=500, code="server_error") == "other"
    assert classify("Bad request", status=400, code="context_length_exceeded") == "overflow"
    assert classify("", code="rate_limit_exceeded") == "rate_limit"
    assert classify("prompt is too long: 9 tokens > 8 maximum", status=429) == "rate_limit"


LIMITS = {
    "prompt is too long: 213462 tokens > 200000 maximum": 200_000,
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000": 200_000,
    "This model's maximum context length is 8192 tokens. However, you requested 9000": 8192,
    "This endpoint's maximum context length is 65536 tokens. However, about 70112": 65_536,
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).": (
        1_048_575
    ),
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens": 131_072,
    "prompt token count of 95222 exceeds the limit of 90000": 90_000,
    "The input (132000 tokens) is longer than the model's context length (131072 tokens).": (
        131_072
    ),
    "The decoder prompt (length 40110) is longer than the maximum model length of 32768.": 32_768,
    "the request exceeds the available context size (8192 tokens)": 8192,
    "Your request exceeded model token limit: 262144 (requested: 300112)": 262_144,
    "Prompt contains 140321 tokens, too large for model with 131072 maximum context length": (
        131_072
    ),
    "Input tokens exceed the configured limit of 272,000 tokens.": 272_000,
    "Range of input length should be [1, 129024]": 129_024,
    "total number of tokens in the prompt cannot exceed 4081": 4081,
    "`inputs` must have less than 4096 tokens. Given: 5120": 4096,
    "请求的上下文长度超出模型最大限制 32768": 32_768,
}


@pytest.mark.parametrize(("text", "limit"), LIMITS.items())
def test_the_window_is_learnt_from_the_error(text: str, limit: int) -> None:
    assert limit_in(text) == limit
    assert classify(text) == "overflow"


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long",
        "Your input exceeds the context window of this model.",
        "maximum context length is 12 tokens",  # nobody's window
        "413 Request Entity Too Large",
        "context window exceeds limit (2013)",  # an error's number
        "",
    ],
)
def test_a_window_that_is_not_named_is_not_guessed(text: str) -> None:
    assert limit_in(text) is None


def test_an_answer_can_show_that_the_request_did_not_fit() -> None:
    assert silently_overflowed(Usage(input_tokens=9000, output_tokens=5), 8192, "stop")
    cached = Usage(input_tokens=10, cache_read_tokens=9000, output_tokens=5)
    assert silently_overflowed(cached, 8192, "stop")
    assert silently_overflowed(Usage(input_tokens=8190), 8192, "length")
    assert silently_overflowed(Usage(input_tokens=8190), 8192, "max_tokens")
    assert not silently_overflowed(Usage(input_tokens=8000, output_tokens=9), 8192, "length")
    assert not silently_overflowed(Usage(input_tokens=8000, output_tokens=9), 8192, "stop")
    assert not silently_overflowed(Usage(input_tokens=8000), 8192, "stop")
    assert not silently_overflowed(Usage(), 8192, "length")
    assert not silently_overflowed(Usage(input_tokens=8000), 8192, None)


@settings(max_examples=scaled(50))
@given(st.text(max_size=200), st.integers(1, 400))
def test_any_text_gets_an_answer_and_long_ones_are_read_in_part(text: str, times: int) -> None:
    long = text * times * 50
    assert classify(long) in ("overflow", "rate_limit", "other")
    limit_in(long)


def test_hostile_repetition_does_not_hold_anybody_up() -> None:
    for piece in ("input token count ", "maximum context length ", "1,111,", "输入", "400 "):
        text = piece * 200_000
        classify(text)
        limit_in(text)
