"""The normal form of a text, with the way back to where each of its characters comes from.

Promise: what is found in the normal form is given back as whole characters of the text, with the
marks that belong to them (``tests/foundation/test_matching.py``). Pure.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.matching.spelling import SIGNS, Piece, Spelling, is_inside_beginning, letters
from holdfast.text import is_hidden, normalise

__all__ = ["Folding", "Span", "folded_form", "mapped", "merged", "safe_cut", "with_marks"]

_HELD_BACK: Final = 4096
_STRETCH: Final = 128
_LONGEST_ESCAPE: Final = 40


class Span(NamedTuple):
    start: int
    end: int


def folded_form(text: str) -> str:
    """The normal form, but with a blank at an end where there is white space."""
    inner = normalise(text)
    before = " " if _has_blank_at(text, range(len(text))) else ""
    if not inner:
        return before
    after = " " if _has_blank_at(text, range(len(text) - 1, -1, -1)) else ""
    return f"{before}{inner}{after}"


def _has_blank_at(text: str, way: range) -> bool:
    """Whether the first character that can be seen on this way through the text is a blank."""
    for index in way:
        char = text[index]
        if char.isascii() and char > "\x1f":
            return char == " "
        if not is_hidden(char):
            ends = unicodedata.normalize("NFKC", char)
            return ends[0 if way.step > 0 else -1].isspace()
    return False


@lru_cache(maxsize=4096)
def _joins(char: str) -> bool:
    """Whether it may become one character with what stands before it."""
    if char.isascii():
        return False
    first = unicodedata.normalize("NFKD", char)[0]
    return (
        unicodedata.category(first)[0] == "M"
        or "\u1161" <= first <= "\u1175"
        or "\u11a8" <= first <= "\u11c2"
        or "\U0001f3fb" <= first <= "\U0001f3ff"  # the skin of an emoji
    )


class Folding:
    """A text in its normal form, in pieces that know where they come from.

    Characters are only looked at one by one around a match: that is a hundred times slower.
    """

    def __init__(self, text: str, spelling: Spelling | None) -> None:
        self._text = text
        self._spelling = spelling
        self._starts: list[int] = []
        self._folded_starts: list[int] = []
        folded: list[str] = []
        length = 0
        for start, end in _stretches(text):
            now = text[start:end]
            now = folded_form(spelling.unescaped(now) if spelling is not None else now)
            if folded and folded[-1].endswith(" "):
                now = now.removeprefix(" ")
            self._starts.append(start)
            self._folded_starts.append(length)
            length += len(now)
            folded += [now] if now else []
        self.folded = "".join(folded)

    def spans(self, wanted: Iterable[str]) -> Iterator[Span]:
        for text in wanted:
            at = self.folded.find(text)
            while at >= 0:
                yield from self._located(text, at)
                at = self.folded.find(text, at + 1)

    def _located(self, text: str, at: int) -> Iterator[Span]:
        first = bisect_right(self._folded_starts, at) - 1
        behind = bisect_right(self._folded_starts, at + len(text) - 1)
        start = self._starts[first]
        end = self._starts[behind] if behind < len(self._starts) else len(self._text)
        yield from mapped(self._pieces(start, end)).spans([text])

    def _pieces(self, start: int, end: int) -> Iterator[Piece]:
        if self._spelling is None:
            return letters(self._text, start, end)
        inner = self._spelling.pieces(self._text[start:end])
        return (Piece(said, start + one, start + two) for said, one, two in inner)


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """The text in stretches of some hundred characters, cut where nothing belongs together."""
    start = 0
    while start < len(text):
        size, cut = _STRETCH, 0
        while not cut and start + size < len(text):
            cut = safe_cut(text[start : start + size])
            size *= 2
        end = start + cut if cut else len(text)
        yield start, end
        start = end


class _Mapped(NamedTuple):
    """A normal form, and for each of its characters where it comes from."""

    text: str
    starts: list[int]
    ends: list[int]

    def spans(self, wanted: Iterable[str]) -> Iterator[Span]:
        for text in wanted:
            at = self.text.find(text)
            while at >= 0:
                yield Span(self.starts[at], self.ends[at + len(text) - 1])
                at = self.text.find(text, at + 1)


def mapped(pieces: Iterable[Piece]) -> _Mapped:
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for said, start, end in _sequences(pieces):
        folded = (
            said.lower()
            if said.isascii()
            else unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", said).casefold())
        )
        for char in folded:
            if char.isspace() and chars and chars[-1] == " ":
                ends[-1] = end
                continue
            chars.append(" " if char.isspace() else char)
            starts.append(start)
            ends.append(end)
    return _Mapped("".join(chars), starts, ends)


def _sequences(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Characters with the marks that belong to them, and with what hides behind them."""
    said: list[str] = []
    start = end = 0
    for piece in pieces:
        is_plain = piece.said.isascii() and piece.said >= " "
        if not is_plain and len(piece.said) == 1 and is_hidden(piece.said):
            end = piece.end if said else end
            continue
        if said and (is_plain or not _joins(piece.said[0])):
            yield Piece("".join(said), start, end)
            said = []
        if not said:
            start = piece.start
        said.append(piece.said)
        end = piece.end
    if said:
        yield Piece("".join(said), start, end)


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def with_marks(text: str, span: Span) -> Span:
    """The span with the marks and hidden characters behind it."""
    end = span.end
    while end < len(text) and (_joins(text[end]) or is_hidden(text[end])):
        end += 1
    return Span(span.start, end)


def _belongs_together(text: str, at: int) -> bool:
    """Whether the characters on both sides may have to be read as one thing."""
    char = text[at]
    return (
        char in SIGNS
        or char == "+"
        or text[at - 1] == "+"
        or _joins(char)
        or is_hidden(char)
        or is_inside_beginning(text, at)
    )


def safe_cut(text: str) -> int:
    """Where a stream may be cut: not in an escape, not before a mark that joins."""
    cut = len(text)
    lowest = max(0, cut - _HELD_BACK)
    while cut > lowest:
        signs = [
            at for sign in SIGNS if (at := text.find(sign, max(0, cut - _LONGEST_ESCAPE), cut)) >= 0
        ]
        if signs:
            cut = min(signs)
        elif cut == len(text) or _belongs_together(text, cut):
            cut -= 1  # what an escape says may join what stands before it, too
        else:
            return cut
    return cut
