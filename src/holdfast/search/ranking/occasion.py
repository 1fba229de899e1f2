"""What a question says beside its words: of whom it asks, and of when.

Promise: a passage without a speaker or a time is passed over, never dropped
(``tests/search/test_ranking_stages.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from holdfast.search.ranking.asked import Question, When
from holdfast.search.ranking.derived import Derived, derived
from holdfast.search.ranking.rows import Flag, Floats, Rows

__all__ = ["occasions"]


def occasions(rows: Rows, question: Question) -> dict[str, Floats]:
    """By channel: what speaks for each passage."""
    found: dict[str, Floats] = {}
    numbers = [n for n, name in enumerate(rows.speakers) if name in question.speakers]
    if numbers:
        found |= _of_whom(rows, numbers)
    if question.times:
        found["date"] = _dated(rows, question.times)
    if question.asks_when:
        found["when"] = ((rows.flags & Flag.TELLS_WHEN) > 0).astype(np.float32)
    return found


def _of_whom(rows: Rows, numbers: list[int]) -> dict[str, Floats]:
    """What a named person said, and the conversations in which one took part.

    Of two persons that are named either may have said it, and neither is preferred.
    """
    known = derived(rows)
    if len(numbers) == 1:
        said = (rows.speaker == numbers[0]).astype(np.float32)
        return {"present": known.present(numbers[0]), "speaker": said}
    there = [known.present(number) for number in numbers[:_MOST_NAMED]]
    return {"present": np.maximum.reduce(there)}


_MOST_NAMED: Final = 8
_DAY: Final = 86_400.0
_DAY_BONUS: Final = 0.5
_SHORT: Final = 8 * _DAY
_TOLD_BEFORE: Final = 7 * _DAY
_TOLD_AFTER: Final = 21 * _DAY
"""People tell of a day in the weeks after it, and plan it in the week before."""


def _dated(rows: Rows, times: Sequence[When]) -> Floats:
    """1 within a time the question names, or around a short one; more on a named day."""
    best = np.zeros(len(rows), np.float32)
    for time in times:
        if time.month is not None:
            one = _any_year(derived(rows), time.month, time.day)
        elif time.end - time.start > _SHORT:
            one = _between(rows, time.start, time.end)
        else:
            one = _between(rows, time.start - _TOLD_BEFORE, time.end + _TOLD_AFTER)
            one += np.float32(_DAY_BONUS) * _between(rows, time.start - _DAY, time.end + _DAY)
        np.maximum(best, one, out=best)
    return best


def _between(rows: Rows, start: float, end: float) -> Floats:
    return ((rows.at >= start) & (rows.at < end)).astype(np.float32)


_MOST_YEARS: Final = 50


def _any_year(known: Derived, month: int, day: int | None) -> Floats:
    """1 in a month of any year; half as much again within a day of a day that is named too."""
    best: Floats = (known.months == month).astype(np.float32)
    if day is not None:
        for year in known.years[-_MOST_YEARS:]:
            start = np.datetime64((year - 1970) * 12 + month - 1, "M").astype("datetime64[D]")
            named = int(start.astype(np.int64)) + day - 1
            best[(known.days >= named - 1) & (known.days <= named + 1)] = 1 + _DAY_BONUS
    return best
