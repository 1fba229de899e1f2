"""A statement of a model, and a turn of the conversation, in the form in which they compare.

Promise: linear in the text; a word compares by its stem, Chinese by pairs of characters without
those that only join, numbers by their value (``tests/context/test_grounding.py``). Pure.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from holdfast.context.flush.figures import (
    Day,
    all_numbers,
    days_meant,
    days_named,
    numbers,
    without_days,
)
from holdfast.context.flush.relations import relations_in
from holdfast.context.flush.turns import Turn
from holdfast.text import normalise
from holdfast.text.likeness import marks, terms
from holdfast.text.likeness_words import DATE_WORDS, DENIALS, NUMBER_WORDS

__all__ = [
    "CJK",
    "COUNTED",
    "WEEKDAYS",
    "WHO",
    "WIDEST",
    "Claim",
    "Source",
    "denies",
    "stands_in",
    "words_of",
]

WIDEST: Final = 240
"""Characters of a line; what is longer holds more than one fact."""

# ── words ───────────────────────────────────────────────────────────────────────────────────

WHO: Final = frozenset(
    {"user", "assistant", "agent", "speaker", "person", "someone", "they", "said", "mention"}
    | {"stat", "tell", "told", "remember", "rememb", "用户", "助手"}
)
"""Words for who speaks and that he does: no support for anything."""
_PRONOUNS: Final = re.compile(
    "用户|助手|我们|咱们|他们|她们|大家|自己|[我你您他她它的了着过在是和与及把被给就也都还又很会能有这那其为所之吧呢啊]"
)
CJK: Final = re.compile(r"[\u3400-\u9fff]")
_NUMERALS: Final = re.compile("[〇零一二两三四五六七八九十百千万亿]{2,}|[0-9]+")
_DENIED: Final = re.compile(r"\w{1,10}n't")
_ONE_FORM: Final = NUMBER_WORDS | DATE_WORDS
COUNTED: Final = {stem: _ONE_FORM[word] for word in _ONE_FORM for stem in terms(word)} | _ONE_FORM
"""Numbers and days by the one form in which they are compared: two is 2, Mon is Monday."""


def words_of(text: str) -> frozenset[str]:
    """Content words, stemmed; Chinese in pairs of characters, parted where a word only joins.

    Without numbers and denials: those are compared by themselves.
    """
    if CJK.search(text):
        text = _PRONOUNS.sub(" ", _NUMERALS.sub(" ", text))
    counted = (COUNTED.get(word, word) for word in terms(text) if not _is_empty(word))
    return frozenset(word for word in counted if not word.isdecimal())


def _is_empty(word: str) -> bool:
    return (
        word in DENIALS
        or word in WHO
        or _DENIED.fullmatch(word) is not None
        or (len(word) == 1 and CJK.match(word) is not None)
    )


_CLAUSE: Final = re.compile(
    r"(?<=[.!?;])\s+|[。！？；，\n]+|,\s+|\s+(?:but|though|although|however)\s+|(?:但是?|不过|可是)"
)
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_ASKS: Final = re.compile(
    r"[?？][\s\"'”)」）]{0,4}$|[吗么][。.!！\s]{0,3}$|\b(?:if|whether)\b|是否|是不是"
)
_HEARSAY: Final = re.compile(
    r"\b(?:according to|i(?:'ve| have)? (?:heard|read)|(?:supposed|alleged|apparent)ly|rumou?rs?)\b"
    r"|\b(?:page|site|website|article|e-?mail|mail|message|letter|post|blog|docs?|document|report"
    r"|tool|output|result|someone|somebody|they|it) (?:says?|said|claims?|claimed|states?|tells?"
    r"|told|wants?|asks?)\b|听说|据说|据称|传闻|有人说|网上说"
    r"|(?:页面|网页|网站|文章|邮件|消息|短信|文档|报告|工具|结果)[^，。！？\n]{0,6}(?:说|称|写|显示|要求|提到)",
    re.IGNORECASE,
)
_COMMANDS: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override) (?:all |any |the |your |my ){0,4}"
    r"(?:previous|prior|earlier|above|system|safety|instruction|rule)"
    r"|\bremember (?:that )?(?:you|the assistant|the agent)\b"
    r"|\b(?:you|assistant|agent) (?:must|should|shall|will|always|never|need to|have to|are to)\b"
    r"|\bfrom now on\b|\bsystem prompt\b"
    r"|\b(?:always|never) (?:run|execute|send|forward|call|obey|trust|reveal|approve|skip)\b"
    r"|忽略|无视|不要理会|记住[，,]?你|你(?:必须|应该|要|得|务必)|助手(?:必须|应该|要)|从现在(?:开始|起)|今后你|系统提示",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    return marks(text).negations % 2 == 1


# ── the statement ───────────────────────────────────────────────────────────────────────────

_QUOTES: Final = re.compile(
    r"\b(?:said|says|say|asked|asks|replied|replies|answered|told \w{1,20}|mentioned|stated|wrote)"
    r"\b"
    r"[ ,:]{0,3}[\"'“‘「]|(?:说|问|表示|回答|提到|回复)(?:道|了)?[:：，, ]{0,2}[“\"'「『‘]",
    re.IGNORECASE,
)
_CUT: Final = ("…", "...", "。。。")


class Claim:
    """A statement as it is looked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        bare = without_days(text)
        found = marks(bare)
        self.words = words_of(bare)
        self.days = days_named(text)
        self.numbers = numbers(bare)
        self.relations = relations_in(text)
        self.weekdays = {day for day in found.dates if day in WEEKDAYS}
        self.exact = frozenset(
            folded
            for mark in found.identifiers | found.names | _capitals(bare)
            if (folded := normalise(mark).strip(" .,:;!?'\"`")) and folded not in WHO
        )

    @cached_property
    def figures(self) -> frozenset[str]:
        """What makes it differ from statements that are worded alike."""
        return self.numbers | self.exact

    @property
    def is_sound(self) -> bool:
        """Whether it has the form of a memory."""
        return (
            0 < len(self.text) <= WIDEST
            and len(self.words) > 0
            and len(self.words) + len(self.numbers) + len(self.days) >= 2
            and not self.text.rstrip().endswith((*_CUT, "?", "？"))
            and _QUOTES.search(self.text) is None
        )

    @cached_property
    def clauses(self) -> list[str]:
        return [part for part in _CLAUSE.split(self.text) if part and words_of(part)] or [self.text]

    @property
    def commands(self) -> bool:
        return _COMMANDS.search(self.text) is not None


WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


_CAPITAL: Final = re.compile(r"(?<=[a-z0-9,;] )[A-Z][\w-]{1,40}")


def _capitals(text: str) -> set[str]:
    """Words with a capital letter inside a sentence: names, also where "max" is a word.

    At its beginning every word has one, so there only words that are names as well count.
    """
    found = {word for word in _CAPITAL.findall(text) if word.lower() not in COUNTED}
    first = text.strip().partition(" ")[0].removesuffix("'s")
    return found | ({first} if first in _NAMES_TOO else set())


_NAMES_TOO: Final = frozenset({"Max", "Will", "Hope", "Rich", "Rose", "Grant", "Sky", "Art"})


def stands_in(mark: str, folded: str, words: frozenset[str]) -> bool:
    """Whether an exact part of a claim is in a text, to the letter or word by word."""
    own = words_of(mark)
    return (bool(own) and own <= words) or _is_whole(mark, folded)


def _is_whole(mark: str, text: str) -> bool:
    """Whether it stands in the text, and not inside of another word: Ana is not in banana."""
    at = text.find(mark)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(mark) : at + len(mark) + 1]
        if not (_joined(before, mark[0]) or _joined(mark[-1], after)):
            return True
        at = text.find(mark, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()


class Source:
    """A turn as it is searched."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.words: Final = words_of(f"{turn.speaker} {turn.text}")

    @cached_property
    def folded(self) -> str:
        return normalise(f"{self.turn.speaker}: {self.turn.text}")

    @cached_property
    def numbers(self) -> frozenset[str]:
        return all_numbers(self.turn.text)

    @cached_property
    def days(self) -> tuple[Day, ...]:
        """The dates that stand here."""
        return days_named(self.turn.text)

    @cached_property
    def meant(self) -> tuple[Day, ...]:
        """The dates that are meant here, seen from the day it was said."""
        return days_meant(self.turn.text, self.turn.at)

    @cached_property
    def relations(self) -> frozenset[str]:
        return relations_in(f"{self.turn.speaker} {self.turn.text}")

    @cached_property
    def stated_numbers(self) -> frozenset[str]:
        return all_numbers(self.stated) | {str(day.year) for day in self.meant if day.year}

    @cached_property
    def clauses(self) -> list[tuple[frozenset[str], bool]]:
        parts = (part for part in _CLAUSE.split(self.turn.text) if part)
        return [(words_of(part), denies(part)) for part in parts]

    @cached_property
    def stated(self) -> str:
        """What a user says to be so, in his own words: not asked, not heard somewhere."""
        said = (part for part in _SENTENCE.split(self.turn.own) if part.strip())
        return "\n".join(p for p in said if not _ASKS.search(p) and not _HEARSAY.search(p))

    @cached_property
    def stated_words(self) -> frozenset[str]:
        return words_of(f"{self.turn.speaker} {self.stated}") if self.stated else frozenset()

    @cached_property
    def stated_folded(self) -> str:
        return normalise(self.stated)

    def names(self, claim: Claim) -> set[str]:
        """Those exact parts of a claim that stand here."""
        return {mark for mark in claim.exact if stands_in(mark, self.folded, self.words)}
