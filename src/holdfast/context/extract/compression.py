"""Clauses in fewer words, without a change of meaning.

Dropped are greetings, names called, fillers and the subject that the line's ``@name`` already
is; days named from the speaker's today become dates. ``terse`` writes as people take notes:
without articles, without an "it was" in front. Left alone is everything that was seen to break
sentences: quantities, quotations and titles, "you" in advice, days inside a condition.

Promise: never longer than said (dates apart), linear, and no word is invented except dates and
the other speaker's name (``tests/context/test_extract_english.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from holdfast.context.extract.heard import UNNAMED

__all__ = ["compress", "dated"]


def _of(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_EMOJI: Final = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d\u2b50\u2b55\u231a-\u23ff]+"
)
_EMPHASIS: Final = re.compile(r"\*{2,3}|(?<!\w)__|__(?!\w)|^#{1,6} ")
_GREETING: Final = (
    r"(?:hey|hi|hello|yeah|yep|yes|yup|wow|oh|ah|aww?|haha|lol|thanks|thank you|thx|cool|nice"
    r"|great|awesome|amazing|sure|ok|okay|well|anyway|anyways|by the way|btw|no worries"
    r"|no problem|absolutely|definitely|totally|of course|for sure|congrats|congratulations|true"
    r"|right|hmm|omg|gosh|man|woohoo|yay|oof|ouch|agreed|indeed|bye|sounds (?:good|great|fun)"
    r"|exactly|no way|so|that's (?:great|cool"
    r"|awesome|amazing|so cool))"
)
_LEAD_WORD: Final = _of(r"(?:and|but|so|plus|also|well|oh|yeah)\s+(?=\w)")
_END: Final = re.compile(r"[\s.!…,;:~-]+$")
_SPACES: Final = re.compile(r"\s{2,}")
_FILLER: Final = _of(
    r"(?<!\bnot )(?<!n't )\b(?:really|super|just|actually|very|quite|totally|definitely|honestly"
    r"|basically|literally|truly|simply|absolutely)\s+(?=\w)"
)
_PRETTY: Final = _of(r"(?:(?<=\bis )|(?<='s )|(?<=\bwas ))pretty (?!much)(?=\w)")
_SO: Final = _of(
    r"\bso (?=(?:happy|excited|proud|grateful|thankful|great|good|cool|nice|amazing|important"
    r"|powerful|inspiring|fun|special|beautiful|sweet|glad|lucky|awesome|cute|hard|tough|sad)\b)"
)
_SUBJECT: Final = _of(r"(?:i'm|i am|i've|i have|i)\s+(?=[a-z'])")
_I_WILL: Final = _of(r"(?:i'll|i will)\s+")
_MY: Final = _of(r"\bmy (?!own\b)(?=\w)")
_FIRST: Final = _of(r"(?:i|i'm|i've|i'll|i'd|we|we're|we've)\b")
_YOUR: Final = _of(r"\byour\b")
_YOU: Final = _of(
    r"\byou\b(?!'|\s(?:are|were|have|do|did|know|all|can|could|should|would|will|think|want|guys"
    r"|need|see|get|got|don't|too|both|might|may)\b)(?=\W|$)"
)


def compress(
    text: str, *, others: Sequence[str], today: date, own: bool = True, terse: bool = False
) -> str:
    """The clause in fewer words. ``others`` are the names of who else speaks; ``own`` says that
    the line is about its speaker, so that "I" and "my" can go; ``terse`` leaves articles out."""
    text = _EMPHASIS.sub("", _EMOJI.sub("", text.replace("’", "'"))).strip()
    before = text
    text = _without_greeting(text, others)
    text = _LEAD_WORD.sub("", text, count=1) if _LEAD_WORD.match(text) else text
    for filler in (_FILLER, _PRETTY, _SO):
        text = filler.sub("", text)
    if own:
        text = _about_speaker(text, others)
    text = _END.sub("", _SPACES.sub(" ", text)).strip()
    if terse:
        text = _noted(text)
    return dated(text or _END.sub("", before), today)


_POINTING: Final = _of(
    r"(?:it's been|it's|it is|it was|that's|that is|that was|this is|this was|there's|there is)\s+"
    r"(?!(?:why|what|how|when|where|who|because|if|one|all|it|me|him|her|us|them)\b)(?=\w)"
)
_POINTING_AGAIN: Final = _of(r"(?<=,) (?:it's|it was|it is|that's|you know),? (?=\w)")
_ARTICLE: Final = re.compile(
    r"(?:^(?:An?|The)|(?<![\w'’-])(?:an?|the))\s+(?!(?:few|little|lot|bit|couple|while|day|week"
    r"|month|year|time|hour|minute|night|other|same|more|most|rest|one|ones|only|and|or|is)\b)"
    r"(?=[a-z0-9])"
)
_AND: Final = re.compile(r"(?<=[a-z0-9]) and (?=[a-z0-9])")
_AFTERTHOUGHT: Final = _of(
    r"[,\s]+(?:you know|too|though|as well|so much|for sure|lol|haha|thanks|thank you)$"
)
_QUOTED: Final = re.compile(r"[\"“”«»`]")
_FEWEST: Final = 3  # words that must be left


def _noted(text: str) -> str:
    """The clause as a note: what points at something said before, articles and echoes go."""
    if _QUOTED.search(text):
        return text  # a title, a message, a command: to the letter
    if (found := _POINTING.match(text)) and text.count(" ") >= _FEWEST:
        text = text[found.end() :]
    text = _POINTING_AGAIN.sub(" ", text)
    if (found := _AFTERTHOUGHT.search(text)) and text[: found.start()].count(" ") >= _FEWEST:
        text = text[: found.start()]
    return _AND.sub(" & ", _ARTICLE.sub("", text))


def _without_greeting(text: str, others: Sequence[str]) -> str:
    opening, called = _names(tuple(others))
    if found := opening.match(text):
        text = text[found.end() :]
    return called.sub("", text) if called is not None else text


@lru_cache(maxsize=64)
def _names(others: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """Patterns of how the others are greeted, and how their names are called in a sentence."""
    forms = sorted({form for name in others for form in _forms(name)}, key=len, reverse=True)
    either = "|".join(re.escape(form) for form in forms)
    name = rf"(?:[ ,]+(?:{either}|so much|again|a lot|too|everyone|guys|for (?:asking|sharing)))"
    opening = rf"(?:(?:{_GREETING})\b{name}{{0,2}}\s{{0,2}}[,!.…—-]+\s{{0,3}}){{1,4}}" + (
        rf"|(?:{either})[,!]\s{{0,3}}" if either else ""
    )
    called = _of(rf",\s(?:{either})(?=[,.!?]|$)|^(?:{either})[,!]\s+") if either else None
    return _of(opening), called


def _forms(name: str) -> list[str]:
    """A name and what friends make of it: the first name, and its first three or four letters."""
    first = name.split()[0] if name.split() else name
    if len(first) < 3:
        return [first] if first else []
    return [name, first, first[:4], first[:3]]


def _about_speaker(text: str, others: Sequence[str]) -> str:
    if len(others) == 1 and others[0] not in UNNAMED and _FIRST.match(text):
        text = _YOU.sub(others[0], _YOUR.sub(f"{others[0]}'s", text))
    text = _MY.sub("", text)
    if found := _I_WILL.match(text):
        return "will " + text[found.end() :]
    found = _SUBJECT.match(text)
    return text[found.end() :] if found else text


# ── days ────────────────────────────────────────────────────────────────────────────────────

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTS: Final = {
    "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10,
}  # fmt: skip
_CONDITION: Final = _of(r"\b(?:if|would|could|should|unless|whether)\b")
_DAY: Final = _of(
    r"\b(?P<near>yesterday|last night|today|tonight|this morning|this afternoon|this evening"
    r"|tomorrow)\b(?!'s)"
    r"|\b(?P<which>last|next) (?P<unit>week|weekend|month|year|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday)\b"
    r"|\b(?P<count>a|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})"
    r" (?P<units>days?|years?) ago\b"
)
_OFFSETS: Final = {
    "yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "this morning": 0,
    "this afternoon": 0, "this evening": 0, "tomorrow": 1,
}  # fmt: skip


def dated(text: str, today: date) -> str:
    """The text with days named from today as dates: it will be read on another day."""
    if _CONDITION.search(text):
        return text
    return _DAY.sub(lambda found: _date_of(found, today), text)


def _date_of(found: re.Match[str], today: date) -> str:
    if near := found["near"]:
        return _written(today + timedelta(days=_OFFSETS[near.lower()]))
    if count := found["count"]:
        ago = _COUNTS.get(count.lower()) or int(count)
        if found["units"].lower().startswith("day"):
            return _written(today - timedelta(days=ago))
        return f"in {today.year - ago}" if today.year > ago else found[0]
    step = -1 if found["which"].lower() == "last" else 1
    return _date_of_unit(found[0], found["unit"].lower(), step, today)


def _date_of_unit(said: str, unit: str, step: int, today: date) -> str:
    if unit == "year":
        return str(today.year + step)
    if unit == "month":
        month = today.month - 1 + step
        return f"{_MONTHS[month % 12]} {today.year + month // 12}"
    if unit in _WEEKDAYS:
        if step > 0:
            return said  # "next Friday" is another day for different people
        back = (today.weekday() - _WEEKDAYS.index(unit) - 1) % 7 + 1
        return _written(today - timedelta(days=back))
    return f"{unit} {'before' if step < 0 else 'after'} {_written(today)}"


def _written(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
