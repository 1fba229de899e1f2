"""A query taken apart without a model: its questions, their terms, the people and times in them.

Promise: any text gives at least one part; a part's terms are those ``text.tokens`` finds in it,
without the names of speakers if anything else is left; quoted text is never split; the time is
linear in the query (``tests/search/test_analysis.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cache, lru_cache
from typing import Final

from holdfast.search.query.kin import FORMS, KIN
from holdfast.search.query.times import TimeMention, find_times
from holdfast.search.ranking.asked import Concept, ContentWord, Question, Shape, When
from holdfast.text.late import late
from holdfast.text.tokens import Term, index_terms, query_terms, words

__all__ = ["Analysed", "analyse"]

_MOST_TERMS: Final = 64
"""Of one part: a pasted page is not a question, and each term costs a look into the index."""
_MOST_PARTS: Final = 4
_ROLES: Final = frozenset({"user", "assistant", "system", "tool", "note", "human", "ai", "bot"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """What a query asks. Its parts are ranked one by one, and merged by best rank."""

    query: str
    parts: tuple[Question, ...]
    speakers: frozenset[str]
    times: tuple[TimeMention, ...]
    asks_when: bool

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(term for part in self.parts for term in part.terms))


def analyse(query: str, *, speakers: Iterable[str] = (), now: datetime, zone: tzinfo) -> Analysed:
    """``speakers`` are the names the store knows; roles among them are no names."""
    known = _Names(speakers)
    parts = tuple(_question(text, known, now, zone) for text in _parts(query))
    if not all(part.shape is Shape.LIST for part in parts):
        parts = tuple(_not_a_list(part) for part in parts)
    return Analysed(
        query=query,
        parts=parts,
        speakers=frozenset().union(*(part.speakers for part in parts)),
        times=tuple(find_times(query, now=now, zone=zone)),
        asks_when=any(part.asks_when for part in parts),
    )


def _not_a_list(part: Question) -> Question:
    return replace(part, shape=Shape.QUESTION) if part.shape is Shape.LIST else part


# ── parts ───────────────────────────────────────────────────────────────────────────────────

_QUOTED: Final = late('"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》')
# A second question, where a first one has ended.
_SECOND: Final = late(
    r"(?<=[?？])[\s\"”]*(?:(?:另外|此外|还有|再问|顺便问)|(?i:also|additionally|another question"
    r"|one more (?:thing|question)|second(?:ly)?|and also)\b)[\s,，:：]*"
)
# What is said before it does not count: the speaker starts again.
_STARTS_AGAIN: Final = late(
    "(?:真正|其实|本来|原本|实际上|实际)?(?:是)?(?:我)?(?:其实|真正|本来)?(?:是)?(?:想|要)"
    "(?:问|说|知道|搞清楚|了解|弄清楚)(?:一下)?(?:的)?(?:问题)?(?:就)?(?:是)?(?:这个)?[，,：:]"
    "|(?:真正|实际上我?那个)的?问题(?:就)?是(?:这个)?[，,：:]?"
    "|(?:等等|等一下|等会儿?|停一下|不对|打住|言归正传|回到正题)[，,。！!：:]"
    r"|(?i:what i (?:really |actually )?(?:want(?:ed)?|meant?) to (?:ask|know) (?:is|was)"
    r"|my (?:real|actual) question is|i meant to ask|scratch that|never ?mind|no,? wait)\b[\s,:.]*"
)
_SENTENCE_END: Final = late(r"[.!?]+(?=\s)|[。！？；\n]+")
_ASKING: Final = late(r"[?？][\s\"”’')）]*$")
_ASSOCIATIVE_FROM: Final = 3  # sentences


def _sentences(text: str) -> list[str]:
    """Each with the mark that ends it; what is quoted is not cut."""
    masked = _QUOTED.sub(lambda found: "\0" * len(found[0]), text)
    found: list[str] = []
    start = 0
    for end in [*(one.end() for one in _SENTENCE_END.finditer(masked)), len(text)]:
        piece = text[start:end]
        if any(map(str.isalnum, piece)):
            found.append(piece.strip())
        start = end
    return found


def _parts(query: str) -> list[str]:
    masked = _QUOTED.sub(lambda found: "\0" * len(found[0]), query)
    found: list[str] = []
    start = 0
    for second in [*_SECOND.finditer(masked), None]:
        end = second.start() if second else len(query)
        begin = _restart(masked, start, end)
        if query[begin:end].strip():
            found.append(query[begin:end].strip())
        start = second.end() if second else end
    kept = [one for part in found for one in _questions(part)][:_MOST_PARTS]
    return kept or [query]


def _questions(part: str) -> list[str]:
    """Each of a few sentences, if all of them are questions that say what they ask for."""
    pieces = _sentences(part)
    if not 1 < len(pieces) <= _MOST_PARTS:
        return [part]
    asking = all(_ASKING.search(one) and _tells(one) for one in pieces)
    return pieces if asking else [part]


def _tells(sentence: str) -> bool:
    return any(not word.is_stop for word in words(sentence[:400]))


def _restart(masked: str, start: int, end: int) -> int:
    """Where the question begins, if the speaker broke off and began anew."""
    begin = start
    for again in _STARTS_AGAIN.finditer(masked, start, end):
        if masked[again.end() : end].strip(" \t\r\n，,。.！!？?：:"):
            begin = again.end()
    return begin


# ── one question ────────────────────────────────────────────────────────────────────────────

_ASKS_WHEN: Final = late(
    r"^\W*(?:when|since when|until when|what (?:date|year|month|day|time)"
    r"|which (?:date|year|month|day)|(?:in|on) (?:which|what) (?:date|year|month|day)"
    r"|how (?:long|many (?:days|weeks|months|years|hours)))\b"
    "|什么时候|什么时间|何时|几时|哪年|哪天|哪一[年天]|几月|几号|多久|多长时间",
    re.IGNORECASE,
)
_DENSE: Final = late("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff\U00020000-\U0003ffff]")
_LETTER: Final = late(r"[A-Za-z\u00c0-\u024f]+")


def _question(text: str, known: _Names, now: datetime, zone: tzinfo) -> Question:
    shown = text[:4_000]
    named, dropped = known.named_in(shown)
    asked = [term for term in query_terms(text) if term.text not in dropped]
    if not asked:
        asked = query_terms(text)
    sentences = _sentences(shown)
    shape = _shape(shown, len(sentences))
    if shape is Shape.ASSOCIATIVE:
        asked = _faded(asked, sentences)
    concepts = [_concept(term, shape) for term in asked[:_MOST_TERMS]]
    return Question(
        text=text,
        concepts=tuple(concepts),
        content=_content(shown, dropped),
        speakers=named,
        times=tuple(_when(mention) for mention in find_times(shown, now=now, zone=zone)),
        asks_when=_ASKS_WHEN.search(shown) is not None,
        shape=shape,
        dense=2 * len(_DENSE.findall(shown)) > len(_LETTER.findall(shown)),
    )


def _concept(term: Term, shape: Shape) -> Concept:
    """What is told in several sentences says it in words enough: others only add noise."""
    if shape is Shape.ASSOCIATIVE:
        return Concept(term=term.text, weight=term.weight)
    return Concept(term=term.text, weight=term.weight, forms=_forms(term.text), kin=_kin(term.text))


_SEVERAL: Final = late(
    r"有几|几[个位次种家场名]|多少[个人次种位名家场]|哪些|哪几"
    r"|\b(?:how many|list|all (?:the|of)|which of)\b",
    re.IGNORECASE,
)
_FADING: Final = 0.8
"""What a sentence's words count for, against those of the sentence after it."""


def _shape(text: str, sentences: int) -> Shape:
    if sentences >= _ASSOCIATIVE_FROM:
        return Shape.ASSOCIATIVE
    return Shape.LIST if _SEVERAL.search(text) else Shape.QUESTION


def _faded(asked: list[Term], sentences: list[str]) -> list[Term]:
    """The terms with what is left of their weights: what was said last counts most."""
    left: dict[str, float] = {}
    worth = 1.0
    for sentence in reversed(sentences):
        for term in query_terms(sentence):
            left.setdefault(term.text, worth)
        worth *= _FADING
    least = worth / _FADING
    faded = [Term(term.text, term.weight * left.get(term.text, least)) for term in asked]
    return sorted(faded, key=lambda term: -term.weight)


def _content(text: str, dropped: frozenset[str]) -> tuple[ContentWord, ...]:
    return tuple(
        ContentWord(start=word.start, end=word.end, term=word.stem)
        for word in words(text)
        if not word.is_stop
        and word.stem not in dropped
        and (len(word.stem) > 1 or _DENSE.match(word.stem))
    )


def _when(mention: TimeMention) -> When:
    return When(
        start=mention.start.timestamp(),
        end=mention.end.timestamp(),
        month=None if mention.year_known else mention.month,
        day=None if mention.year_known else mention.day,
    )


# ── names ───────────────────────────────────────────────────────────────────────────────────

_SHORT_FORM: Final = 3
"""A longer name is also known by its first letters: Caroline, Car; Melanie, Mel."""


class _Names:
    """The speakers of a store, found in a question by name, by part of a name or in short."""

    def __init__(self, speakers: Iterable[str]) -> None:
        self._by_word: dict[str, set[str]] = {}
        self._dense: list[str] = []
        for name in speakers:
            folded = name.casefold().strip()
            if not folded or folded in _ROLES:
                continue
            if _DENSE.search(folded):
                self._dense.append(name)
                continue
            for word in re.split(r"[\W_]+", folded):
                if len(word) > 1:
                    self._by_word.setdefault(word, set()).add(name)
                if len(word) > _SHORT_FORM + 1:
                    self._by_word.setdefault(word[:_SHORT_FORM], set()).add(name)

    def named_in(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """The speakers named, and the terms that name them."""
        named: set[str] = set()
        terms: set[str] = set()
        for word in words(text) if self._by_word else ():
            bare = re.split(r"['’]", word.text.casefold())[0]
            if bare in self._by_word and bare not in _NOT_SHORT:
                named |= self._by_word[bare]
                terms.add(word.stem)
                terms.update(index_terms(word.text))
        for name in self._dense:
            if len(name) > 1 and name in text:
                named.add(name)
                terms.update(index_terms(name))
        return frozenset(named), frozenset(terms)


def _listed(written: str) -> frozenset[str]:
    return frozenset(written.split())


# First letters of names that are words of their own.
_NOT_SHORT: Final = _listed(
    "car can may all and any are art ask bad bar bat bed bee big bit box boy bus but buy cap cat "
    "cup cut dan day did dog dry eat egg end eye far fat few fit fly for fun gas get god had has "
    "hat her hid hit hot ice ill jam job key kid law leg let lie lip lot low mad man map mar mat "
    "men met mix mon mud net new not now nut oil old one our out own pan par pay pen per pet pie "
    "pin pop pot put ran red rid row run sad sat sea see set she sit six sky son sum sun tax tea "
    "ten the tie tin tip too top toy two use van war was way wed who why win yes yet you"
)


# ── words of the same kind ──────────────────────────────────────────────────────────────────

_MOST_KIN: Final = 16
_SHARED: Final = 2
"""First letters that a word shares with every word of the same stem."""

_Lines = dict[str, list[tuple[str, tuple[str, ...]]]]


@cache
def _tables() -> tuple[_Lines, _Lines]:
    return _by_start(FORMS), _by_start(KIN)


def _by_start(table: str) -> _Lines:
    """Each word with its line, under its first letters: stemming all of them would take long."""
    found: _Lines = {}
    for line in table.split(";"):
        listed = tuple(line.split())
        for word in listed:
            found.setdefault(word[:_SHARED], []).append((word, listed))
    return found


@cache
def _stem(word: str) -> str:
    return next(iter(index_terms(word)), word)


@lru_cache(maxsize=4096)
def _forms(term: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word, listed in _tables()[0].get(term[:_SHARED], ()):
        if _stem(word) == term:
            found.update(dict.fromkeys(map(_stem, listed)))
    found.pop(term, None)
    return tuple(found)


@lru_cache(maxsize=4096)
def _kin(term: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for word, listed in _tables()[1].get(term[:_SHARED], ()):
        if _stem(word) == term:
            reached = listed if word == listed[0] else listed[:1]
            found.update(dict.fromkeys(map(_stem, reached)))
    for other in (term, *_forms(term)):
        found.pop(other, None)
    return tuple(found)[:_MOST_KIN]
