"""What Chinese says about when: each rule reads one expression of time.

Data and readers of ``times``, tested with it; for the form of the text and the promise of the
patterns see ``times_english``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from holdfast.search.query.times_calendar import (
    Context,
    Reader,
    Rule,
    Stretch,
    ago,
    day_in_year,
    few_ago,
    half_year,
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
    span_of,
    weekday_in,
    weekend_of,
)
from holdfast.search.query.times_words import (
    CHINESE_HOLIDAYS,
    CHINESE_SEASONS,
    CHINESE_WEEKDAYS,
    chinese_number,
)
from holdfast.text.late import late

__all__ = ["RULES", "modified", "offset", "operator"]

_NUMERAL: Final = "〇零○一二两三四五六七八九十"
_NUMBER: Final = rf"(?:\d{{1,3}}|[{_NUMERAL}]{{1,3}})"
_MONTH: Final = (
    rf"(?<![\d{_NUMERAL}第])(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
    r"\s?月份?(?![球亮饼票])"
)
_DAY: Final = r"(?P<day>[0-3]?\d|[一二三四五六七八九十]{1,3})\s?[日号]"
_NAMED_YEARS: Final = {
    "大前年": -3,
    "前年": -2,
    "去年": -1,
    "上一年": -1,
    "今年": 0,
    "本年": 0,
    "明年": 1,
    "后年": 2,
}
_YEAR: Final = (
    rf"(?:(?<![\d{_NUMERAL}])(?P<year>(?:19|20)\d\d|[一二][〇零○一二三四五六七八九]{{3}})\s?年"
    rf"|(?P<named>{'|'.join(_NAMED_YEARS)}))"
)
_UNITS: Final = {
    **dict.fromkeys(("天",), "day"),
    **dict.fromkeys(("周", "星期", "礼拜"), "week"),
    **dict.fromkeys(("个月",), "month"),
    **dict.fromkeys(("年",), "year"),
    **dict.fromkeys(("小时", "钟头"), "hour"),
    "分钟": "minute",
}
_UNIT: Final = (
    rf"个?(?P<unit>{'|'.join(('小时', '钟头', '分钟', '星期', '礼拜', '天', '周', '月', '年'))})"
)
_STEPS: Final = {"上上": -2, "上": -1, "这": 0, "本": 0, "当": 0, "下下": 2, "下": 1}
_STEP: Final = r"(?P<step>上上|下下|上|这|本|下)(?:一)?个?"
_FEW: Final = 5


def _rule(pattern: str, *readers: Reader) -> Rule:
    return Rule(late(pattern), readers)


def _year_of(match: re.Match[str], context: Context) -> int | None:
    groups = match.groupdict()
    if named := groups.get("named"):
        return context.today.year + _NAMED_YEARS[named]
    return chinese_number(groups["year"]) if groups.get("year") else None


def _date(match: re.Match[str], context: Context) -> Stretch | None:
    month = chinese_number(match["month"]) or 0
    day = chinese_number(match["day"]) if match["day"] else None
    if not 1 <= month <= 12 or day == 0:
        return None
    year = _year_of(match, context)
    if year is None:
        return in_any_year(context.today, month, day)
    return day_in_year(year, month, day) if day else one_month(year, month)


def _short_year_month(match: re.Match[str], context: Context) -> Stretch | None:
    month = chinese_number(match["month"]) or 0
    day = chinese_number(match["day"]) if match["day"] else None
    year = 2000 + int(match["short"])
    if not 1 <= month <= 12:
        return None
    return day_in_year(year, month, day) if day else one_month(year, month)


def _day_range(match: re.Match[str], context: Context) -> Stretch | None:
    """3月5日到8日."""
    start = _date(match, context)
    last = chinese_number(match["last"])
    if start is None or not last:
        return None
    end = day_in_year(start.first.year, start.first.month, last)
    if end is None or end.first <= start.first:
        return None
    return replace(start, after=end.after, precision="range")


def _month_step(match: re.Match[str], context: Context) -> Stretch | None:
    month = relative(context.today, "month", _STEPS[match["step"]])
    day = chinese_number(match["day"]) if match["day"] else None
    if month is None or not day:
        return month
    return day_in_year(month.first.year, month.first.month, day)


def _year(match: re.Match[str], context: Context) -> Stretch | None:
    year = _year_of(match, context)
    return one_year(year) if year else None


def _latest(found: Stretch | None, before: Stretch | None, today: date) -> Stretch | None:
    """The one that has begun, of a year that was not said."""
    chosen = before if found and found.first > today else found
    return replace(chosen, year_known=False) if chosen else None


def _half(match: re.Match[str], context: Context) -> Stretch | None:
    which = 1 if match["half"] == "上半年" else 2
    return half_year(_year_of(match, context) or context.today.year, which)


def _quarter(match: re.Match[str], context: Context) -> Stretch | None:
    which = chinese_number(match["quarter"]) or 0
    if year := _year_of(match, context):
        return quarter(year, which)
    this = context.today.year
    return _latest(quarter(this, which), quarter(this - 1, which), context.today)


def _quarter_step(match: re.Match[str], context: Context) -> Stretch | None:
    return relative(context.today, "quarter", _STEPS[match["step"]])


def _season(match: re.Match[str], context: Context) -> Stretch | None:
    name = {"暑": "夏", "寒": "冬"}.get(match["season"], match["season"])
    first = CHINESE_SEASONS[name]
    if year := _year_of(match, context):
        return season(year, first)
    this = context.today.year
    return _latest(season(this, first), season(this - 1, first), context.today)


def _holiday(match: re.Match[str], context: Context) -> Stretch | None:
    month, day = CHINESE_HOLIDAYS[match["holiday"]]
    if year := _year_of(match, context):
        return day_in_year(year, month, day)
    return in_any_year(context.today, month, day)


# ── relative ────────────────────────────────────────────────────────────────────────────────

_DAYS: Final = {
    "大前天": -3,
    "前天": -2,
    "前日": -2,
    "前晚": -2,
    "昨天": -1,
    "昨日": -1,
    "昨晚": -1,
    "昨夜": -1,
    "今天": 0,
    "今日": 0,
    "今晚": 0,
    "今早": 0,
    "今晨": 0,
    "明天": 1,
    "明日": 1,
    "明晚": 1,
    "明早": 1,
    "大后天": 3,
    "后天": 2,
}


def _named_day(match: re.Match[str], context: Context) -> Stretch | None:
    return relative(context.today, "day", _DAYS[match[0]])


def _week(match: re.Match[str], context: Context) -> Stretch | None:
    """上周, 上周三, 周末, 星期天; without a step the latest such day."""
    step, which, today = match["step"], match["weekday"], context.today
    if step is None:
        return _latest_in_week(which, today)
    week = relative(today, "week", _STEPS[step])
    if week is None or which is None:
        return week
    if which == "末":
        return weekend_of(week.first)
    return weekday_in(week.first, CHINESE_WEEKDAYS[which])


def _latest_in_week(which: str | None, today: date) -> Stretch | None:
    if which is None:
        return None
    if which == "末":
        weekend = weekend_of(today)
        return weekend if weekend and weekend.first <= today else relative(today, "weekend", -1)
    back = (today.weekday() - CHINESE_WEEKDAYS[which]) % 7
    return one_day(today - timedelta(days=back))


def _unit(match: re.Match[str]) -> str | None:
    """A month needs its 个: 三月 is March, 三个月 are three months."""
    unit = match["unit"]
    if unit == "月":
        return "month" if "个月" in match[0] else None
    return _UNITS[unit]


def _ago(match: re.Match[str], context: Context) -> Stretch | None:
    unit, written, today = _unit(match), match["number"], context.today
    sign = -1 if match["way"] == "后" else 1
    if unit is None:
        return None
    if written == "半":
        return _half_ago(today, unit, sign)
    if written in ("几", "数", "好几"):
        return few_ago(today, unit) if sign > 0 else None
    count = chinese_number(written)
    if count is None:
        return None
    if unit in ("hour", "minute"):
        hours = sign * (count / 60 if unit == "minute" else count)
        return one_day((context.now - timedelta(hours=hours)).date())
    if match["half"]:
        return ago(today, "month", sign * (count * 12 + 6)) if unit == "year" else None
    return ago(today, unit, sign * count)


def _half_ago(today: date, unit: str, sign: int) -> Stretch | None:
    if unit == "month":
        return ago(today, "week", sign * 2)
    return half_year_ago(today, sign) if unit == "year" else one_day(today)


def _last(match: re.Match[str], context: Context) -> Stretch | None:
    unit, written = _unit(match), match["number"]
    if unit is None:
        return None
    if unit in ("hour", "minute"):
        return one_day(context.today)
    if written == "半":
        return last_units(context.today, "month", 6) if unit == "year" else None
    count = _FEW if written in ("几", "数") else chinese_number(written)
    return last_units(context.today, unit, count) if count else None


def _days_before(match: re.Match[str], context: Context) -> Stretch | None:
    return few_ago(context.today + timedelta(days=1), "day")


RULES: Final = (
    _rule(
        rf"(?:{_YEAR}的?\s?)?{_MONTH}的?\s?{_DAY}\s?(?:到|至|-|–|~)\s?"
        r"(?P<last>[0-3]?\d|[一二三四五六七八九十]{1,3})\s?[日号]",
        _day_range,
    ),
    _rule(rf"{_YEAR}的?\s?{_MONTH}(?:的?\s?{_DAY})?", _date),
    _rule(rf"(?<!\d)(?P<short>[0-4]\d)年{_MONTH}(?:{_DAY})?", _short_year_month),
    _rule(rf"{_MONTH}(?:的?\s?{_DAY})?", _date),
    _rule(rf"{_STEP}月份?(?:的?\s?{_DAY})?", _month_step),
    _rule(rf"(?:{_YEAR}的?)?(?P<half>上半年|下半年)", _half),
    _rule(rf"(?:{_YEAR}的?)?第?(?P<quarter>[一二三四1-4])季度", _quarter),
    _rule(rf"{_STEP}季度", _quarter_step),
    _rule(rf"(?:{_YEAR}的?)?(?P<season>[春夏秋冬])(?:天|季|日(?!本))", _season),
    _rule(rf"(?:{_YEAR}的?)?(?P<season>[暑寒])假", _season),
    _rule(
        rf"(?:{_YEAR}的?)?(?P<holiday>{'|'.join(sorted(CHINESE_HOLIDAYS, key=len, reverse=True))})",
        _holiday,
    ),
    _rule(_YEAR, _year),
    _rule(
        rf"(?<![\d{_NUMERAL}])(?P<number>{_NUMBER}|半|好几|几|数)多?{_UNIT}(?P<half>半)?多?"
        r"(?:以|之)?(?P<way>前|后)(?!者|[往面夕])",
        _ago,
    ),
    _rule(rf"(?<![以之])(?:{'|'.join(sorted(_DAYS, key=len, reverse=True))})", _named_day),
    _rule(r"(?<!向)前(?:几|两|些)天", _days_before),
    _rule(
        rf"(?:最近|过去的?|近|这)(?P<number>{_NUMBER}|半|几|数){_UNIT}(?![之以]?[前后])",
        _last,
    ),
    _rule(
        rf"(?:{_STEP}|(?<![{_NUMERAL}几每\d]))(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?",
        _week,
    ),
)


# ── what stands around ──────────────────────────────────────────────────────────────────────

_PART: Final = late(r"的?年?(?P<part>初|上旬|中旬|下旬|底|末)(?!中|级)")


def modified(after: str, stretch: Stretch) -> tuple[Stretch, int] | None:
    """A third of the stretch for 初, 中旬, 底, and how long that is."""
    found = _PART.match(after)
    if found is None or stretch.precision not in ("month", "year"):
        return None
    name = found["part"]
    if name in ("初", "上旬"):
        third = part_of(stretch, "early")
    else:
        third = part_of(stretch, "mid" if name == "中旬" else "late")
    return (third, found.end()) if third else None


_OFFSET: Final = late(
    rf"的?(?P<way>前|后)(?P<number>{_NUMBER}){_UNIT}|(?P<that>那|当)(?:一|个)*(?:周|星期|礼拜)"
)


def offset(after: str, anchor: Stretch) -> tuple[Stretch, int] | None:
    """What 前一周 or 后两天 makes of the date before it."""
    found = _OFFSET.match(after)
    if found is None:
        return None
    if found["that"]:
        week = one_week(anchor.first)
        return (week, found.end()) if week else None
    unit, count = _unit(found), chinese_number(found["number"])
    if unit is None or not count or unit in ("hour", "minute"):
        return None
    back = found["way"] == "前"
    if count == 1 and unit == "week":
        edge = anchor.first - timedelta(days=7) if back else anchor.after
        moved = span_of(edge, edge + timedelta(days=7), "week")
    else:
        moved = ago(anchor.first, unit, count if back else -count)
    return (moved, found.end()) if moved else None


_OPERATOR: Final = late(
    r"\s?的?(?:(之前|以前|前(?![往面夕后天台端景提年]))|(之后|过后|后(?![来面天台端续者悔年]))"
    r"|(以来|以后|至今|到现在|到今天|起(?![来床飞点])|开始))"
)
_SINCE: Final = late(r"(?:自从|自)\s?$")
_UNTIL: Final = late(r"(?:直到|截至|截止到?)\s?$")


def operator(before: str, after: str) -> tuple[str, int, int] | None:
    """Before, until, after or since; and how much of the text on either side says so."""
    if found := _OPERATOR.match(after):
        way = "before" if found[1] else "after" if found[2] else "since"
        started = re.search("(?:自从|自|从)$", before) if way == "since" else None
        return way, len(before) - started.start() if started else 0, found.end()
    if found := _UNTIL.search(before):
        return "until", len(before) - found.start(), 0
    if found := _SINCE.search(before):
        return "since", len(before) - found.start(), 0
    return None
