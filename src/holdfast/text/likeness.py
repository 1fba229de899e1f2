"""How alike two statements are, and whether they differ in what must not be confused.

Promise: ``similarity`` is symmetric and 1 for equal texts; ``same_marks`` never calls two
statements the same that differ in one digit, one negation or one name, in English and Chinese.
When in doubt they differ: a memory too many is a nuisance, a memory too few is a loss. Linear
in the text. Proven on thousands of mutated statements by
``tests/foundation/test_text_likeness.py``. Not here: what words mean.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal

from holdfast.text.characters import normalise, strip_hidden
from holdfast.text.likeness_words import (
    ANY_DAY,
    ANY_YEAR,
    CHINESE_DATES,
    CHINESE_DENIALS,
    CHINESE_FILLERS,
    CHINESE_NAMES,
    CHINESE_NUMBERS,
    CONTRACTIONS,
    DATE_WORDS,
    DENIALS,
    LEFT_OUT,
    NUMBER_WORDS,
    OPENERS,
    STOP_WORDS,
    TURNING_PREFIX,
    TURNING_WORDS,
)

__all__ = [
    "Marks",
    "fingerprint",
    "marks",
    "same_marks",
    "says_no_more",
    "similarity",
    "terms",
    "true_within",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What in a statement must be exactly so. Numbers in words are digits here.

    ``dates`` holds days, times and the words that place something in time; what looks like a
    date is among the ``numbers`` too.
    """

    numbers: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    identifiers: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    negations: int = 0


# ── words ───────────────────────────────────────────────────────────────────────────────────

# Letters of scripts that know no capitals: nothing in them shows what is a name.
_CASELESS: Final = (
    "\u0590-\u109f\u1100-\u139f\u1780-\u18af\u2e80-\u2fdf\u3005-\u3007\u3040-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD: Final = rf"[{_CASELESS}]+|[^\W{_CASELESS}]+(?:['.:@/_+-][^\W{_CASELESS}]+)*"


@cache
def _pattern(written: str) -> re.Pattern[str]:
    """Made when it is first used: ranges over all of Unicode take a moment to compile."""
    return re.compile(written)


def terms(text: str) -> tuple[str, ...]:
    """The words to compare by: Latin ones folded, stemmed and without stop words, CJK in pairs.

    A lone CJK character is itself. What is joined by ``. : @ / _ + -`` is one word.
    """
    return _terms(text) if len(text) > _CACHED else _cached_terms(text)


def _terms(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for word in _pattern(_WORD).findall(normalise(text).replace("’", "'")):
        if _is_caseless(word[0]):
            found += [word[n : n + 2] for n in range(max(1, len(word) - 1))]
        elif word not in STOP_WORDS:
            found.append(_stem(word))
    return tuple(found)


def similarity(a: str, b: str) -> float:
    """How much two texts share, from 0 to 1, by their different words."""
    one, two = frozenset(terms(a)), frozenset(terms(b))
    if one == two:
        return 1.0 if one or (normalise(a) and normalise(a) == normalise(b)) else 0.0
    return 2 * len(one & two) / (len(one) + len(two))


def says_no_more(new: str, known: str) -> bool:
    """Whether the two have the same words that count, as they are written, in the same order.

    Then nothing is lost if ``new`` is not written. A part of ``known`` is not enough: "he pays"
    stands in "she doubts that he pays".
    """
    return _weighty(new) == _weighty(known)


def _weighty(text: str) -> list[str]:
    """The words as they are, without those that a reader can leave out."""
    words = _pattern(_WORD).findall(normalise(CHINESE_FILLERS.sub("", text)).replace("’", "'"))
    return [word for word in words if word not in LEFT_OUT]


def true_within(text: str) -> Literal["day", "year"] | None:
    """The span after which the same words mean another time: "tomorrow", "on 3 May"."""
    folded = normalise(text)
    if ANY_DAY.search(folded):
        return "day"
    return "year" if ANY_YEAR.search(folded) else None


def _is_caseless(char: str) -> bool:
    return _pattern(f"[{_CASELESS}]").match(char) is not None


_ENDINGS: Final = re.compile(r"(?:'s|')$")


def _stem(word: str) -> str:
    word = _ENDINGS.sub("", word)
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, least in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


# ── marks ───────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class _Found:
    """The marks in the order in which they stand: who did what to whom is order."""

    numbers: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    turns: list[str] = field(default_factory=list)
    denials: int = 0
    rest: str = ""


def marks(text: str) -> Marks:
    """The numbers, dates, identifiers and names of a statement, and how often it denies."""
    found = _read(text)
    return Marks(
        numbers=frozenset(found.numbers),
        dates=frozenset(found.dates),
        identifiers=frozenset(found.identifiers),
        names=frozenset(found.names),
        negations=found.denials,
    )


def same_marks(a: str, b: str) -> bool:
    """Whether numbers, dates, identifiers, names and polarity agree, each in the same order.

    Statements in scripts without capitals, where a name looks like any word, must agree in
    every character but a few that only colour them.
    """
    return a == b or _read(a) == _read(b)


def fingerprint(text: str) -> tuple[Hashable, ...]:
    """Equal for two texts exactly if they have the same marks: to look for such texts by."""
    found = _read(text)
    listed = (found.numbers, found.dates, found.identifiers, found.names, found.turns)
    return (*map(tuple, listed), found.denials, found.rest)


_CACHED: Final = 2_000  # characters of a text that is worth remembering the result for

_SEPARATORS: Final = r"\s,;!?()\[\]{}\"<>|*~–—。、…·「」『』《》〈〉【】“”"
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CODE: Final = re.compile(r"`([^`\n]{1,200})`")
_QUOTED: Final = re.compile(
    r"\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|「([^」\n]{1,80})」|『([^』\n]{1,80})』"
    r"|《([^》\n]{1,80})》|(?<!\w)'([^'\n]{1,80})'(?!\w)"
)
_SIGNS: Final = re.compile(r"[^\w\s.,;:!'\"()\[\]{}*`’‘“”「」『』《》〈〉【】、。…·–—/\\@#&%_-]")
_IDENTIFIER: Final = re.compile(
    r".*(?:[/\\_=&%+^$~]|::|->|\w[.:@-]\w|[a-z][A-Z]|[A-Z]{2}[a-z])|--?\w|#\w|\.\w", re.DOTALL
)
_DATE: Final = re.compile(
    r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:T.*)?|\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|\d{1,2}[ap]m"
    r"|\d{1,2}(?:st|nd|rd|th)|(?:1[89]|20)\d\d",
    re.IGNORECASE,
)
_RAISED: Final = re.compile(r"[\u00aa-\u00ba\u02b0-\u02e4\u1d2c-\u1d6a\u2070-\u209c]")
_NUMERIC: Final = re.compile(r"[+-]?[$€£¥₹#]?\d")
_SENTENCE: Final = re.compile(r"[.!?:。！？\n]")


def _read(text: str) -> _Found:
    return _read_now(text) if len(text) > _CACHED else _read_cached(text)


def _read_now(text: str) -> _Found:
    raised = _RAISED.sub(_written_out, strip_hidden(text)[0])
    text = unicodedata.normalize("NFKC", raised).replace("’", "'")
    text = _THOUSANDS.sub("", text)
    found = _Found()
    found.identifiers += _CODE.findall(text)
    found.names += [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    found.turns += _SIGNS.findall(text)
    caseless = _pattern(f"[{_CASELESS}]+").findall(text)
    done, opens, counted = 0, True, False
    for piece in _pattern(f"[^{_SEPARATORS}{_CASELESS}]+").finditer(text):
        opens = opens or _SENTENCE.search(text, done, piece.start()) is not None
        bare = piece[0].strip("'.:`‘^")
        if bare:
            if counted and bare.isalpha() and not bare.islower():
                found.turns.append(bare)  # 5 mW or 5 MW
            _judge(found, bare, opens=opens, foreign=bool(caseless))
            opens, counted = piece[0].endswith((".", ":")), bare[-1].isdigit()
        done = piece.end()
    if caseless:
        _read_caseless(found, text, "".join(caseless))
    return found


def _written_out(found: re.Match[str]) -> str:
    """2⁵ as 2^5: it is not 25."""
    kind = unicodedata.decomposition(found[0])
    return {"<super>": "^", "<sub>": "_"}.get(kind.partition(" ")[0], "") + found[0]


def _read_caseless(found: _Found, text: str, letters: str) -> None:
    found.rest = CHINESE_FILLERS.sub("", letters)
    found.dates += CHINESE_DATES.findall(text)
    found.numbers += CHINESE_NUMBERS.findall(text)
    found.names += CHINESE_NAMES.findall(text)
    found.denials += len(CHINESE_DENIALS.findall(text))


def _judge(found: _Found, piece: str, *, opens: bool, foreign: bool) -> None:
    """Sort one word, number or identifier into what it marks."""
    if any(map(str.isdigit, piece)):
        if _DATE.fullmatch(piece):
            piece = piece.casefold()
            found.dates.append(piece)
        (found.numbers if _NUMERIC.match(piece) else found.identifiers).append(piece)
    elif piece.startswith("@"):
        found.names.append(piece[1:].casefold())
    elif _IDENTIFIER.match(piece):
        found.identifiers.append(piece)
        for part in re.split(r"[^\w']+|_", piece):
            _judge_word(found, part, opens=True)
    elif foreign:
        found.identifiers.append(piece.casefold())  # between Chinese words even "redis" is a name
        _judge_word(found, piece, opens=True)
    else:
        _judge_word(found, piece, opens=opens)


def _judge_word(found: _Found, word: str, *, opens: bool) -> None:
    for part in _parted(word.casefold()):
        single = part[:-1] if part.endswith("s") and not part.endswith("ss") else part
        if part in DENIALS:
            found.denials += 1
            found.turns.append(part)
        elif known := DATE_WORDS.get(part) or DATE_WORDS.get(single):
            found.dates.append(known)
        elif known := NUMBER_WORDS.get(part):
            found.numbers.append(known)
        elif single in TURNING_WORDS or part in TURNING_WORDS:
            found.turns.append(single if single in TURNING_WORDS else part)
            if word.isupper() and len(word) > 1:
                found.names.append(part)  # IT is not it, nor is the US us
        elif word[:1].isupper() and not (opens and part in OPENERS):
            found.names.append(part)
        elif TURNING_PREFIX.match(part):
            found.turns.append(part)


def _parted(word: str) -> Sequence[str]:
    """The word without its contractions: "can't" is "can" and "not"."""
    if base := CONTRACTIONS.get(word):
        return (base, "not")
    if word.endswith("n't"):
        base = word[:-3]
        return ({"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}.get(base, base), "not")
    base, _, ending = word.partition("'")
    if ending in ("ll", "d", "ve"):
        return (base, {"ll": "will", "d": "would", "ve": "have"}[ending])
    return (base,) if ending in ("", "s", "re", "m") else (base, ending)


_read_cached = lru_cache(maxsize=4_096)(_read_now)
_cached_terms = lru_cache(maxsize=4_096)(_terms)
