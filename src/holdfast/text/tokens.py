"""The terms by which a text is found again: the same scheme for what is stored and what is asked.

Promise: what ``query_terms`` makes of a text, ``index_terms`` made of it too, so a text is found
by any of its own words; every run of one, two or three Chinese, Japanese or Korean characters
finds every text it stands in; no text is an error, and the time is linear in it. Proven by
``tests/foundation/test_text_tokens.py``. Not here: what a term is worth in a ranking.

Spaced scripts give stemmed words without accents, case and stop words; what is joined to an
identifier (``snake_case``, ``camelCase``, ``a.b``, ``a-b``, e-mail, URL, path, version) is kept
whole and given in its parts. Scripts without spaces, and Korean, give each character and each
pair of neighbours; in them nothing is left out of the index, so that a query of a single common
character finds something too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from importlib import import_module
from itertools import accumulate
from operator import add
from threading import Lock
from typing import Final, Protocol, cast

from holdfast.text.characters import strip_hidden
from holdfast.text.late import late
from holdfast.text.token_words import (
    ACRONYMS,
    QUESTION_PHRASES,
    QUESTION_WORDS,
    STOP_CHARACTERS,
    STOP_WORDS,
)

__all__ = ["TOKENS_VERSION", "Term", "Word", "index_terms", "query_terms", "term_hash", "words"]

SCHEME: Final = 1
"""Raised with every change of this file or of its words that changes a term."""


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a query. A single character counts half: its pairs say more."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word as it stands in a text; a CJK character is a word of its own.

    ``stem`` is the term the index holds for it. ``start`` and ``end`` count in the text given.
    """

    text: str
    start: int
    end: int
    stem: str
    is_stop: bool


_SINGLE: Final = 0.5

# ── folding ─────────────────────────────────────────────────────────────────────────────────

# Signs over and under letters that a searcher leaves out: Latin, Greek, Cyrillic, Hebrew, Arabic.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff"
)
_ONE_MARK: Final = late(f"[{_MARKS}]")
# What ``strip_hidden`` leaves because it shapes a character makes no difference to a term.
_SHAPING: Final = late("[\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0000-\U000e0fff]")
_PLAIN_LETTERS: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i"}
)


def _visible(text: str) -> str:
    """The text as it is scanned: one form for each character, the case still as it was."""
    if text.isascii():
        return text if text.isprintable() else strip_hidden(text)[0]
    shown = _SHAPING.sub("", strip_hidden(text)[0])
    return unicodedata.normalize("NFKC", shown).replace("’", "'").replace("ʼ", "'")


def _folded(word: str) -> str:
    """A scanned word without case and accents."""
    if word.isascii():
        return word.lower()
    bare = _ONE_MARK.sub("", unicodedata.normalize("NFKD", word.casefold()))
    return unicodedata.normalize("NFKC", bare).translate(_PLAIN_LETTERS)


# ── scanning ────────────────────────────────────────────────────────────────────────────────

# Scripts that put no space between words, and Korean, whose words take endings.
_DENSE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3040-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua000-\ua48f\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\U00020000-\U0003ffff"
)
# No letters, yet inside of words: marks, and the vowel signs of Indian scripts.
_SIGNS: Final = _MARKS + "".join(
    chr(code) for code in range(0x900, 0xE00) if unicodedata.category(chr(code))[0] == "M"
)
_JOINT: Final = r"(?:://|::|:\\|[.:/\\@&'=+#~?%-])"
_EMOJI: Final = "[\u2600-\u27bf\u2b50\U0001f000-\U0001faff]"


def _chunk(word: str) -> str:
    """A word or an identifier, with the sign at the end of C++ and C#."""
    return rf"{word}(?:(?:{_JOINT}|(?<=\d),(?=\d\d\d(?!\d))){word})*(?:\+\+|#)?"


def _word(letter: str) -> str:
    """Letters and signs never match the same character, so there is one way to read a word."""
    return f"{letter}+(?:[{_SIGNS}]+{letter}*)*"


@cache
def _pattern(written: str) -> re.Pattern[str]:
    """Made when it is first used: ranges over all of Unicode take a moment to compile."""
    return re.compile(written)


_ASCII: Final = late(_chunk("[A-Za-z0-9_]+"))
_LETTER: Final = f"[^\\W{_DENSE}]"
_SCAN: Final = f"({_chunk(_word(_LETTER))})|([{_DENSE}]+)|({_EMOJI})"
# A number or a letter and the character it is glued to is a pair as well: 3月, 30岁, T恤.
_GLUED: Final = f"(?<!{_LETTER})(?:\\d{{1,9}}|[A-Za-z])[{_DENSE}]"
_CHINESE_DATE: Final = late(r"((?:19|20)\d\d)年([01]?\d)月(?:([0-3]?\d)[日号])?")


def index_terms(text: str) -> list[str]:
    """Every term of a text, as often as it stands there; stop words are left out."""
    seen = _visible(text)
    found: list[str] = []
    if seen.isascii():
        for chunk in _ASCII.findall(seen):
            found += _chunk_terms(chunk)
        return found
    glued = False
    for chunk, dense, emoji in _pattern(_SCAN).findall(seen):
        if dense:
            found += dense
            found += map(add, dense, dense[1:])
        elif chunk:
            found += _chunk_terms(chunk)
            glued = True
        else:
            found.append(emoji)
    if glued:
        found += _across(seen)
    return found


def query_terms(text: str) -> list[Term]:
    """The terms to look for, each once, and what each is worth.

    Stop words and the words of asking are cut. A query of nothing else keeps what the index can
    hold: the words of asking and all CJK. Nothing is left only of a text without any such.
    """
    seen = _visible(text)
    asked = _weighed(seen, cut=True) or _weighed(seen, cut=False)
    return [Term(term, weight) for term, weight in asked.items()]


def _weighed(seen: str, *, cut: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for chunk, dense, emoji in _pattern(_SCAN).findall(seen):
        if chunk:
            if not (cut and chunk.lower() in QUESTION_WORDS):
                found.update(dict.fromkeys(_chunk_terms(chunk), 1.0))
        elif dense:
            for part in _question().split(dense) if cut else (dense,):
                for term, weight in _dense_terms(part, cut=cut):
                    found.setdefault(term, weight)
        else:
            found[emoji] = 1.0
    if found:
        found.update(dict.fromkeys(_across(seen), 1.0))
    return found


@cache
def _question() -> re.Pattern[str]:
    return re.compile("|".join(QUESTION_PHRASES))


def _dense_terms(run: str, *, cut: bool) -> Iterator[tuple[str, float]]:
    """The pairs and the characters of a run; with ``cut`` without those that say nothing."""
    for pair in map(add, run, run[1:]):
        if not (cut and pair[0] in STOP_CHARACTERS and pair[1] in STOP_CHARACTERS):
            yield pair, 1.0
    lone = 1.0 if len(run) == 1 else _SINGLE
    for char in run:
        if not (cut and char in STOP_CHARACTERS):
            yield char, lone


def _across(seen: str) -> list[str]:
    """Terms that join a number with the character after it, and Chinese dates as in ISO."""
    found: list[str] = [glued.lower() for glued in _pattern(_GLUED).findall(seen)]
    if "月" in seen:
        for year, month, day in _CHINESE_DATE.findall(seen):
            found += _date_terms(year, month, day)[: 2 if day else 1]
    return found


# ── words and identifiers ───────────────────────────────────────────────────────────────────

_LONGEST: Final = 64  # characters; what is longer is known by its start and a checksum
_CACHED: Final = 48
_STEMMED: Final = range(3, 33)
_INNER_JOINT: Final = late(r"://|::|:\\|[:/\\@&=+#~?%]")
_PART: Final = late(_word(r"[^\W_]"))
_DATE: Final = late(
    r"((?:19|20)\d\d)([-/.])(0?[1-9]|1[0-2])"
    r"(?:\2(0?[1-9]|[12]\d|3[01])(?:[Tt](?=\d)|(?![\w.-]))|(?![\w/.-]))"
)
_HUMPS: Final = late(r"\b[a-z][A-Z][a-z]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEAST_HUMP: Final = 2.5  # characters on average; base64 has less, and falls apart into noise
_NUMBER_AND_UNIT: Final = late(r"(\d+)([^\W\d_]+)|([^\W\d_]+)(\d+)")
_VERSION: Final = late(r"v(\d+(?:\.\d+)+)")
_OWNER: Final = late(r"'(?:s|re|ve|ll|d|m)$")


def _chunk_terms(chunk: str) -> tuple[str, ...]:
    return _known_terms(chunk) if len(chunk) <= _CACHED else _terms_of(chunk)


def _terms_of(chunk: str) -> tuple[str, ...]:
    """The terms of one word or identifier, whole first."""
    if chunk.isalnum():
        return tuple(_word_terms(chunk))
    if date := _DATE.match(chunk):
        rest = chunk[date.end() :]
        return (*_date_terms(date[1], date[3], date[4]), *(_terms_of(rest) if rest else ()))
    bare = chunk.rstrip("+#")
    found = [_bounded(_folded(chunk).strip("_"))] if bare != chunk else []
    bare = bare.strip("_")
    if "'" in bare:
        return tuple(found + _apostrophe_terms(bare))
    return tuple(found + _identifier_terms(bare))


def _apostrophe_terms(chunk: str) -> list[str]:
    """ "Anna's" is Anna, "don't" says nothing, and O'Brien is found as OBrien and as Brien."""
    owner = _OWNER.sub("", chunk)
    if "'" not in owner:
        return _identifier_terms(owner)
    if _folded(chunk.replace("'", "")) in STOP_WORDS:
        return []
    joined = owner.replace("'", "")
    found = _identifier_terms(joined)
    for part in owner.split("'"):
        if len(part) > 1:
            found += (term for term in _identifier_terms(part) if term not in found)
    return found


def _identifier_terms(chunk: str) -> list[str]:
    """Whole, then what stands between slashes and the like, then the single words."""
    if chunk.isalnum():
        return _word_terms(chunk)
    whole = _folded(chunk)
    parts = _PART.findall(chunk)
    if len(parts) == 1 and parts[0] == chunk:
        return _word_terms(chunk)
    if not parts:
        return []
    found = [_bounded(whole.replace(",", ""))]
    segments = [piece.strip("._-") for piece in _INNER_JOINT.split(whole)]
    if len(segments) > 1:
        found += [_bounded(piece) for piece in segments if not (piece.isalnum() or not piece)]
    if version := _VERSION.fullmatch(whole):
        found.append(version[1])
    for part in parts:
        found += _word_terms(part)
    return found


def _word_terms(word: str) -> list[str]:
    """A word, and what it is glued of: camelCase, 30kg, iPhone15, 007."""
    folded = _folded(word)
    if folded in STOP_WORDS or not folded:
        return [folded] if word in ACRONYMS else []
    found = [_stem(folded)]
    if folded.isdigit():
        if folded[0] == "0" and (short := folded.lstrip("0")):
            found.insert(0, _bounded(short))
    elif not word.isalpha() or not (word.islower() or word[1:].islower()):
        found += [_stem(part) for part in _glued_parts(word, folded) if part not in STOP_WORDS]
    return found


def _glued_parts(word: str, folded: str) -> list[str]:
    if both := _NUMBER_AND_UNIT.fullmatch(folded):
        return [part for part in both.groups() if part and (len(part) > 1 or part.isdigit())]
    humps = _HUMPS.findall(word) if word.isascii() and not word.isupper() else []
    if not 1 < len(humps) <= len(word) / _LEAST_HUMP:
        return []
    return [hump.lower() for hump in humps if len(hump) > 1]


def _date_terms(year: str, month: str, day: str | None) -> list[str]:
    """A day as ISO writes it, its month, and its parts as numbers without a leading zero."""
    short = [f"{int(year)}-{int(month):02}"]
    if day:
        short.insert(0, f"{short[0]}-{int(day):02}")
    return [*short, str(int(year)), str(int(month)), *([str(int(day))] if day else [])]


def _bounded(term: str) -> str:
    return term if len(term) <= _LONGEST else f"{term[: _LONGEST // 2]}~{term_hash(term):016x}"


_known_terms = lru_cache(maxsize=1 << 15)(_terms_of)


# ── stems and hashes ────────────────────────────────────────────────────────────────────────


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_one_at_a_time: Final = Lock()  # a stemmer keeps the word it works on in itself


@cache
def _stemmer() -> _Stemmer:
    """By name: the package carries no types, and takes a faster one if that is installed."""
    return cast(_Stemmer, import_module("snowballstemmer").stemmer("english"))


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    if len(word) not in _STEMMED or not (word.isascii() and word.isalpha()):
        return _bounded(word)
    with _one_at_a_time:
        return _stemmer().stemWord(word)


@lru_cache(maxsize=1 << 16)
def term_hash(term: str) -> int:
    """A number of 64 bits that is the same on every machine and in every run."""
    written = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(written, digest_size=8).digest(), "little")


_PROBES: Final = (
    "generously communal skis added evening paste lateral intense emotionally dying ugly"
)


def _version() -> int:
    stems = " ".join(_stem(word) for word in _PROBES.split())
    return term_hash(f"{SCHEME} {unicodedata.unidata_version} {stems}") >> 33


TOKENS_VERSION: Final = _version()
"""Changes when terms do: with the scheme, with the stemmer, with Python's Unicode tables."""


# ── words in place ──────────────────────────────────────────────────────────────────────────


def words(text: str) -> list[Word]:
    """The words of a text where they stand in it, identifiers in their parts."""
    seen, places = _placed(text)
    found: list[Word] = []
    is_ascii = seen.isascii()
    for match in (_ASCII if is_ascii else _pattern(_SCAN)).finditer(seen):
        start = match.start()
        chunk, dense, emoji = (match[0], "", "") if is_ascii else match.groups()
        if chunk:
            pieces = _known_pieces(chunk) if len(chunk) <= _CACHED else _pieces(chunk)
        elif dense:
            pieces = [(n, n + 1, char, char in STOP_CHARACTERS) for n, char in enumerate(dense)]
        else:
            pieces = [(0, 1, emoji, False)]
        for first, last, stem, is_stop in pieces:
            begin, end = places[start + first], places[start + last]
            if begin < end:
                written = text[begin:end]
                found.append(Word(text=written, start=begin, end=end, stem=stem, is_stop=is_stop))
    return found


def _pieces(chunk: str) -> Sequence[tuple[int, int, str, bool]]:
    """The words of an identifier: where they start and end in it, their stem, whether they stop."""
    if "'" in chunk:
        terms = _apostrophe_terms(chunk.rstrip("+#").strip("_"))
        stem = terms[0] if terms else _folded(chunk.replace("'", ""))
        return ((0, len(chunk), stem, not terms),)
    if (date := _DATE.match(chunk)) and date[0][-1] in "Tt":
        chunk = chunk[: date.end() - 1] + "-" + chunk[date.end() :]
    found = []
    for part in _PART.finditer(chunk):
        terms = _word_terms(part[0])
        stem = terms[0] if terms else _folded(part[0])
        found.append((part.start(), part.end(), stem, not terms))
    return tuple(found)


_known_pieces = lru_cache(maxsize=1 << 13)(_pieces)


_CLUSTER: Final = f"[\\s\\S][{_MARKS}\u1160-\u11ff\u3099\u309a\uff9e\uff9f]*"


_visible_character = lru_cache(maxsize=1 << 13)(_visible)


def _placed(text: str) -> tuple[str, Sequence[int]]:
    """The text as it is scanned, and for each of its characters the place it came from."""
    seen = _visible(text)
    if seen == text:
        return seen, range(len(text) + 1)
    parts: list[str] = list(text)
    shown = list(map(_visible_character, text))
    if "".join(shown) != seen:  # characters that become one with their neighbour
        parts = _pattern(_CLUSTER).findall(text)
        shown = list(map(_visible, parts))
    elif len(seen) == len(text) and all(shown):
        return seen, range(len(text) + 1)
    starts = [0, *accumulate(map(len, parts))]
    places = [start for start, part in zip(starts, shown, strict=False) for _ in part]
    return "".join(shown), [*places, len(text)]
