"""Whose words a memory stands on: the user's, a tool's, or only the assistant's own.

A memory is trusted as its weakest support: what a tool said stays a tool's, also if the assistant
repeated it; one word of a tool in a sentence of the user makes it a tool's, and one word that
nobody said makes it the assistant's. What the user asked, doubted, quoted or only heard of was
not said by the user.

Promise: no text that came out of a tool gets the trust of a user's words because somebody repeated
or wrapped it (``tests/memory/test_provenance.py``). Pure. When in doubt the trust is lower.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.retain import Trust
from holdfast.text import normalise
from holdfast.text.likeness import marks, terms
from holdfast.text.likeness_words import DATE_WORDS, DENIALS, NUMBER_WORDS

__all__ = ["Said", "Support", "trust_of"]

_ENOUGH: Final = 0.6
"""The share of a memory's words that one message must hold to be its support."""
_MOST_SOURCES: Final = 8
_SHORTEST: Final = 4  # letters of a word that is looked for inside others too
_WHO: Final = frozenset(
    {"user", "assistant", "agent", "用户", "助手", "remember", "rememb", "note"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: ``role`` is user, assistant or tool; ``source`` is how to cite it."""

    role: str
    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What a memory stands on. Without sources nothing in the conversation says it."""

    trust: Trust
    sources: tuple[str, ...] = ()


def trust_of(text: str, said: Sequence[Said]) -> Support:
    """The trust and the sources of a memory, by where in the conversation its words stand."""
    claim = _Claim.of(text)
    tools = [each for each in said if each.role == "tool"]
    users = [each for each in said if each.role == "user"]
    spoken = [each for each in users if claim.is_said_by(each.text)]
    if spoken:
        unsaid = claim.beyond([claim.stated(each.text) for each in users])
        if taken := [each for each in tools if claim.given_by(each.text, unsaid)]:
            return _support("tool", [*spoken, *taken])
        return _support("agent" if unsaid else "user", spoken)
    taken = [each for each in tools if claim.stands_in(each.text)]
    unsaid = claim.beyond([each.text for each in users])
    if taken := taken or claim.pieced_together(tools, unsaid):
        return _support("tool", taken)
    others = [each for each in said if each.role not in ("user", "tool")]
    return _support("agent", [each for each in others if claim.is_said_in(each.text)])


def _support(trust: Trust, messages: Sequence[Said]) -> Support:
    sources = dict.fromkeys(each.source for each in messages if each.source)
    return Support(trust=trust, sources=tuple(sources)[-_MOST_SOURCES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A memory as it is looked for: its words, and what of it must be found to the letter."""

    words: frozenset[str]
    exact: frozenset[str]
    denies: bool
    is_hearsay: bool

    @classmethod
    def of(cls, text: str) -> _Claim:
        found = marks(text)
        exact = {normalise(mark) for mark in found.numbers | found.identifiers | found.names}
        return cls(
            words=_words_of(_ABOUT_WHOM.sub(" ", text)) - _WHO,
            exact=frozenset(exact - _WHO),
            denies=found.negations % 2 == 1,
            is_hearsay=_HEARSAY.search(text) is not None,
        )

    def stated(self, text: str) -> str:
        """What of a user's message was said to be so; hearsay supports what is told as hearsay."""
        return _stated(text, hearsay=self.is_hearsay)

    def is_said_by(self, text: str) -> bool:
        """Whether a user says this: its words are there, and not asked, doubted or quoted."""
        return self._enough(len(self.words & _words_of(text))) and self.is_said_in(
            self.stated(text)
        )

    def is_said_in(self, text: str) -> bool:
        """Whether a message says this, and not its opposite."""
        if not self._enough(len(self.words & _words_of(text))):
            return False
        best = max(
            _sentences_of(text), key=lambda one: len(self.words & _words_of(one)), default=""
        )
        return (marks(best).negations % 2 == 1) == self.denies

    def stands_in(self, text: str) -> bool:
        """Whether it could come from the output of a tool: word by word, or by its figures."""
        folded = _folded(text)
        if self._enough(sum(word in folded for word in self.words)):
            return True
        return bool(self.exact) and 2 * sum(mark in folded for mark in self.exact) > len(self.exact)

    def beyond(self, texts: Sequence[str]) -> frozenset[str]:
        """The words and the exact parts of it that none of the texts holds."""
        heard = frozenset().union(*map(_words_of, texts))
        unsaid = {word for word in self.words - heard if not _is_seam(word, texts)}
        for mark in self.exact:
            words = _words_of(mark)
            if not (words and words <= heard) and not any(mark in _folded(text) for text in texts):
                unsaid.add(mark)
        return frozenset(part for part in unsaid if not _is_dated(part, texts))

    def given_by(self, text: str, unsaid: frozenset[str]) -> frozenset[str]:
        """What the users did not say, and this output of a tool says."""
        folded, words = _folded(text), _words_of(text)
        return frozenset(
            part
            for part in unsaid
            if part in words or ((len(part) >= _SHORTEST or _PAIR.match(part)) and part in folded)
        )

    def pieced_together(self, tools: Sequence[Said], unsaid: frozenset[str]) -> list[Said]:
        """The tools that gave what the users did not say, if only together they say it all."""
        giving = [each for each in tools if self.given_by(each.text, unsaid)]
        given = frozenset().union(*(self.given_by(each.text, unsaid) for each in giving))
        if not given & self.exact and 5 * len(given) < len(self.words):
            return []
        return giving if self._enough(len(self.words - (unsaid - given))) else []

    def _enough(self, count: int) -> bool:
        return bool(self.words) and count >= _ENOUGH * len(self.words)


# ── words ───────────────────────────────────────────────────────────────────────────────────

_PAIR: Final = re.compile(r"[\u3400-\u9fff]{1,2}")
_ABOUT_WHOM: Final = re.compile("用户|助手|我们|咱们|我|他们|她们|他|她")
_SMALL: Final = frozenset(
    "的了着过在是和与及把被给对就也都还又很要会能有个这那其为从到于以将已所之"
)
_DENIED: Final = re.compile(r"\w{1,10}n't")
_COUNTED: Final = {
    stem: known
    for word, known in {**NUMBER_WORDS, **DATE_WORDS}.items()
    for stem in (word, *terms(word))
}
"""Numbers and days by the one form in which they are compared: two is 2, Mon is Monday."""


def _as_counted(word: str) -> str:
    return _COUNTED.get(word, word)


@lru_cache(maxsize=1_024)
def _words_of(text: str) -> frozenset[str]:
    """The words that carry the meaning; whether it is denied is compared by itself."""
    found = terms(_ABOUT_WHOM.sub(" ", text))
    return frozenset(
        _as_counted(word) for word in found if word not in DENIALS and not _DENIED.fullmatch(word)
    )


@lru_cache(maxsize=1_024)
def _folded(text: str) -> str:
    return normalise(text)


def _is_seam(word: str, texts: Iterable[str]) -> bool:
    """Whether a Chinese pair only joins words that one sentence has apart, or small words."""
    return _PAIR.fullmatch(word) is not None and any(
        all(char in sentence or char in _SMALL for char in word)
        for text in texts
        for sentence in _sentences_of(text)
    )


_ISO: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:t.*)?")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)


def _is_dated(part: str, texts: Iterable[str]) -> bool:
    """Whether a date was said in other words: 2025-03-01 is "in March 2025"."""
    found = _ISO.fullmatch(part)
    if found is None or not 1 <= int(found[2]) <= len(_MONTHS):
        return False
    year, month, day = found[1], int(found[2]), int(found[3])
    wanted = [rf"\b{year}(?!\d)"]
    if (month, day) != (1, 1):
        wanted.append(
            rf"\b{_MONTHS[month - 1]}|(?<!\d)0?{month}(?:月|[-/.]\d)|\d[-/.]0?{month}(?!\d)"
        )
    if day != 1:
        wanted.append(rf"(?<!\d)0?{day}(?!\d)")
    return any(all(re.search(each, _folded(text)) for each in wanted) for text in texts)


# ── what was said to be so ──────────────────────────────────────────────────────────────────

_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_QUOTE: Final = re.compile(
    r"\"[^\"\n]{1,2000}\"|“[^”\n]{1,2000}”|「[^」\n]{1,2000}」|『[^』\n]{1,2000}』"
    r"|(?<!\w)'[^'\n]{1,2000}'(?!\w)|^[ \t]*>[^\n]*$",
    re.MULTILINE,
)
_LONG_QUOTE: Final = 4  # words: less is a name
_ASKED: Final = re.compile(
    r"[?？][\s!！\"'”)」）…]*$|[吗么][。！.!\s]*$|是不是|是否|有没有|能不能|会不会|要不要|难道|想知道"
    r"|^\W{0,3}(?:and |but |so |or )?(?:(?:what|why|how|where|who|which|when) )?"
    r"(?:(?:is|are|was|were|does|did|can|could|should|would|will|has)(?:n't)? "
    r"(?:the|my|our|your|this|that|there|these|those|it|he|she|they|you|we|i|any|anyone)"
    r"|(?:do|have)(?:n't)? (?:you|we|they|i|any|these|those))\b"
    r"|\bwonder(?:ing)?\b"
    r"|\b(?:check|ask|find out|know|tell me|see|verify|confirm) (?:if|whether)\b",
    re.IGNORECASE,
)
_ORDERED: Final = re.compile(
    r"(?:can|could|would|will) you (?:please |kindly |also )?"
    r"(?:remember|note|save|store|memori[sz]e|keep in mind|write down)\b(?! (?:if|whether)\b)"
    r"|记住|记下|记一下",
    re.IGNORECASE,
)
_TELL: Final = (
    "(?:says?|said|states?|stated|suggests?|suggested|recommends?|recommended|reports?|reported"
    "|mentions?|mentioned|tells?|told|asserts?|asserted|writes?|wrote|argues?|argued|claims?"
    "|claimed|reads|advises?|advised|instructs?)"
)
_HEARSAY: Final = re.compile(
    # doubted or made up
    r"\b(?:doubt|(?:do|does|did|can)(?:n't| not|not) (?:think|believe)\b|hardly believe\b"
    r"|(?:not|\w{1,8}n't) (?:sure|true|convinced|certain)\b|(?:unsure|unlikely|is false)\b"
    r"|(?:suppos|alleg|apparent|purport|reput|seeming)(?:ed)?ly\b"
    r"|(?:myth|hoax|rumou?rs?|a lie|lied|imagine|pretend|hypothetically|what if|suppose)\b"
    # heard or read somewhere
    r"|I(?:'ve| have)? (?:just |also |once )?(?:heard\b"
    r"|(?:read|saw) (?:somewhere|online|that|about)\b)"
    r"|according to\b|(?:is|it's|are|was|were) (?:said|claimed|rumou?red|alleged)\b"
    r"|claim(?:s|ed)? (?:that|to)\b|alleg(?:e|es|ed|ing)\b"
    r"|(?:it|this|that|they|who|which) (?:says?|said|claims?|claimed|states|stated)\b"
    r"|(?:page|site|website|article|e-?mail|mail|message|letter|post|blog|document|docs?|pdf|paper"
    r"|report|video|tweet|ad|advert|readme|logs?|output|tool|results?|review|forum|thread|comment"
    r"|wiki|wikipedia|google|internet|web|news|someone|somebody|people|stranger|caller|bot|model"
    r"|chatgpt|ticket|issue|file|text|banner|popup|screenshot)"
    rf"(?: (?!(?:the|an?|my|our|your|his|her|their|for|with|to)\b)\w{{1,20}}){{0,3}}? {_TELL}\b)"
    # the same in Chinese
    r"|听说|听闻|据说|据称|据传|据悉|传闻|传言|谣言|有人说|别人说|人家说|他们说|她们说|网上说|大家都说"
    r"|声称|自称|所谓|怀疑|不相信|不信|不确定|不一定|未必|存疑|可疑|假如|假设|要是|好像|似乎"
    r"|(?:页面|网页|网站|网上|文章|邮件|消息|短信|帖子|文档|文件|报告|视频|新闻|工具|结果|评论|截图|来信|微信)"
    r"[^，。！？；\n]{0,6}(?:说|称|写着|写道|写了|表示|显示|建议|要求|提到|声明|指出)"
    r"|据[^，。\n]{1,12}(?:报道|介绍|称|说)",
    re.IGNORECASE,
)


@lru_cache(maxsize=1_024)
def _stated(text: str, *, hearsay: bool) -> str:
    """The sentences of a message that say that something is so, in the user's own words."""
    own = text if hearsay else _QUOTE.sub(_without_quote, text)
    kept: list[str] = []
    for sentence in _sentences_of(own.replace("’", "'")):
        told = None if hearsay else _HEARSAY.search(sentence)
        if told and re.search("[:：]", sentence[told.end() :]):
            break  # all that follows is what the page says
        if not told and (_ORDERED.search(sentence) or not _ASKED.search(sentence)):
            kept.append(sentence)
    return "\n".join(kept)


def _without_quote(found: re.Match[str]) -> str:
    is_long = len(terms(found[0])) >= _LONG_QUOTE or found[0].lstrip().startswith(">")
    return " " if is_long else found[0]


@lru_cache(maxsize=1_024)
def _sentences_of(text: str) -> tuple[str, ...]:
    return tuple(part for part in _SENTENCE.split(text) if part.strip())
