"""What a chunk's words say about it, found once, when it is indexed.

Promise: linear in the text, for any text (``tests/search/test_ranking_flags.py``).
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.search.ranking.rows import Flag
from holdfast.text.late import late

__all__ = ["flags_of"]

_QUESTION_MARKS: Final = ("?", "？", "؟")
_CLOSING: Final = " \t\r\n\"'”’)）]】」』*_~…"
_TIME_EN: Final = (
    "yesterday|today|tonight|tomorrow|ago|last|next|weeks?|weekends?|months?|years?|days?|hours?"
    "|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    "|january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|spring|summer|autumn|winter"
    "|recently|since|(?:19|20)[0-9]{2}|[0-9]{1,2}(?:st|nd|rd|th|am|pm)|[0-9]{1,2}:[0-9]{2}"
)
_TELLS_WHEN: Final = late(
    rf"\b(?:{_TIME_EN})\b"
    "|昨天|今天|明天|前天|后天|今晚|昨晚|上周|下周|本周|这周|上个?月|下个?月|这个月|去年|今年|明年|前年"
    "|[0-9一二三四五六七八九十两几半]{1,6}个?(?:年|月|日|号|天|周|星期|小时|点)|星期[一二三四五六日天]"
    "|周[一二三四五六日末]|礼拜|春天|夏天|秋天|冬天|最近|刚才",
    re.IGNORECASE,
)
_FIRST_PERSON: Final = late(
    r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us)\b|我|咱", re.IGNORECASE
)

_DENSE: Final = late("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff]")
_SPACED: Final = late(r"[A-Za-z\u00c0-\u024f]+")


def flags_of(text: str) -> Flag:
    """``FACT`` and ``TOOL`` are not in the words; who indexes the chunk adds them."""
    found = Flag(0)
    if any(mark in text for mark in _QUESTION_MARKS):
        found |= Flag.ASKS
        if text.rstrip(_CLOSING).endswith(_QUESTION_MARKS):
            found |= Flag.ENDS_ASKING
    if _TELLS_WHEN.search(text):
        found |= Flag.TELLS_WHEN
    if _FIRST_PERSON.search(text.replace("’", "'")):
        found |= Flag.FIRST_PERSON
    dense = len(_DENSE.findall(text))
    if dense and 2 * dense > len(_SPACED.findall(text)):
        found |= Flag.DENSE
    return found
