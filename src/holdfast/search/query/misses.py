"""Words that were asked for, and words that nearly were: what to say when none occurs.

Promise: every near word stands in one of the texts, every asked one in the query as it was
written; bounded work whatever the texts hold
(``tests/search/test_pipeline_empty.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from holdfast.text import cut
from holdfast.text.late import late
from holdfast.text.tokens import index_terms, words

__all__ = ["MOST_TEXTS", "asked_words", "near_words"]

_DENSE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff"
_PIECE: Final = late(f"[{_DENSE}]+|[^\\s{_DENSE}]+")
_EDGES: Final = " .,;:!?\"'()[]{}<>“”‘’«»…–—。，！？、；：（）《》「」"

MOST_TEXTS: Final = 80
_MOST_CHARS: Final = 1_000
_MOST_TERMS: Final = 6
_MOST_COMPARED: Final = 24
_LEAST: Final = 0.72
_SHORTEST: Final = 4
_LONGEST: Final = 40


def asked_words(query: str, terms: Sequence[str]) -> list[str]:
    """The words of the query that the terms were made from, as they were written."""
    wanted = set(terms)
    pieces = dict.fromkeys(piece.strip(_EDGES) for piece in _PIECE.findall(query))
    return [piece for piece in pieces if wanted.intersection(index_terms(piece))] or list(terms)


def near_words(terms: Sequence[str], texts: Iterable[str], *, most: int = 3) -> list[str]:
    """The words of the texts that look most like one of the terms, the nearest first."""
    asked = [term for term in terms if _SHORTEST <= len(term) <= _LONGEST][:_MOST_TERMS]
    known = _vocabulary(texts) if asked else {}
    found: dict[str, float] = {}
    for term in asked:
        pairs = _pairs(term)
        alike = sorted(
            (-len(pairs & _pairs(stem)), stem)
            for stem in known
            if abs(len(stem) - len(term)) <= 2 or stem.startswith(term)
        )[:_MOST_COMPARED]
        for shared, stem in alike:
            ratio = SequenceMatcher(None, term, stem, autojunk=False).ratio()
            if shared and (ratio >= _LEAST or stem.startswith(term)):
                shown = known[stem]
                found[shown] = max(found.get(shown, 0.0), ratio)
    return sorted(found, key=lambda word: (-found[word], word))[:most]


def _vocabulary(texts: Iterable[str]) -> dict[str, str]:
    """Words as they are written, by their stems."""
    known: dict[str, str] = {}
    for text in texts:
        for word in words(cut(text, _MOST_CHARS)):
            if not word.is_stop and _SHORTEST <= len(word.stem) <= _LONGEST:
                known.setdefault(word.stem, word.text)
    return known


def _pairs(word: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(f" {word} "))
