"""A JSON file of somebody else, changed in one place.

A parser that writes everything anew would lose the layout people gave their settings. Here only
places are found: where a value begins and ends, what stands around it. Promise: every byte that
is not added or removed stays as it was; what is added has the indentation and line ends of the
file; what is removed after it was added leaves the file as it was; a file that is no JSON is
refused with the place where it stops being some (``tests/doors/test_hooks_install.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from json.decoder import JSONDecoder
from typing import Final

from holdfast.errors import UsageError
from holdfast.types import Json

__all__ = ["Part", "add", "parse", "parts_of", "remove"]

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = JSONDecoder()
_USUAL_INDENT: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A member of an object or an element of an array, as it stands in the text."""

    start: int
    """Of its key, or of itself."""
    at: int
    """Of its value."""
    end: int
    key: str | None
    value: Json


def parse(text: str, name: str) -> Json:
    """
    Raises:
        UsageError: it is no JSON, and where; or none that Python reads.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}. "
            "Nothing was changed.",
            hint="Comments and commas after a last value are not JSON; take them out first.",
        ) from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deeply. Nothing was changed.") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise UsageError(f"{name} has a number that is too long. Nothing was changed.") from None


def parts_of(text: str, at: int) -> list[Part]:
    """What is in the object or array that begins at ``at``; of a file that ``parse`` takes."""
    closing = {"{": "}", "[": "]"}[text[at]]
    found: list[Part] = []
    at = _skip(text, at + 1)
    while text[at] != closing:
        start, key = at, None
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # behind the colon
        value, end = _DECODER.raw_decode(text, at)
        found.append(Part(start=start, at=at, end=end, key=key, value=value))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def add(text: str, at: int, value: Json, *, key: str | None = None) -> str:
    """The text with one more member or element at the end of what begins at ``at``."""
    parts = parts_of(text, at)
    margin = _margin(text, at, parts)
    written = _written(value, key, margin, _unit(text), _line_end(text))
    if parts:
        end = parts[-1].end
        return f"{text[:end]},{margin or ' '}{written}{text[end:]}"
    end = _skip(text, at + 1)
    outer = f"{_line_end(text)}{_indent_of(text, at)}" if margin else ""
    return f"{text[: at + 1]}{margin}{written}{outer}{text[end:]}"


def remove(text: str, at: int, is_ours: Callable[[Part], bool]) -> str:
    """The text without the members or elements that are ours in what begins at ``at``."""
    while (found := _last(parts := parts_of(text, at), is_ours)) is not None:
        part = parts[found]
        if found:
            text = text[: parts[found - 1].end] + text[part.end :]
        elif len(parts) > 1:
            text = text[: part.start] + text[parts[1].start :]
        else:
            text = text[: at + 1] + text[_skip(text, part.end) :]
    return text


def _last(parts: list[Part], is_ours: Callable[[Part], bool]) -> int | None:
    return next((n for n in range(len(parts) - 1, -1, -1) if is_ours(parts[n])), None)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


# ── layout ──────────────────────────────────────────────────────────────────────────────────


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent_of(text: str, at: int) -> str:
    """What the line of this place begins with."""
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : _skip(text, begin)] if _skip(text, begin) <= at else ""


def _unit(text: str) -> str:
    """By how much the file indents: what its first indented line begins with."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found is not None else _USUAL_INDENT


def _margin(text: str, at: int, parts: list[Part]) -> str:
    """What stands before a part of its own line; empty where all are on one line."""
    if parts:
        before = text[text.rfind("\n", 0, parts[-1].start) + 1 : parts[-1].start]
        is_own_line = not before.strip() and "\n" in text[at : parts[-1].start]
        return f"{_line_end(text)}{before}" if is_own_line else ""
    if "\n" not in text.strip() and text.strip() != text[at : at + 2]:
        return ""  # a file of one line
    return f"{_line_end(text)}{_indent_of(text, at)}{_unit(text)}"


def _written(value: Json, key: str | None, margin: str, unit: str, line_end: str) -> str:
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not margin:
        return name + json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    indent = margin.lstrip("\r\n")
    return name + line_end.join([lines[0], *(indent + line for line in lines[1:])])
