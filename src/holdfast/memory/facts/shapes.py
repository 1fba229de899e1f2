"""The words of this room: a fact with its place, a conflict, an entity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from holdfast.memory.facts.conflicts import ConflictKind
from holdfast.retain import RetainLine, Trust
from holdfast.types import Citation, LineSpan

__all__ = ["TRUST_ORDER", "Conflict", "Entity", "Fact", "Judged", "Window", "ends_at", "starts_at"]

TRUST_ORDER: Final[dict[Trust, int]] = {"user": 3, "agent": 2, "tool": 1, "import": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A memory line and where it stands. ``day`` is that of its daily file, if it is in one."""

    id: str
    line: RetainLine
    path: str
    number: int
    archived: bool = False
    day: date | None = None

    @property
    def citation(self) -> str:
        return str(Citation(source=self.path, span=LineSpan(start=self.number, end=self.number)))

    def said_at(self, zone: tzinfo) -> datetime | None:
        """When it was said, as far as that is known."""
        when = self.line.observed or self.day or self.line.since
        return starts_at(when, zone) if when is not None else None

    def window(self, zone: tzinfo) -> Window:
        """When it is true: a day that ends it is still one of its days."""
        line = self.line
        since = line.since or line.observed or self.day
        ends = [ends_at(end, zone) for end in (line.until, line.retracted) if end is not None]
        return Window(
            start=starts_at(since, zone) if since is not None else None, end=min(ends, default=None)
        )

    def with_line(self, line: RetainLine) -> Fact:
        return replace(self, line=line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From ``start`` up to, not including, ``end``; None is open."""

    start: datetime | None
    end: datetime | None

    def covers(self, moment: datetime) -> bool:
        begun = self.start is None or self.start <= moment
        return begun and (self.end is None or moment < self.end)


def starts_at(when: date | datetime, zone: tzinfo) -> datetime:
    """The moment; of a day its first one there."""
    if isinstance(when, datetime):
        return when if when.tzinfo is not None else when.replace(tzinfo=zone)
    return datetime.combine(when, time(), tzinfo=zone)


def ends_at(when: date | datetime, zone: tzinfo) -> datetime:
    if isinstance(when, datetime):
        return starts_at(when, zone)
    if when == date.max:
        return datetime.max.replace(tzinfo=zone)
    return starts_at(when + timedelta(days=1), zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two facts that cannot both hold now. ``doubtful``: they only might be a contradiction."""

    id: str
    kind: ConflictKind
    old: Fact
    new: Fact
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What new lines do to what was known before."""

    updates: tuple[Fact, ...] = ()
    """Older facts that ended, because the new one says that it changed."""
    conflicts: tuple[Conflict, ...] = ()
    """Nothing was changed: a person decides."""
    supported: tuple[Fact, ...] = ()
    """Beliefs that are held more firmly now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Somebody or something that facts are about; ``facts`` is how many hold now."""

    name: str
    aliases: tuple[str, ...] = ()
    facts: int = 0
    path: str | None = None
