"""What the formats share: JSON checked and copied at the border, and where unknown fields live.

A provider's dictionary is copied on its way in and on its way out, so neither the caller's
later edits nor ours reach the other side. What a format says and our types do not is kept in
``extra``: under the format's name the fields as they came, under ``shape`` the one word that
tells how the thing was written when that cannot be seen from the fields. A renderer reads
only its own format's fields, so no provider is sent another one's.

Promise: whatever ``copy_in`` lets through can be written as JSON and read back
(``tests/foundation/test_formats_parsing.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from holdfast.errors import InvalidMessage
from holdfast.types import Json, Opaque, Part

__all__ = [
    "ANTHROPIC",
    "MAX_DEPTH",
    "OPENAI",
    "RESULT_ROLES",
    "LeftOut",
    "Shape",
    "Wire",
    "copy_in",
    "copy_out",
    "extra_of",
    "fields_of",
    "kind_of",
    "only_objects",
    "role_of",
    "shape_of",
    "with_fields",
    "without",
    "wrong_content",
]

Wire: TypeAlias = dict[str, Json]
"""A message, or a part of one, as a provider writes it."""

OPENAI: Final = "openai"
ANTHROPIC: Final = "anthropic"

RESULT_ROLES: Final = ("tool", "function")
"""The roles that only OpenAI has, for the results of tools."""

Shape = Literal[
    "custom",  # OpenAI: a call of a custom tool; its arguments are free text
    "empty_list",  # OpenAI: content is [] although the message says something elsewhere
    "function_call",  # OpenAI: the one call of the field that came before tool_calls
    "listed",  # Anthropic: a system message among the messages, not the top-level one
    "reasoning",  # OpenAI-compatible: thinking in the field of that name
    "reasoning_content",  # OpenAI-compatible: thinking in the field of that name
    "refusal",  # OpenAI: a content part of type refusal
    "refusal_field",  # OpenAI: the message's field refusal
    "unsigned",  # Anthropic: a thinking block that came without a signature
    "untyped",  # OpenAI-compatible: a tool call without a type
]

MAX_DEPTH: Final = 200
"""How deep a message may nest: json gives up near 1000, and a host has frames of its own."""

_MAX_INT_BITS: Final = 14_000  # Python refuses to print an int of more than 4300 digits

_SHAPE: Final = "shape"

_Trail: TypeAlias = tuple["_Trail", str | int] | tuple[()]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Something a format has no place for: ``part`` is None when it is the whole message."""

    message: int
    part: int | None
    what: str


# ── the border ──────────────────────────────────────────────────────────────────────────────


def copy_in(value: object, where: str) -> Json:
    """A copy of ``value`` made of plain JSON values, or ``InvalidMessage`` saying where not.

    SDK objects are taken by their ``model_dump``, also inside lists and dictionaries: an
    answer's ``content`` or ``tool_calls`` is usually passed on as the objects it holds.
    """
    return _copy(value, where, (), 0)


def _copy(value: object, where: str, trail: _Trail, depth: int) -> Json:
    if value is None or isinstance(value, str | int | float):
        return _scalar(value, where, trail)
    if depth == MAX_DEPTH:
        raise InvalidMessage(
            f"{where} is nested more than {MAX_DEPTH} levels deep.",
            hint="Pass the deep value as a JSON string.",
        )
    if isinstance(value, Mapping):
        return {
            _key(key, where, trail): _copy(inner, where, (trail, key), depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_copy(inner, where, (trail, index), depth + 1) for index, inner in enumerate(value)]
    if hasattr(value, "model_dump"):
        return _copy(_dumped(value, where, trail), where, trail, depth + 1)
    raise _not_json(f"is a {type(value).__name__}", where, trail)


def _scalar(value: str | float | None, where: str, trail: _Trail) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # a member of a string enum becomes the string it stands for
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise _not_json(f"is {float(value)}", where, trail)
    if value.bit_length() <= _MAX_INT_BITS:
        return int(value)
    raise _not_json("is an integer of more than 4000 digits", where, trail)


def _key(key: object, where: str, trail: _Trail) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise _not_json(f"has the key {key!r}, a {type(key).__name__}", where, trail)


def _dumped(value: object, where: str, trail: _Trail) -> object:
    """The fields the provider sent, null ones too, under the names it gave them.

    ``exclude_unset`` and not ``exclude_none``: an answer with ``"refusal": null`` goes back
    with it, and a field the server never sent (``"tool_calls": null`` is refused by OpenAI)
    is not invented. ``warnings=False``: SDKs fill their models without validating.
    """
    try:
        dumped: object = value.model_dump(  # type: ignore[attr-defined]
            mode="json", by_alias=True, exclude_unset=True, warnings=False
        )
    except (TypeError, ValueError) as error:
        raise InvalidMessage(
            f"{_at(where, trail)} is a {type(value).__name__} that cannot be dumped: {error}",
            hint="Pass a dictionary instead.",
        ) from error
    if isinstance(dumped, Mapping | list):
        return dumped
    raise _not_json(f"is a {type(value).__name__}", where, trail)


def _not_json(what: str, where: str, trail: _Trail) -> InvalidMessage:
    return InvalidMessage(
        f"{_at(where, trail)} {what}, which JSON cannot carry.",
        hint="Use only null, booleans, finite numbers, text, lists and dictionaries with text "
        "keys; encode anything else as text.",
    )


def _at(where: str, trail: _Trail) -> str:
    steps: list[str] = []
    while trail:
        trail, step = trail
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return where + "".join(reversed(steps))


def copy_out(fields: Mapping[str, Json]) -> Wire:
    """A copy the caller may change: plain dictionaries and lists all the way down."""
    return {key: _thawed(value) for key, value in fields.items()}


def _thawed(value: Json) -> Json:
    if isinstance(value, Mapping):
        return copy_out(value)
    if isinstance(value, list | tuple):
        return [_thawed(inner) for inner in value]
    return value


# ── reading a message ───────────────────────────────────────────────────────────────────────


def role_of(wire: Json, where: str) -> str:
    """The role of a message, or ``InvalidMessage`` if this is not one."""
    if not isinstance(wire, dict):
        raise InvalidMessage(
            f"{where} is a {type(wire).__name__}, not a message.",
            hint='A message looks like {"role": "user", "content": "hello"}.',
        )
    role = wire.get("role")
    if isinstance(role, str) and role:
        return role
    raise InvalidMessage(
        f"{where} has no role." if role is None else f"{where} has the role {role!r}.",
        hint='Add one: "system", "developer", "user", "assistant" or "tool".',
    )


def only_objects(values: list[Json], where: str) -> list[Wire]:
    """``values`` if each is a dictionary, as the parts of a message are."""
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            raise InvalidMessage(
                f"{where}[{index}] is a {type(value).__name__}, not a part of a message.",
                hint='A part looks like {"type": "text", "text": "hello"}.',
            )
    return values


def wrong_content(content: Json, where: str) -> InvalidMessage:
    if content is None:
        return InvalidMessage(
            f"{where} is missing or null.", hint='Say nothing with "content": [].'
        )
    return InvalidMessage(
        f"{where} is a {type(content).__name__}; it must be text or a list of parts.",
        hint="Pass a structured value as text: json.dumps(value).",
    )


def without(wire: Mapping[str, Json], *known: str) -> Wire:
    """The fields that are not ``known``, in their order."""
    return {key: value for key, value in wire.items() if key not in known}


# ── what our types do not say ───────────────────────────────────────────────────────────────


def extra_of(owner: str, fields: Wire, shape: Shape | None = None, *, mark: bool = False) -> Wire:
    """The ``extra`` that keeps ``fields`` for their format; ``mark`` names it even without any."""
    extra: Wire = {owner: fields} if fields or mark else {}
    if shape is not None:
        extra[_SHAPE] = shape
    return extra


def fields_of(extra: Mapping[str, Json], owner: str) -> Wire:
    """A copy of the fields kept for one format."""
    return copy_out(extra.get(owner) or {})


def with_fields(wire: Wire, extra: Mapping[str, Json], owner: str) -> Wire:
    """``wire`` and behind it the fields kept for its format; what our types say wins."""
    return {**wire, **copy_out(without(extra.get(owner) or {}, *wire))}


def shape_of(extra: Mapping[str, Json]) -> Json:
    return extra.get(_SHAPE)


def kind_of(part: Part) -> str:
    """What a part is called in a report: ``thinking``, ``anthropic document``."""
    if isinstance(part, Opaque):
        return f"{part.format} {part.data.get('type') or 'part'}"
    return type(part).__name__.lower()
