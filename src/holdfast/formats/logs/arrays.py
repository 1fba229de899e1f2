"""The elements of one JSON array that may be too large to be held.

Promise: no more is held than one element and a piece of the text; an element that is longer than
the bound, or an array that breaks off, is an error that says where
(``tests/foundation/test_logs_arrays.py``). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.errors import InvalidMessage
from holdfast.types import Json

__all__ = ["elements_of"]

LONGEST: Final = 256 << 20
"""Characters of one element: a conversation of years."""

_DECODER: Final = json.JSONDecoder()
_BLANK: Final = re.compile(r"[\s\ufeff]*+")
_BETWEEN: Final = re.compile(r"[\s,]*+")
_AFTER_PLAIN: Final = re.compile(r"[,\]\s]")
# Possessive, and a string that is not closed reaches to the end: nothing is read twice.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)


def elements_of(pieces: Iterable[str], *, longest: int = LONGEST) -> Iterator[Json]:
    """The elements of the array whose text the pieces are, in order.

    Raises:
        InvalidMessage: it is no array, breaks off, or an element of it is too long.
    """
    source = _Source(iter(pieces), longest)
    if not source.has("["):
        raise InvalidMessage("This is no JSON array.")
    number = 0
    while (text := source.element(number + 1)) is not None:
        number += 1
        try:
            yield _DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            raise InvalidMessage(f"Element {number} is not usable JSON: {error}.") from error


class _Source:
    """The text that was read and not used yet."""

    def __init__(self, pieces: Iterator[str], longest: int) -> None:
        self._pieces = pieces
        self._longest = longest
        self._text = ""
        self._at = 0

    def _more(self) -> bool:
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._text = self._text[self._at :] + piece
        self._at = 0
        return True

    def _skip(self, blank: re.Pattern[str]) -> str:
        """The next character that says something; none at the end."""
        while True:
            found = blank.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def has(self, opening: str) -> bool:
        if self._skip(_BLANK) != opening:
            return False
        self._at += 1
        return True

    def element(self, number: int) -> str | None:
        first = self._skip(_BETWEEN)
        if first == "]":
            return None
        if not first:
            raise InvalidMessage(f"The array breaks off before element {number}.")
        held = [self._text[self._at :]]
        scan = _Brackets()
        while (end := scan.end_in(held[-1])) is None:
            if scan.seen > self._longest:
                raise InvalidMessage(
                    f"Element {number} is longer than {self._longest:,} characters."
                )
            piece = next(self._pieces, None)
            if piece is None:
                raise InvalidMessage(f"The array breaks off in element {number}.")
            held.append(piece)
        last = held.pop()
        self._text, self._at = last, end
        return "".join([*held, last[:end]])


class _Brackets:
    """Where a value ends whose text comes in pieces; every character is looked at once."""

    def __init__(self) -> None:
        self.seen = 0
        self._depth = 0
        self._in_string = False
        self._is_escaped = False
        self._is_plain = False

    def end_in(self, piece: str) -> int | None:
        """Where in this piece the value ends, if it does."""
        start = self._after_string(piece) if self._in_string else 0
        if start is None:
            self.seen += len(piece)
            return None
        if self.seen == 0 and piece and piece[0] not in '{["':
            self._is_plain = True  # a number or a word: it ends before the next mark
        if self._is_plain:
            found = _AFTER_PLAIN.search(piece)
            self.seen += len(piece)
            return found.start() if found else None
        if start and self._depth == 0:
            return start  # the value was a string
        return self._scanned(piece, start)

    def _scanned(self, piece: str, start: int) -> int | None:
        for found in _TOKEN.finditer(piece, start):
            token = found[0]
            if token in "{[":
                self._depth += 1
            elif token in "}]":
                self._depth -= 1
            elif not found[1]:
                self._in_string = True
                self._is_escaped = _ends_escaped(piece[found.start() + 1 :])
                break
            if self._depth <= 0:
                return found.end()
        self.seen += len(piece)
        return None

    def _after_string(self, piece: str) -> int | None:
        """Where the string ends that was open, if it does."""
        start = 1 if self._is_escaped else 0
        found = _REST.match(piece, start) if len(piece) >= start else None
        if found is not None and found[1]:
            self._in_string = False
            return found.end()
        if piece:
            self._is_escaped = _ends_escaped(piece[start:])
        return None


_REST: Final = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+(")?', re.DOTALL)


def _ends_escaped(text: str) -> bool:
    """Whether the last character is a backslash that escapes what comes next."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1
