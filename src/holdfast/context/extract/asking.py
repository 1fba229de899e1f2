"""What a customer asks for: the request in a sentence, without the asking around it.

Promise: what is left of a sentence is part of it, never reworded; consent, courtesy and
introductions ask for nothing; linear (``tests/context/test_extract_service.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.context.extract.heard import Turn
from holdfast.context.extract.words import content_words

__all__ = [
    "CODE",
    "bare_of",
    "compared",
    "distinct",
    "is_consent",
    "is_exact",
    "request_in",
    "sentences_of",
    "special_words",
]  # fmt: skip

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_MARKS: Final = re.compile(r"^[\s#*•>-]{0,8}(?:\d{1,2}[.)、]\s{0,3})?[*_\s]{0,4}")
_STOP: Final = re.compile(r"#{2,}\s?\w{1,20}\s?#{2,}")
_LONGEST: Final = 400


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a turn, without marks of lists and emphasis."""
    for part in _SENTENCE_END.split(_STOP.sub(" ", text)):
        bare = _MARKS.sub("", part).replace("**", "").replace("’", "'").strip()
        if 4 <= len(bare) <= _LONGEST:
            yield bare


# ── what opens a sentence ───────────────────────────────────────────────────────────────────

# Before a comma these only open; else they may belong to what follows ("no refund", "行李").
_OPENS: Final = (
    r"yes|yeah|yep|no|sure|okay|ok|great|perfect|alright|well|so|oh|then|actually|certainly"
    r"|of course|absolutely|in that case|additionally|lastly|finally|now|got it|i see|sorry"
    r"|that works|sounds good|that sounds good|if possible|oui|merci|bonjour"
    r"|好|好的|嗯|是|是的|对|对的|那|行|可以|没问题|不好意思|那么|然后|喂|啊|哦|没错"
)
_LEAD: Final = re.compile(
    rf"(?:(?:{_OPENS})[,.!，。！、]{{1,3}}\s*"
    r"|(?:hi|hello|hey)(?: there| again)?[,.! ]{1,3}|good (?:morning|afternoon|evening)[,.! ]{1,3}"
    r"|thanks?(?: you)?(?: so much| very much)?(?: for [^,.!]{1,60})?[,.! ]{1,3}"
    r"|i understand(?: that)?[,. ]{1,2}(?:but )?|(?:also|and|but|please),? "
    r"|你好|您好|好的|谢谢[你您]?|麻烦[你您]?|另外|还有|请问|请|[，。！、 ]{1,3})",
    re.IGNORECASE,
)


def bare_of(sentence: str) -> str:
    """The sentence without what only opens it."""
    for _ in range(6):
        found = _LEAD.match(sentence)
        if found is None or found.end() >= len(sentence):
            break
        sentence = sentence[found.end() :]
    return sentence.strip()


# ── requests ────────────────────────────────────────────────────────────────────────────────

_WISH: Final = re.compile(
    r"(?:i(?:'d| would)(?: really| also| still)? (?:like|love|prefer)(?: for you)?(?: to)?"
    r"|i(?: also| still| just| really| only)? (?:want|need|wish|hope|have to)(?: you)?(?: to)?"
    r"|i(?:'m| am)(?: also)? (?:looking|trying|hoping|calling|writing|interested)"
    r"(?: (?:to|for|in|about))?"
    r"|(?:can|could|would|will) (?:you|i|we)(?: please| also| possibly| at least)?"
    r"(?: (?:help|assist)(?: me)?(?: with| to| in)?)?"
    r"|is (?:there (?:any |a )?(?:way|chance|possibility)|it possible)(?: (?:to|for|that|i can))?"
    r"|help me(?: to| with)?|let's|what about|how about"
    r"|how (?:much|many|can|do)|what|(?:can|could) (?:that|this|it)|do (?:you|i)|are there"
    r"|我(?:想要?|要|需要|希望|打算)(?:把|将|再|先|也)?"
    r"|(?:能不能|可不可以|可以|能否|能)(?:帮我|给我|请你?)?(?:把|将)?"
    r"|帮(?:我|忙)(?:把|将)?|给我(?:把|将)?|把|将(?!来)|怎么|多少)",
    re.IGNORECASE,
)
_ASKS_WHAT: Final = ("how", "what", "is ", "do ", "are", "怎么", "多少")
_CONSENT: Final = re.compile(
    r"(?:please )?(?:go ahead|proceed|do (?:so|that|it)|continue|confirm(?:ed)?|i confirm"
    r"|that's (?:all|it|correct|right|everything|fine)|i appreciate"
    r"|i'll (?:try|check|wait|get back|gather|look)|everything (?:seems|looks)|you've been"
    r"|(?:i'm|i am) (?:all set|sorry|not sure|glad|happy)|let me (?:know|think|check)|have a"
    r"|transfer me|double-check|确认|同意|继续|就这样|没有了|不用了|再见|辛苦|转人工)",
    re.IGNORECASE,
)
_IDENTITY: Final = re.compile(
    r"(?:my|the)?(?: \w{1,12})? ?(?:user ?(?:id|name)|customer id|email|phone|name|date of birth"
    r"|reservation (?:id|code|number)|order (?:id|number)|id|account number)s?"
    r"(?: (?:for|to) [^.]{1,40})? (?:is|are|as|i|should)\b"
    r"|我的?(?:会员号|账号|手机号|电话|名字|订单号|工号|预订号|单号|邮箱)码?(?:是|为|：|:)"
    r"|我叫|我是[\u3400-\u9fff]{2,4}$",
    re.IGNORECASE,
)
_ANYBODY: Final = re.compile(
    r"(?:speak|talk|transfer|someone|anyone|connect)\b|转(?:接|人工)|人工", re.IGNORECASE
)
_PROBLEM: Final = re.compile(
    r"\b(?:delayed|cancell?ed|lost|broken|damaged|missing|wrong|charged|by mistake|refused"
    r"|never (?:arrived|received|got)|(?:doesn't|does not|isn't|not) work(?:ing)?"
    r"|passed away|died|sick|ill)\b"
    r"|延误|取消了|丢|坏|破损|漏发|发错|多扣|重复扣|没有?收到|不能用|用不了|生病|去世|错了",
    re.IGNORECASE,
)
_PLEASE: Final = re.compile(
    r"(?:,? {1,2}(?:please|thanks?(?: you)?))?[ .,!?。，！？；;]{0,4}$", re.IGNORECASE
)


# Chinese tells first and asks later in one sentence: 订单还没到，我想退掉.
_CLAUSE: Final = re.compile(
    r"(?<=[\u3400-\u9fff\w])[，,](?=(?:我(?:想|要|需要|希望)|请|麻烦|能|可以|帮我))"
)
_ACTS: Final = re.compile(
    r"(?:cancel|refund|return|book|rebook|upgrade|downgrade|exchange|remove|add|reschedule|renew)"
    r"(?:l?ing)?\b|退|取消|改签|换货|续费|补发",
    re.IGNORECASE,
)


def request_in(sentence: str) -> str:
    """What a sentence asks for or complains of; empty if it says nothing of its own."""
    bare = bare_of(sentence)
    if _CONSENT.match(bare) or _IDENTITY.match(bare):
        return ""
    found = _WISH.match(bare)
    if found is None and (clause := _CLAUSE.search(bare)):
        return request_in(bare[clause.end() :])
    if found is None:
        tells = _PROBLEM.search(bare) is not None and special_words(bare) >= 2
        return _PLEASE.sub("", bare) if tells else ""
    wish = _PLEASE.sub("", bare[found.end() :].lstrip(" ,，"))
    least = 1 if CODE.search(wish) or _ACTS.match(wish) else 2 if is_exact(wish) else 3
    if _CONSENT.match(wish) or _ANYBODY.match(wish) or special_words(wish) < least:
        return ""
    if not found[0].lower().startswith(_ASKS_WHAT):
        return wish
    return _PLEASE.sub("", bare) if is_exact(wish) or len(wish) <= 80 else ""


def is_consent(bare: str) -> bool:
    """Whether a sentence only agrees, thanks or takes leave."""
    return _CONSENT.match(bare) is not None


# ── what is special about it ────────────────────────────────────────────────────────────────

_EVERYWHERE: Final = """
help assist assistance make change flight reservation booking upcoming travel plan couple order
account question issue problem thing information detail know need want would like possible check
look option available trip ticket provide tell something anyone someone further else human agent
transfer speak talk speaking situation resolve resolution way process proceed go ahead current one
today hello there
"""
_GENERIC: Final = frozenset(_EVERYWHERE.split())
CODE: Final = re.compile(r"\b(?=[A-Z0-9-]{0,20}\d)(?=[\d-]{0,20}[A-Z])[A-Z0-9-]{5,20}\b|\d{5,}")
_EXACT: Final = re.compile(
    r"\b(?=[\w-]{0,40}\d)[\w-]{2,40}\b|\b[A-Z]{3,}\b|[$€¥£]|[\u3400-\u9fff]{6}"
)
_NAMES: Final = re.compile(r"(?<=[a-z,] )(?!I\b|OK\b)[A-Z][a-z]{2,}")
_CJK: Final = re.compile(r"[\u3400-\u9fff]+")


def is_exact(text: str) -> bool:
    """Whether a text names something: a code, a figure, a name."""
    return _EXACT.search(text) is not None or _NAMES.search(text) is not None


def special_words(text: str) -> int:
    """How many words of a text are about this case, not about any."""
    own = [word for word in content_words(text) if word not in _GENERIC]
    return len(own) + sum(map(len, _CJK.findall(text))) // 2


def compared(text: str) -> set[str]:
    """The words that make two requests different."""
    pairs = {run[n : n + 2] for run in _CJK.findall(text) for n in range(len(run) - 1)}
    return pairs | {word for word in content_words(text) if word not in _GENERIC}


def distinct(found: Sequence[tuple[Turn, str]], most: int) -> list[tuple[Turn, str]]:
    """Each statement once: one that says hardly more than those before it is a repetition."""
    kept: list[tuple[Turn, str]] = []
    known: set[str] = set()
    figures: set[str] = set()
    for turn, text in found:
        words = compared(text)
        repeats = known and len(words - known) < min(len(words), max(2, 0.4 * len(words)))
        if repeats and _figures(text) <= figures:
            continue
        figures |= _figures(text)
        known |= words
        kept.append((turn, text))
        if len(kept) >= most:
            break
    return kept


def _figures(text: str) -> set[str]:
    return set(CODE.findall(text)) | set(re.findall(r"\d+", text))
