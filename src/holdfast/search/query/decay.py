"""How much age, importance and source of support count, beside relevance.

What is kept on purpose (``MEMORY.md``, topics, the bank, facts about the world and opinions)
does not fade; logs of a day and tasks do, gently, also ``2026-03-04-launch.md``. Turns of a
conversation fade only if a half-life is set: a question about last year is as likely to be meant
as one about last week. Age is measured from the request's ``now``, never from the clock.

Promise: factors are in (0, 1.1]; a newer passage never counts less than an older one of the same
kind; nothing is removed (``tests/search/test_decay.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from holdfast.retain import RetainKind, Trust
from holdfast.search.documents import SourceKind

__all__ = ["Passages", "Weighed", "age_factors", "value_factors", "weighed"]

Numbers: TypeAlias = NDArray[np.float64]

_GENTLE_DAYS: Final = 180.0
_GENTLE_FLOOR: Final = 0.85
"""Of the default: age decides between passages that are about as good, and no more."""
_FLOOR: Final = 0.05
"""Of a half-life that was asked for."""

_SOURCES: Final[tuple[SourceKind, ...]] = get_args(SourceKind)
_GENTLY: Final = np.array([one in ("daily", "task") for one in _SOURCES])
_FADING: Final = np.array([one in ("daily", "task", "session") for one in _SOURCES])
_LASTING: Final = np.array([one in ("W", "O") for one in get_args(RetainKind)] + [False])
"""By kind of fact; the last stands for -1, what is no fact."""

_OF_TRUST: Final[dict[Trust, float]] = {"user": 1.0, "agent": 1.0, "tool": 0.97, "import": 0.98}
_TRUST: Final = np.array([_OF_TRUST[one] for one in get_args(Trust)])
_IMPORTANCE: Final = 0.06
"""From the least important to the most, around 1."""

_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    """What is weighed, one value for each passage."""

    source: NDArray[np.uint8]
    """Index into ``SourceKind``'s arguments."""
    fact: NDArray[np.int8]
    """Index into ``RetainKind``'s arguments; -1 for what is no fact."""
    at: Numbers
    """Seconds; NaN where no time is known."""
    importance: NDArray[np.floating]
    trust: NDArray[np.uint8]
    """Index into ``Trust``'s arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    scores: Numbers
    stages: dict[str, Numbers]
    """What the scores were after age, and after value; NaN where age does not count."""


def age_factors(passages: Passages, now: datetime, *, half_life_days: float | None) -> Numbers:
    """1 for the present and the future, less with every day; NaN where age does not count."""
    factors = np.full(len(passages.at), np.nan)
    if half_life_days == 0:
        return factors
    fading = (_GENTLY if half_life_days is None else _FADING)[passages.source]
    fading = fading & ~_LASTING[passages.fact] & ~np.isnan(passages.at)
    if not fading.any():
        return factors
    days = np.maximum(0.0, (now.timestamp() - passages.at[fading]) / _DAY)
    if half_life_days is None:
        factors[fading] = _GENTLE_FLOOR + (1 - _GENTLE_FLOOR) * 0.5 ** (days / _GENTLE_DAYS)
    else:
        factors[fading] = np.maximum(_FLOOR, 0.5 ** (days / half_life_days))
    return factors


def value_factors(passages: Passages) -> Numbers:
    """Importance and trust: a few points up or down."""
    lift = _IMPORTANCE * (
        np.minimum(np.maximum(passages.importance, 0.0), 1.0).astype(np.float64) - 0.5
    )
    found: Numbers = (1.0 + lift) * _TRUST[passages.trust]
    return found


def weighed(
    scores: Numbers,
    passages: Passages,
    *,
    now: datetime,
    half_life_days: float | None,
    names_a_time: bool,
) -> Weighed:
    """The scores with age, importance and trust counted.

    A query that names a time says itself how old the answer is: then age does not count.
    """
    if not len(scores):
        return Weighed(scores=scores, stages={})
    # Scores are sums over 0 for the least of the pool: a factor must tell even those apart.
    shift = max(0.0, 1.0 - float(scores.min()))
    stages: dict[str, Numbers] = {}
    if not names_a_time:
        ages = age_factors(passages, now, half_life_days=half_life_days)
        faded = ~np.isnan(ages)
        if faded.any():
            stages["age"] = (scores + shift) * ages - shift
            scores = np.where(faded, stages["age"], scores)
    stages["value"] = scores = (scores + shift) * value_factors(passages) - shift
    return Weighed(scores=scores, stages=stages)
