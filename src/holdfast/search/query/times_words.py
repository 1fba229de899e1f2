"""The words of dates and numbers, English and Chinese. Data of ``times``, tested with it."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CHINESE_HOLIDAYS",
    "CHINESE_SEASONS",
    "CHINESE_WEEKDAYS",
    "HOLIDAYS",
    "MONTHS",
    "NUMBERS",
    "SEASONS",
    "WEEKDAYS",
    "chinese_number",
    "number",
]


def _numbered(*names: str, first: int = 0) -> dict[str, int]:
    return {name: n for n, listed in enumerate(names, first) for name in listed.split()}


MONTHS: Final = _numbered(
    *("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul"),
    *("august aug", "september sept sep", "october oct", "november nov", "december dec"),
    first=1,
)
WEEKDAYS: Final = _numbered(
    *("monday mon", "tuesday tues tue", "wednesday wed", "thursday thurs thur thu"),
    *("friday fri", "saturday sat", "sunday sun"),
)
NUMBERS: Final = _numbered(
    *("zero", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
) | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

# Holidays that fall on the same day every year.
HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "xmas": (12, 25),
    "boxing day": (12, 26),
    "new year's eve": (12, 31),
    "new years eve": (12, 31),
    "new year's day": (1, 1),
    "new year's": (1, 1),
    "new year": (1, 1),
    "valentine's day": (2, 14),
    "valentines day": (2, 14),
    "valentine's": (2, 14),
    "independence day": (7, 4),
    "halloween": (10, 31),
}
CHINESE_HOLIDAYS: Final = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "妇女节": (3, 8),
    "劳动节": (5, 1),
    "五一": (5, 1),
    "儿童节": (6, 1),
    "六一": (6, 1),
    "教师节": (9, 10),
    "国庆节": (10, 1),
    "国庆": (10, 1),
    "十一长假": (10, 1),
    "十一假期": (10, 1),
    "万圣节": (10, 31),
    "双十一": (11, 11),
    "平安夜": (12, 24),
    "圣诞节": (12, 25),
    "圣诞": (12, 25),
}
CHINESE_SEASONS: Final = {"春": 3, "夏": 6, "秋": 9, "冬": 12}
CHINESE_WEEKDAYS: Final = _numbered("一 1", "二 2", "三 3", "四 4", "五 5", "六 6", "日 天 七 7")

_DIGITS: Final = _numbered("〇 零 ○", "一", "二 两", "三", "四", "五", "六", "七", "八", "九")


def number(written: str) -> int | None:
    """A number in digits or as an English word; "couple of" is two."""
    written = written.removesuffix(" of").strip()
    if written.startswith("a couple"):
        return 2
    if written.isdecimal():
        return int(written) if len(written) < 7 else None
    return NUMBERS.get(written)


def chinese_number(written: str) -> int | None:
    """A number up to 99 in Chinese or in digits, or digits read one by one (二〇二三)."""
    if written.isdecimal():
        return int(written) if len(written) < 7 else None
    if len(written) > 6:
        return None
    if "十" in written:
        tens, _, ones = written.partition("十")
        high = _DIGITS.get(tens) if tens else 1
        low = _DIGITS.get(ones) if ones else 0
        return None if high is None or low is None else high * 10 + low
    digits = [_DIGITS.get(char) for char in written]
    if not digits or any(digit is None for digit in digits):
        return None
    return int("".join(map(str, digits)))
