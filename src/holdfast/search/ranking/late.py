"""Late interaction: every word of the question against every word of a passage.

A passage keeps one vector for each word that says something, as signs only: 48 bytes for 384
dimensions. A word of the question is as near to a passage as to the nearest word in it.
Promise: the same words give the greatest nearness there is, 1; what has no vectors yet is
neither near nor far (``tests/search/test_ranking_late.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from holdfast.ports import Tokens
from holdfast.search.ranking.asked import ContentWord
from holdfast.search.ranking.rows import Bits, Floats, Ragged
from holdfast.text.tokens import words

__all__ = ["Probe", "nearness", "packed", "probe", "signs_of", "standing_out"]

_WORD: Final = 64
_LEAST_SPREAD: Final = 0.02
"""Added to a deviation, so that a word all passages are equally near to decides nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The words of a question as one encoder sees them."""

    signs: Bits
    """One row for each token."""
    weights: Floats
    dimensions: int


def packed(vectors: Floats) -> Bits:
    """The signs of each row, as 64-bit words."""
    count, dimensions = vectors.shape
    width = -(-dimensions // _WORD)
    octets = np.zeros((count, width * 8), np.uint8)
    octets[:, : -(-dimensions // 8)] = np.packbits(vectors > 0, axis=1)
    return octets.view(np.uint64)


def signs_of(text: str, tokens: Tokens) -> Bits:
    """What is stored of a passage: the signs of its tokens that are part of a telling word."""
    telling = [
        (word.start, word.end)
        for word in words(text)
        if not word.is_stop and (len(word.text) > 1 or not word.text.isascii())
    ]
    kept = _inside([start for start, _ in tokens.spans], telling)
    if not kept:  # only common words: better those than nothing
        kept = list(range(len(tokens.spans)))
    return packed(tokens.vectors[kept])


def probe(
    tokens: Tokens, content: tuple[ContentWord, ...], rarities: Mapping[str, float]
) -> Probe | None:
    """The telling words of a question, each weighing what it is rare."""
    if not len(tokens.spans):
        return None
    telling = [(word.start, word.end) for word in content]
    kept = _inside([start for start, _ in tokens.spans], telling)
    if kept:
        starts = np.array([word.start for word in content])
        owners = np.searchsorted(starts, [tokens.spans[n][0] for n in kept], side="right") - 1
        usual = max(rarities.values(), default=1.0)
        weights = [rarities.get(content[int(owner)].term, usual) for owner in owners]
    else:
        kept = list(range(len(tokens.spans)))
        weights = [1.0] * len(kept)
    if sum(weights) <= 0:
        weights = [1.0] * len(kept)
    return Probe(
        signs=packed(tokens.vectors[kept]),
        weights=np.array(weights, np.float32),
        dimensions=tokens.vectors.shape[1],
    )


def _inside(starts: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """Which of the starts, in ascending order, lie in one of the spans, in ascending order."""
    found: list[int] = []
    at = 0
    for number, start in enumerate(starts):
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        if at < len(spans) and spans[at][0] <= start:
            found.append(number)
    return found


def nearness(asked: Probe, tokens: Ragged) -> Floats:
    """For each passage and each word of the question: -1 to 1; NaN where there are no tokens."""
    parts = len(tokens.starts) - 1
    near = np.full((parts, len(asked.signs)), np.nan, np.float32)
    sizes = np.diff(tokens.starts)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return near
    apart = np.zeros((len(asked.signs), len(tokens.values)), np.uint16)
    for column in range(asked.signs.shape[1]):
        stored = np.ascontiguousarray(tokens.values[:, column])
        apart += np.bitwise_count(stored[None, :] ^ asked.signs[:, column][:, None])
    least = np.minimum.reduceat(apart, tokens.starts[:-1][filled], axis=1)
    near[filled] = (1.0 - 2.0 * least.astype(np.float32) / asked.dimensions).T
    return near


def standing_out(near: Floats) -> Floats:
    """How far each nearness stands out among the passages, in deviations; 0 for what has none."""
    there = ~np.isnan(near[:, 0]) if near.shape[1] else np.zeros(len(near), np.bool_)
    table = np.zeros_like(near)
    if there.any():
        known = near[there]
        table[there] = (known - known.mean(0)) / (known.std(0) + _LEAST_SPREAD)
    return table
