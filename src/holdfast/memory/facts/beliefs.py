"""How firmly an opinion is held: evidence moves it in bounded steps, time takes it back.

In log-odds, so that a step is small where little is left to learn and the order of evidence
makes no difference; the largest weight moves a confidence by less than ``LARGEST_STEP``.

Promise: a confidence stays within ``LEAST`` and ``MOST``, rises with support, falls with
contradiction, and without either returns towards even odds (``tests/memory/test_beliefs.py``).
Pure. Facts (W, B, S) have no confidence: they have the date they were last verified.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Final

from holdfast.retain import RetainLine, Trust

__all__ = [
    "DEFAULT",
    "EVEN",
    "HALF_LIFE",
    "LARGEST_STEP",
    "LEAST",
    "MOST",
    "confidence_at",
    "evidence",
    "moved",
]

LEAST: Final = 0.02
MOST: Final = 0.98
EVEN: Final = 0.5
DEFAULT: Final = 0.7
"""Of an opinion that was written without a confidence."""
LARGEST_STEP: Final = 0.15
HALF_LIFE: Final = timedelta(days=90)
_WEIGHTS: Final[dict[Trust, float]] = {"user": 0.6, "agent": 0.3, "tool": 0.15, "import": 0.15}


_MOST_SOURCES: Final = 64
"""Of one line. What it has no room to name could be counted twice, so it does not count."""


def evidence(new: RetainLine, known: RetainLine) -> tuple[str, ...] | None:
    """The sources that a line adds to one that says the same; None if it cites nothing at all."""
    if not new.sources:
        return None
    room = max(0, _MOST_SOURCES - len(known.sources))
    fresh = dict.fromkeys(each for each in new.sources if each not in known.sources)
    return tuple(fresh)[:room]


def moved(confidence: float, *, supports: bool, trust: Trust = "user") -> float:
    """The confidence after one more observation by somebody of that trust."""
    held = min(MOST, max(LEAST, confidence))
    odds = math.log(held / (1 - held)) + (_WEIGHTS[trust] if supports else -_WEIGHTS[trust])
    return min(MOST, max(LEAST, 1 / (1 + math.exp(-odds))))


def confidence_at(
    line: RetainLine,
    when: datetime,
    *,
    last_seen: datetime | None = None,
    half_life: timedelta = HALF_LIFE,
) -> float | None:
    """How firmly the opinion is held at that moment; None for a fact, which does not decay.

    ``last_seen`` is when it was last said or verified; without it nothing is known to be old.
    """
    if line.kind != "O":
        return None
    stated = line.confidence if line.confidence is not None else DEFAULT
    if last_seen is None:
        return stated
    age = max(0.0, (when - last_seen) / half_life)
    return EVEN + (stated - EVEN) * math.pow(0.5, age)
