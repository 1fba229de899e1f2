"""One factor per model, learnt from what its provider reported.

Promise: an estimate that was too low is corrected by the very next one, and a factor that is
too high gives way slowly, only when a whole row of reports agrees. It never falls below one:
the weights of a family are an upper bound already, and a long talk in one language must not
lower the guard for the base64 that comes next. A single odd report moves the factor by a
bounded step. Proved by ``tests/context/test_calibration.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from holdfast.types import Json

__all__ = ["Calibration"]

_LOWEST: Final = 1.0
_HIGHEST: Final = 3.0
_FEWEST_TOKENS: Final = 200  # below, what surrounds the messages outweighs what they say
_HEADROOM: Final = 1.01  # above what was reported, when an estimate was too low
_STEP_UP: Final = 1.5  # at most, in one report
_SPARE: Final = 1.3  # an estimate may be this much too high: other texts need it
_ROW: Final = 12  # reports that must agree before the factor gives way
_EASE: Final = 0.1  # of the way down, in one report


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What to multiply estimates by. ``spared`` counts the reports in a row that were too high."""

    factor: float = 1.0
    spared: int = 0

    def after(self, estimated: int, reported: int) -> Calibration:
        """The calibration after one more request.

        ``estimated`` is what an estimator *without* calibration says about the whole request
        that the provider reported.
        """
        if estimated < _FEWEST_TOKENS or reported < _FEWEST_TOKENS:
            return self
        ratio = reported / estimated
        if self.factor < ratio * _HEADROOM:
            raised = min(ratio * _HEADROOM, self.factor * _STEP_UP, _HIGHEST)
            return Calibration(factor=max(self.factor, raised))
        if self.factor <= ratio * _SPARE:
            return Calibration(factor=self.factor)
        if self.spared + 1 < _ROW:
            return Calibration(factor=self.factor, spared=self.spared + 1)
        lowered = self.factor - (self.factor - ratio * _SPARE) * _EASE
        return Calibration(factor=max(lowered, _LOWEST), spared=self.spared)

    def to_json(self) -> dict[str, Json]:
        return {"factor": round(self.factor, 6), "spared": self.spared}

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> Calibration:
        """The calibration that ``to_json`` wrote; a fresh one for anything else."""
        factor, spared = stored.get("factor"), stored.get("spared", 0)
        if not isinstance(factor, int | float) or not isfinite(factor):
            return cls()
        return cls(
            factor=min(max(float(factor), _LOWEST), _HIGHEST),
            spared=min(max(spared, 0), _ROW) if isinstance(spared, int) else 0,
        )
