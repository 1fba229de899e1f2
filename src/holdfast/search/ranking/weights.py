"""Every constant of the ranking in one place, and what each gains.

Constants differ by the form of a document and by the shape of a question, never by data set.
They were set by hand, with both halves of the development data in view, to round values on a
plateau. What recall@10 loses without a channel, in points on the two halves (standard error 1.6
on each of the dialogues' halves, 1.2 on the messages'):

    English dialogues   late -0.4/-0.3   late_window -0.9/-0.7   both -2.4/-0.9
                        both and meaning -3.8/-1.8   meaning -0.2/-0.4
                        words -0.3/-1.2   words_window -1.0/-1.1
                        session +0.2/-1.9   speaker -1.4/-0.8   date -1.3/-2.3
                        length, asking and first_person -0.1/-0.7   match 0.0/-0.3
                        present -1.5/-1.2 with all conversations in one store, 0 with one
                        feedback, had it a share of 0.2 to 0.4 here, 0: left out
    Chinese messages    words 0.0/0.0   words_window -0.6/-0.4   meaning -2.0/-2.6
                        feedback and hop -5.0/-4.8   hop -0.8/-1.2   feedback -1.2/-1.2
                        beside and the rule for lists -0.5/-0.8

Promise: ``weights_for`` gives weights for every form, with encoders or without
(``tests/search/test_ranking_stages.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.asked import Shape
from holdfast.search.ranking.neighbours import Shares
from holdfast.search.ranking.rows import Floats, Form

__all__ = [
    "FIRST_SHARES",
    "LATE_SHARES",
    "LIST_SHARES",
    "POOL",
    "SMALL",
    "SUM_SHARES",
    "WINDOW",
    "Table",
    "Weights",
    "weights_for",
]

POOL: Final = 320
"""Passages that are looked at closely."""
SMALL: Final = 1024
"""Up to so many, all are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each channel, scaled to 0..1, adds to a passage's score."""

    late: float = 0.0
    late_window: float = 0.0
    words: float = 0.0
    words_window: float = 0.0
    meaning: float = 0.0
    session: float = 0.0
    speaker: float = 0.0
    present: float = 0.0
    """Of a conversation in which the person named took part."""
    date: float = 0.0
    when: float = 0.0
    feedback: float = 0.0
    hop: float = 0.0
    length: float = 0.0
    asking: float = 0.0
    first_person: float = 0.0
    beside: float = 0.0
    """Whether what stands beside a good answer is one: the members of a list do."""
    match: float = 0.5
    """The share of the question's words, by their worth, that is as good a match as any: where
    the best passage has less of them, words say less."""
    sums: float = 1.0
    """How much the scores of neighbours count: 0 where each passage stands for itself."""
    windows: float = 1.0
    """Whether a question may be answered by a passage and its neighbours together."""


SUM_SHARES: Final = Shares(before=0.2, after=0.3, two_before=0.12, two_after=0.12, asked=0.35)
LATE_SHARES: Final = Shares(before=0.1, after=0.2, two_before=0.1, two_after=0.1, asked=0.25)
FIRST_SHARES: Final = Shares(before=0.3, after=0.3, asked=0.35)
LIST_SHARES: Final = Shares(before=0.3, after=0.3, two_before=0.15, two_after=0.15)
WINDOW: Final = Shares(before=0.7, after=0.6, two_before=0.4, two_after=0.3, asked=0.8)

_DIALOGUE: Final = Weights(
    late=0.4,
    late_window=0.7,
    words=0.4,
    words_window=0.4,
    meaning=0.5,
    session=0.35,
    speaker=0.6,
    present=0.6,
    date=1.0,
    when=0.3,
    length=0.2,
    asking=0.12,
    first_person=0.1,
)
_DIALOGUE_WORDS: Final = Weights(
    words=0.5,
    words_window=0.7,
    session=0.35,
    speaker=0.5,
    present=0.6,
    date=0.8,
    when=0.2,
    length=0.2,
    asking=0.12,
    first_person=0.1,
)
# Facts that stand beside each other: the best ones name what the others are about.
_FACTS: Final = Weights(
    words=0.4,
    words_window=0.7,
    meaning=1.0,
    late=0.5,
    session=0.35,
    speaker=0.6,
    present=0.6,
    date=1.0,
    when=0.25,
    feedback=0.8,
    hop=0.6,
    asking=0.12,
    sums=0.0,
)
_FACTS_WORDS: Final = replace(_FACTS, words=0.7, meaning=0.0, late=0.0, match=0.0)
_LIST: Final = replace(_FACTS, feedback=0.4, hop=0.3, beside=1.0)
_LIST_WORDS: Final = replace(_FACTS_WORDS, feedback=0.4, hop=0.3, beside=1.0)
# Several sentences that ask nothing: their sense counts, single words of them less.
_ASSOCIATIVE: Final = Weights(
    late=0.5,
    words=0.5,
    meaning=1.0,
    session=0.1,
    date=0.3,
    match=0.0,
    sums=0.0,
    windows=0.0,
)
_ASSOCIATIVE_WORDS: Final = replace(_ASSOCIATIVE, words=1.0, meaning=0.0, late=0.0)


def weights_for(form: Form, shape: Shape, *, heard: bool) -> Weights:
    """``heard``: an encoder took part; without one the same code ranks by words alone."""
    if shape is Shape.ASSOCIATIVE:
        return _ASSOCIATIVE if heard else _ASSOCIATIVE_WORDS
    if form is Form.DIALOGUE:
        return _DIALOGUE if heard else _DIALOGUE_WORDS
    if shape is Shape.LIST:
        return _LIST if heard else _LIST_WORDS
    return _FACTS if heard else _FACTS_WORDS


_NAMES: Final = {one.name: number for number, one in enumerate(fields(Weights))}


@cache
def _tabled(shape: Shape, *, heard: bool) -> Floats:
    """One row for each channel, one column for each form."""
    of_forms = [weights_for(form, shape, heard=heard) for form in Form]
    return np.array([[getattr(one, name) for one in of_forms] for name in _NAMES], np.float32)


class Table:
    """The weights of each passage, by the form of its document."""

    def __init__(
        self,
        forms: NDArray[np.uint8],
        shape: Shape,
        *,
        heard: bool,
        seen: NDArray[np.int64] | None = None,
    ) -> None:
        """``seen``: which forms there are, if that is known."""
        if seen is None:
            seen = np.flatnonzero(np.bincount(forms, minlength=len(Form)))
        self._forms = forms
        self._table = _tabled(shape, heard=heard)
        self._only = int(seen[0]) if len(seen) == 1 else None
        self._greatest: list[float] = self._table[:, seen].max(axis=1, initial=0).tolist()

    def of(self, name: str) -> Floats | np.float32:
        """One for each passage, or a single one if it is the same for all of them."""
        values = self._table[_NAMES[name]]
        if self._only is not None:
            return np.float32(values[self._only])
        first = values[0]
        if values[1] == first and values[2] == first:
            return np.float32(first)
        by_passage: Floats = values[self._forms]
        return by_passage

    def greatest(self, *names: str) -> float:
        """The most that these weigh together for any passage."""
        return sum(self._greatest[_NAMES[name]] for name in names)
