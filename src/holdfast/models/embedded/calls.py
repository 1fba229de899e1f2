"""Calls of tools that a small model writes as text, and what of its text a person is shown.

Small models know the form of a call from their training and miss it by a little: in a code block,
with doubled brackets, without the marks their template asks for, the same one again and again.
Such a text is taken for calls only where tools were offered and are named, and where nothing is
said after it: an answer that explains a call is an answer.

Promise: bounded for any text; nothing is a call that does not name an offered tool; whatever the
pieces in which a text comes, what was shown and what was held back together are the text
(``tests/models/test_embedded_calls.py``). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.text import cut
from holdfast.types import Json, ToolCall

__all__ = ["Shown", "calls_in"]

_LONGEST: Final = 64_000
_MOST_FAILURES: Final = 64
_MOST: Final = 16
_START: Final = re.compile(r"[{\[]")
_DECODER: Final = json.JSONDecoder()
_ARGUMENTS: Final = ("arguments", "parameters", "input", "args")
_AROUND: Final = re.compile(r"</?tool_calls?>|```\w{0,20}|[}\],;\s]")
"""What may stand around calls without saying anything."""
_OPENING: Final = re.compile(r"(?:<tool_calls?>|```\w{0,20}|[{\[\s])+\Z")
_MARKS: Final = 64
"""How far back the marks that open a call are looked for."""


def calls_in(text: str, names: frozenset[str]) -> tuple[list[ToolCall], str]:
    """The calls that were written as text, and the text before them; (none, all of it) if none."""
    text = text if len(text) <= _LONGEST else cut(text, _LONGEST)
    found: dict[str, ToolCall] = {}
    begin, rest, end = len(text), "", 0
    for start, stop, value in _values(text):
        calls = [call for item in _items(value) if (call := _call(item, names)) is not None]
        if not calls and not found:
            continue
        begin = min(begin, start)
        rest += text[end:start] if end else ""
        end = stop
        for name, arguments in calls[:_MOST]:
            key = json.dumps([name, arguments], sort_keys=True, default=str)
            if key not in found and len(found) < _MOST:
                identity = f"call_{len(found) + 1}"
                found[key] = ToolCall(id=identity, name=name, arguments=arguments)
    if not found or _says_more(rest + text[end:]):
        return [], text
    return list(found.values()), _before(text[:begin])


def _before(text: str) -> str:
    """What was said before the first call, without the marks that open it."""
    return text[:-_MARKS] + _OPENING.sub("", text[-_MARKS:])


def _values(text: str) -> Iterator[tuple[int, int, Json]]:
    """The JSON values that stand in a text, with their places."""
    at = failures = 0
    while failures < _MOST_FAILURES and (start := _START.search(text, at)) is not None:
        try:
            value, at = _DECODER.raw_decode(text, start.start())
            yield start.start(), at, value
        except (ValueError, RecursionError):
            failures, at = failures + 1, start.start() + 1


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _call(item: Json, names: frozenset[str]) -> tuple[str, Mapping[str, Json]] | None:
    if not isinstance(item, dict):
        return None
    inner = item.get("function")
    item = inner if isinstance(inner, dict) else item
    name = item.get("name") or item.get("tool")
    if not isinstance(name, str) or name not in names:
        return None
    given = next((item[key] for key in _ARGUMENTS if key in item), None)
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return (name, given) if isinstance(given, dict) else None


def _says_more(rest: str) -> bool:
    """Whether more stands there than marks, or a call that was cut."""
    left = _AROUND.sub("", rest).lstrip("{[")
    return bool(left) and not left.startswith(('"name"', '"tool"', '"function"'))


# ── what is shown ───────────────────────────────────────────────────────────────────────────

_MARK: Final = re.compile(r"<tool_call|```|(?:(?<=\n)|\A)[ \t]{0,8}[{\[]")
_PARTIAL: Final = re.compile(r"(?:<[tol_ca]{0,8}|`{1,2}|\n[ \t]{0,8})\Z")
"""The end of a piece that may become a mark."""
_BLOCK: Final = re.compile(r"```(\w{0,20})[ \t]{0,8}\n\s{0,40}(\S)")
_LONG_BLOCK: Final = 96
"""A block whose first line has not come to its end by then holds no call."""
_UNNAMED: Final = 240
"""Characters of an object in which the name of a tool must have come."""


class Shown:
    """Holds back what may turn out to be a call, and lets the rest of a text pass."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._left = ""
        self._is_held = not names
        self._in_block = False
        self._is_new_line = True

    def feed(self, piece: str) -> str:
        """What of the text so far can be shown now."""
        if not self._names:
            return piece
        self._left += piece
        shown: list[str] = []
        while not self._is_held and (now := self._next()):
            shown.append(now)
            self._left = self._left[len(now) :]
            self._is_new_line = now.endswith("\n")
        return "".join(shown)

    def end(self) -> str:
        """What was held back; for a text that was no call."""
        left, self._left = self._left, ""
        return left

    def _next(self) -> str:
        """The beginning of what is left that can be shown; nothing if that is not known yet."""
        text = self._left
        if self._in_block:
            end = text.find("```")
            self._in_block = end < 0
            return text[: end + 3] if end >= 0 else text[: max(0, len(text) - 2)]
        if self._is_new_line and not text.strip():
            return ""
        mark = _MARK.search(text)
        if mark is not None and mark.start() == 0 and not self._is_new_line and text[0] in " \t{[":
            mark = _MARK.search(text, 1)  # in the midst of a line it opens nothing
        if mark is None:
            partial = _PARTIAL.search(text, max(0, len(text) - 12))
            return text if partial is None else text[: partial.start()]
        return text[: mark.start()] or self._judged(text)

    def _judged(self, text: str) -> str:
        """A mark stands at the beginning: hold it, wait for more, or let it pass."""
        if text.startswith("<"):
            self._is_held = True
            return ""
        if text.startswith("`"):
            return self._block(text)
        if any(f'"{name}"' in text[: _UNNAMED * 2] for name in self._names):
            self._is_held = True
            return ""
        if len(text) < _UNNAMED:
            return ""
        end = text.find("\n")
        return text if end < 0 else text[: end + 1]

    def _block(self, text: str) -> str:
        opening = _BLOCK.match(text)
        if opening is None and len(text) < _LONG_BLOCK:
            return ""
        if opening is not None and opening[2] in "{[<" and opening[1] in _CALLING:
            self._is_held = True
            return ""
        self._in_block = True
        return text[:3]


_CALLING: Final = frozenset({"", "json", "xml", "tool_call", "tool_calls", "tool_code"})
