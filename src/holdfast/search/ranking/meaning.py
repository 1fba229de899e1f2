"""What encoders make of a question and of every passage: as a whole, and word by word.

An encoder made for the question's own script knows best, of the passages it can read. Those it
has no vector of are judged by the others in its place, for all it could have said; and if an
encoder of every script finds something nearer among them than among what the first one knows,
what that one says counts less by as much: so a question finds a note in another language.
What no encoder has seen yet is taken to be as near as the middle passage, or as its words say.

Promise: a passage without vectors is neither near nor far (``tests/search/test_ranking_late.py``,
``test_ranking_stages.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.ports import Tokens
from holdfast.search.ranking.asked import ContentWord
from holdfast.search.ranking.late import nearness, probe, standing_out
from holdfast.search.ranking.neighbours import Around, sums, windows
from holdfast.search.ranking.rows import Details, Floats
from holdfast.search.ranking.scaling import Bounds, bounds_of, scaled
from holdfast.search.ranking.weights import LATE_SHARES, WINDOW, Table

__all__ = ["Heard", "Rough", "roughly_near", "understood"]

Mask = NDArray[np.bool_]

_SPOKEN: Final = ("meaning", "late", "late_window")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one encoder made of the question."""

    similarity: Floats
    """Of every passage to the question; NaN where a passage has no vector."""
    vector: Floats | None = None
    tokens: Tokens | None = None
    native: bool = True
    """It is made for the question's own script, or there is none that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rough:
    """How near everything is, roughly, and what the closer look must know of the whole store."""

    scores: Floats | None = None
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    """By encoder: of the similarities of all passages."""
    reach: float = 1.0
    """How near the nearest passage is that the question's own encoder knows, 1 being the
    nearest of all."""
    silent: Mask | None = None
    """The passages it cannot judge; None if there are none, or nothing else can."""


def roughly_near(heard: Mapping[str, Heard], table: Table, foreign: Mask, worded: Floats) -> Rough:
    """The whole stands in for the single words too, which are only known of the pool.

    ``foreign`` are the passages in another script than the question's; ``worded`` is how much of
    its words each has, 0 to 1.
    """
    if not heard:
        return Rough()
    bounds = {name: bounds_of(one.similarity) for name, one in heard.items()}
    weight = np.float32(table.greatest(*_SPOKEN))
    own = [name for name, one in heard.items() if one.native]
    others = [name for name in heard if name not in own]
    total = np.zeros(len(next(iter(heard.values())).similarity), np.float32)
    reach = 1.0
    silent = None
    if others and own:
        silent = _silent([heard[name].similarity for name in own], foreign)
    for name in own:
        near = scaled(heard[name].similarity, bounds[name])
        if silent is None:
            near = _guessed(near, np.isnan(heard[name].similarity), worded)
        total += near if silent is None else near * ~silent
    if silent is not None:
        near = np.maximum.reduce([scaled(heard[name].similarity, bounds[name]) for name in others])
        known = near * ~silent
        reach = float(known.max())
        total *= np.float32(reach)
        unseen = np.logical_and.reduce([np.isnan(heard[name].similarity) for name in others])
        near = _guessed(near, unseen & silent, worded)
        total += near - known
    total *= weight
    return Rough(scores=total, bounds=bounds, reach=reach, silent=silent)


def _silent(similarities: list[Floats], foreign: Mask) -> Mask | None:
    """Which passages the question's own encoders cannot judge; None if they can all."""
    silent = np.isnan(similarities[0])
    for one in similarities[1:]:
        silent &= np.isnan(one)
    silent |= foreign
    return silent if silent.any() else None


def understood(
    heard: Mapping[str, Heard],
    rough: Rough,
    content: tuple[ContentWord, ...],
    rarities: Mapping[str, float],
    details: Details,
    near: Around,
    table: Table,
    worded: Floats,
) -> dict[str, Floats]:
    """The channels of the encoders, for the pool of ``details``; ``worded`` is how much of the
    question's words each passage of it has, 0 to 1."""
    found: dict[str, Floats] = {}
    silent = None if rough.silent is None else rough.silent[details.positions]
    factor: Floats | np.float32 = np.float32(rough.reach)
    if silent is not None:
        factor = factor * ~silent
    for name, one in heard.items():
        if not one.native:
            continue
        similar = _similar(name, one, details)
        unseen = np.isnan(similar)
        near_whole = _guessed(_within(similar, rough.bounds[name]), unseen, worded)
        found[f"meaning {name}"] = factor * table.of("meaning") * near_whole
        if one.tokens is not None and name in details.tokens and table.greatest(*_SPOKEN[1:]):
            asked = probe(one.tokens, content, rarities)
            if asked is not None:
                out = standing_out(nearness(asked, details.tokens[name]))
                guess = _Guess(unseen=unseen, worded=worded)
                found |= _interacted(name, out, asked.weights, near, table, factor, guess)
    if silent is not None and silent.any():
        instead = (table.of("meaning") + table.of("late") + table.of("late_window")) * silent
        for name, one in heard.items():
            if not one.native:
                similar = _similar(name, one, details)
                near_whole = _within(similar, rough.bounds[name])
                near_whole = _guessed(near_whole, np.isnan(similar) & silent, worded)
                found[f"meaning {name}"] = instead * near_whole
    return found


def _within(similar: Floats, bounds: Bounds) -> Floats:
    """Scaled over the whole store: the pool holds its nearest, measured exactly."""
    return scaled(similar, (min(bounds[0], bounds_of(similar)[0]), bounds_of(similar)[1]))


_SAMPLE: Final = 2048


def _guessed(near: Floats, unseen: Mask, worded: Floats) -> Floats:
    """With a guess at what no encoder has seen yet: the middle of what one has, or its words.

    A passage that was written a moment ago must not stand below noise for having no vector.
    """
    if not unseen.any():
        return near
    known = near[~unseen]
    if not len(known):
        return near
    middle = np.median(known[:: 1 + len(known) // _SAMPLE])
    return np.where(unseen, np.maximum(worded, np.float32(middle)), near)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guess:
    unseen: Mask
    worded: Floats

    def at(self, near: Floats) -> Floats:
        return _guessed(near, self.unseen, self.worded)


def _interacted(
    name: str,
    out: Floats,
    weights: Floats,
    near: Around,
    table: Table,
    factor: Floats | np.float32,
    guess: _Guess,
) -> dict[str, Floats]:
    shares = weights / weights.sum()
    own = guess.at(scaled(out @ shares))
    late = own
    if table.greatest("sums"):
        late = own + table.of("sums") * (sums(near, own, LATE_SHARES) - own)
    found = {f"late {name}": factor * table.of("late") * late}
    if table.greatest("late_window"):
        positive = np.maximum(out, 0)
        together = windows(near, positive, WINDOW) @ shares
        found[f"late window {name}"] = factor * table.of("late_window") * guess.at(scaled(together))
    return found


def _similar(name: str, heard: Heard, details: Details) -> Floats:
    """Exact where the pool has the vectors, else as the first stage saw it."""
    rough: Floats = heard.similarity[details.positions]
    if heard.vector is None or name not in details.vectors:
        return rough
    exact: Floats = details.vectors[name] @ heard.vector
    return np.where(np.isnan(exact), rough, exact)
