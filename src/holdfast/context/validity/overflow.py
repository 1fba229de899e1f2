"""Is this error the window's, and how large is the window? Answers from a table of texts.

Every provider says it differently, and some say a rate limit in nearly the same words. Taking
one for the other is costly both ways: a conversation compacted for nothing, or a session that
can never answer again. So what must *not* match is looked at first.

    overflow     the request has more tokens (or bytes) than the model takes: shrink and retry
    rate_limit   too much at this moment: wait and send the same again
    other        neither; do not touch the conversation

Promise: every row has its example in ``tests/context/test_overflow.py``, and patterns take
time linear in the text, of which only the first 20 000 characters are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.types import Usage

__all__ = ["OVERFLOWS", "Phrase", "Verdict", "classify", "limit_in", "silently_overflowed"]

Verdict = Literal["overflow", "rate_limit", "other"]

_READ: Final = 20_000


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words by which one provider says that a request does not fit."""

    provider: str
    pattern: str
    example: str


OVERFLOWS: Final = (
    Phrase(
        "Anthropic",
        r"prompt is too long",
        "prompt is too long: 213462 tokens > 200000 maximum",
    ),
    Phrase(
        "Anthropic, output included",
        r"input length and `?max_tokens`? exceed context limit",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
        "input length or `max_tokens` and try again",
    ),
    Phrase(
        "Anthropic, by bytes",
        r"request_too_large|request exceeds the maximum size",
        '413 {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the '
        'maximum size"}}',
    ),
    Phrase(
        "Amazon Bedrock",
        r"input is too long for requested model",
        "ValidationException: Input is too long for requested model.",
    ),
    Phrase(
        "OpenAI",
        r"maximum context length (?:is|of)\b",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "131072 tokens. Please reduce the length of the messages.",
    ),
    Phrase(
        "OpenAI, by code",
        r"context[_ ]length[_ ]exceeded",
        '{"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}',
    ),
    Phrase(
        "OpenAI Responses",
        r"exceeds? (?:the |this |your )?(?:model'?s? )?context window",
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
    ),
    Phrase(
        "OpenAI, by characters",
        r"string_above_max_length|string too long\. expected a string with maximum length",
        "Invalid 'messages[3].content': string too long. Expected a string with maximum length "
        "10485760, but got a string with length 12000000 instead.",
    ),
    Phrase(
        "Azure OpenAI",
        r"input tokens exceed the configured limit",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "301201 tokens.",
    ),
    Phrase(
        "Google Gemini",
        r"input token count[^\n]{0,80}exceeds the maximum",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    ),
    Phrase(
        "Google Vertex AI",
        r"(?:input|prompt)[^\n]{0,80}exceeds? the (?:model'?s )?(?:max|maximum) input token",
        "Unable to submit request because the input text exceeds the model's max input token limit",
    ),
    Phrase(
        "xAI",
        r"maximum prompt length is\b",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    ),
    Phrase(
        "Groq",
        r"reduce the length of the messages",
        "Please reduce the length of the messages or completion.",
    ),
    Phrase(
        "OpenRouter",
        r"endpoint'?s maximum context length",
        "This endpoint's maximum context length is 65536 tokens. However, you requested about "
        "70112 tokens (62016 of text input, 8096 in the output).",
    ),
    Phrase(
        "GitHub Copilot",
        r"prompt token count of \d{1,12} exceeds the limit of",
        "prompt token count of 95222 exceeds the limit of 90000",
    ),
    Phrase(
        "Together, SGLang",
        r"longer than the model'?s context length",
        "The input (132000 tokens) is longer than the model's context length (131072 tokens).",
    ),
    Phrase(
        "Together, input",
        r"maximum allowed input length|inputs tokens \+ max_new_tokens must be",
        "Requested token count exceeds the maximum allowed input length of 32768 tokens.",
    ),
    Phrase(
        "vLLM",
        r"maximum (?:model|context) length \(?\d{1,12}|longer than the maximum model length",
        "The decoder prompt (length 40110) is longer than the maximum model length of 32768.",
    ),
    Phrase(
        "Hugging Face TGI",
        r"`?inputs`? (?:tokens \+ `?max_new_tokens`? )?must (?:be|have) (?:<=|less than)",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5120",
    ),
    Phrase(
        "llama.cpp",
        r"exceeds? the available context size",
        "the request exceeds the available context size (8192 tokens), try increasing it",
    ),
    Phrase(
        "LM Studio",
        r"greater than the context length",
        "The number of tokens to keep from the initial prompt is greater than the context length",
    ),
    Phrase(
        "Ollama",
        r"exceeded max context length|input length exceeds the context length",
        "prompt too long; exceeded max context length by 1200 tokens",
    ),
    Phrase(
        "MiniMax",
        r"context window exceeds limit",
        "invalid params, context window exceeds limit (2013)",
    ),
    Phrase(
        "Kimi",
        r"exceeded model token limit",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 300112)",
    ),
    Phrase(
        "Mistral",
        r"too large for model with \d{1,12} maximum context length",
        "Prompt contains 140321 tokens and 0 draft tokens, too large for model with 131072 "
        "maximum context length",
    ),
    Phrase(
        "Cohere",
        r"tokens in the prompt cannot exceed|size limit exceeded[^\n]{0,40}tokens",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
    ),
    Phrase(
        "DeepSeek",
        r"range of input length should be|requested \d{1,12} tokens[^\n]{0,80}in the messages",
        "you requested 70000 tokens (69000 in the messages, 1000 in the completion).",
    ),
    Phrase(
        "Alibaba Qwen",
        r"range of input length should be \[",
        "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    ),
    Phrase(
        "Zhipu",
        r"prompt exceeds max length|输入[^\n]{0,20}超过[^\n]{0,20}(?:长度|上限)",
        "Prompt exceeds max length",
    ),
    Phrase(
        "Chinese gateways",
        r"(?:上下文|输入|token)[^\n]{0,20}(?:超出|超过|过长)|超(?:出|过)[^\n]{0,20}上下文",
        "请求的上下文长度超出模型最大限制 32768",
    ),
    Phrase(
        "AI21",
        r"prompt is too long|prompt length exceeds",
        "The prompt length exceeds the maximum of 256000 tokens.",
    ),
    Phrase(
        "LiteLLM",
        r"contextwindowexceedederror",
        "litellm.ContextWindowExceededError: BadRequestError",
    ),
    Phrase(
        "Cerebras",
        r"^\s*4(?:00|13)\s{0,4}(?:status code)?\s{0,4}\(no body\)",
        "413 status code (no body)",
    ),
    Phrase(
        "proxies",
        r"request entity too large|payload too large|content too large",
        "413 Request Entity Too Large",
    ),
    Phrase(
        "others",
        r"token limit exceeded|exceeds? (?:the )?(?:max(?:imum)? )?context (?:size|limit|length)",
        "Error: the prompt exceeds the maximum context size of the model",
    ),
)

_NOT_THE_WINDOW: Final = re.compile(
    r"tokens? per (?:min|minute|second|hour|day)|\btpm\b|\brpm\b|\btpd\b|per[- ]minute|"
    r"rate.?limit|too many requests|throttl|quota|overloaded|over capacity|resource.?exhausted|"
    r"concurren\w{0,8} (?:request|limit)|credit balance|billing|insufficient.?(?:funds|balance)|"
    r"try again in \d{1,9}|请求过于频繁|限流|速率限制|配额|余额不足|请求过多",
    re.IGNORECASE,
)

_RATE_CODES: Final = frozenset(
    {
        "rate_limit_exceeded",
        "rate_limit_error",
        "insufficient_quota",
        "overloaded_error",
        "throttlingexception",
        "resource_exhausted",
        "too_many_requests",
    }
)

_OVERFLOW_CODES: Final = frozenset(
    {"context_length_exceeded", "request_too_large", "string_above_max_length", "context_window"}
)

_RATE_STATUS: Final = frozenset({429, 503, 529})

_OVERFLOW: Final = re.compile("|".join(f"(?:{each.pattern})" for each in OVERFLOWS), re.IGNORECASE)


def classify(error_text: str, *, status: int | None = None, code: str | None = None) -> Verdict:
    """What kind of error this is, by its text, and by status and code where they are known."""
    text = error_text[:_READ]
    named = (code or "").lower()
    if status in _RATE_STATUS or named in _RATE_CODES or _NOT_THE_WINDOW.search(text):
        return "rate_limit"
    if status == 413 or named in _OVERFLOW_CODES or _OVERFLOW.search(text):
        return "overflow"
    return "other"


# ── the window ──────────────────────────────────────────────────────────────────────────────

_NUMBER: Final = r"(\d{1,3}(?:[,_]\d{3}){1,3}|\d{3,9})(?!\d|\.\d)"

_LIMITS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"> ?{_NUMBER} maximum",
        rf"exceed context limit[^\n]{{0,60}}> ?{_NUMBER}",
        rf"maximum (?:context|prompt|model) length (?:is |of |\()?{_NUMBER}",
        rf"maximum allowed input length (?:is |of |\()?{_NUMBER}",
        rf"maximum number of tokens allowed \(?{_NUMBER}",
        rf"model'?s context length \(?{_NUMBER}",
        rf"exceeds the limit of {_NUMBER}",
        rf"configured limit of {_NUMBER}",
        rf"exceeded model token limit:? {_NUMBER}",
        rf"model with {_NUMBER} maximum context length",
        rf"available context size \({_NUMBER}",
        rf"['\"]n_ctx['\"]: ?{_NUMBER}",
        rf"must have less than {_NUMBER} tokens",
        rf"input length should be \[\d{{1,3}}, ?{_NUMBER}\]",
        rf"tokens in the prompt cannot exceed {_NUMBER}",
        rf"exceeds the maximum (?:of|context size of) {_NUMBER} tokens",
        rf"最大(?:限制|长度|上下文)[^\d\n]{{0,10}}{_NUMBER}",
    )
)

_SMALLEST: Final = 256


def limit_in(text: str) -> int | None:
    """The window, in tokens, that an overflow error names; None if it names none.

    >>> limit_in("prompt is too long: 213462 tokens > 200000 maximum")
    200000
    """
    text = text[:_READ]
    for pattern in _LIMITS:
        if (found := pattern.search(text)) is not None:
            limit = int(re.sub(r"[,_]", "", found[1]))
            if limit >= _SMALLEST:
                return limit
    return None


def silently_overflowed(usage: Usage, window: int, stop_reason: str | None) -> bool:
    """Whether an answer without an error shows that the request did not fit.

    Some servers take more than the window and cut it; others answer "length" without a word.
    """
    if usage.context_tokens > window:
        return True
    ran_out = (stop_reason or "").lower() in _RAN_OUT
    return ran_out and usage.output_tokens == 0 and usage.context_tokens > 0


_RAN_OUT: Final = frozenset(
    {"length", "max_tokens", "model_context_window_exceeded", "model_length", "context_length"}
)
