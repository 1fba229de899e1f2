"""What a tool is: its name, what it says of itself, its schema, and the call.

Also the little that every tool needs: checking arguments against the few things our schemas
say, and quoting what was stored as data (``tests/engine/test_tools.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.engine.rooms import Rooms
from holdfast.errors import PolicyRefused
from holdfast.fencing import Quoted, fence
from holdfast.text import cut
from holdfast.types import Json

__all__ = [
    "Access",
    "Call",
    "Tool",
    "check_mode",
    "fenced",
    "object_of",
    "problem_in",
    "text_of",
]

Call = Callable[[Rooms, Mapping[str, Json], str | None], Json]
Access = Literal["reads", "writes", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``call`` gets the rooms, the arguments and the session that asks."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    call: Call
    access: Access = "reads"
    """What it does with memory: decides in which memory mode it may be called."""


# ── may it be called ────────────────────────────────────────────────────────────────────────


def check_mode(rooms: Rooms, session: str | None, name: str, access: Access) -> None:
    """Refuse what the memory mode of the conversation does not allow."""
    mode = rooms.memory_mode(session)
    if access == "none" or mode == "read-write" or (mode == "read" and access == "reads"):
        return
    what = "is switched off" if mode == "off" else "may only be read"
    raise PolicyRefused(
        f"{name}: memory {what} in this conversation, so nothing was done.",
        hint="Go on without it. Only the user can allow it: memory.mode in config.toml, or "
        "memory= when the session is opened.",
    )


# ── arguments ───────────────────────────────────────────────────────────────────────────────

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
}
_SHOWN: Final = 60
"""Characters of a name that a caller made up."""


def problem_in(value: Json, schema: Mapping[str, Json], name: str) -> str | None:
    """What of a value its schema does not allow; of the few things our schemas say."""
    kind = schema["type"]
    is_right = isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")
    if not is_right:
        return f"{name!r} must be of type {kind}, not {type(value).__name__}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name!r} must be one of {', '.join(schema['enum'])}"
    if kind in ("number", "integer") and not schema["minimum"] <= value <= schema["maximum"]:
        return f"{name!r} must be from {schema['minimum']} to {schema['maximum']}"
    if kind == "array":
        found = (problem_in(each, schema["items"], f"{name}[]") for each in value)
        return next((problem for problem in found if problem is not None), None)
    return _problem_inside(value, schema) if kind == "object" else None


def _problem_inside(value: Mapping[str, Json], schema: Mapping[str, Json]) -> str | None:
    known = schema["properties"]
    for each, inner in value.items():
        if each not in known:
            return f"there is no {cut(str(each), _SHOWN)!r}; there are {', '.join(known)}"
        if inner is not None and (problem := problem_in(inner, known[each], each)) is not None:
            return problem
    missing = [each for each in schema["required"] if value.get(each) in (None, "", [])]
    return f"{missing[0]!r} is missing: {known[missing[0]]['description']}" if missing else None


def object_of(required: list[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def text_of(description: str) -> dict[str, Json]:
    return {"type": "string", "description": description}


# ── answers ─────────────────────────────────────────────────────────────────────────────────


def fenced(rooms: Rooms, passages: Sequence[Quoted]) -> str:
    """Passages as a model reads them: data, with where each stands."""
    language = rooms.settings.memory.language
    nonce = rooms.ids.new(rooms.clock.now())
    return fence(passages, nonce=nonce.rjust(8, "0"), language=language)
