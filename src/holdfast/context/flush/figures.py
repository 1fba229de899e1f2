"""Numbers and dates as they are compared: in digits or in words, English or Chinese.

``一百人`` and ``100人`` have the same number; "yesterday" said on 14 May means the 13th. What is
asked of a memory is strict (``numbers`` reads only what surely is one), what is allowed by its
source is generous (``all_numbers``).

Promise: linear, and nothing is a number of the memory that its source could not have meant
(``tests/context/test_grounding.py``). Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

__all__ = ["Day", "all_numbers", "days_meant", "days_named", "numbers", "without_days"]


class Day(NamedTuple):
    """A date as far as it is said."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def fits(self, other: Day) -> bool:
        """Whether both can mean the same day: what both say is equal, and they share something."""
        pairs = [
            (a, b) for a, b in zip(self, other, strict=True) if a is not None and b is not None
        ]
        return bool(pairs) and all(a == b for a, b in pairs)


def _listed(*lines: str) -> list[str]:
    return " ".join(lines).split()


# ── numbers ─────────────────────────────────────────────────────────────────────────────────

_DIGITS: Final = {c: n for n, c in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
_UNITS: Final = {"十": 10, "百": 100, "千": 1_000}
_LARGE: Final = {"万": 10_000, "亿": 100_000_000}
_CHINESE: Final = "〇零一二两三四五六七八九十百千万亿"
_RUN: Final = re.compile(f"[{_CHINESE}]{{1,24}}")
# A single numeral counts only before what is counted; 一 is mostly an article.
_SURE: Final = re.compile(
    f"(?<![{_CHINESE}])(?:[{_CHINESE}]{{2,24}}"
    r"|[二两三四五六七八九十](?=[个只条张件本台辆次岁年月日号天周点秒元块斤人位口名家层楼倍种套份小])"
    r"|一(?=[月号日岁]))"
)
_IDIOMS: Final = re.compile(
    "[千万百一][一二三四五六七八九]|千万|四五|七八|三四|两三|五六|六七|八九"
)
_LATIN: Final = re.compile(r"\d+(?:[.:]\d+)*")
_SCALED: Final = re.compile(
    r"(\d{1,15}(?:\.\d{1,9})?)[ -]?(hundred|thousand|million|billion|[万亿])"
)
_THOUSANDS: Final = re.compile(r"(?<=\d)[,，_](?=\d{3}(?!\d))")
_SMALL: Final = {
    word: number
    for number, word in enumerate(
        _listed(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
            "fifteen sixteen seventeen eighteen nineteen",
        )
    )
}
_TENS: Final = {
    word: 10 * n
    for n, word in enumerate(_listed("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
}
_ORDINALS: Final = {
    word: n
    for n, word in enumerate(
        _listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth", "eleventh twelfth"
        ),
        1,
    )
} | {"once": 1, "twice": 2, "thrice": 3, "couple": 2, "pair": 2, "dozen": 12, "half": 0.5}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_WORD: Final = re.compile(r"[A-Za-z]+|[^\sA-Za-z-]")


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))


def numbers(text: str) -> frozenset[str]:
    """The numbers a statement surely names, in digits."""
    plain = _plain(text)
    found = set(_scaled(plain))
    plain = _SCALED.sub(" ", plain)
    found |= {_canonical(one) for one in _LATIN.findall(plain)}
    for one in _SURE.findall(plain):
        if not _IDIOMS.fullmatch(one) and (value := _chinese(one)) is not None:
            found.add(value)
    # "one" and "second" are words of their own too often to be asked for.
    found |= {value for value in _english(plain) if value not in _ARTICLES}
    return frozenset(found)


def all_numbers(text: str) -> frozenset[str]:
    """Every number a text could be said to name."""
    plain = _plain(text)
    found = set(_scaled(plain))
    for one in _LATIN.findall(plain):
        found.add(_canonical(one))
        if ":" in one or one.count(".") > 1:  # an hour, a part of a version
            found.update(map(_canonical, re.split("[.:]", one)))
    for one in _RUN.findall(plain):
        parts = one if all(char in _DIGITS for char in one) else ""  # 三四个: three or four
        found |= {value for value in (_chinese(one), *map(_chinese, parts)) if value is not None}
    found.update(_english(plain))
    return frozenset(found)


_ARTICLES: Final = ("0", "1", "2", "0.5")


def _scaled(text: str) -> Iterator[str]:
    """Digits with a word for the zeros: 3 million, 2.5万."""
    for digits, scale in _SCALED.findall(text):
        yield _shown(round(float(digits) * (_SCALES.get(scale) or _LARGE[scale]), 6))


def _canonical(digits: str) -> str:
    """Without zeros that change nothing: 007 is 7, 1.50 is 1.5; 1.2.3 and 08:00 stay parted."""
    if digits.count(".") == 1 and ":" not in digits:
        whole, _, part = digits.partition(".")
        part = part.rstrip("0")
        return f"{whole.lstrip('0') or '0'}{'.' if part else ''}{part}"
    parts = re.split("([.:])", digits.removesuffix(":00"))
    return "".join(p if p in ".:" else (p.lstrip("0") or "0") for p in parts)


def _chinese(run: str) -> str | None:
    """The value of Chinese numerals, or None if they are not one number."""
    if not any(c in _UNITS or c in _LARGE for c in run):
        return str(int("".join(str(_DIGITS[c]) for c in run)))
    total = section = 0
    digit: int | None = None
    for char in run:
        if char in _DIGITS:
            if digit:
                return None
            digit = _DIGITS[char]
        elif char in _UNITS:
            section += (1 if digit is None else digit) * _UNITS[char]
            digit = None
        else:
            total = (total + section + (digit or 0)) * _LARGE[char] or _LARGE[char]
            section, digit = 0, None
    return str(total + section + (digit or 0))


def _english(text: str) -> Iterator[str]:
    """Numbers in words: what each run of them adds up to."""
    total = current = 0
    counting = False
    for word in _WORD.findall(text.lower()):
        if word in _SMALL or word in _TENS:
            value = _SMALL.get(word, _TENS.get(word, 0))
            current, counting = current + value, True
        elif word in _SCALES and counting:
            current *= _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0
        elif not (word == "and" and counting):
            if counting:
                yield str(total + current)
            if (ordinal := _ORDINALS.get(word)) is not None:
                yield _shown(ordinal)
            total = current = 0
            counting = False
    if counting:
        yield str(total + current)


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


# ── dates ───────────────────────────────────────────────────────────────────────────────────

_MONTHS: Final = _listed("jan feb mar apr may jun jul aug sep oct nov dec")
_MONTH: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ISO: Final = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_YEAR_MONTH: Final = re.compile(r"(?<![\d-])(\d{4})-(\d{2})(?![\d-])")
_DAY_FIRST: Final = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? (\d{{4}}))?", re.IGNORECASE
)
_MONTH_FIRST: Final = re.compile(
    rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,? (\d{{4}}))?", re.IGNORECASE
)
_MONTH_YEAR: Final = re.compile(rf"\b{_MONTH},? (?:of )?(\d{{4}})", re.IGNORECASE)
_MONTH_ONLY: Final = re.compile(
    r"\b(January|February|March|April|June|July|August|September|October|November|December"
    r"|(?<=\bin )May|(?<=\bof )May|(?<=\blast )May|(?<=\bnext )May|(?<=\bsince )May)\b"
)
_CJK_DAY: Final = re.compile(
    rf"(?:([\d{_CHINESE}]{{2,4}})年)?([\d{_CHINESE}]{{1,3}})月(?:([\d{_CHINESE}]{{1,3}})[日号])?"
)
_PATTERNS: Final = (
    (_ISO, (1, 2, 3)),
    (_DAY_FIRST, (3, 2, 1)),
    (_MONTH_FIRST, (3, 1, 2)),
    (_MONTH_YEAR, (2, 1, 0)),
    (_CJK_DAY, (1, 2, 3)),
    (_YEAR_MONTH, (1, 2, 0)),
    (_MONTH_ONLY, (0, 1, 0)),
)


def days_named(text: str) -> tuple[Day, ...]:
    """The dates that stand in a text, as far as they are said."""
    return tuple(_taken(text)[0])


def without_days(text: str) -> str:
    """The text without the dates that stand in it."""
    return _taken(text)[1]


def _taken(text: str) -> tuple[list[Day], str]:
    found: list[Day] = []
    rest = unicodedata.normalize("NFKC", text)
    for pattern, order in _PATTERNS:
        for match in pattern.finditer(rest):
            year, month, day = (_number(match[n]) if n else None for n in order)
            found.append(Day(year, month, day))
        rest = pattern.sub(" ", rest)
    return found, rest


def _number(said: str | None) -> int | None:
    if said is None:
        return None
    if said.isdecimal():
        return int(said)
    if said[:1].isascii():
        return _MONTHS.index(said[:3].lower()) + 1
    value = _chinese(said) if all(c in _CHINESE for c in said) else None
    return int(value) if value is not None else None


_WEEKDAYS: Final = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6}
_DAY_NAMES: Final = _listed("mon tue wed thu fri sat sun")
_WEEKDAY: Final = re.compile(
    r"\b(mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:周|星期|礼拜)([一二三四五六日天])",
    re.IGNORECASE,
)
_OFFSETS: Final = (
    (re.compile(r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b|\bnow\b", re.I), 0),
    (re.compile(r"\byesterday\b|\blast night\b", re.I), -1),
    (re.compile(r"\btomorrow\b", re.I), 1),
    (re.compile(r"\bday after tomorrow\b", re.I), 2),
    (re.compile(r"\bday before yesterday\b", re.I), -2),
    (re.compile("今[天日晚早晨]|现在|刚刚|刚才"), 0),
    (re.compile("昨[天日晚夜]"), -1),
    (re.compile("明[天日早晚]"), 1),
    (re.compile("后天"), 2),
    (re.compile("前天"), -2),
)
_SPAN: Final = re.compile(
    r"\b(\d{1,3}|an?|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of) "
    r"(day|week|month|year)s? (ago|from now|later|back)\b|\bin (\d{1,3}|an?|two|three|four|five|six"
    r"|seven|ten) (day|week|month|year)s?\b",
    re.IGNORECASE,
)
_CJK_SPAN: Final = re.compile(rf"([\d{_CHINESE}]{{1,4}})个?(天|周|星期|月|年)(?:之|以)?([前后])")
_NEAR: Final = re.compile(
    r"\b(last|next|this|past|previous|coming) (week|weekend|month|year)\b", re.IGNORECASE
)
_CJK_NEAR: Final = re.compile(r"(上|下|这|本)个?(周|星期|礼拜|月)|(去年|明年|今年|前年|后年)")
_LENGTH: Final = {"day": 1, "天": 1, "week": 7, "weekend": 7, "周": 7, "星期": 7, "礼拜": 7}


def days_meant(text: str, at: datetime) -> tuple[Day, ...]:
    """The dates that a text means, seen from the day on which it was said."""
    today = at.date()
    found = {_day(today)}
    found |= {_day(today + timedelta(days=by)) for cue, by in _OFFSETS if cue.search(text)}
    for match in _WEEKDAY.finditer(text):
        number = _WEEKDAYS[match[2]] if match[2] else _DAY_NAMES.index(match[1][:3].lower())
        ahead = (number - today.weekday()) % 7
        found |= {_day(today + timedelta(days=ahead + weeks)) for weeks in (-14, -7, 0, 7)}
    for match in _SPAN.finditer(text):
        count = _count(match[1] or match[4])
        back = (match[3] or "").lower() in ("ago", "back")
        found |= _moved(today, -count if back else count, (match[2] or match[5]).lower())
    for match in _CJK_SPAN.finditer(text):
        count = _number(match[1]) or 0
        found |= _moved(today, -count if match[3] == "前" else count, match[2])
    for match in _NEAR.finditer(text):
        by = {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}.get(
            match[1].lower(), 0
        )
        found |= _moved(today, by, match[2].lower())
    for match in _CJK_NEAR.finditer(text):
        if match[3]:
            years = {"去": -1, "明": 1, "今": 0, "前": -2, "后": 2}[match[3][0]]
            found |= _moved(today, years, "年")
        else:
            found |= _moved(today, {"上": -1, "下": 1}.get(match[1], 0), match[2])
    return tuple(found)


def _count(said: str) -> int:
    said = said.lower()
    if said.isdecimal():
        return int(said)
    return _SMALL.get(said, {"a few": 3, "a couple of": 2}.get(said, 1))


def _day(day: date) -> Day:
    return Day(day.year, day.month, day.day)


def _moved(today: date, by: int, unit: str) -> set[Day]:
    """The days a span leads to: one for days, all of a week, a month or year without its day."""
    by = max(-5_000, min(5_000, by))
    if unit in ("day", "天"):
        return {_day(today + timedelta(days=by))}
    if unit in _LENGTH:
        start = today + timedelta(days=7 * by)
        return {_day(start + timedelta(days=n)) for n in range(-6, 7)}
    if unit in ("month", "月"):
        months = today.year * 12 + today.month - 1 + by
        return {Day(months // 12, months % 12 + 1)}
    return {Day(today.year + by)}
