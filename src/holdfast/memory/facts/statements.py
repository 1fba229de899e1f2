"""What a memory line states, taken apart so that two of them can be compared.

A line has clauses; a clause has words that say something, a sign, numbers, moments, names, and
claims: "lives in V", "the database is V", "住在V", of which there is one value at a time.

Promise: the same text gives the same statement, in time linear in it, English and Chinese
alike (``tests/memory/test_conflicts.py``). Pure. Not here: what two statements do to each
other (``conflicts``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Final, Literal

from holdfast.memory.facts.lexicon import ATTRIBUTES, GROUPS, LIGHT, MANY_VALUED, PAST_FORMS, SIGNED
from holdfast.memory.facts.scanning import Token, plain, scan
from holdfast.text import normalise

__all__ = ["Claim", "Clause", "Fields", "Statement", "says_it_changed", "statement"]

Fields = tuple[tuple[str, int], ...]
Bound = Literal["", "least", "most", "about"]
MOST_CLAUSES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that has one value at a time. ``sure`` is False where only the words suggest it.

    ``left`` is what stands before it: of "his sister lives in Oslo", the sister.
    """

    key: str
    left: frozenset[str]
    value: frozenset[str]
    sure: bool = True
    named: bool = True
    """What sort of value it is: PostgreSQL is a name, slow is none; 上海人 is where one is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    words: frozenset[str]
    """Those that say something, in comparable form."""
    sign: int = 1
    numbers: tuple[str, ...] = ()
    whens: tuple[Fields, ...] = ()
    names: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] = ()
    replaced: frozenset[str] = frozenset()
    """What it says was there before: "instead of …"."""
    topic: frozenset[str] = frozenset()
    """What the clauses before it are about, which may be what it is about too."""
    bound: Bound = ""
    is_past: bool = False
    is_supposed: bool = False
    recurs: bool = False
    is_many_valued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    entity: str | None
    clauses: tuple[Clause, ...]
    is_update: bool = False


# ── words that say what kind of statement it is ─────────────────────────────────────────────

_CHANGED: Final = re.compile(
    r"(?i)\b(?:now(?! and then)|no longer|not any ?more|moved (?:to|from)|instead of"
    r"|(?:changed|switched|migrated|upgraded|raised|lowered|increased|reduced|updated|postponed"
    r"|renamed|bumped|set) to"
    r"|as of|from now on|starting (?:today|now)|since (?:yesterday|today)|replaced|has become"
    r"|stopped|quit|gave up)\b"
    r"|改为|改成|换成|换到|换了|变成|变为|调整为|调整到|更新为|升级到|改到|推迟到|提前到|搬到|搬去|迁移到|现在|如今"
    r"|不再|已经改|已改|取消了|从今|起改|戒了|戒烟|戒酒"
)
_BECOMES: Final = re.compile(
    r"(?i)(?<=\w)\s+(?:(?:has|have) been |was |were |is |are |got )?(?:now |just )?"
    r"(?:changed|moved|raised|lowered|increased|reduced|updated|switched|set|bumped|postponed"
    r"|renamed|upgraded) to\b"
)
_ZH_BECOMES: Final = re.compile(
    r"(?:已经|现在|刚刚|已)?(?:改为|改成|换成|换到|变成|变为|调整为|调整到|更新为|升级到|改到"
    r"|推迟到|提前到)了?|现在是|用的是"
)
_AS_OF: Final = re.compile(
    r"(?i)\b(?:as of|starting|effective) \w+(?: \w+){0,2}?(?=,|\s+(?:the|our|my|it|we)\b|\s*$)"
)
_SUPPOSED: Final = re.compile(
    r"(?i)\b(?:might|may(?= [a-z])|maybe|perhaps|wants? to|plans? to|planning|would|could|hopes?"
    r"|considering|thinking (?:of|about)|if|wishes)\b"
    r"|可能|打算|想要|计划|希望|也许|如果|考虑|准备|或许|想去"
)
_REQUEST: Final = re.compile(  # asks for something: two requests do not deny each other
    r"(?i)\s*(?:please|pls|can you|could you|would you|will you|help me|let's|i need you to)\b"
    r"|\s*(?:请(?!假|客)|帮我?|麻烦|能不能|可不可以)"
)
_LEAST: Final = re.compile(
    r"(?i)\b(?:at least|more than|over|minimum|from)\s(?=[\d$€£])|至少|超过|以上|不少于"
)
_MOST: Final = re.compile(
    r"(?i)\b(?:at most|less than|under|up to|maximum|within)\s(?=[\d$€£])|最多|不超过|以内|以下"
)
_ABOUT: Final = re.compile(
    r"(?i)\b(?:about|around|approximately|roughly|almost|nearly)\s(?=[\d$€£])|大约|大概|左右|将近|约"
)
_ZH_PAST: Final = re.compile(
    r"以前|曾经|曾|过去|昨天|前天|上周|上个月|去年|之前|[去来吃看玩学做住用当读见]过|[\u4e00-\u9fff]了(?=[\d一两三四五六七八九十])"
)
_REPLACED: Final = re.compile(
    r"(?i)\b(?:instead of|rather than|replac(?:es|ed|ing))\s+(?P<out>[^,.;]{1,80})"
    r"|而不是(?P<zh>.{1,30})"
)
_EVERY: Final = re.compile(r"(?i)\bevery\b|每")


def says_it_changed(text: str) -> bool:
    """Whether a line says of itself that something is otherwise than before."""
    return _CHANGED.search(normalise(text)) is not None


def statement(text: str, *, entity: str | None = None, names: Iterable[str] = ()) -> Statement:
    """The statement of a line. ``names`` are all names of its entity: they are its subject."""
    subject = {normalise(name) for name in (*names, *([entity] if entity else []))}
    whole = plain(text)
    is_request = _REQUEST.match(whole) is not None
    clauses: list[Clause] = []
    for part in islice(_parts(whole), MOST_CLAUSES):
        clause = _clause(part, subject)
        if clause is not None:
            topic = clauses[0].words if clauses and not subject else frozenset()
            is_supposed = clause.is_supposed or is_request
            clauses.append(replace(clause, topic=topic, is_supposed=is_supposed))
    return Statement(
        entity=normalise(entity) if entity else None,
        clauses=tuple(clauses),
        is_update=says_it_changed(text),
    )


# ── clauses ─────────────────────────────────────────────────────────────────────────────────

_SENTENCE: Final = re.compile(r"(\.(?=\s|$)|[!?;。\n])")  # in the one spelling of ``plain``
_COMMA: Final = re.compile(r",(?!\d{3})\s*(?:and |but |while )?")
_ONLY_WHEN: Final = re.compile(r"(?i)(?:in|on|at|since|from)?\s*[\d年月日号:./-]{1,20}|\w+day")


def _parts(text: str) -> Iterator[str]:
    """Sentences, and what commas part in them if it can stand by itself."""
    said = _SENTENCE.split(text)
    for sentence, ending in zip(said[::2], [*said[1::2], ""], strict=True):
        if ending == "?":
            continue  # a question states nothing
        held = ""
        for piece in _COMMA.split(sentence):
            if held and not _stands_alone(held):
                held = f"{held} {piece}"
            elif held and _stands_alone(piece):
                yield held
                held = piece
            else:
                held = f"{held} {piece}" if held else piece
        if held.strip():
            yield held


def _stands_alone(piece: str) -> bool:
    piece = piece.strip()
    if _ONLY_WHEN.fullmatch(piece):
        return False
    words = piece.split()
    return len(words) > 1 or (not piece.isascii() and len(piece) > 2)


_PRONOUN: Final = re.compile(
    r"(?i)\A(?:(?:he|she|they|it|we|i|user|the user)(?:'s)?\b|(?:他|她|它|用户|我)的?|不过)\s*"
)


@lru_cache(maxsize=4096)
def _name_pattern(name: str) -> re.Pattern[str]:
    edge = r"\b" if name.isascii() else ""
    return re.compile(rf"(?i){edge}{re.escape(name)}{edge}(?:'s|的)?")


def _without_subject(text: str, subject: Iterable[str]) -> str:
    """The text without the name of what it is about, where a name is whole."""
    for name in sorted(subject, key=len, reverse=True):
        if name:
            text = _name_pattern(name).sub(" ", text, count=4)
    return _PRONOUN.sub("", text.strip(), count=1)


_ITSELF: Final = "•"  # stands for the subject where a clause names nothing else


def _clause(text: str, subject: set[str]) -> Clause | None:
    whole, text = text, _AS_OF.sub(" ", _without_subject(text, subject))
    replaced = _REPLACED.search(text)
    gone = frozenset(_said(scan(replaced["out"] or replaced["zh"]))) if replaced else frozenset()
    if replaced:
        text = text[: replaced.start()] + text[replaced.end() :]
    text = _ZH_BECOMES.sub("是", _BECOMES.sub(" is", text))
    tokens = scan(text)
    if not tokens:
        return None
    claims = tuple(_claims(text))
    words, sign = _signed(tokens)
    if not words and subject and whole.strip() != _without_subject(whole, subject):
        words = frozenset({_ITSELF})
    return Clause(
        words=words,
        sign=sign,
        numbers=tuple(token.text for token in tokens if token.kind == "number"),
        whens=tuple(token.fields for token in tokens if token.kind == "when"),
        names=frozenset(token.text for token in tokens if token.kind == "name"),
        claims=claims,
        replaced=gone,
        bound=_bound(text),
        is_past=not claims and _is_past(text),
        is_supposed=_SUPPOSED.search(text) is not None,
        recurs=any(token.kind == "when" and token.proper for token in tokens)
        or _EVERY.search(text) is not None,
        is_many_valued=_leads_with_many(tokens),
    )


def _said(tokens: Sequence[Token]) -> Iterator[str]:
    """The words and names that say something; a light word may be a name: Go, Take That."""
    for at, token in enumerate(tokens):
        is_light = token.text in LIGHT and not (token.proper and at)
        if token.kind == "name" or (token.kind == "word" and not is_light):
            yield token.text


def _signed(tokens: Sequence[Token]) -> tuple[frozenset[str], int]:
    """The words with opposites brought to one, and whether the clause denies them."""
    sign, words = 1, {word for word in _said(tokens) if word not in SIGNED}
    for token in tokens:
        if token.kind == "not":
            sign = -1  # twice is more often emphasis than a denial of a denial
        elif token.kind == "word" and token.text in SIGNED:
            base, turn = SIGNED[token.text]
            sign *= turn
            words.add(base)
    names = {token.text for token in tokens if token.kind == "name"}
    return frozenset(words - names), sign


def _bound(text: str) -> Bound:
    if _LEAST.search(text):
        return "least"
    if _MOST.search(text):
        return "most"
    return "about" if _ABOUT.search(text) else ""


def _leads_with_many(tokens: Sequence[Token]) -> bool:
    words = [token.text for token in tokens if token.kind == "word"]
    return any(word in MANY_VALUED for word in words[:3])


_RAW_WORD: Final = re.compile(r"[A-Za-z][\w'-]*")
_BE: Final = frozenset(
    {"is", "are", "be", "been", "being", "was", "were", "has", "have", "had", "get", "gets", "not"}
)


def _is_past(text: str) -> bool:
    if _ZH_PAST.search(text):
        return True
    before = ""
    for word in (found[0].lower() for found in _RAW_WORD.finditer(text)):
        is_event = word.endswith("ed") and len(word) > 4 and before not in _BE
        if word in PAST_FORMS or (is_event and word not in GROUPS and word not in SIGNED):
            return "born" not in text
        before = word
    return False


# ── claims ──────────────────────────────────────────────────────────────────────────────────

_LEFT: Final = r"(?P<left>.{0,60}?)"
_GAP: Final = r"(?: \w{1,20}){0,2}?"
_CLAIMS: Final = (
    ("home", rf"\b(?:lives?|living|resides?|based|settled|home is){_GAP} in (?P<value>.+)"),
    ("home", r"\bmoved (?:back )?to (?P<value>.+)"),
    ("work", rf"\b(?:works?|working|employed|a job){_GAP} (?:at|for|by) (?P<value>.+)"),
    ("school", rf"\b(?:study|studies|studying|enrolled|is a student){_GAP} at (?P<value>.+)"),
    ("school", r"\b(?:graduated from|alma mater is) (?P<value>.+)"),
    ("origin", r"\b(?:is|are|comes|hails|originally) from (?P<value>.+)"),
    ("born", r"\bborn (?:and raised )?(?:in|at) (?P<value>.+)"),
    ("host", rf"\b(?:hosted|deployed|runs|running|run){_GAP} (?:on|in|at|to|by) (?P<value>.+)"),
    ("host", r"\bmigrated to (?P<value>.+)"),
    ("store", r"\b(?:stored|kept|saved|located|placed|parked) (?:in|at|on) (?P<value>.+)"),
    ("written", r"\b(?:written|implemented|built|coded|developed) (?:in|with) (?P<value>.+)"),
    ("reports", r"\breports to (?P<value>.+)"),
    ("spouse", r"\bmarried to (?P<value>.+)"),
    ("called", r"\b(?:is|are)? ?(?:called|named) (?P<value>.+)"),
    ("home", r"(?:居住|定居|住)(?:在|于)(?P<value>.+)"),
    ("home", r"(?:家在|搬(?:家)?(?:到|去)了?)(?P<value>.+)"),
    ("work", r"(?:就职|任职|供职|上班)(?:于|在)(?P<value>.+)"),
    ("work", r"在(?P<value>[^在,]{1,20}?)(?:工作|上班|任职|就职)"),
    ("school", r"(?:毕业|就读)于(?P<value>.+)"),
    ("school", r"在(?P<value>[^在,]{1,20}?)(?:读书|上学|就读|读大学)"),
    ("origin", r"(?:老家(?:是|在)|来自|籍贯是?|祖籍是?)(?P<value>.+)"),
    ("born", r"(?:出生(?:于|在)|生于)(?P<value>.+)"),
    ("host", r"(?:部署|托管|运行|跑|架设)(?:在|于|到)(?P<value>.+)"),
    ("host", r"迁移到了?(?P<value>.+)"),
    ("store", r"(?:存放|保存|存储|放)(?:在|于|到)(?P<value>.+)"),
    ("written", r"用(?P<value>[^用,]{1,20}?)(?:写|开发|编写|实现)的?$"),
    ("spouse", r"(?:嫁给了?|娶了|配偶是)(?P<value>.+)"),
)  # fmt: skip


@cache
def _claim_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled by the first text that needs them."""
    return tuple((key, re.compile(rf"(?i)^\s*{_LEFT}{pattern}")) for key, pattern in _CLAIMS)


# In Chinese the two words for "is" also end other words: 但是, 尤其是, 因为, 成为 …
_ZH_IS: Final = (
    r"(?<![但就还于可只要真总若凡或倒便正其别算])是"
    r"|(?<![因成认作以行称视变转分较尤颇华])为(?![了何止难])"
)
_IS: Final = re.compile(
    rf"(?i)^\s*(?P<left>[^,:=]{{1,60}}?)"
    rf"(?:\s+(?:is|are)\b|\s*[:=]|{_ZH_IS}|(?P<called>名叫|叫做|叫))\s*(?P<value>.+)$"
)
_KIND_OF: Final = re.compile(
    r"(?i)\s*(?:(?:an?|one of|so|very|really|too|quite|pretty|such|just|more|less)\s"
    r"|个|一[个位名家款种只条]|[很太挺更]|非常|特别|比较)"
)
_USED_AS: Final = re.compile(
    r"(?i)\buses? (?P<value>.{1,60}?) (?:as|for) (?:the|its|his|her|our|their|a) (?P<left>.+)"
)
_OVER: Final = re.compile(
    r"(?i)\bprefers? (?P<value>.{1,60}?) (?:over|to|rather than) (?P<left>.+)"
)
_TAIL: Final = re.compile(
    r"(?i)\s(?:with|because|since|for|near|until|after|when|where|which|who|but|so|as|and|from|on"
    r"|during|at|while|through|via|right|again|last|this|next)\b.*$|因为|由于|直到|以后|之后"
)
_PLACES: Final = frozenset({"home", "origin", "born", "host", "store", "work", "school"})


# One look for any of the words above: most clauses have none.
_CLAIMING: Final = re.compile(
    r"(?i) (?:in|at|for|by|from|on|to|with|called|named|is) |[在于到]|来自|籍贯|祖籍|搬|嫁给|娶了"
    r"|配偶是|[写现发]"
)


def _claims(text: str) -> Iterator[Claim]:
    for key, pattern in _claim_patterns() if _CLAIMING.search(text) else ():
        if (found := pattern.search(text)) and (value := _value(found["value"])):
            left = frozenset(_said(scan(found["left"])))
            sure = _is_sure(key, found["left"], found["value"])
            yield Claim(key=key, left=left, value=value, sure=sure)
    if (over := _OVER.search(text)) and (value := _value(over["value"])):
        both = sorted(value | frozenset(_said(scan(over["left"]))))
        yield Claim(key="prefers " + " ".join(both), left=frozenset(), value=value)
    if found := _IS.search(text):
        verb = "called" if found["called"] else "is"
        yield from _identity(found["left"], found["value"], verb=verb)
    if found := _USED_AS.search(text):
        yield from _identity(found["left"], found["value"])


_START: Final = Token("not", "")


def _value(written: str) -> frozenset[str]:
    # The first word of a value does not begin a sentence: if it is written as a name, it is one.
    return frozenset(_said([_START, *scan(_TAIL.sub("", written.strip()))]))


_ONE_OF_MANY: Final = re.compile(r"(?i)\b(?:has|have|owns|got|knows|with|an?)\b|有|养|买了")


def _is_sure(key: str, left: str, written: str) -> bool:
    """A place is a name; "works at night" and "lives in a house" name none.

    And of what somebody *has* there can be another: "has a cat called …".
    """
    first = written.strip()
    if key == "called":
        return _ONE_OF_MANY.search(left) is None
    return key not in _PLACES or not first[:1].isascii() or any(map(str.isupper, first))


def _identity(left: str, written: str, verb: str = "is") -> Iterator[Claim]:
    """ "The database is V", "负责人是V": what stands before it is what there is one of."""
    subject, value = frozenset(_said(scan(left))), _value(written)
    if not subject or not value:
        return
    key = f"{verb} " + " ".join(sorted(subject))
    named = written.strip()[:1].isupper() or written.rstrip().endswith("人")
    if not left.strip()[-1:].isascii() or not written.strip()[:1].isascii():
        sure = not written.rstrip().endswith("的") and _ONE_OF_MANY.search(left) is None
    else:
        sure = named or not subject.isdisjoint(ATTRIBUTES)
    sure = sure and _KIND_OF.match(written) is None  # what it is one of, not which one it is
    yield Claim(key=key, left=frozenset(), value=value, sure=sure, named=named)
