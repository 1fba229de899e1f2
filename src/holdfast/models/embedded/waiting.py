"""Why there is no answer yet: what a person is told while a model on their own machine works.

Promise: before the first word of an answer each thing that is waited for is said once, and
reading again whenever more of it is done (``tests/models/test_embedded.py``). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["SLOW_SECONDS", "Phase", "Waiting"]

Phase = Literal["waiting", "loading", "reading"]

SLOW_SECONDS: Final = 20.0
"""What a person waits for the first word without being told why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What happens now, before the first word."""

    phase: Phase
    """For another request of this model, for the weights, or for what it has to read."""
    tokens: int = 0
    """Of reading: what is still to be read. What the model remembers is not counted."""
    per_second: float | None = None
    """Tokens that it reads in a second, if that was measured."""
    seconds_expected: float | None = None
    why: str = ""

    @property
    def is_slow(self) -> bool:
        """Whether a person should be told."""
        return self.seconds_expected is not None and self.seconds_expected > SLOW_SECONDS


def reading(tokens: int, per_second: float | None) -> Waiting:
    """For ``tokens`` that are not read yet."""
    seconds = tokens / per_second if per_second else None
    why = f"reading {tokens:,} tokens"
    if per_second is not None and seconds is not None:
        why += f" at {per_second:,.0f} a second, about {seconds:,.0f} s"
    return Waiting(
        phase="reading", tokens=tokens, per_second=per_second, seconds_expected=seconds, why=why
    )


def loading(size: int, seconds: float) -> Waiting:
    """For weights of ``size`` bytes."""
    return Waiting(
        phase="loading", seconds_expected=seconds, why=f"loading {size / 1e6:,.0f} MB of weights"
    )


def queued(ahead: int) -> Waiting:
    """For requests that came before."""
    others = "another request" if ahead == 1 else f"{ahead} other requests"
    return Waiting(phase="waiting", why=f"the model is busy with {others}")
