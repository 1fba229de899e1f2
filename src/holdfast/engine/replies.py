"""Whether a reply is one through and through: models are other people's code.

Promise: a reply that passes has everywhere what its type says, so that nothing that reads it
fails on it; what is wrong is said by kinds, never by quoting (``tests/engine/test_driving.py``).
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from holdfast.ports import ModelReply
from holdfast.types import Image, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Usage

__all__ = ["malformed"]


def malformed(reply: object) -> str | None:
    """What is wrong with what a model returned; None if it is a reply."""
    return next(_problems(reply), None)


def _problems(reply: object) -> Iterator[str]:
    if not isinstance(reply, ModelReply):
        yield _is("it", reply)
        return
    message, usage = reply.message, reply.usage
    if not isinstance(message, Message):
        yield _is("message", message)
        return
    yield from _not("role", message.role, str)
    yield from _not("form", message.form, str)
    yield from _not("extra", message.extra, Mapping)
    yield from _parts(message.parts)
    yield from _not("stop_reason", reply.stop_reason, str, type(None))
    yield from _not("usage", usage, Usage, type(None))
    if isinstance(usage, Usage):
        for each in fields(usage):
            count = getattr(usage, each.name)
            if not isinstance(count, int) or count < 0:
                yield f"usage.{each.name} is no count"


def _parts(parts: object) -> Iterator[str]:
    if not isinstance(parts, tuple | list):
        yield _is("parts", parts)
        return
    for part in parts:
        yield from _part(part)


def _part(part: object) -> Iterator[str]:
    if not isinstance(part, Opaque):
        yield from _not("a part", part, Text, Image, ToolCall, ToolResult, Thinking)
        yield from _not("extra", getattr(part, "extra", {}), Mapping)
    match part:
        case Text() | Thinking():
            yield from _not("text", part.text, str)
        case Image():
            for name in ("media_type", "data", "url"):
                yield from _not(f"image.{name}", getattr(part, name), str, type(None))
        case ToolCall():
            yield from _not("tool_call.id", part.id, str)
            yield from _not("tool_call.name", part.name, str)
            yield from _not("tool_call.arguments", part.arguments, str, Mapping)
        case ToolResult():
            yield from _not("tool_result.call_id", part.call_id, str)
            yield from _parts(part.content)
        case Opaque():
            yield from _not("opaque.format", part.format, str)
            yield from _not("opaque.data", part.data, Mapping)


def _not(name: str, value: object, *wanted: type) -> Iterator[str]:
    if not isinstance(value, wanted):
        yield _is(name, value)


def _is(name: str, value: object) -> str:
    return f"{name} is a {type(value).__name__}"
