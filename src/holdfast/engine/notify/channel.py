"""What a channel is given, and what it answers: a result, never an exception.

Promise: a channel says what became of one attempt and whether another may help; how often and
how long to wait is decided in one place, ``notices`` (``tests/engine/test_notices.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from holdfast.engine.notify.wording import NoticeKind

__all__ = ["Channel", "Outcome", "Outgoing", "Result"]

Outcome = Literal["sent", "failed", "refused", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A notice in its words, as every channel gets it. The id stays the same over retries."""

    id: str
    kind: NoticeKind
    at: datetime
    session: str
    language: str
    text: str
    numbers: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one attempt."""

    outcome: Outcome
    reason: str | None = None
    is_passing: bool = False
    """Whether it may go better a little later."""
    pause: float | None = None
    """For how long the other side asked us to wait, in seconds."""


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    def deliver(self, message: Outgoing) -> Result:
        """One attempt, bounded in time."""
        ...
