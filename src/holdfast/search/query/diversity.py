"""Not the same thing twice: repeats become one passage, near repeats stand further down.

Likeness is that of terms (which exist in every script: Chinese as pairs of characters) and of
vectors where both have them. Two passages that differ in a number, a name or a negation are never
taken for the same, nor are two entries of a log.

Promise: an exact match is neither moved down nor folded into another text than its own; every
folded passage is named in ``also`` of the one that stays (``tests/search/test_diversity.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast import text as texts
from holdfast.search.query.candidates import Candidate, moved
from holdfast.text import normalise

__all__ = ["LAMBDA", "diversified", "folded", "likeness", "with_exact"]

Table: TypeAlias = NDArray[np.float32]

LAMBDA: Final = 0.97
SAME: Final = 0.9
_REACH: Final = 2
"""How many times the wanted number is looked at; what stands below is left in its order."""
_HAPPENS: Final = frozenset({"daily", "session", "task"})
_SAID: Final = frozenset({"session"})
_CLOSE: Final = 0.5
"""Vectors of unrelated sentences are already this alike: likeness counts from here on."""


def likeness(candidates: Sequence[Candidate]) -> Table:
    """How alike each is to each, 0 to 1: shared terms among all terms, or the angle between
    vectors if that says more."""
    return np.maximum(_shared(candidates), _angles(candidates))


def _shared(candidates: Sequence[Candidate]) -> Table:
    """The terms two have in common, as a share of the terms of both."""
    shares = np.zeros((len(candidates), len(candidates)), dtype=np.float32)
    for row, one in enumerate(candidates):
        mine = one.terms
        found = []
        for other in candidates[: row + 1]:
            both = len(mine & other.terms)
            found.append(both / ((len(mine) + len(other.terms) - both) or 1))
        shares[row, : row + 1] = found
    return np.maximum(shares, shares.T)


def _angles(candidates: Sequence[Candidate]) -> Table:
    best = np.zeros((len(candidates), len(candidates)), dtype=np.float32)
    for number in range(min((len(one.vectors) for one in candidates), default=0)):
        vectors = np.stack([one.vectors[number] for one in candidates])
        near = (vectors @ vectors.T - _CLOSE) / (1 - _CLOSE)
        np.fmax(best, near, out=best)  # a chunk without a vector yet has NaN there
    return np.minimum(best, 1)


def folded(candidates: Sequence[Candidate], *, wanted: int) -> list[Candidate]:
    """The candidates, best first, with repeats folded into the best of them.

    Looks no further than is needed for ``wanted`` different ones and a few to spare.
    """
    near = candidates[: wanted * _REACH]
    kept: dict[int, list[str]] = {}
    alike = _alike(near)
    for number, candidate in enumerate(near):
        before = [n for n in alike.get(number, ()) if n in kept]
        same = next((n for n in before if _says_the_same(near[n], candidate)), None)
        if same is None:
            kept[number] = []
        else:
            kept[same].append(str(candidate.citation))
    shown = [
        replace(near[number], also=(*near[number].also, *also)) if also else near[number]
        for number, also in kept.items()
    ]
    return [*shown, *candidates[len(near) :]]


def _alike(near: Sequence[Candidate]) -> dict[int, list[int]]:
    """For each that may repeat earlier ones: which. What was written down may be a repeat with
    a word more or less; what was said is one only in the same words."""
    found: dict[int, list[int]] = {}
    same: dict[frozenset[int], list[int]] = {}
    for number, one in enumerate(near):
        earlier = same.setdefault(one.terms, [])
        if earlier:
            found[number] = list(earlier)
        earlier.append(number)
    written = [number for number, one in enumerate(near) if one.source not in _SAID]
    if len(written) > 1:
        shares = _shared([near[number] for number in written]) >= SAME
        for row, column in zip(*np.nonzero(np.tril(shares, -1)), strict=True):
            earlier = found.setdefault(written[row], [])
            if written[column] not in earlier:
                earlier.append(written[column])
    return found


def _says_the_same(one: Candidate, other: Candidate) -> bool:
    """Of two that share nearly all terms; vectors of "at 3" and "at 4" are nearly the same."""
    if _are_two_events(one, other):
        return False
    if _plain(one) == _plain(other):
        return True
    if one.exact or other.exact:
        return False
    return texts.same_marks(one.text, other.text)  # its word lists are loaded by a first pair


def _are_two_events(one: Candidate, other: Candidate) -> bool:
    """The same words by two people, or logged on two days, are two things that happened."""
    if one.source != other.source or one.source not in _HAPPENS:
        return False
    if one.speaker != other.speaker:
        return True
    return one.at is not None and other.at is not None and one.at.date() != other.at.date()


def _plain(candidate: Candidate) -> str:
    return normalise(candidate.text)


def diversified(
    candidates: Sequence[Candidate], *, wanted: int, weight: float | None = None
) -> list[Candidate]:
    """The candidates in the order of maximal marginal relevance.

    ``weight`` 1 keeps the order. Only as many are placed as are wanted; the rest follows as it
    was. Unless a weight is set, notes to oneself stay where they are: each of them may be a
    part of the answer, however alike they are.
    """
    share = LAMBDA if weight is None else max(0.01, weight)
    if share >= 1 or len(candidates) < 2 or wanted < 2:
        return list(candidates)
    near = list(candidates[: wanted * _REACH])
    movable = [not one.exact and (weight is not None or not one.alone) for one in near]
    if not any(movable):
        return list(candidates)
    order, penalty = _placed(near, movable, min(wanted, len(near)), (1 - share) / share)
    placed = [
        moved(near[n], "variety", near[n].score - penalty[n]) if penalty[n] > 0 else near[n]
        for n in order
    ]
    left = sorted(set(range(len(near))) - set(order))
    return [*placed, *(near[other] for other in left), *candidates[len(near) :]]


def _placed(
    near: Sequence[Candidate], movable: Sequence[bool], wanted: int, cost: float
) -> tuple[list[int], list[float]]:
    """Which come first, and what each loses for being like an earlier one."""
    scores = [one.score for one in near]
    spread = (max(scores) - min(scores)) or 1.0
    alike = (likeness(near) * (spread * cost)).tolist()
    penalty = [0.0] * len(near)
    left = list(range(len(near)))
    order: list[int] = []
    while len(order) < wanted:
        best = max(left, key=lambda n: scores[n] - penalty[n])
        order.append(best)
        left.remove(best)
        for other in left:
            if movable[other] and alike[best][other] > penalty[other]:
                penalty[other] = alike[best][other]
    return order, penalty


def with_exact(candidates: Sequence[Candidate], *, wanted: int) -> list[Candidate]:
    """The candidates, with an exact match among the first ``wanted`` if there is one at all.

    A crowd that has most of the words must not keep out the one that has them all: if it would,
    the best exact match takes the last place.
    """
    order = list(candidates)
    if wanted < 2 or any(one.exact for one in order[:wanted]):
        return order
    place = next((n for n, one in enumerate(order) if one.exact), None)
    if place is None:
        return order
    match = order.pop(place)
    order.insert(wanted - 1, moved(match, "exact", order[wanted - 1].score))
    return order
