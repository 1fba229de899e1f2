"""What a provider answered, as our reply.

Promise: an answer with nothing in it, or one that was refused, is an error that says so, never an
empty reply; tokens that came from a cache are counted once (``tests/models/test_hosted_wire.py``,
``test_hosted.py``). Pure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pydantic_ai.messages import (
    FilePart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from holdfast.models.hosted.errors import BrokenOff, CallFailed
from holdfast.models.hosted.requests import HOSTED, REDACTED, json_object
from holdfast.ports import ModelReply
from holdfast.text import cut
from holdfast.types import Form, Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, Usage

__all__ = ["is_speech", "read_reply", "text_in"]

_RAN_OUT: Final = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
_SAME: Final = {"completed": "stop", "max_output_tokens": "length"}
"""Words of OpenAI's Responses for what everybody else calls otherwise."""
_SHOWN: Final = 500


def text_in(event: ModelResponseStreamEvent) -> str:
    """The words in an event of a stream, if it has some."""
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return text
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


def is_speech(event: ModelResponseStreamEvent) -> bool:
    """Whether something was said in an event: a word, a thought, a piece of a call."""
    match event:
        case PartStartEvent(part=ToolCallPart(tool_name=name, args=args)):
            return bool(name or args)
        case PartStartEvent(part=ThinkingPart(content=text, signature=signature)):
            return bool(text or signature)
        case PartStartEvent(part=FilePart()):
            return True
        case PartDeltaEvent(delta=ToolCallPartDelta(tool_name_delta=name, args_delta=args)):
            return bool(name or args)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text, signature_delta=signature)):
            return bool(text or signature)
    return bool(text_in(event))


def read_reply(response: ModelResponse, *, name: str, must_end: bool = False) -> ModelReply:
    """The reply in a whole answer; ``must_end``: this provider always says why it stopped.

    Raises:
        BrokenOff: it has no end.
        CallFailed: it was refused, or has nothing in it.
    """
    details = response.provider_details or {}
    raw = details.get("finish_reason")
    stop = _SAME.get(raw, raw) if isinstance(raw, str) else response.finish_reason
    _check_not_refused(response, details, name)
    if response.state == "incomplete" or (must_end and not isinstance(raw, str)):
        raise BrokenOff(f"The answer of {name} broke off before its end.", hint="Ask again.")
    parts = tuple(_joined(_parts(response.parts, response.provider_name)))
    usage = _usage(response.usage)
    if not any(isinstance(part, ToolCall | Image) or _says(part) for part in parts):
        raise _empty(name, stop, usage)
    message = Message(role="assistant", parts=parts, form=_form(parts, response.provider_name))
    return ModelReply(message=message, usage=usage, stop_reason=stop)


def _check_not_refused(response: ModelResponse, details: Mapping[str, Json], name: str) -> None:
    if response.finish_reason != "content_filter" and "refusal" not in details:
        return
    why = details.get("refusal")
    said = f": {cut(why, _SHOWN)}" if isinstance(why, str) and why else "."
    raise CallFailed(
        f"{name} refused to answer{said}",
        hint="Ask in other words, or take another model: --model NAME",
        code="refused",
    )


def _empty(name: str, stop: str | None, usage: Usage | None) -> CallFailed:
    is_out = (stop or "").lower() in _RAN_OUT
    if is_out and (usage is None or usage.output_tokens == 0):
        # In the words by which a session knows that it must make the request smaller.
        return CallFailed(
            f"{name} had no room left to answer: the request fills its context window.",
            hint="Say how much the model can read: context.window in config.toml.",
            code="context_length_exceeded",
        )
    if is_out:
        return CallFailed(
            f"{name} used up all it may say before its first word ({stop}).",
            hint="Let it say more: context.reserve_tokens_floor in config.toml.",
        )
    ending = f" (it stopped with {stop})" if stop else ""
    return CallFailed(
        f"{name} gave an empty answer{ending}.",
        hint="Ask again, or take another model: --model NAME",
    )


def _says(part: Part) -> bool:
    return isinstance(part, Text) and bool(part.text.strip())


# ── parts ───────────────────────────────────────────────────────────────────────────────────


def _parts(given: Iterable[ModelResponsePart], provider: str | None) -> Iterator[Part]:
    for part in given:
        match part:
            case TextPart():
                yield Text(text=part.content, extra=_kept(part))
            case ThinkingPart(id="redacted_thinking", signature=str(data)):
                yield Opaque(format="anthropic", data={"type": REDACTED, "data": data})
            case ThinkingPart():
                yield _thinking(part)
            case ToolCallPart():
                yield ToolCall(
                    id=part.tool_call_id,
                    name=part.tool_name,
                    arguments=_arguments(part.args, provider),
                    extra=_kept(part),
                )
            case FilePart():
                data = base64.b64encode(part.content.data).decode()
                yield Image(media_type=part.content.media_type, data=data)
            case _:
                pass  # tools that the provider runs itself: none are asked for


def _thinking(part: ThinkingPart) -> Thinking:
    extra = _kept(part)
    if part.signature is None and part.id in ("reasoning", "reasoning_content"):
        extra = {"shape": part.id}  # as the formats call it: it goes back in the same field
    return Thinking(text=part.content, signature=part.signature or None, extra=extra)


def _kept(part: TextPart | ThinkingPart | ToolCallPart) -> dict[str, Json]:
    """What must go back with a part to its provider, where that is more than the part says."""
    details = part.provider_details or {}
    told = {key: value for key, value in details.items() if _is_json(value)}
    is_plain = part.provider_name in (None, "anthropic") and not told and part.id is None
    if is_plain or not (told or part.id or isinstance(part, ThinkingPart)):
        return {}
    kept: dict[str, Json] = {"provider_name": part.provider_name}
    if part.id is not None:
        kept["id"] = part.id
    if told:
        kept["provider_details"] = told
    return {HOSTED: kept}


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _arguments(
    given: str | Mapping[str, Json] | None, provider: str | None
) -> str | dict[str, Json]:
    """As the provider means them: an object of Anthropic's, else text; what is no JSON stays."""
    if not isinstance(given, str):
        return dict(given or {})
    if provider != "anthropic":
        return given
    found = json_object(given or "{}")
    return given if found is None else found


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, texts that follow each other as one: that is how they were said."""
    last: Text | None = None
    for part in parts:
        if isinstance(part, Text) and last is not None and not (part.extra or last.extra):
            last = Text(text=last.text + part.text)
            continue
        if last is not None and last.text:
            yield last
        last = part if isinstance(part, Text) else None
        if last is None:
            yield part
    if last is not None and last.text:
        yield last


def _form(parts: tuple[Part, ...], provider: str | None) -> Form:
    texts = [part for part in parts if isinstance(part, Text)]
    if provider == "anthropic" or len(texts) > 1:
        return "text" if len(parts) == len(texts) == 1 else "parts"
    return "text" if texts else "null"


# ── tokens ──────────────────────────────────────────────────────────────────────────────────


def _usage(given: RequestUsage) -> Usage | None:
    """What was counted. There ``input_tokens`` has everything in it, here only what was in no
    cache; a count of nothing is none."""
    read, written = max(0, given.cache_read_tokens), max(0, given.cache_write_tokens)
    found = Usage(
        input_tokens=max(0, given.input_tokens - read - written),
        output_tokens=max(0, given.output_tokens),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
    return found if found.context_tokens > 0 else None
