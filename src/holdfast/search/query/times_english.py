"""What English says about when: each rule reads one expression of time.

Data and readers of ``times``, tested with it. The text is in lower case and full-width forms are
plain, each character in its place; ``Context.written`` is the text as it was given. Every pattern
is bounded, so that reading is linear.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from holdfast.search.query.times_calendar import (
    Context,
    Precision,
    Reader,
    Rule,
    Stretch,
    ago,
    day_in_year,
    few_ago,
    half_year_ago,
    in_any_year,
    last_units,
    one_day,
    one_month,
    one_week,
    one_year,
    part_of,
    quarter,
    relative,
    season,
    shifted,
    span_of,
    weekday_in,
    weekend_of,
)
from holdfast.search.query.times_words import HOLIDAYS, MONTHS, NUMBERS, SEASONS, WEEKDAYS, number
from holdfast.text.late import late

__all__ = ["RULES", "modified", "offset", "operator"]


def _rule(pattern: str, *readers: Reader) -> Rule:
    named = pattern.replace("MONTH", _MONTH).replace("YEAR", _YEAR).replace("NUM", _NUM)
    named = named.replace("WEEKDAY", _WEEKDAY).replace("DAY", _DAY).replace("UNIT", _UNIT)
    return Rule(late(named.replace(" ", r"\s{1,3}")), readers)


def _any_of(names: dict[str, int] | dict[str, tuple[int, int]]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


_MONTH: Final = rf"\b(?P<month>{_any_of(MONTHS)})\b\.?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)(?!\w|[:%]|[.,/-]\d)"
_DAY: Final = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?![\w:%]|[.,/]\d)"
_COUNTED: Final = _any_of(NUMBERS)
_NUM: Final = rf"\b(?P<number>\d{{1,5}}|(?:a )?couple of|a few|few|several|{_COUNTED})"
_UNIT: Final = r"(?P<unit>minute|hour|day|week|month|year)s?\b"
_WEEKDAY: Final = r"\b(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
_SEASON: Final = rf"(?P<season>{'|'.join(SEASONS)})\b"
_STEPS: Final = {
    **dict.fromkeys(("last", "past", "previous"), -1),
    **dict.fromkeys(("this", "current"), 0),
    **dict.fromkeys(("next", "coming", "upcoming"), 1),
}
_STEP: Final = rf"\b(?P<step>{'|'.join(_STEPS)})"
_FEW: Final = 5


def _count(match: re.Match[str]) -> int | None:
    written = match["number"]
    return _FEW if written in ("a few", "few", "several") else number(" ".join(written.split()))


def _optional(match: re.Match[str], name: str) -> str | None:
    return match.groupdict().get(name)


# ── dates ───────────────────────────────────────────────────────────────────────────────────


def _full_date(match: re.Match[str], context: Context) -> Stretch | None:
    """A month with or without day and year; without a year, of any."""
    month = MONTHS[match["month"]]
    written = _optional(match, "day")
    day = int(written) if written else None
    if year := _optional(match, "year"):
        return day_in_year(int(year), month, day) if day else one_month(int(year), month)
    return in_any_year(context.today, month, day) if day != 0 else None


_NEEDS_CAPITAL: Final = frozenset(
    {"may", "march", "mar", "jan", "dec", "sep", "sept", "jun", "nov"}
)
_BEFORE_MONTH: Final = late(
    r"(?:\b(?:in|of|last|this|next|since|before|after|until|till|during|early|late|mid|from|to|and"
    r"|between|through|by|around|or)[\s-]{1,3}|,\s?)$"
)
_AFTER_MODAL: Final = late(r"\s{1,3}(?:i|we|you|he|she|they|it|be|have|not|also|god|the)\b")


def _lone_month(match: re.Match[str], context: Context) -> Stretch | None:
    """A month by name alone: "may" and "march" only where they cannot be other words."""
    name = match["month"]
    before = match.string[max(0, match.start() - 12) : match.start()]
    placed = _BEFORE_MONTH.search(before) is not None
    named = match.start() > 0 and context.written[match.start()].isupper()
    if name in _NEEDS_CAPITAL and not (placed or named):
        return None
    if name == "may" and _AFTER_MODAL.match(match.string, match.end()):
        return None
    return in_any_year(context.today, MONTHS[name], None)


def _iso_day(match: re.Match[str], context: Context) -> Stretch | None:
    return day_in_year(int(match[1]), int(match[2]), int(match[3]))


def _iso_month(match: re.Match[str], context: Context) -> Stretch | None:
    return one_month(int(match[1]), int(match[2]))


def _numeric_year(written: str) -> int:
    return int(written) + (2000 if len(written) == 2 else 0)


def _day_first(match: re.Match[str], context: Context) -> Stretch | None:
    return day_in_year(_numeric_year(match[3]), int(match[2]), int(match[1]))


def _month_first(match: re.Match[str], context: Context) -> Stretch | None:
    return day_in_year(_numeric_year(match[3]), int(match[1]), int(match[2]))


def _day_range(match: re.Match[str], context: Context) -> Stretch | None:
    """3–5 May 2023, May 3 to 5."""
    month, last = MONTHS[match["month"]], int(match["last"])
    year = _optional(match, "year")
    if year:
        end = day_in_year(int(year), month, last)
    else:
        end = in_any_year(context.today, month, last) if last else None
    start = day_in_year(end.first.year, month, int(match["day"])) if end else None
    if start is None or end is None or start.first >= end.first:
        return None
    return replace(start, after=end.after, precision="range", year_known=end.year_known)


def _month_step(match: re.Match[str], context: Context) -> Stretch | None:
    """Last May is the latest that is over, this May the one of this year."""
    today, month = context.today, MONTHS[match["month"]]
    step = _STEPS[match["step"]]
    year = today.year
    if step < 0 and month >= today.month:
        year -= 1
    if step > 0 and month <= today.month:
        year += 1
    return one_month(year, month)


def _year(match: re.Match[str], context: Context) -> Stretch | None:
    return one_year(int(match["year"]))


def _years(match: re.Match[str], context: Context) -> Stretch | None:
    return span_of(date(int(match["year"]), 1, 1), date(int(match["last"]) + 1, 1, 1), "range")


def _year_named(match: re.Match[str], context: Context) -> int | None:
    if year := _optional(match, "year"):
        return int(year)
    if step := _optional(match, "yearstep"):
        return context.today.year + _STEPS[step]
    return None


# ── seasons, quarters, holidays ─────────────────────────────────────────────────────────────

_BEFORE_SEASON: Final = late(
    r"\b(?:in|during|over|of|that|since|before|after|until|till|by|early|late|mid|from|to|between"
    r"|and|through)[\s-]{1,3}(?:the\s{1,3})?$"
)


def _season(match: re.Match[str], context: Context) -> Stretch | None:
    first, today = SEASONS[match["season"]], context.today
    if year := _year_named(match, context):
        return season(year, first)
    latest = season(today.year, first)
    if latest and latest.first > today:
        latest = season(today.year - 1, first)
    if latest is None:
        return None
    step = _optional(match, "step")
    if step is None:
        before = match.string[max(0, match.start() - 16) : match.start()]
        return replace(latest, year_known=False) if _BEFORE_SEASON.search(before) else None
    over = latest.after <= today
    moved = {-1: 0 if over else -1, 0: 1 if over and first >= today.month else 0, 1: 1}
    return season(latest.first.year + moved[_STEPS[step]], first)


_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4}


def _quarter(match: re.Match[str], context: Context) -> Stretch | None:
    written = match["quarter"]
    which = _ORDINALS.get(written) or int(written)
    if year := _year_named(match, context):
        return quarter(year, which)
    found = quarter(context.today.year, which)
    if found and found.first > context.today:
        found = quarter(context.today.year - 1, which)
    return replace(found, year_known=False) if found else None


def _holiday(match: re.Match[str], context: Context) -> Stretch | None:
    month, day = HOLIDAYS[" ".join(match["holiday"].replace("’", "'").split())]
    if year := _year_named(match, context):
        return day_in_year(year, month, day)
    latest = in_any_year(context.today, month, day)
    step = _optional(match, "step")
    if latest is None or step is None:
        return latest
    year = latest.first.year if _STEPS[step] < 0 else context.today.year
    return day_in_year(year + (latest.first.year == year and _STEPS[step] > 0), month, day)


# ── relative ────────────────────────────────────────────────────────────────────────────────

_DAYS: Final = {
    "today": 0,
    "tonight": 0,
    "yesterday": -1,
    "tomorrow": 1,
    "day before yesterday": -2,
    "day after tomorrow": 2,
    "last night": -1,
}


def _named_day(match: re.Match[str], context: Context) -> Stretch | None:
    return relative(context.today, "day", _DAYS.get(" ".join(match["named"].split()), 0))


def _step(match: re.Match[str], context: Context) -> Stretch | None:
    """Last week, this month, next year; "the past year" reaches back from today."""
    unit, step = match["unit"], match["step"]
    if step == "past" and unit != "weekend":
        return last_units(context.today, unit, 1) if unit != "quarter" else None
    if unit == "weekend" and step != "this":
        return _weekend_step(context.today, _STEPS[step])
    return relative(context.today, unit, _STEPS[step])


def _weekend_step(today: date, step: int) -> Stretch | None:
    """The last weekend that is over, or the first that has not begun."""
    weekend = weekend_of(today)
    if weekend is None:
        return None
    if step < 0:
        return weekend if weekend.after <= today else relative(today, "weekend", -1)
    return relative(today, "weekend", 1 if weekend.first <= today else 0) or weekend


def _the_weekend(match: re.Match[str], context: Context) -> Stretch | None:
    weekend = weekend_of(context.today)
    if weekend and weekend.first > context.today:
        return relative(context.today, "weekend", -1)
    return weekend


def _weekday(match: re.Match[str], context: Context) -> Stretch | None:
    """The latest such day: today too, unless it is the last one that is asked for."""
    before = match.string[max(0, match.start() - 8) : match.start()]
    if before.rstrip().endswith(("every", "each")):
        return None
    back = (context.today.weekday() - WEEKDAYS[match["weekday"]]) % 7
    return one_day(context.today - timedelta(days=back))


def _weekday_step(match: re.Match[str], context: Context) -> Stretch | None:
    today, weekday, step = context.today, WEEKDAYS[match["weekday"]], _STEPS[match["step"]]
    if step == 0:
        return weekday_in(today, weekday)
    if step < 0:
        return one_day(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))
    return one_day(today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1))


def _weekday_of_week(match: re.Match[str], context: Context) -> Stretch | None:
    week = relative(context.today, "week", _STEPS[match["step"]])
    return weekday_in(week.first, WEEKDAYS[match["weekday"]]) if week else None


def _ago(match: re.Match[str], context: Context) -> Stretch | None:
    count, unit = _count(match), match["unit"]
    if count is None:
        return None
    if match["way"] == "from now":
        count = -count
    if match["number"] in ("a few", "few", "several"):
        return few_ago(context.today, unit)
    if unit in ("minute", "hour"):
        hours = count / 60 if unit == "minute" else count
        return one_day((context.now - timedelta(hours=hours)).date()) if hours < 10_000 else None
    return ago(context.today, unit, count)


def _half_year_ago(match: re.Match[str], context: Context) -> Stretch | None:
    return half_year_ago(context.today, 1)


def _last_units(match: re.Match[str], context: Context) -> Stretch | None:
    count, unit = _count(match), match["unit"]
    if count is None or unit in ("minute", "hour"):
        return relative(context.today, "day", 0)
    if _STEPS[match["step"]] < 0:
        return last_units(context.today, unit, count)
    after = shifted(context.today, unit, count)
    return span_of(context.today, after + timedelta(days=1), "range") if after else None


_OF_YEAR: Final = rf"(?:(?: of|,)? (?:{_YEAR}|(?P<yearstep>last|this|next) year\b))"

# The first rule that reads a place has it: the longer expressions stand first.
RULES: Final = (
    _rule(r"(?<![\w.-])((?:19|20)\d\d)[-/.]([01]?\d)[-/.]([0-3]?\d)(?!\d)", _iso_day),
    _rule(r"(?<![\w.-])((?:19|20)\d\d)[-/](0[1-9]|1[0-2])(?![\w/-])", _iso_month),
    _rule(
        r"(?<![\w/.-])([0-3]?\d)[/.-]([0-3]?\d)[/.-]((?:19|20)?\d\d)(?![\w/-])",
        _month_first,
        _day_first,
    ),
    _rule(
        r"MONTH (?P<day>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:-|–|to|through|until)\s?"
        r"(?P<last>[0-3]?\d)(?:st|nd|rd|th)?(?![\w:])(?:,? YEAR)?",
        _day_range,
    ),
    _rule(
        r"(?<![\w.,:/-])(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\s?(?:-|–|to|through|until)\s?"
        r"(?P<last>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? MONTH(?:,? YEAR)?",
        _day_range,
    ),
    _rule(r"MONTH (?:the )?DAY(?:,?(?: of)? YEAR)?", _full_date),
    _rule(
        r"(?<![\w.,:/-])(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?: of)? MONTH(?:,?(?: of)? YEAR)?",
        _full_date,
    ),
    _rule(r"MONTH,?(?: of)? YEAR", _full_date),
    _rule(rf"{_STEP} MONTH", _month_step),
    _rule(rf"\b(?:{_STEP} )?{_SEASON}{_OF_YEAR}?", _season),
    _rule(rf"\bq(?P<quarter>[1-4])\b{_OF_YEAR}?", _quarter),
    _rule(r"(?<!\w)(?P<year>(?:19|20)\d\d)[\s-]?q(?P<quarter>[1-4])\b", _quarter),
    _rule(rf"\b(?P<quarter>first|second|third|fourth|last) quarter{_OF_YEAR}", _quarter),
    _rule(
        rf"\b(?:{_STEP} )?(?P<holiday>{_any_of(HOLIDAYS)})(?!\w){_OF_YEAR}?".replace("'", "['’]"),
        _holiday,
    ),
    _rule(r"\b(?P<named>day before yesterday|day after tomorrow|last night)\b", _named_day),
    _rule(r"\b(?P<named>this (?:morning|afternoon|evening))\b", _named_day),
    _rule(r"\b(?P<named>yesterday|today|tonight|tomorrow)\b", _named_day),
    _rule(rf"WEEKDAY(?: of)? {_STEP} week\b", _weekday_of_week),
    _rule(rf"{_STEP} week(?:['’]s)?(?: on)? WEEKDAY", _weekday_of_week),
    _rule(rf"{_STEP} WEEKDAY", _weekday_step),
    _rule(rf"{_STEP} NUM UNIT", _last_units),
    _rule(r"\bhalf a year (?:ago|back)\b", _half_year_ago),
    _rule(r"\bNUM UNIT (?P<way>ago|back|from now)\b", _ago),
    _rule(rf"{_STEP} (?P<unit>weekend|week|month|quarter|year)\b", _step),
    _rule(r"\b(?:the|over|on) weekend\b", _the_weekend),
    _rule(r"WEEKDAY", _weekday),
    _rule(r"MONTH", _lone_month),
    _rule(
        r"(?<![\w.,$€£#/:-])(?P<year>(?:19|20)\d\d)\s?[-–~]\s?(?P<last>(?:19|20)\d\d)(?![\w/-])",
        _years,
    ),
    _rule(r"(?:(?<=\bmid-)|(?<=\bearly-)|(?<=\blate-)|(?<![\w.,$€£#/:-]))YEAR", _year),
)


# ── what stands before ──────────────────────────────────────────────────────────────────────

_PART: Final = late(
    r"\b(?:(early|mid|late)[\s-]{1,3}(?:in\s{1,3})?"
    r"|(beginning|start|middle|end)\s{1,3}of\s{1,3})(?:the\s{1,3})?$"
)
_PARTS: Final = {"early": "early", "beginning": "early", "start": "early"} | {
    "mid": "mid",
    "middle": "mid",
    "late": "late",
    "end": "late",
}


def modified(before: str, stretch: Stretch) -> tuple[Stretch, int] | None:
    """A third of the stretch for "early", "mid", "the end of", and how long that phrase is."""
    found = _PART.search(before)
    if found is None or stretch.precision not in ("month", "season", "year"):
        return None
    name = _PARTS[found[1] or found[2]]
    third = part_of(stretch, "early" if name == "early" else "mid" if name == "mid" else "late")
    return (third, len(before) - found.start()) if third else None


_OFFSET: Final = late(
    rf"(?:\b(?P<number>\d{{1,3}}|a couple of|{_COUNTED})\s{{1,3}})?"
    r"\b(?P<unit>day|weekend|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?"
    r"\s{1,3}(?P<way>before|after|prior to|following|of)\s{1,3}(?:the\s{1,3})?$"
)


def offset(before: str, anchor: Stretch) -> tuple[Stretch, int] | None:
    """What "the week before" or "two days after" makes of the date behind it."""
    found = _OFFSET.search(before)
    if found is None:
        return None
    unit, back = found["unit"], found["way"] in ("before", "prior to")
    if found["way"] == "of":
        plain = unit == "week" and not found["number"] and anchor.precision == "day"
        moved = one_week(anchor.first) if plain else None
    elif found["number"]:
        count = number(found["number"]) or 0
        moved = ago(anchor.first, unit, count if back else -count) if unit in _PLAIN else None
    else:
        moved = _next_to(anchor, unit, back=back)
    return (moved, len(before) - found.start()) if moved else None


_PLAIN: Final = ("day", "week", "month", "year")


def _next_to(anchor: Stretch, unit: str, *, back: bool) -> Stretch | None:
    """The unit that ends where a stretch begins, or begins where it ends."""
    edge = anchor.first if back else anchor.after
    if unit in WEEKDAYS or unit == "weekend":
        weekday, length = (5, 2) if unit == "weekend" else (WEEKDAYS[unit], 1)
        ahead = (weekday - edge.weekday()) % 7
        behind = (edge.weekday() - weekday - length) % 7 + length
        first = edge + timedelta(days=-behind if back else ahead)
        return weekend_of(first) if unit == "weekend" else one_day(first)
    if unit in ("month", "year") and anchor.precision in ("month", "season", "year"):
        return relative(edge - timedelta(days=1) if back else edge, unit, 0)
    other = shifted(edge, unit, -1 if back else 1)
    if other is None:
        return None
    precision: Precision = "day" if unit == "day" else "week" if unit == "week" else "range"
    return span_of(min(edge, other), max(edge, other), precision)


_OPERATOR: Final = late(
    r"\b(since|after|before|until|till|up to|prior to|later than|earlier than|no later than"
    r"|not before|starting(?: from| in| on)?)\s{1,3}(?:(?:the|in|on|of|year|month)\s{1,3}){0,3}$"
)
_ONWARD: Final = late(r"\s{1,3}(?:onwards?|and later|or later|and after)\b")
_WAYS: Final = {
    **dict.fromkeys(("before", "prior to", "earlier than"), "before"),
    **dict.fromkeys(("until", "till", "up to", "no later than"), "until"),
    **dict.fromkeys(("after", "later than"), "after"),
}


def operator(before: str, after: str) -> tuple[str, int, int] | None:
    """Before, until, after or since; and how much of the text on either side says so."""
    if found := _OPERATOR.search(before):
        return _WAYS.get(found[1], "since"), len(before) - found.start(), 0
    if found := _ONWARD.match(after):
        return "since", 0, found.end()
    return None
