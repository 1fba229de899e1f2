"""Reading an OpenClaw configuration: JSON5 text → leaves by their path.

A leaf is anything that is not a table with something in it. Pasted fragments are understood as
well: a bare ``memoryFlush`` or ``compaction`` is taken for the part of ``agents.defaults`` it
belongs to. Promise: every leaf of the document is in the result, or an error names the line
(``tests/foundation/test_config_openclaw.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import json5

from holdfast.config.openclaw.draft import DEFAULTS, Leaf, Path
from holdfast.errors import ConfigError
from holdfast.types import Json

__all__ = ["leaves_of", "parse"]

_FRAGMENTS: Mapping[str, Path] = {
    "agent": DEFAULTS,  # its name before there were several agents
    "memoryFlush": (*DEFAULTS, "compaction", "memoryFlush"),
    **{
        name: (*DEFAULTS, name)
        for name in (
            "compaction",
            "contextPruning",
            "contextTokens",
            "memorySearch",
            "userTimezone",
        )
    },
}


def parse(text: str) -> Mapping[str, Json]:
    """The document; ``ConfigError`` when it is not one."""
    try:
        # The JSON5 reader needs seconds where the JSON reader needs milliseconds.
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = _parse_json5(text)
    if not isinstance(document, Mapping):
        raise ConfigError("An OpenClaw configuration is one JSON object; this is something else.")
    return document


def _parse_json5(text: str) -> Json:
    try:
        return json5.loads(text)
    except RecursionError:
        raise ConfigError("The OpenClaw configuration is nested too deeply to be read.") from None
    except ValueError as error:
        why = str(error).removeprefix("<string>:")
        raise ConfigError(f"The OpenClaw configuration is not valid JSON5, line {why}") from None


def leaves_of(document: Mapping[str, Json]) -> tuple[dict[Path, Leaf], list[Leaf]]:
    """Every leaf by its full path, and those that a fragment gave a second time."""
    leaves: dict[Path, Leaf] = {}
    repeated: list[Leaf] = []
    full_names_first = sorted(document, key=lambda name: name in _FRAGMENTS)
    for name in full_names_first:
        for where, leaf in _walk(_FRAGMENTS.get(name, (name,)), name, document[name]):
            if where in leaves:
                repeated.append(leaf)
            else:
                leaves[where] = leaf
    return leaves, repeated


def _walk(where: Path, shown: str, value: Json) -> Iterator[tuple[Path, Leaf]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _walk((*where, str(name)), f"{shown}.{name}", inner)
    else:
        yield where, Leaf(source=shown, value=value)
