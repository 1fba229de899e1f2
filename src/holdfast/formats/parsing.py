"""One message from whatever a host hands over: ours, OpenAI's, Anthropic's, or an SDK's object.

Promise: what comes back can be stored, read again and sent; everything else is
``InvalidMessage`` with the place, the reason and the remedy, before anything is written
(``tests/foundation/test_formats_parsing.py``). Whoever knows the format of a conversation
calls its ``from_…`` instead: a part of an unknown type looks the same in both, and is taken
for OpenAI's here.
"""

from __future__ import annotations

from typing import Final

from holdfast.errors import InvalidMessage, did_you_mean
from holdfast.formats import anthropic, openai
from holdfast.formats.wire import RESULT_ROLES, Wire, copy_in, role_of
from holdfast.types import Json, Message, Part, Text

__all__ = ["parse_message", "plain_json"]

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")

_PLAIN_ROLES: Final = frozenset({"system", "developer", "user", "assistant"})

_OTHER_NAMES: Final = {"human": "user", "ai": "assistant", "model": "assistant", "bot": "assistant"}

_OPENAI_FIELDS: Final = frozenset(
    {"audio", "function_call", "name", "reasoning_content", "refusal", "tool_call_id", "tool_calls"}
)

_OPENAI_PARTS: Final = frozenset({"file", "image_url", "input_audio", "refusal", "video_url"})

_ANTHROPIC_PARTS: Final = frozenset(
    {
        "compaction",
        "container_upload",
        "document",
        "image",
        "mcp_tool_use",
        "redacted_thinking",
        "search_result",
        "server_tool_use",
        "thinking",
        "tool_use",
    }
)

_ANTHROPIC_TEXT_FIELDS: Final = frozenset({"cache_control", "citations"})


def parse_message(value: object) -> Message:
    """The message in ``value``.

    >>> parse_message({"role": "user", "content": "hello"}) == Message.of("user", "hello")
    True
    """
    if isinstance(value, Message):
        return _checked(value)
    if (plain := _plain(value)) is not None:
        return plain
    if isinstance(value, str | list | tuple):
        raise InvalidMessage(
            f"A {type(value).__name__} is not a message.",
            hint='Pass one message: Message.of("user", "hello") or {"role": "user", "content": …}.',
        )
    wire = copy_in(value, "message")
    _check_is_message(wire)
    _check_role(role_of(wire, "message"))
    _check_says_something(wire)
    if _looks_like_anthropic(wire):
        return anthropic.read_message(wire, "message")
    return openai.read_message(wire, "message")


def plain_json(value: object) -> dict[str, Json]:
    """A copy of an object in plain JSON types; ``InvalidMessage`` if it cannot be one."""
    found = copy_in(value, "data")
    if not isinstance(found, dict):
        raise InvalidMessage(f"A {type(value).__name__} is not an object.", hint="Pass a dict.")
    return found


def _plain(value: object) -> Message | None:
    """The usual message, ``{"role": "user", "content": "…"}``, without the general machinery:
    an append should cost little more than its sync."""
    if type(value) is dict and len(value) == 2:
        role, content = value.get("role"), value.get("content")
        if type(role) is str and type(content) is str and role in _PLAIN_ROLES:
            return Message(role=role, parts=(Text(text=content),))
    return None


def _checked(message: Message) -> Message:
    """The message itself, if it can be written: nothing checked it when it was made."""
    inner = [part for result in message.tool_results for part in result.content]
    for part in (*message.parts, *inner):
        if not isinstance(part, Part):
            raise InvalidMessage(
                f"message has a {type(part).__name__} among its parts: {part!r:.80}.",
                hint='Wrap it: Text(text="hello").',
            )
    stored = copy_in(message.to_json(), "message")
    _check_role(message.role)
    if not all(isinstance(part.text, str) for part in message.parts if isinstance(part, Text)):
        raise InvalidMessage("message has a text that is not a string.", hint="Use str(…).")
    # Read back, so that it holds nothing the caller can still change.
    return Message.from_json(stored)


def _check_is_message(wire: Json) -> None:
    """Refuse what people hand over by mistake and what would only be told "no role"."""
    if isinstance(wire, dict) and "role" not in wire and "choices" in wire:
        raise InvalidMessage(
            "This is a whole completion, not a message.",
            hint="Pass completion.choices[0].message.",
        )


def _check_role(role: str) -> None:
    if role in _ROLES:
        return
    near = _OTHER_NAMES.get(role.lower())
    hint = f"Did you mean {near!r}?" if near else did_you_mean(role, _ROLES)
    raise InvalidMessage(
        f"message has the role {role!r}, which no provider knows.",
        hint=hint or f"Use one of: {', '.join(_ROLES)}.",
    )


def _check_says_something(wire: Wire) -> None:
    """Refuse a message whose text is under another name: it would be kept, but never shown."""
    if "content" in wire or not _OPENAI_FIELDS.isdisjoint(wire):
        return
    hint = 'Put what it says under "content".'
    if "parts" in wire or "text" in wire:
        hint += " If Holdfast stored it, use Message.from_json."
    raise InvalidMessage("message has no content.", hint=hint)


def _looks_like_anthropic(wire: Wire) -> bool:
    if wire.get("type") == "message":
        return True
    content = wire.get("content")
    if wire["role"] in ("developer", *RESULT_ROLES) or not isinstance(content, list):
        return False
    if not _OPENAI_FIELDS.isdisjoint(wire):
        return False
    parts = [part for part in content if isinstance(part, dict)]
    kinds = [kind for part in parts if isinstance(kind := part.get("type"), str)]
    if any(kind in _ANTHROPIC_PARTS or kind.endswith("tool_result") for kind in kinds):
        return True
    if not _OPENAI_PARTS.isdisjoint(kinds):
        return False
    return any(not _ANTHROPIC_TEXT_FIELDS.isdisjoint(part) for part in parts)
