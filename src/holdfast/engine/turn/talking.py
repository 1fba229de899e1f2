"""What a host hands over, as messages: its user's words, results of tools, a provider's answer.

Promise: whatever the clients of OpenAI and Anthropic return can be given to ``commit`` as it is,
object or dict, and its count of tokens is read; what is neither is refused with what to give
instead (``tests/engine/test_talking.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

from holdfast.context.accounting import Reported
from holdfast.errors import InvalidMessage
from holdfast.formats import parse_message
from holdfast.ports import ModelReply
from holdfast.types import Entry, Json, Message, Usage

__all__ = ["Incoming", "Reply", "incoming", "read_reply", "reported_in", "usage_data"]

Incoming: TypeAlias = "str | Message | Mapping[str, Json] | Sequence[Incoming] | object"
"""A text of the user, a message, a result of a tool, what a client returned, or several."""


def incoming(given: Iterable[Incoming]) -> list[Message]:
    """The messages in what a host gives to ``prepare``.

    A plain text is the user's. Bare result blocks, as Anthropic's tools give them, are put into
    one message of the user.
    """
    found: list[Message] = []
    blocks: list[Mapping[str, Json]] = []
    for each in _flat(given):
        if isinstance(each, Mapping) and each.get("type") == "tool_result" and "role" not in each:
            blocks.append(each)
            continue
        found += _wrapped(blocks)
        blocks = []
        found.append(Message.of("user", each) if isinstance(each, str) else parse_message(each))
    return [*found, *_wrapped(blocks)]


def _flat(given: Iterable[Incoming]) -> Iterable[Incoming]:
    for each in given:
        if isinstance(each, list | tuple):
            yield from _flat(each)
        else:
            yield _plain(each)


def _wrapped(blocks: Sequence[Mapping[str, Json]]) -> list[Message]:
    return [parse_message({"role": "user", "content": list(blocks)})] if blocks else []


def _plain(value: object) -> object:
    """An object of a client as the JSON it came from."""
    if isinstance(value, str | Message | Mapping | ModelReply):
        return value
    for name in ("to_dict", "model_dump"):
        if callable(convert := getattr(value, name, None)):
            try:
                return convert(mode="json", warnings=False)
            except TypeError:  # not of pydantic
                return convert()
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of a model: its message, and what the provider says about it."""

    message: Message
    usage: Usage | None = None
    stop_reason: str | None = None


def read_reply(reply: object) -> Reply:
    """The answer in what a client returned.

    Raises:
        InvalidMessage: it is no answer; says what to give instead.
    """
    read = _read(_plain(reply))
    if read is not None and read.message.role == "assistant":
        return read
    what = f"A {type(reply).__name__}" if read is None else f"A message of the {read.message.role}"
    raise InvalidMessage(
        f"{what} is no answer of a model that is known here.",
        hint="Give what client.chat.completions.create or client.messages.create returned, "
        'or a message: {"role": "assistant", "content": …}. What the user and tools say goes to '
        "prepare.",
    )


def _read(plain: object) -> Reply | None:
    match plain:
        case ModelReply():
            return Reply(message=plain.message, usage=plain.usage, stop_reason=plain.stop_reason)
        case Message():
            return Reply(message=plain)
        case str():
            return Reply(message=Message.of("assistant", plain))
        case {"choices": [{"message": dict(message), **choice}, *_], **rest}:
            return Reply(
                message=parse_message({"role": "assistant", "content": None} | _said(message)),
                usage=_openai_usage(rest.get("usage")),
                stop_reason=_word(choice.get("finish_reason")),
            )
        case {"role": role, "content": list(content), **rest}:
            return Reply(
                message=parse_message({"role": role, "content": _sendable(content)}),
                usage=_anthropic_usage(rest.get("usage")),
                stop_reason=_word(rest.get("stop_reason")),
            )
        case {"role": _, **_rest}:
            return Reply(message=parse_message(plain))
    return None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


# What clients add to an answer, for programs; the provider refuses to be given it back.
_OF_THE_CLIENT: Final = frozenset({"parsed", "parsed_arguments", "parsed_output"})
# What Anthropic adds to an answer where there is nothing to say, and refuses to be given back.
_REFUSED_EMPTY: Final = frozenset({"citations", "caller"})


def _said(message: Mapping[str, Json]) -> dict[str, Json]:
    """What an answer in OpenAI's shape says; empty fields are what its client adds."""
    said = {
        key: value
        for key, value in message.items()
        if value is not None and key not in _OF_THE_CLIENT and (key, value) != ("annotations", [])
    }
    if isinstance(calls := said.get("tool_calls"), list):
        said["tool_calls"] = [_without_parsed(call) for call in calls]
    return said


def _without_parsed(call: Json) -> Json:
    if not isinstance(call, Mapping) or not isinstance(inner := call.get("function"), Mapping):
        return call
    kept = {key: value for key, value in inner.items() if key not in _OF_THE_CLIENT}
    return {**call, "function": kept}


def _sendable(content: Sequence[Json]) -> list[Json]:
    return [
        {key: value for key, value in block.items() if _is_sendable(key, value)}
        if isinstance(block, Mapping)
        else block
        for block in content
    ]


def _is_sendable(key: str, value: Json) -> bool:
    return key not in _OF_THE_CLIENT and (value is not None or key not in _REFUSED_EMPTY)


def _openai_usage(given: Json) -> Usage | None:
    if not isinstance(given, Mapping):
        return None
    details = given.get("prompt_tokens_details") or {}
    cached = _count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0
    return _usage(
        Usage(
            input_tokens=max(0, _count(given.get("prompt_tokens")) - cached),
            output_tokens=_count(given.get("completion_tokens")),
            cache_read_tokens=cached,
        )
    )


def _anthropic_usage(given: Json) -> Usage | None:
    if not isinstance(given, Mapping):
        return None
    return _usage(
        Usage(
            input_tokens=_count(given.get("input_tokens")),
            output_tokens=_count(given.get("output_tokens")),
            cache_read_tokens=_count(given.get("cache_read_input_tokens")),
            cache_write_tokens=_count(given.get("cache_creation_input_tokens")),
        )
    )


def _usage(found: Usage) -> Usage | None:
    """A report of nothing is none: some servers always say 0."""
    return found if found.context_tokens > 0 else None


def _count(value: Json) -> int:
    return value if isinstance(value, int) and value > 0 else 0


# ── the provider's count, kept with the answer ──────────────────────────────────────────────


def usage_data(usage: Usage, last: str) -> dict[str, Json]:
    """What a committed message keeps of its report; ``last`` is the newest entry it was about."""
    return {"last": last} | {key: value for key, value in asdict(usage).items() if value}


def reported_in(entries: Sequence[Entry]) -> Reported | None:
    """The provider's count of the last request that was answered, if it gave one."""
    for entry in reversed(entries):
        if entry.type == "message" and entry.data.get("role") == "assistant":
            kept = entry.data.get("usage")
            if not isinstance(kept, Mapping) or not isinstance(kept.get("last"), str):
                return None
            names = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
            tokens = sum(_count(kept.get(name)) for name in names)
            return Reported(tokens=tokens, entry=kept["last"]) if tokens else None
    return None
