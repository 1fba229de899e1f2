"""JSON that fits: shortened from the inside, so that it is still JSON.

Promise: the result parses, is not longer than the limit, is the whole value when that fits,
and says in place how much was left out of every string, array and object
(``tests/foundation/test_text_json.py``). Room is shared fairly: what is small stays whole,
what is large gives way first.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.text.cuts import cut
from holdfast.types import Json

__all__ = ["shorten_json"]

_SOMETHING: Final = '"…"'
_MAX_DEPTH: Final = 48  # our own recursion, far below Python's; deeper levels are only counted
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')


def shorten_json(value: Json, limit: int) -> str:
    """The JSON text of a value in at most ``limit`` characters, by leaving out parts of it.

    A shortened string ends with ``… +120 chars``, an array with ``"… +7 items"``, an object
    with ``"…": "+3 keys"``; what has no room even for that is ``"…"``. This is the smallest
    result, so a limit below 3 counts as 3. Characters outside ASCII stay readable, only lone
    surrogates are escaped; NaN and infinity, for which JSON has no word, become null.

    Raises:
        TypeError, ValueError: the value is not JSON (a set, a circle).
    """
    limit = max(limit, len(_SOMETHING))
    whole = _whole(value)
    if whole is not None and len(whole) <= limit:
        return whole
    return _fit(_measure(value, limit, _MAX_DEPTH), limit)


def _whole(value: Json) -> str | None:
    """The whole value as JSON text; None if it is too deep for that or has a NaN in it."""
    try:
        return _encode(value)
    except RecursionError:
        return None
    except ValueError:
        json.dumps(value, default=_as_dict)  # allows NaN, so it only raises what we must raise
        return None


def _encode(value: Json) -> str:
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_as_dict
    )
    return text if text.isascii() else _SURROGATE.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def _as_dict(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"A {type(value).__name__} is not JSON.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A value with the size of its JSON text; a size above the limit is only a lower bound."""

    size: int
    text: str = ""  # of a string: itself; of another scalar: its JSON
    kind: str = "scalar"
    children: tuple[_Child, ...] = ()
    count: int = 0  # of children, also of those that can never fit and were not measured

    def mark(self, left_out: int) -> str:
        """What stands in a container for the children that are not shown."""
        if self.kind == "array":
            return f'"… +{left_out} item{"s" * (left_out != 1)}"'
        key = "…"
        while any(child.key == f'"{key}":' for child in self.children):
            key += "…"  # never the name of a real one
        return f'"{key}":"+{left_out} key{"s" * (left_out != 1)}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class _Child:
    key: str  # with its colon, as it is written; empty in an array
    node: _Node

    def at_least(self, useful: int) -> int:
        return len(self.key) + min(self.node.size, useful)


def _measure(value: Json, limit: int, depth: int) -> _Node:
    if isinstance(value, str):
        size = len(_encode(value)) if len(value) <= limit else limit + 1
        return _Node(size=size, text=value, kind="string")
    if isinstance(value, Mapping | list | tuple):
        return _measure_container(value, limit, depth)
    text = "null" if isinstance(value, float) and not math.isfinite(value) else _encode(value)
    return _Node(size=len(text), text=text)


def _measure_container(
    value: Mapping[str, Json] | list[Json] | tuple[Json, ...], limit: int, depth: int
) -> _Node:
    kind = "object" if isinstance(value, Mapping) else "array"
    if depth == 0 and value:
        return _Node(size=limit + 1, kind=kind, count=len(value))
    pairs = (
        ((_encode({key: 0})[1:-2], child) for key, child in value.items())
        if isinstance(value, Mapping)
        else (("", child) for child in value)
    )
    # A child takes two characters or more: what stands behind so many has no chance.
    children = tuple(
        _Child(key=key, node=_measure(child, limit, depth - 1))
        for (key, child), _ in zip(pairs, range(limit // 2 + 1), strict=False)
    )
    size = 2 + sum(len(child.key) + child.node.size for child in children)
    size += max(0, len(children) - 1) if len(children) == len(value) else limit
    return _Node(size=size, kind=kind, children=children, count=len(value))


def _fit(node: _Node, budget: int) -> str:
    """The node's JSON in at most ``budget`` characters (never less than three)."""
    if node.kind == "string":
        return _encode(node.text) if node.size <= budget else _fit_string(node.text, budget)
    if node.kind == "scalar":
        return node.text if node.size <= budget else _SOMETHING
    shown = _choose(node, budget)
    parts = [child.key for child in shown]
    mark = ""
    if len(shown) < node.count:
        mark = node.mark(node.count - len(shown))
    room = budget - 2 - sum(map(len, parts)) - len(mark) - max(0, len(parts) - (not mark))
    # The smallest first, each with an equal share: what it does not need is left to the larger.
    order = sorted(range(len(shown)), key=lambda index: shown[index].node.size)
    for position, index in enumerate(order):
        text = _fit(shown[index].node, room // (len(order) - position))
        room -= len(text)
        parts[index] += text
    if mark:
        parts.append(mark)
    inside = ",".join(parts)
    text = f"[{inside}]" if node.kind == "array" else f"{{{inside}}}"
    return text if len(text) <= budget else _SOMETHING


def _choose(node: _Node, budget: int) -> list[_Child]:
    """The children to show: those that find room for enough of themselves to be of use."""
    useful = max(16, min(64, budget // 4))
    needed = 1 + sum(child.at_least(useful) + 1 for child in node.children)
    if needed <= budget and len(node.children) == node.count:
        return list(node.children)
    room = budget - 2 - len(node.mark(node.count))
    chosen = []
    for child in node.children:
        need = child.at_least(useful) + 1
        if need <= room:
            chosen.append(child)
            room -= need
        elif node.kind == "array":
            break  # the beginning of an array, without holes
    return chosen


def _fit_string(text: str, budget: int) -> str:
    room = budget - 2 - len(_more(len(text)))
    if room < 0:
        return _SOMETHING
    length = 0
    for char in text:
        room -= len(_encode(char)) - 2 if _ESCAPED.match(char) else 1
        if room < 0:
            break
        length += 1
    shown = cut(text, length)
    return _encode(shown + _more(len(text) - len(shown)))


def _more(left_out: int) -> str:
    return f"… +{left_out} char{'s' * (left_out != 1)}"
