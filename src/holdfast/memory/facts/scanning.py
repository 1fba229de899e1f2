"""A statement as marks and words: numbers, moments, identifiers, negations, the rest.

    "Meeting at 3 pm, room 12"  →  word meeting · when 15:00 · word room · number 12

Promise: time linear in the text, English and Chinese alike, also mixed
(``tests/memory/test_conflicts.py``). A moment is a set of fields (year, month, day, weekday,
hour, minute): two moments disagree where they share a field and differ in it. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal

from holdfast.memory.facts.lexicon import CHINESE_WORDS, NEGATIONS, SAME, stem

__all__ = ["Token", "plain", "scan"]

Kind = Literal["word", "number", "when", "name", "not"]
MOST_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is in comparable form; ``fields`` are those of a moment.

    ``proper`` says of a word that it was written as names are, of a weekday that it recurs.
    """

    kind: Kind
    text: str
    fields: tuple[tuple[str, int], ...] = ()
    proper: bool = False


_CONTRACTED: Final = re.compile(r"(?i)\b(ca|wo|do|does|did|is|are|was|were|has|have|had|should"
                                r"|would|could|must|need)n['’]t\b|\b(can)not\b")  # fmt: skip
_PHRASES: Final = (
    (re.compile("其实|实际上|事实上|确实|真的(?!是)|根本(?=不|没)|压根|并(?=不|没|非)"), ""),
    (re.compile(r"(?i)\b(?:used to|formerly|previously)\b"), " was "),
    (re.compile(r"(?i)\b(?:is|are|be|turned|switched|set to|kept|left) (on|off)\b(?!\s*\w)"),
     r" switched-\1 "),
    (re.compile(r"(?i)\bno longer\b|\bnot any ?more\b"), " not "),
    (re.compile(r"(?i)\b(?:stopped|quit|gave up) (?=\w{2,20}ing\b)"), " not "),
    (re.compile(r"(?i)\bin progress\b"), " in-progress "),
    (re.compile(r"(?i)\b(?:no way|oh no|no problem|no worries|no doubt|why not)\b"), " "),
)  # fmt: skip


def plain(text: str) -> str:
    """One spelling: full-width forms, curly quotes and contractions make no difference."""
    text = unicodedata.normalize("NFKC", text[:MOST_CHARS])
    text = _CONTRACTED.sub(lambda found: f"{_whole(found[1] or found[2])} not", text)
    for pattern, instead in _PHRASES:
        text = pattern.sub(instead, text)
    return text


def _whole(verb: str) -> str:
    return {"ca": "can", "wo": "will"}.get(verb.lower(), verb)


# ── one pattern for all marks ───────────────────────────────────────────────────────────────

_MONTHS: Final = ("jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?",
                  "july?", "aug(?:ust)?", "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?",
                  "dec(?:ember)?")  # fmt: skip
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH: Final = "(?:" + "|".join(_MONTHS) + r")\b\.?"
_WEEKDAY: Final = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)day(?:s?)"
_DIGIT: Final = "零〇一二两三四五六七八九十百千万亿"
_ZH_SMALL: Final = r"(?:\d{1,2}|[一二两三四五六七八九十]{1,3})"
_CLASSIFIER: Final = (
    "[个位只条台次天年月岁点元块层楼号份杯斤本间辆名倍周套张件瓶家座栋秒人章页排部款项门场届]"
    "|公里|小时|分钟|公斤|千克|平米|毫秒|节点|万|亿"
)

_B: Final = r"(?<![A-Za-z0-9_.])"  # where a Latin word begins; Chinese may stand right before it
_E: Final = r"(?![A-Za-z0-9_])"
_AFTER: Final = "(?:" + "|".join(
    f"(?<={word}\\s)" for word in ("in", "of", "by", "until", "since", "is", "from", "during", "to")
) + ")"  # fmt: skip
_YEAR: Final = r"(?:19|20)\d\d"
_CJK: Final = "\u3400-\u9fff"

_MARK: Final = rf"""
    (?P<name>`[^`\n]{{1,200}}`|https?://[^\s<>，。；）)]{{1,300}}
      |{_B}[A-Za-z0-9_.+-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}}){{1,6}}
      |(?<![\w/])(?:~|\.{{1,2}})?/[\w.-]{{1,80}}(?:/[\w.-]{{1,80}}){{0,20}}
      |{_B}[A-Z][a-z]{{2,20}}/[A-Z][A-Za-z_]{{2,30}}{_E}
      |{_B}\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?::\d{{1,5}})?{_E}
      |{_B}v?\d{{1,6}}(?:\.\d{{1,6}}){{2,5}}{_E}|{_B}v\d{{1,6}}(?:\.\d{{1,6}})?{_E})
    |(?P<iso>{_B}(?P<iy>\d{{4}})[-/](?P<im>\d{{1,2}})[-/](?P<id>\d{{1,2}}){_E})
    |(?P<zhdate>(?:(?P<zy>\d{{4}})年)?(?P<zm>{_ZH_SMALL})月(?:份|(?P<zd>{_ZH_SMALL})[日号])?(?![子薪经]))
    |(?P<zhyear>(?<!\d)(?P<zyo>\d{{4}})年)
    |(?P<zhday>(?<!\d)(?P<zdo>\d{{1,2}})[日号](?![楼线院门]))
    |(?P<time>{_B}(?P<th>[012]?\d):(?P<tm>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<tap>[ap])\.?m{_E}\.?)?)
    |(?P<clock>{_B}(?P<ch>[01]?\d)\s?(?P<cap>[ap])\.?m{_E}\.?)
    |(?P<zhtime>(?:(?P<zpart>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上)|(?!一点))
        (?P<zh>{_ZH_SMALL})[点时](?![击评心赞间候])(?:(?P<zhalf>半)|(?P<zmin>{_ZH_SMALL})分?)?)
    |(?P<zhweek>(?:周|星期|礼拜)(?P<zw>[一二三四五六日天]))
    |(?P<dmy>{_B}(?P<dd>[0-3]?\d)(?:st|nd|rd|th)?\s(?:of\s)?(?P<dm>{_MONTH})(?:,?\s(?P<dy>{_YEAR}){_E})?)
    |(?P<mdy>{_B}(?P<mm>{_MONTH})\s(?P<md>[0-3]?\d)(?:st|nd|rd|th)?{_E}(?!:)(?:,?\s(?P<my>{_YEAR}){_E})?)
    |(?P<month>{_AFTER}(?P<mo>{_MONTH})(?:\s(?P<moy>{_YEAR}){_E})?)
    |(?P<weekday>{_B}(?P<wd>{_WEEKDAY}){_E})
    |(?P<year>{_AFTER}(?P<yy>{_YEAR}){_E}(?!\s(?:euro|dollar|pound)))
    |(?P<number>[$€£¥]?{_B}[-+]?
        (?P<digits>\d{{1,3}}(?:,\d{{3}}){{1,6}}(?:\.\d{{1,9}})?|\d{{1,18}}(?:\.\d{{1,9}})?)
        (?:\s?(?P<scale>%|percent{_E}|k{_E}|m{_E}|thousand{_E}|million{_E}|billion{_E}|[万亿千]))?
        (?P<unit>(?:[A-Za-z]{{1,3}}{_E})?))
    |(?P<zhnumber>[{_DIGIT}]{{1,12}}(?={_CLASSIFIER})|(?<=第)[{_DIGIT}]{{1,6}}|(?<=方案)[{_DIGIT}])
    |(?P<cjk>[{_CJK}])
    |(?P<word>[^\W\d_{_CJK}](?:[^\W{_CJK}]|['’]|[-.](?=[^\W{_CJK}])|\+){{0,79}})
    """
_WORD_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
         "eleven", "twelve")
    )
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "dozen": "12"}  # fmt: skip
_SCALES: Final = {"k": 10**3, "thousand": 10**3, "千": 10**3, "万": 10**4, "m": 10**6,
                  "million": 10**6, "亿": 10**8, "billion": 10**9}  # fmt: skip
_PARTS: Final = {"下午": 12, "傍晚": 12, "晚上": 12, "中午": 12}
_MIXED: Final = re.compile(r"[^\W\d_]+[\d_][\w.-]*|\w+\.\w{2,}|\w+[_]\w+")


@cache
def _marks() -> re.Pattern[str]:
    """Compiled by the first text that needs it: it is the largest part of loading this room."""
    return re.compile(_MARK, re.VERBOSE | re.IGNORECASE)


def scan(text: str) -> list[Token]:
    """The tokens of a ``plain`` text, in order."""
    found: list[Token] = []
    run, end = "", 0
    for mark in _marks().finditer(text):
        is_chinese = mark["cjk"] is not None
        if run and not (is_chinese and mark.start() == end):
            found.extend(_read_chinese(run))
            run = ""
        if is_chinese:
            run, end = run + mark[0], mark.end()
        else:
            found.extend(_tokens(mark))
    found.extend(_read_chinese(run))
    return found


def _tokens(mark: re.Match[str]) -> Iterator[Token]:
    for group, read in _READ:
        if mark[group]:
            yield from read(mark)
            return
    fields = tuple(sorted((key, value) for key, value in _moment(mark).items()))
    yield Token("when", str(fields), fields, proper=mark[0].lower().endswith("days"))


def _read_name(mark: re.Match[str]) -> Iterator[Token]:
    yield Token("name", mark[0].strip("`").casefold().rstrip(".,"))


def _read_number(mark: re.Match[str]) -> Iterator[Token]:
    digits, scale = mark["digits"].replace(",", ""), (mark["scale"] or "").lower()
    if scale in _SCALES:
        value = float(digits) * _SCALES[scale]
        digits = str(int(value)) if value == int(value) else str(value)
    sign = "-" if mark[0].lstrip("$€£¥").startswith("-") else ""
    yield Token("number", sign + digits + ("%" if scale in ("%", "percent") else ""))
    if mark["unit"]:
        yield Token("word", mark["unit"].casefold())


def _read_chinese_number(mark: re.Match[str]) -> Iterator[Token]:
    yield Token("number", str(_chinese_number(mark[0])))


def _read_word(mark: re.Match[str]) -> Iterator[Token]:
    yield _word(mark[0])


@lru_cache(maxsize=20_000)
def _word(written: str) -> Token:
    written = written.replace("’", "'")
    word = written.casefold().removesuffix("'s").rstrip("'.+") or written.casefold()
    if word in NEGATIONS:
        return Token("not", word)
    if word in _WORD_NUMBERS:
        return Token("number", _WORD_NUMBERS[word])
    if _MIXED.fullmatch(word):
        return Token("name", word)
    base = stem(word)
    return Token("word", SAME.get(base, base), proper=written[:1].isupper())


def _read_chinese(run: str) -> Iterator[Token]:
    for word in _segmented(run):
        if word in NEGATIONS:
            yield Token("not", word)
        else:
            yield Token("word", SAME.get(word, word))


_READ: Final[tuple[tuple[str, Callable[[re.Match[str]], Iterator[Token]]], ...]] = (
    ("word", _read_word),
    ("number", _read_number),
    ("name", _read_name),
    ("zhnumber", _read_chinese_number),
)
_LONGEST: Final = max(map(len, CHINESE_WORDS))


def _segmented(run: str) -> Iterator[str]:
    """Known words, longest first; what is between them character by character."""
    at = 0
    while at < len(run):
        for length in range(min(_LONGEST, len(run) - at), 0, -1):
            if length == 1 or run[at : at + length] in CHINESE_WORDS:
                yield run[at : at + length]
                at += length
                break


def _chinese_number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    if not any(char in "十百千万亿" for char in text):
        return int("".join(str(_VALUES[char]) for char in text))
    total = part = digit = 0
    for char in text:
        if char in _VALUES:
            digit = _VALUES[char]
        elif char in "万亿":
            total = (total + part + digit or 1) * (10**4 if char == "万" else 10**8)
            part = digit = 0
        else:
            part += (digit or 1) * {"十": 10, "百": 100, "千": 1000}[char]
            digit = 0
    return total + part + digit


_VALUES: Final = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6,
                  "七": 7, "八": 8, "九": 9}  # fmt: skip


# ── moments ─────────────────────────────────────────────────────────────────────────────────


def _moment(mark: re.Match[str]) -> dict[str, int]:
    for group, read in _MOMENTS.items():
        if mark[group]:
            return read(mark)
    return {}


def _fields(mark: re.Match[str], **groups: str) -> dict[str, int]:
    return {key: _chinese_number(mark[name]) for key, name in groups.items() if mark[name]}


def _month(written: str) -> int:
    start = written[:3].lower()
    return next(number for number, name in enumerate(_MONTHS, start=1) if name.startswith(start))


def _named(mark: re.Match[str], month: str, **groups: str) -> dict[str, int]:
    return {"month": _month(mark[month]), **_fields(mark, **groups)}


def _hour(hour: int, half: str | None) -> int:
    if not half:
        return hour
    return hour % 12 + (12 if half.lower() == "p" else 0)


def _time(mark: re.Match[str]) -> dict[str, int]:
    return {"hour": _hour(int(mark["th"]), mark["tap"]), "minute": int(mark["tm"])}


def _clock(mark: re.Match[str]) -> dict[str, int]:
    return {"hour": _hour(int(mark["ch"]), mark["cap"]), "minute": 0}


def _chinese_time(mark: re.Match[str]) -> dict[str, int]:
    hour = _chinese_number(mark["zh"])
    if hour < 12:
        hour += _PARTS.get(mark["zpart"] or "", 0) if hour or mark["zpart"] != "中午" else 0
    minute = 30 if mark["zhalf"] else _chinese_number(mark["zmin"]) if mark["zmin"] else 0
    return {"hour": hour, "minute": minute}


def _chinese_weekday(mark: re.Match[str]) -> dict[str, int]:
    return {"weekday": "一二三四五六日".index(mark["zw"].replace("天", "日"))}


def _weekday(mark: re.Match[str]) -> dict[str, int]:
    return {"weekday": _DAYS.index(mark["wd"][:3].lower())}


_MOMENTS: Final[Mapping[str, Callable[[re.Match[str]], dict[str, int]]]] = {
    "iso": lambda mark: _fields(mark, year="iy", month="im", day="id"),
    "zhdate": lambda mark: _fields(mark, year="zy", month="zm", day="zd"),
    "zhyear": lambda mark: _fields(mark, year="zyo"),
    "zhday": lambda mark: _fields(mark, day="zdo"),
    "time": _time,
    "clock": _clock,
    "zhtime": _chinese_time,
    "zhweek": _chinese_weekday,
    "dmy": lambda mark: _named(mark, "dm", day="dd", year="dy"),
    "mdy": lambda mark: _named(mark, "mm", day="md", year="my"),
    "month": lambda mark: _named(mark, "mo", year="moy"),
    "weekday": _weekday,
    "year": lambda mark: _fields(mark, year="yy"),
}
