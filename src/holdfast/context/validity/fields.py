"""Fields of a provider that our types do not know, made acceptable or left alone.

A message keeps what its provider wrote beside the known fields in ``extra``; all of it goes
back. Fields nobody knows are not touched. The few that are known to be refused are dropped or
mended here. Promise: an ``extra`` without such a field comes back as the same object
(``tests/context/test_repair.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from holdfast.context.validity.blocks import is_filled
from holdfast.context.validity.strings import mend_json
from holdfast.context.validity.target import ChangeKind, Target
from holdfast.types import Json

__all__ = [
    "mend_call_extra",
    "mend_extra",
    "mend_message_extra",
    "mend_name",
    "with_fields",
    "without_shape",
]

_Extra = Mapping[str, Json]
_Notes = list[ChangeKind]

_ROLE_FIELDS: Final[Mapping[str, Callable[[str, Json], bool]]] = {
    # Calls and ids that could be read are parts; what is still a field is not one.
    "tool_calls": lambda role, value: False,
    "function_call": lambda role, value: False,
    "tool_call_id": lambda role, value: False,
    "refusal": lambda role, value: (
        role == "assistant" and (value is None or isinstance(value, str))
    ),
    "audio": lambda role, value: (
        role == "assistant"
        and (value is None or (isinstance(value, Mapping) and is_filled(value.get("id"))))
    ),
    "name": lambda role, value: isinstance(value, str) and (role == "function" or _is_name(value)),
}


def _is_name(value: str) -> bool:
    return re.fullmatch(r"[^\s<|\\/>]{1,64}", value) is not None


def with_fields(extra: _Extra, owner: str, fields: Mapping[str, Json]) -> _Extra:
    kept = {key: value for key, value in extra.items() if key != owner}
    return {**kept, owner: fields} if fields else kept


def without_shape(extra: _Extra) -> _Extra:
    return {key: value for key, value in extra.items() if key != "shape"}


def mend_extra(extra: _Extra, target: Target, notes: _Notes, *, marked: bool = True) -> _Extra:
    """The extra of a part; ``marked``: whether a cache mark may stand on it."""
    fields = extra.get(target.format)
    if not fields:
        return extra
    kept = {key: value for key, value in fields.items() if _may_stay(key, value, target, marked)}
    mended = mend_json(kept)
    if mended is kept and len(kept) == len(fields):
        return extra
    notes.append("field" if len(kept) < len(fields) else "unicode")
    return with_fields(extra, target.format, mended)


def _may_stay(key: str, value: Json, target: Target, marked: bool) -> bool:
    if target.format != "anthropic":
        return True
    if key == "cache_control":
        is_mark = isinstance(value, Mapping) and value.get("type") == "ephemeral"
        return value is None or (marked and is_mark)
    return key != "is_error" or isinstance(value, bool)


def mend_call_extra(extra: _Extra, target: Target, notes: _Notes) -> _Extra:
    """The extra of a call: for OpenAI also with the type it needs."""
    mended = mend_extra(extra, target, notes)
    if target.format != "openai":
        return mended
    fields = mended.get("openai") or {}
    if "type" in fields:  # a call of a type we know does not keep it here
        notes.append("field")
        rest = {key: value for key, value in fields.items() if key != "type"}
        mended = with_fields(mended, "openai", rest)
    if target.caps.typed_calls and mended.get("shape") == "untyped":
        notes.append("field")
        mended = without_shape(mended)
    return mended


def mend_message_extra(extra: _Extra, role: str, target: Target, notes: _Notes) -> _Extra:
    """The extra of a message: fields its role may not have are dropped, a name is mended."""
    if target.format != "openai":
        return mend_extra(extra, target, notes)
    fields = extra.get("openai")
    if not fields:
        return extra
    wrong = [
        key for key, fits in _ROLE_FIELDS.items() if key in fields and not fits(role, fields[key])
    ]
    if not wrong:
        return mend_extra(extra, target, notes)
    notes.append("field")
    kept = {key: value for key, value in fields.items() if key not in wrong}
    if "name" in wrong and isinstance(name := fields["name"], str) and name:
        kept["name"] = re.sub(r"[\s<|\\/>]", "_", name)[:64]
    return mend_extra(with_fields(extra, "openai", kept), target, notes)


def mend_name(name: str, target: Target, notes: _Notes) -> str:
    """The name of a tool as the provider takes it."""
    caps = target.caps
    if len(name) <= caps.name_length and re.fullmatch(caps.name_pattern, name) is not None:
        return name
    notes.append("field")
    mended = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[: caps.name_length]
    return mended if re.fullmatch(caps.name_pattern, mended) is not None else "tool"
