"""Which blocks a message may hold, where, and which fields each of them needs: tables.

Read by the validators, and by repair for the parts our own types do not know. A block of a type
nobody here has heard of is taken for a newer version's and accepted where a provider writes
freely (in user and assistant messages); a block of the *other* format never is.
Promise: ``problem_with_…`` takes any JSON value (``tests/context/test_validity_rules.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.types import Json

__all__ = [
    "SERVER_CALLS",
    "THINKING",
    "is_filled",
    "is_server_result",
    "problem_with_anthropic_block",
    "problem_with_openai_part",
]

THINKING: Final = ("thinking", "redacted_thinking")

SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
"""Calls the provider runs itself; their results stand in the same assistant message."""

_Check = Callable[[Json], bool]


@dataclass(frozen=True, slots=True)
class _Shape:
    places: frozenset[str]
    fields: Mapping[str, _Check]


def is_filled(value: Json) -> bool:
    """A string that is not empty."""
    return isinstance(value, str) and bool(value)


def is_server_result(kind: Json) -> bool:
    """Whether this is the type of a block that answers one of ``SERVER_CALLS``."""
    return isinstance(kind, str) and kind.endswith("_tool_result") and kind != "tool_result"


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_object(value: Json) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: Json) -> bool:
    return isinstance(value, list | tuple)


def _is_anything(value: Json) -> bool:
    return value is not None


def _has(**fields: _Check) -> _Check:
    return lambda value: (
        isinstance(value, Mapping) and all(check(value.get(key)) for key, check in fields.items())
    )


def _shape(places: str, **fields: _Check) -> _Shape:
    return _Shape(frozenset(places.split()), fields)


_ANTHROPIC: Final[Mapping[str, _Shape]] = {
    "text": _shape("system user assistant result", text=_is_text),
    "image": _shape("user result", source=_is_object),
    "document": _shape("user result", source=_is_object),
    "search_result": _shape("user result", source=_is_text, title=_is_text, content=_is_list),
    "tool_reference": _shape("result", tool_name=is_filled),
    "container_upload": _shape("user", file_id=is_filled),
    "thinking": _shape("assistant", thinking=_is_text, signature=is_filled),
    "redacted_thinking": _shape("assistant", data=is_filled),
    "tool_use": _shape("assistant", id=_is_text, name=_is_text, input=_is_object),
    "tool_result": _shape("user", tool_use_id=_is_text),
    "server_tool_use": _shape("assistant", id=is_filled, name=is_filled, input=_is_object),
    "mcp_tool_use": _shape(
        "assistant", id=is_filled, name=is_filled, server_name=is_filled, input=_is_object
    ),
}

_SERVER_RESULT: Final = _shape("assistant", tool_use_id=is_filled, content=_is_anything)

_OPENAI: Final[Mapping[str, _Shape]] = {
    "text": _shape("system developer user assistant tool function", text=_is_text),
    "refusal": _shape("assistant", refusal=_is_text),
    "image_url": _shape("user", image_url=_has(url=is_filled)),
    "input_audio": _shape("user", input_audio=_has(data=is_filled, format=is_filled)),
    "file": _shape("user", file=_is_object),
    "video_url": _shape("user", video_url=_has(url=is_filled)),
}

_RESPONSES: Final = frozenset({"input_text", "output_text", "input_image", "function_call"})

_FREE: Final = ("user", "assistant")
"""Where a block of an unknown type is left to the provider to judge."""


def problem_with_anthropic_block(block: Json, place: str) -> str | None:
    """What is wrong with a block in ``place``: user, assistant, system, or result."""
    foreign = _RESPONSES | (_OPENAI.keys() - _ANTHROPIC.keys())
    kind = block.get("type") if isinstance(block, Mapping) else None
    shape = _SERVER_RESULT if is_server_result(kind) else _ANTHROPIC.get(str(kind))
    return _problem(block, place, shape, foreign)


def problem_with_openai_part(part: Json, role: str) -> str | None:
    """What is wrong with a part of the content of a message with ``role``."""
    foreign = _RESPONSES | (_ANTHROPIC.keys() - _OPENAI.keys())
    kind = part.get("type") if isinstance(part, Mapping) else None
    if is_server_result(kind):
        return f"'{kind}' is a block of another format"
    return _problem(part, role, _OPENAI.get(str(kind)), foreign)


def _problem(
    block: Json, place: str, shape: _Shape | None, foreign: frozenset[str] | set[str]
) -> str | None:
    if not isinstance(block, Mapping):
        return f"a {type(block).__name__} is not a block"
    kind = block.get("type")
    if not is_filled(kind):
        return "the block has no type"
    if kind in foreign:
        return f"'{kind}' is a block of another format"
    if shape is None:
        return None if place in _FREE else f"'{kind}' may not stand in {place}"
    if place not in shape.places:
        return f"'{kind}' may not stand in {place}"
    for field, check in shape.fields.items():
        if not check(block.get(field)):
            return f"{kind}.{field}: field required, or of the wrong type"
    return None
