"""Passages cut to what fits: the words around the best match, then all of them to a budget.

Promise: no text is longer than asked, no cut splits a character a reader sees, ``…`` stands where
something was left out, and the first passage is always there, however small the budget
(``tests/search/test_packing.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.text import cut, cut_tail

__all__ = ["Budget", "Fitted", "fitted", "snippet"]

_MARK: Final = "…"
_MOST_TERMS: Final = 48
_LEAD: Final = 0.4
"""Of the characters shown, how many may stand before the first word that matches."""
_TAIL: Final = 0.6
"""From here on, the end of a sentence is a better place to stop than the last character."""
_STOPS: Final = ("\n", ". ", "! ", "? ", "。", "！", "？")
_LEAST: Final = 80
"""A passage further down is left out rather than cut to less than this."""
_READ: Final = 200_000
"""Characters in which the best place is looked for."""


def snippet(text: str, terms: Mapping[str, float], limit: int) -> str:
    """At most ``limit`` characters of a text, around the words that match best.

    ``terms`` are stemmed, so a word matches when it begins with one. Without a match it is the
    beginning of the text.
    """
    text = text.strip()
    if len(text) <= limit:
        return text
    if limit <= len(_MARK):
        return _MARK[: max(0, limit)]
    start, last = _best_place(text, terms, limit)
    return _cut_out(text, start, last, limit)


def _cut_out(text: str, start: int, last: int, limit: int) -> str:
    before = text[:start]
    start += len(cut(text, start)) - len(before)  # back to the beginning of a character
    room = limit - len(_MARK) * (1 if start == 0 else 2)
    if start and len(text) - start <= limit - len(_MARK):
        return _MARK + cut_tail(text, len(text) - start).lstrip()
    shown = cut(text[start : start + room + 64], max(0, room))
    return (_MARK if start else "") + _well_ended(shown, text, start, last).strip() + _MARK


def _well_ended(shown: str, text: str, start: int, last: int) -> str:
    """To the end of a sentence, if one is near the end and all that matches stands before it;
    else without a word cut in two, if a blank is near."""
    least = max(int(len(shown) * _TAIL), last - start)
    stops = [found + len(mark) for mark in _STOPS if (found := shown.rfind(mark, least)) >= 0]
    if stops:
        return cut(shown, max(stops))
    end = start + len(shown)
    if end >= len(text) or not (text[end - 1 : end + 1].isalnum() and text[end].isascii()):
        return shown
    blank = shown.rfind(" ")
    return shown[:blank] if blank > len(shown) * 0.7 else shown


def _best_place(text: str, terms: Mapping[str, float], limit: int) -> tuple[int, int]:
    """Where to begin, and where the last word ends that has to be shown."""
    hits = _hits(text, terms)
    if not hits:
        return 0, 0
    shown = limit - 2 * len(_MARK)
    first, last = _best_window(hits, max(1, shown))
    if last <= shown and hits[0][0] <= limit * _LEAD:
        return 0, last
    start = max(0, first - max(0, shown - (last - first)) // 3)
    return _after_blank(text, start, first), last


def _after_blank(text: str, start: int, first: int) -> int:
    """The beginning of a sentence or a word at or after ``start``, not behind ``first``."""
    if start == 0:
        return 0
    for mark in ("\n", ". ", "。", "! ", "? ", "！", "？", " "):
        found = text.find(mark, start, first)
        if found >= 0:
            return found + len(mark)
    return start


def _hits(text: str, terms: Mapping[str, float]) -> list[tuple[int, int, str]]:
    """Where a word that matches begins and ends, and which term it is."""
    wanted = sorted(terms, key=lambda term: (-terms[term], -len(term)))[:_MOST_TERMS]
    stems = {_as_written(term): term for term in reversed(wanted) if term}
    if not stems:
        return []
    longest_first = sorted(stems, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    found = []
    for hit in pattern.finditer(text[:_READ]):
        begins = hit.start()
        word = hit.group()
        if word.isascii() and word[0].isalnum() and text[max(0, begins - 1) : begins].isalnum():
            continue  # inside a Latin word
        term = stems.get(word.lower()) or stems.get(word) or word
        found.append((begins, hit.end(), term))
    return found


def _as_written(term: str) -> str:
    """A stem as a beginning of the words it stands for: "happi" is written "happ…"."""
    if len(term) > 4 and term.isascii() and term.isalpha() and term[-1] in "iey":
        return term[:-1]
    return term


def _best_window(hits: Sequence[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """First and last character of the window with the most different terms; the first of such."""
    counts: dict[str, int] = {}
    best = (0, 0)
    shown = (hits[0][0], hits[0][1])
    first = 0
    for begins, ends, term in hits:
        counts[term] = counts.get(term, 0) + 1
        while hits[first][0] < ends - width and hits[first][0] < begins:
            gone = hits[first][2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            first += 1
        value = (len(counts), sum(counts.values()))
        if value > best:
            best = value
            shown = (hits[first][0], ends)
    return shown


# ── all passages together ───────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class Budget:
    """What may still be shown. Counts down as passages are fitted."""

    chars: int | None
    tokens: int | None
    count_tokens: Callable[[str], int]

    def room(self, text: str) -> bool:
        return (self.chars is None or len(text) <= self.chars) and (
            self.tokens is None or self.count_tokens(text) <= self.tokens
        )

    def spend(self, text: str) -> None:
        if self.chars is not None:
            self.chars -= len(text)
        if self.tokens is not None:
            self.tokens -= self.count_tokens(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    text: str
    cut: bool


def fitted(
    text: str, terms: Mapping[str, float], budget: Budget, *, limit: int, first: bool
) -> Fitted | None:
    """The text as it fits into what is left, or None when too little is left."""
    shown = snippet(text, terms, limit)
    if not budget.room(shown):
        shown = _longest(text, terms, budget, len(shown))
        if not first and len(shown) < min(_LEAST, len(text.strip())):
            return None
        shown = shown or _MARK
    budget.spend(shown)
    return Fitted(text=shown, cut=shown != text.strip())


def _longest(text: str, terms: Mapping[str, float], budget: Budget, most: int) -> str:
    """The longest snippet that fits; tokens grow with characters nearly everywhere."""
    high = most if budget.chars is None else min(most, max(0, budget.chars))
    low = 0
    best = ""
    while low <= high:
        middle = (low + high) // 2
        shown = snippet(text, terms, middle)
        if budget.room(shown):
            best, low = shown, middle + 1
        else:
            high = middle - 1
    return best
