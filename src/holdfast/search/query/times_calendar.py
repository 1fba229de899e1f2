"""Days, weeks, months and years as half-open stretches of days: the arithmetic of ``times``.

Also what a rule of a language is: a pattern, and the stretch it means on a given day.

Promise: pure, and ``None`` instead of an error for a date that does not exist or lies outside
1900 to 2199. Tested with ``times`` by ``tests/search/test_times.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final, Literal, TypeAlias

__all__ = [
    "FIRST_DAY",
    "LAST_DAY",
    "Context",
    "Precision",
    "Reader",
    "Rule",
    "Stretch",
    "ago",
    "day_in_year",
    "few_ago",
    "half_year",
    "half_year_ago",
    "in_any_year",
    "in_year",
    "last_units",
    "one_day",
    "one_month",
    "one_week",
    "one_year",
    "part_of",
    "quarter",
    "relative",
    "season",
    "shifted",
    "span_of",
    "weekday_in",
    "weekend_of",
]

Precision: TypeAlias = Literal["day", "week", "month", "season", "year", "range"]

FIRST_DAY: Final = date(1900, 1, 1)
LAST_DAY: Final = date(2200, 1, 1)
_MOST: Final = 200_000  # of any unit: more is out of the calendar


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """From ``first`` up to, not including, ``after``."""

    first: date
    after: date
    precision: Precision
    year_known: bool = True

    @property
    def days(self) -> int:
        return (self.after - self.first).days


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a reader knows beside its match."""

    now: datetime
    """In the zone of the one who asks."""
    written: str

    @property
    def today(self) -> date:
        return self.now.date()


Reader: TypeAlias = Callable[[re.Match[str], Context], Stretch | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what it can mean; more than one reader where two readings are possible."""

    pattern: re.Pattern[str]
    readers: tuple[Reader, ...]


def span_of(first: date, after: date, precision: Precision) -> Stretch | None:
    """The stretch, if it is one and lies inside the calendar."""
    if not FIRST_DAY <= first < after <= LAST_DAY:
        return None
    return Stretch(first=first, after=after, precision=precision)


def _date(year: int, month: int, day: int) -> date | None:
    if not FIRST_DAY.year <= year < LAST_DAY.year:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _moved(day: date, days: int) -> date | None:
    if abs(days) > _MOST:
        return None
    moved = day + timedelta(days=days)
    return moved if FIRST_DAY <= moved < LAST_DAY else None


# ── whole units ─────────────────────────────────────────────────────────────────────────────


def one_day(day: date | None) -> Stretch | None:
    return span_of(day, day + timedelta(days=1), "day") if day else None


def one_week(day: date | None) -> Stretch | None:
    """The week, Monday to Sunday, that holds a day."""
    if day is None:
        return None
    monday = day - timedelta(days=day.weekday())
    return span_of(monday, monday + timedelta(days=7), "week")


def weekend_of(day: date | None) -> Stretch | None:
    """Saturday and Sunday of the week that holds a day."""
    week = one_week(day)
    if week is None:
        return None
    return span_of(week.first + timedelta(days=5), week.after, "range")


def weekday_in(day: date | None, weekday: int) -> Stretch | None:
    week = one_week(day)
    return one_day(week.first + timedelta(days=weekday)) if week else None


def months_from(year: int, month: int, count: int, precision: Precision) -> Stretch | None:
    """``count`` months from one on; months outside 1 to 12 lie in another year."""
    start = year * 12 + month - 1
    first = _date(start // 12, start % 12 + 1, 1)
    after = _date((start + count) // 12, (start + count) % 12 + 1, 1)
    return span_of(first, after, precision) if first and after else None


def one_month(year: int, month: int) -> Stretch | None:
    return months_from(year, month, 1, "month")


def quarter(year: int, number: int) -> Stretch | None:
    return months_from(year, number * 3 - 2, 3, "season") if 1 <= number <= 4 else None


def half_year(year: int, number: int) -> Stretch | None:
    return months_from(year, number * 6 - 5, 6, "range")


def season(year: int, first_month: int) -> Stretch | None:
    """A season of the north, by its first month; a winter begins in the December of its year."""
    return months_from(year, first_month, 3, "season")


def one_year(year: int) -> Stretch | None:
    return months_from(year, 1, 12, "year")


def part_of(whole: Stretch | None, part: Literal["early", "mid", "late"]) -> Stretch | None:
    """A third of a stretch."""
    if whole is None or whole.days < 3:
        return whole
    third = timedelta(days=whole.days // 3)
    first = {"early": whole.first, "mid": whole.first + third, "late": whole.after - third}[part]
    after = {"early": whole.first + third, "mid": whole.after - third, "late": whole.after}[part]
    return replace(whole, first=first, after=after, precision="range")


# ── relative to a day ───────────────────────────────────────────────────────────────────────


def relative(today: date, unit: str, steps: int) -> Stretch | None:
    """This (0), the last (-1), the next (1) day, week, weekend, month, quarter or year."""
    if unit == "day":
        return one_day(_moved(today, steps))
    if unit == "week":
        return one_week(_moved(today, steps * 7))
    if unit == "weekend":
        return weekend_of(_moved(today, steps * 7))
    if unit == "month":
        return one_month(today.year, today.month + steps)
    if unit == "quarter":
        return months_from(today.year, (today.month - 1) // 3 * 3 + 1 + steps * 3, 3, "season")
    return one_year(today.year + steps)


def shifted(day: date, unit: str, count: int) -> date | None:
    """A day moved by whole units; the 31st becomes the last of a shorter month."""
    if unit in ("day", "week"):
        return _moved(day, count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    for last in (day.day, 30, 29, 28):
        if last <= day.day and (found := _date(year, month + 1, last)):
            return found
    return None


def ago(today: date, unit: str, count: int) -> Stretch | None:
    """What "three weeks ago" means (and, below zero, "in three weeks"): the coarser, the wider.

    Days are exact, a number of weeks is the days around it, months and years are whole ones.
    """
    if abs(count) > _MOST:
        return None
    if unit == "day":
        return one_day(_moved(today, -count))
    if unit == "week":
        middle = _moved(today, -count * 7)
        if middle is None:
            return None
        return span_of(middle - timedelta(days=3), middle + timedelta(days=4), "week")
    return relative(today, unit, -count)


def few_ago(today: date, unit: str) -> Stretch | None:
    """Two to seven units back."""
    if unit in ("minute", "hour"):
        return one_day(today)
    first, after = shifted(today, unit, -7), shifted(today, unit, -2)
    return span_of(first, after + timedelta(days=1), "range") if first and after else None


def half_year_ago(today: date, sign: int) -> Stretch | None:
    """The two months around half a year back, or ahead if ``sign`` is -1."""
    first, after = shifted(today, "month", -6 * sign - 1), shifted(today, "month", -6 * sign + 1)
    return span_of(first, after, "range") if first and after else None


def last_units(today: date, unit: str, count: int) -> Stretch | None:
    """The last ``count`` units up to and with today."""
    first = shifted(today, unit, -count) if count <= _MOST else None
    return span_of(first, today + timedelta(days=1), "range") if first else None


# ── without a year ──────────────────────────────────────────────────────────────────────────


def day_in_year(year: int, month: int, day: int) -> Stretch | None:
    return one_day(_date(year, month, day))


def in_any_year(today: date, month: int, day: int | None) -> Stretch | None:
    """The latest such day or month that has begun, marked as one of an unknown year."""
    for year in range(today.year, today.year - 9, -1):  # 29 February may be eight years back
        found = day_in_year(year, month, day) if day else one_month(year, month)
        if found and found.first <= today:
            return replace(found, year_known=False)
    return None


def in_year(stretch: Stretch, year: int) -> Stretch:
    """The same part of another year, whose year is then known; itself if that has no such day."""
    try:
        first = stretch.first.replace(year=year)
    except ValueError:
        return stretch
    years = stretch.after.year - stretch.first.year
    try:
        after = stretch.after.replace(year=year + years)
    except ValueError:
        after = first + timedelta(days=stretch.days)
    moved = span_of(first, after, stretch.precision)
    return moved or stretch
