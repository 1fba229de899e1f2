"""What the configuration may set about ranking; unset means the measured default.

Promise: ``Tuning()`` is what the figures in the documentation were measured with.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.search.ranking.weights import POOL

__all__ = ["Tuning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    vector_weight: float | None = None
    """Multiplies the channels of meaning; None and 1 are the measured balance."""
    text_weight: float | None = None
    half_life_days: float | None = None
    """0: age does not count; None: a gentle half-life for dated logs and tasks."""
    mmr: float | None = None
    """1: relevance alone; None: the measured value."""
    rerank: bool | None = None
    expand: bool | None = None
    pool: int = POOL
    """Candidates that are looked at closely."""
