"""Reading what a model wrote where JSON was asked for: as a call, in a fence, or cut in the middle.

Small models write the call of a tool as text, double its brackets, wrap it in a code block, or
run into their limit inside of it. Whatever whole objects stand in a text are found.

Promise: bounded and without an exception for any text; nothing is run, nothing is guessed beyond
what was written (``tests/context/test_flush_agent.py``). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.context.flush.claims import WIDEST
from holdfast.context.flush.grounding import Candidate
from holdfast.retain import parse
from holdfast.text import cut
from holdfast.types import Json

__all__ = ["Asked", "arguments_of", "asked_in", "facts_in", "statements_in", "values_in"]

_LONGEST: Final = 64_000
_MOST_FAILURES: Final = 64
_MOST: Final = 400
_START: Final = re.compile(r"[{\[]")
_DECODER: Final = json.JSONDecoder()


def values_in(text: str) -> list[Json]:
    """The JSON objects and lists that stand in a text; of a cut one, those inside of it."""
    text = cut(text, _LONGEST)
    found: list[Json] = []
    at = failures = 0
    while failures < _MOST_FAILURES and (start := _START.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, start.start())
            found.append(value)
        except (ValueError, RecursionError):
            failures, at = failures + 1, start.start() + 1
    return found


# ── calls of tools ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A tool that a model asks for; ``arguments`` is None if they cannot be read."""

    name: str
    arguments: Mapping[str, Json] | None
    id: str | None = None


_ARGUMENTS: Final = ("arguments", "parameters", "input", "args")


def asked_in(text: str, *, allowed: frozenset[str]) -> list[Asked]:
    """Calls that were written as text; statements of a cut call count as its own."""
    found: list[Asked] = []
    loose: list[Json] = []
    for value in values_in(text):
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                continue
            if (call := _call(item)) is not None:
                found.append(call)
            elif isinstance(item.get("memories"), list):
                found.append(Asked(name="memory_retain", arguments=item))
            elif isinstance(item.get("text"), str):
                loose.append(item)
    if loose and not found and any(name in text for name in allowed):
        found.append(Asked(name="memory_retain", arguments={"memories": loose}))
    return found[:_MOST]


def _call(item: Mapping[str, Json]) -> Asked | None:
    inner = item.get("function")
    item = inner if isinstance(inner, dict) else item
    name = item.get("name") or item.get("tool")
    given = next((item[key] for key in _ARGUMENTS if key in item), None)
    if not isinstance(name, str) or given is None:
        return None
    return Asked(name=name, arguments=arguments_of(given))


def arguments_of(given: Json) -> Mapping[str, Json] | None:
    """The arguments of a call; of cut JSON the statements that are whole. None: unreadable."""
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, str):
        return None
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        parts = [each for each in values_in(given) if isinstance(each, dict)]
        whole = next((each for each in parts if "memories" in each or "query" in each), None)
        statements = [each for each in parts if isinstance(each.get("text"), str)]
        return whole or ({"memories": statements} if statements else None)
    return value if isinstance(value, dict) else None


# ── statements ──────────────────────────────────────────────────────────────────────────────

_TEXTS: Final = ("text", "fact", "content", "statement", "memory")
_WHO: Final = ("entity", "who", "about", "speaker")
_WHERE: Final = ("source", "turn", "message", "number")
_BULLET: Final = re.compile(r"^\s{0,8}(?:[-*+•·]|\d{1,3}[.)、])\s{0,4}")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")


def statements_in(arguments: Mapping[str, Json]) -> list[Candidate]:
    """What ``memory_write`` and ``memory_retain`` are given to keep. Any place is ignored."""
    found: list[Candidate] = []
    listed = next(
        (arguments[key] for key in ("memories", "facts", "items") if key in arguments), None
    )
    for item in listed if isinstance(listed, list) else [listed or arguments]:
        found += _statements(item)
    return found[:_MOST]


def _statements(item: Json) -> Iterator[Candidate]:
    if isinstance(item, str):
        yield from _of_text(item, None, None)
    elif isinstance(item, Mapping):
        text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
        if text is not None:
            who = next((item[key] for key in _WHO if isinstance(item.get(key), str)), None)
            yield from _of_text(text, who, _number(item))


def _number(item: Mapping[str, Json]) -> int | None:
    """The number of the message, also where it was written as ``#3`` or ``[3]``."""
    given = next((item[key] for key in _WHERE if item.get(key) is not None), None)
    if isinstance(given, list) and given:
        given = given[0]
    if isinstance(given, bool):
        return None
    if isinstance(given, str):
        digits = re.search(r"\d{1,7}", cut(given, 40))
        given = int(digits[0]) if digits else None
    return given if isinstance(given, int) else None


def _of_text(text: str, who: str | None, turn: int | None) -> Iterator[Candidate]:
    for line in cut(text, _LONGEST).splitlines():
        if not (stripped := line.strip()) or stripped.startswith("#"):
            continue
        if (known := parse(stripped)) is not None:
            yield Candidate(text=known.text, about=known.entity or who, turn=turn)
            continue
        bare = _BULLET.sub("", stripped)
        parts = [bare] if len(bare) <= WIDEST else _SENTENCE.split(bare)
        yield from (Candidate(text=part, about=who, turn=turn) for part in parts if part.strip())


def facts_in(text: str) -> list[Candidate] | None:
    """The facts of an extraction's answer; None if it is no answer at all.

    An object with a list of facts, a list of them, or loose ones of an answer that was cut.
    """
    values = values_in(text)
    if not values:
        return None
    found: list[Candidate] = []
    is_answer = False
    for value in values:
        listed = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and isinstance(value.get("facts"), list):
            listed, is_answer = value["facts"], True
        is_answer = is_answer or isinstance(value, list)
        for item in listed:
            found += _statements(item)
    return found[:_MOST] if found or is_answer else None
