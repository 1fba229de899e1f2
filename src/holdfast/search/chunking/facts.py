"""A memory line as a chunk: what it says, about whom, since when, until when.

Promise: the hidden comment decides about a line and is never part of its text; a line that
ended, was taken back or replaced keeps the moment it did (``tests/search/test_chunking.py``). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from holdfast.importance import is_constraint
from holdfast.retain import RetainLine

__all__ = ["Validity", "begins", "ends", "said_of", "validity", "weight"]

_WEIGHTS: Final = {"W": 0.6, "B": 0.55, "S": 0.6}
_RULE: Final = 0.9
_VERIFIED: Final = 0.1
_UNSAID: Final = 0.7
"""The confidence of an opinion that was written without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """When a line was said and when it is true: moments, ``until`` not included."""

    at: datetime | None
    since: datetime | None
    until: datetime | None


def said_of(line: RetainLine) -> str:
    """The line as a person reads it: ``@Alice: likes tea``."""
    return f"@{line.entity}: {line.text}" if line.entity is not None else line.text


def validity(line: RetainLine, day: date | None, zone: tzinfo) -> Validity:
    """``day`` is that of the section or the file the line stands in."""
    said = line.observed or day or line.since
    over = [ends(end, zone) for end in (line.until, line.retracted) if end is not None]
    return Validity(
        at=begins(said, zone) if said is not None else None,
        since=begins(line.since, zone) if line.since is not None else None,
        until=min(over, default=None),
    )


def begins(when: date | datetime, zone: tzinfo) -> datetime:
    """The moment; of a day its first one in the user's zone."""
    if isinstance(when, datetime):
        return when if when.tzinfo is not None else when.replace(tzinfo=zone)
    return datetime.combine(when, time(), tzinfo=zone)


def ends(when: date | datetime, zone: tzinfo) -> datetime:
    """The first moment after it: a day that ends something is still one of its days."""
    if isinstance(when, datetime):
        return begins(when, zone)
    if when == date.max:
        return datetime.max.replace(tzinfo=zone)
    return begins(when + timedelta(days=1), zone)


def weight(line: RetainLine) -> float:
    """How much a line matters: an opinion as much as it is held, a rule more than all."""
    if is_constraint(line.text):
        return _RULE
    if line.kind == "O":
        stated = line.confidence if line.confidence is not None else _UNSAID
        base = 0.3 + 0.5 * stated
    else:
        base = _WEIGHTS[line.kind]
    return round(min(1.0, base + (_VERIFIED if line.verified is not None else 0.0)), 4)
