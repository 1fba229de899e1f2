"""A JSON schema as the grammar of the embedded model can follow it.

The runtime turns a schema into a grammar, and what it cannot translate it drops with a line on
the terminal: of a string with a ``pattern`` it takes only the pattern, and only one that is
anchored at both ends. So lengths are written into the patterns, and what it would refuse is left
out here, quietly: the answer is checked by whoever asked for it.

Promise: the schema that is handed on has no pattern without both anchors, and whatever it accepts
the given one accepts too, but for patterns that had to be left out
(``tests/models/test_embedded_wire.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from holdfast.types import Json

__all__ = ["grammar_schema"]

_DEEPEST: Final = 32
_LONGEST: Final = 2_000
"""The longest string of a pattern that names no length; counted repeats cost the grammar."""
_REST: Final = r'[^"\\\n\r\t]'
"""A character that stands in a JSON string as it is."""
_FIRST: Final = re.compile(r"\^(\[[^\]\\\"]{1,80}\]|[^\W_])\Z")
"""A pattern that only says how a text begins: with a class of characters, or with a letter."""
_WHOLE: Final = re.compile(r"\^[\w\-\[\]|(){},?+* ]{1,400}\$\Z")
"""A pattern of plain characters, classes and repeats, anchored at both ends."""


def grammar_schema(schema: Json, *, depth: int = 0) -> Json:
    """The schema without what the grammar cannot follow."""
    if depth > _DEEPEST:
        return {}
    if isinstance(schema, list):
        return [grammar_schema(each, depth=depth + 1) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {key: grammar_schema(value, depth=depth + 1) for key, value in schema.items()}
    if schema.get("type") == "string" and isinstance(pattern := schema.get("pattern"), str):
        return _string(found, pattern)
    return found


def _string(found: dict[str, Json], pattern: str) -> dict[str, Json]:
    """A string whose pattern can be kept has its length inside of it."""
    del found["pattern"]
    longest = found.get("maxLength")
    length = longest if isinstance(longest, int) and longest > 0 else _LONGEST
    if (begins := _FIRST.match(pattern)) is not None:
        found.pop("maxLength", None)
        found["pattern"] = f"^{begins[1]}{_REST}{{0,{length - 1}}}$"
    elif _WHOLE.match(pattern) is not None:
        found["pattern"] = pattern
    return found
