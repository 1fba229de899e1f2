"""How OpenAI and Anthropic write down an answer, whole and as events, and how they say no.

Written after what the services send: order, field names, the roles of the first and last event,
where the count of tokens stands. ``wire_server`` sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

__all__ = [
    "Call",
    "Format",
    "Said",
    "Say",
    "error_event",
    "events",
    "garbage",
    "overflow",
    "overloaded",
    "rate_limit",
    "whole",
]

Format = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. Arguments that are text are sent as they are: also when no JSON."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str = "call_1"


@dataclass(frozen=True, slots=True)
class Say:
    """An answer. ``input_tokens`` are those that were in no cache."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    signature: str = "EqQBCkYIAxgCKkD0+signature/of+this=="
    redacted: str = ""
    """Anthropic: thinking that is only sent encrypted."""
    stop: str | None = None
    """Else what the service says of such an answer."""
    refusal: str | None = None
    """OpenAI: what stands in the field of that name."""
    input_tokens: int = 412
    output_tokens: int = 9
    cached: int = 0
    written: int = 0
    pieces: int = 3
    every: float = 0.0
    """Seconds between events."""
    model: str = "model-on-the-wire"


Said: TypeAlias = Say


def whole(format: Format, said: Say) -> dict[str, Any]:
    return _anthropic_whole(said) if format == "anthropic" else _openai_whole(said)


def events(format: Format, said: Say) -> Iterator[bytes]:
    """The answer as server-sent events, each as the bytes that are written at once."""
    if format == "anthropic":
        for event in _anthropic_events(said):
            yield f"event: {event['type']}\ndata: {_line(event)}\n\n".encode()
    else:
        for chunk in _openai_chunks(said):
            yield f"data: {_line(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"


def garbage(format: Format) -> bytes:
    event = "event: content_block_delta\n" if format == "anthropic" else ""
    return f'{event}data: {{"choices": [{{"delta": \x00 not json\n\n'.encode()


def error_event(format: Format) -> bytes:
    if format == "anthropic":
        return f"event: error\ndata: {_line(overloaded(format))}\n\n".encode()
    return f"data: {_line(overloaded(format))}\n\n".encode()


# ── no ──────────────────────────────────────────────────────────────────────────────────────


def overflow(format: Format, limit: int, tokens: int) -> dict[str, Any]:
    if format == "anthropic":
        text = f"prompt is too long: {tokens} tokens > {limit} maximum"
        return _anthropic_error("invalid_request_error", text)
    return {
        "error": {
            "message": f"This model's maximum context length is {limit} tokens. However, your "
            f"messages resulted in {tokens} tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    }


def rate_limit(format: Format) -> dict[str, Any]:
    if format == "anthropic":
        text = "This request would exceed your organization's rate limit of 40,000 input tokens "
        return _anthropic_error("rate_limit_error", text + "per minute.")
    return {
        "error": {
            "message": "Rate limit reached for the model on tokens per min (TPM): Limit 30000, "
            "Used 29000, Requested 2000.",
            "type": "tokens",
            "param": None,
            "code": "rate_limit_exceeded",
        }
    }


def overloaded(format: Format) -> dict[str, Any]:
    if format == "anthropic":
        return _anthropic_error("overloaded_error", "Overloaded")
    text = "The server had an error while processing your request. Sorry about that!"
    return {"error": {"message": text, "type": "server_error", "param": None, "code": None}}


def _anthropic_error(type: str, message: str) -> dict[str, Any]:
    error = {"type": type, "message": message}
    return {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


# ── Anthropic ───────────────────────────────────────────────────────────────────────────────


def _anthropic_blocks(said: Say) -> Iterator[dict[str, Any]]:
    if said.thinking:
        yield {"type": "thinking", "thinking": said.thinking, "signature": said.signature}
    if said.redacted:
        yield {"type": "redacted_thinking", "data": said.redacted}
    if said.text:
        yield {"type": "text", "text": said.text}
    for call in said.calls:
        given = json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _anthropic_usage(said: Say, output: int) -> dict[str, Any]:
    return {
        "input_tokens": said.input_tokens,
        "cache_creation_input_tokens": said.written,
        "cache_read_input_tokens": said.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": said.written,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": output,
        "service_tier": "standard",
    }


def _anthropic_stop(said: Say) -> str:
    return said.stop or ("tool_use" if said.calls else "end_turn")


def _anthropic_whole(said: Say) -> dict[str, Any]:
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": list(_anthropic_blocks(said)),
        "stop_reason": _anthropic_stop(said),
        "stop_sequence": None,
        "usage": _anthropic_usage(said, said.output_tokens),
    }


def _anthropic_events(said: Say) -> Iterator[dict[str, Any]]:
    began = _anthropic_whole(replace(said, calls=())) | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": began | {"usage": _anthropic_usage(said, 1)}}
    yield {"type": "ping"}
    calls = iter([call.arguments for call in said.calls])
    begun = replace(said, calls=tuple(Call(each.name, {}, each.id) for each in said.calls))
    for index, block in enumerate(_anthropic_blocks(begun)):
        text = None
        if block["type"] == "tool_use":
            given = next(calls)
            text = given if isinstance(given, str) else _line(given)
        yield from _anthropic_block_events(index, block, said, text)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _anthropic_stop(said), "stop_sequence": None},
        "usage": {
            "input_tokens": said.input_tokens,
            "cache_creation_input_tokens": said.written,
            "cache_read_input_tokens": said.cached,
            "output_tokens": said.output_tokens,
        },
    }
    yield {"type": "message_stop"}


def _anthropic_block_events(
    index: int, block: dict[str, Any], said: Say, arguments: str | None
) -> Iterator[dict[str, Any]]:
    begun: dict[str, Any]
    deltas: list[dict[str, Any]] = []
    match block["type"]:
        case "text":
            begun = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": each} for each in _cut(said.text, said)]
        case "thinking":
            begun = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": each} for each in _cut(said.thinking, said)
            ]
            deltas.append({"type": "signature_delta", "signature": said.signature})
        case "tool_use":
            begun = {**block, "input": {}}
            pieces = ["", *_cut(arguments or "", said)]
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces]
        case _:
            begun = block
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


# ── OpenAI ──────────────────────────────────────────────────────────────────────────────────


def _openai_usage(said: Say) -> dict[str, Any]:
    prompt = said.input_tokens + said.cached + said.written
    return {
        "prompt_tokens": prompt,
        "completion_tokens": said.output_tokens,
        "total_tokens": prompt + said.output_tokens,
        "prompt_tokens_details": {"cached_tokens": said.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }


def _openai_stop(said: Say) -> str:
    return said.stop or ("tool_calls" if said.calls else "stop")


def _openai_calls(said: Say) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": _openai_arguments(call)},
        }
        for call in said.calls
    ]


def _openai_arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else _line(call.arguments)


def _openai_whole(said: Say) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    message["refusal"] = said.refusal
    if said.thinking:
        message["reasoning_content"] = said.thinking
    if said.calls:
        message["tool_calls"] = _openai_calls(said)
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1_770_000_000,
        "model": said.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": _openai_stop(said),
            }
        ],
        "usage": _openai_usage(said),
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }


def _openai_chunks(said: Say) -> Iterator[dict[str, Any]]:
    first: dict[str, Any] = {"role": "assistant", "refusal": None}
    yield _chunk(said, first | ({"content": ""} if said.text else {"content": None}))
    for piece in _cut(said.thinking, said):
        yield _chunk(said, {"reasoning_content": piece})
    for piece in _cut(said.text, said):
        yield _chunk(said, {"content": piece})
    if said.refusal is not None:
        yield _chunk(said, {"refusal": said.refusal})
    for index, call in enumerate(_openai_calls(said)):
        whole = call["function"]["arguments"]
        begun = call | {"function": call["function"] | {"arguments": ""}}
        yield _chunk(said, {"tool_calls": [{"index": index, **begun}]})
        for piece in _cut(whole, said):
            delta = {"index": index, "function": {"arguments": piece}}
            yield _chunk(said, {"tool_calls": [delta]})
    yield _chunk(said, {}, _openai_stop(said))
    yield {**_envelope(said), "choices": [], "usage": _openai_usage(said)}


def _envelope(said: Say) -> dict[str, Any]:
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion.chunk",
        "created": 1_770_000_000,
        "model": said.model,
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }


def _chunk(said: Say, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_envelope(said), "choices": [choice], "usage": None}


def _cut(text: str, said: Say) -> list[str]:
    """The text in pieces, in the midst of words."""
    if not text:
        return []
    size = max(1, -(-len(text) // said.pieces))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
