"""The times a question speaks of, in English and Chinese: "last Tuesday", 上个月, "since May 2023".

Promise: never an error, whatever the text; linear in it; every mention is a non-empty stretch of
whole days in the asker's zone, and ``text`` is what stands at ``span``. A mention limits a search
only if the question has a word for that (since, before, between, 之前, 以来, 从…到…); any other
only makes what fits it better. Proven by ``tests/search/test_times.py``. Not here: what a
mention is worth in a ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, tzinfo
from typing import Final, Literal

from holdfast.search.query import times_chinese, times_english
from holdfast.search.query.times_calendar import (
    FIRST_DAY,
    LAST_DAY,
    Context,
    Precision,
    Stretch,
    in_year,
    span_of,
)
from holdfast.text.late import late

__all__ = ["TimeMention", "find_times"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeMention:
    """One time a question speaks of: from ``start`` up to, not including, ``end``.

    Where the year was not said (``year_known`` is false) the stretch is the latest one that has
    begun, and the same ``month`` and ``day`` of any year, or the same season, fits as well. An
    open side of a limit is the year 1900 or 2200.
    """

    start: datetime
    end: datetime
    text: str
    span: tuple[int, int]
    precision: Precision
    strength: Literal["constraint", "boost"]
    year_known: bool = True
    month: int | None = None
    """Of a month, of a part of one, of a day."""
    day: int | None = None
    """Of a single day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """An expression of time with its place; several readings of "5/8/2023"."""

    start: int
    end: int
    readings: tuple[Stretch, ...]
    limits: bool = False


def find_times(query: str, *, now: datetime, zone: tzinfo) -> list[TimeMention]:
    """Every time the query speaks of, in order; twice at one place if it can be read two ways."""
    if not FIRST_DAY.year < now.year < LAST_DAY.year - 1:
        return []
    local = now.replace(tzinfo=zone) if now.tzinfo is None else now.astimezone(zone)
    text = _plain(query)
    context = Context(now=local, written=query)
    found = _expressions(text, context)
    return [
        _shown(query, mention, reading, zone)
        for mention in _joined(text, found)
        for reading in mention.readings
    ]


_WIDE: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
# One of these stands in every expression of its language; most questions have none.
_ENGLISH: Final = late(
    r"\d|day|week|month|year|night|morning|afternoon|evening|ago\b|back\b|from now|tomorrow"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter)"
    r"|quarter|christmas|xmas|halloween|valentine"
)
_CHINESE: Final = late("[年月天日周星礼季假节旦晚夜早晨庆诞前近这过]|五一|六一|十一")


def _plain(query: str) -> str:
    """In lower case and with plain digits, each character in its place."""
    text = query if query.isascii() else query.translate(_WIDE)
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def _expressions(text: str, context: Context) -> list[_Mention]:
    """What the rules read, in order of place; a place that is read is not read again."""
    taken = bytearray(len(text))
    found: list[_Mention] = []
    english = times_english.RULES if _ENGLISH.search(text) else ()
    chinese = times_chinese.RULES if _CHINESE.search(text) else ()
    for rule in (*english, *chinese):
        for match in rule.pattern.finditer(text):
            start, end = match.span()
            if taken.find(1, start, end) >= 0:
                continue
            readings = [reader(match, context) for reader in rule.readers]
            if known := tuple(dict.fromkeys(reading for reading in readings if reading)):
                taken[start:end] = b"\x01" * (end - start)
                found.append(_Mention(start=start, end=end, readings=known))
    return sorted(found, key=lambda mention: mention.start)


# ── what stands around an expression ────────────────────────────────────────────────────────

_AROUND: Final = 40  # characters that are read on either side
_BETWEEN: Final = late(r"(?:\b(?:from|between)\s{1,3}(?:the\s{1,3})?|[从自]|介于)\s?$")
_UP_TO: Final = late(
    r"\s{0,3}(?:(?P<word>to|until|till|through|thru|到|至|直到)|(?P<and>and|和|与)"
    r"|(?P<dash>-|–|—|~))\s{0,3}(?:the\s{1,3})?"
)
_CHINESE_BETWEEN: Final = late(r"\s?之间|\s?期间|\s?间")


def _joined(text: str, found: list[_Mention]) -> Iterator[_Mention]:
    """The expressions with the words that move, limit or pair them."""
    found = [_narrowed(text, mention) for mention in found]
    at = 0
    while at < len(found):
        pair = None
        if at + 1 < len(found):
            one, two = found[at], found[at + 1]
            pair = _paired(text, one, two) or _anchored(text, one, two)
        if pair:
            yield pair
            at += 2
        else:
            floor = found[at - 1].end if at else 0
            ceiling = found[at + 1].start if at + 1 < len(found) else len(text)
            yield _operated(text, found[at], floor, ceiling)
            at += 1


def _sides(text: str, mention: _Mention, floor: int = 0, ceiling: int | None = None) -> list[str]:
    end = min(len(text) if ceiling is None else ceiling, mention.end + _AROUND)
    start = max(floor, mention.start - _AROUND)
    return [text[start : mention.start], text[mention.end : end]]


def _narrowed(text: str, mention: _Mention) -> _Mention:
    """Early, mid or late in it."""
    if len(mention.readings) > 1:
        return mention
    before, after = _sides(text, mention)
    if narrow := times_english.modified(before, mention.readings[0]):
        return replace(mention, readings=(narrow[0],), start=mention.start - narrow[1])
    if narrow := times_chinese.modified(after, mention.readings[0]):
        return replace(mention, readings=(narrow[0],), end=mention.end + narrow[1])
    return mention


def _paired(text: str, one: _Mention, two: _Mention) -> _Mention | None:
    """From one time to another, if that is what stands between them."""
    gap = _UP_TO.fullmatch(text, one.end, two.start) if two.start - one.end < 16 else None
    if gap is None or len(one.readings) > 1 or len(two.readings) > 1:
        return None
    opened = _BETWEEN.search(text, max(0, one.start - _AROUND), one.start)
    closed = _CHINESE_BETWEEN.match(text, two.end)
    if gap["and"] and not (opened or closed):
        return None
    first, last = _same_year(*_in_turn(one.readings[0], two.readings[0]))
    whole = span_of(first.first, last.after, "range")
    if whole is None:
        return None
    known = first.year_known or last.year_known
    return _Mention(
        start=opened.start() if opened else one.start,
        end=closed.end() if closed else two.end,
        readings=(replace(whole, year_known=known),),
        limits=bool(gap["word"] or opened or closed),
    )


def _anchored(text: str, one: _Mention, two: _Mention) -> _Mention | None:
    """The Friday, or the weekend, before another date: no Friday of its own."""
    if two.start - one.start > _AROUND or len(two.readings) > 1:
        return None
    moved = times_english.offset(text[one.start : two.start], two.readings[0])
    if moved is None or two.start - moved[1] >= one.end:
        return None
    return _Mention(
        start=one.start,
        end=two.end,
        readings=(replace(moved[0], year_known=two.readings[0].year_known),),
    )


def _in_turn(one: Stretch, two: Stretch) -> tuple[Stretch, Stretch]:
    """From Monday to Friday, asked on a Wednesday, ends last Friday and begins before that."""
    week = timedelta(days=7)
    single = one.days == two.days == 1 and one.year_known and two.year_known
    if single and timedelta() < one.first - two.first < week:
        return replace(one, first=one.first - week, after=one.after - week), two
    return one, two


def _same_year(one: Stretch, two: Stretch) -> tuple[Stretch, Stretch]:
    """Where only one has a year, or none, the other is the nearest that makes a stretch of both."""
    if one.year_known and two.year_known:
        return one, two
    if one.year_known:
        moved = in_year(two, one.first.year)
        return one, moved if moved.after > one.first else in_year(two, one.first.year + 1)
    moved = in_year(one, two.first.year)
    moved = moved if moved.first < two.after else in_year(one, two.first.year - 1)
    return replace(moved, year_known=two.year_known), two


def _operated(text: str, mention: _Mention, floor: int, ceiling: int) -> _Mention:
    """Moved by "the week before", or limited by "since"; as it is if neither stands there."""
    if len(mention.readings) > 1:
        return mention
    before, after = _sides(text, mention, floor, ceiling)
    anchor = mention.readings[0]
    known = anchor.year_known
    if moved := times_english.offset(before, anchor):
        reading = replace(moved[0], year_known=known)
        return replace(mention, readings=(reading,), start=mention.start - moved[1])
    if moved := times_chinese.offset(after, anchor):
        reading = replace(moved[0], year_known=known)
        return replace(mention, readings=(reading,), end=mention.end + moved[1])
    told = times_english.operator(before, after) or times_chinese.operator(before, after)
    limited = _limited(anchor, told[0]) if told else None
    if told is None or limited is None:
        return mention
    return _Mention(
        start=mention.start - told[1],
        end=mention.end + told[2],
        readings=(limited,),
        limits=True,
    )


def _limited(stretch: Stretch, way: str) -> Stretch | None:
    if way == "before":
        return span_of(FIRST_DAY, stretch.first, "range")
    if way == "until":
        return span_of(FIRST_DAY, stretch.after, "range")
    if way == "after":
        return span_of(stretch.after, LAST_DAY, "range")
    return span_of(stretch.first, LAST_DAY, "range")


def _shown(query: str, mention: _Mention, reading: Stretch, zone: tzinfo) -> TimeMention:
    single = reading.precision == "day"
    last = reading.after - timedelta(days=1)
    one_month = (last.year, last.month) == (reading.first.year, reading.first.month)
    return TimeMention(
        start=datetime.combine(reading.first, time(), zone),
        end=datetime.combine(reading.after, time(), zone),
        text=query[mention.start : mention.end],
        span=(mention.start, mention.end),
        precision=reading.precision,
        strength="constraint" if mention.limits else "boost",
        year_known=reading.year_known,
        month=reading.first.month if one_month and reading.precision != "week" else None,
        day=reading.first.day if single else None,
    )
