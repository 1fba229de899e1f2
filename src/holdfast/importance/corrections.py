"""Whether a user corrects something: "No, that's wrong: it's 5433", "不是周一，是周二".

Promise: precise rather than greedy; regret, comparison and doubt are no corrections. Proven by
the tables of ``tests/foundation/test_importance_rules.py``.
"""

from __future__ import annotations

import re
from typing import Final

from holdfast.importance.samples import CJK, any_of, mentions, own_words, parts, sample, sentences

__all__ = ["is_correction"]

_MAYBE: Final = parts(
    "wrong;incorrect;not;n't;n’t;i meant;i mis;you mis;you've mis;mistake;my bad;correction;correct"
    ";scratch;typo;should;instead;actually;mixed up;confused;no,;wait;sorry;oops;nope;i never;不;错"
    ";更正;纠正;订正;意思;我没;应该;我指;我是说"
)
_OPENERS: Final = r"(?:no|nope|nah|wait|sorry|oops|actually|hmm|ah|oh|well|but|hold on|hang on)"
_LEAD: Final = rf"(?:{_OPENERS}\b[,.!;:… —-]{{0,4}}){{0,3}}"
_SURELY: Final = r"(?:(?:no|nope|nah|wait|sorry|oops|actually)\b[,.!;:… —-]{1,4}){1,3}"
_IT_IS: Final = r"(?:that(?:'s| is|s)|this is|it(?:'s| is)|you(?:'re| are)|your answer is)"
_NAMED: Final = r"the [\w ]{1,30}"
_THEN: Final = r"(?=\s*(?:[,.:;!—-]|$|because\b|the\b|it\b|i\b|\())"
_HARMLESS: Final = (
    r"(?:anything|goodbye|hi|hello|much|a word|out\b|him|her|them|to (?:hurt|be|worry|make|upset))"
)

# Each is asked at the beginning of a sentence, after words like "no," or "wait".
_TELLS: Final = any_of(
    rf"{_LEAD}{_IT_IS} (?:still |simply |completely )?"
    rf"(?:wrong|incorrect|mistaken|not (?:right|correct|true|quite right)){_THEN}",
    rf"{_LEAD}(?:that(?:'s| is|s)|this is|it(?:'s| is)) not what i (?:asked|meant|said|want|need)",
    rf"{_LEAD}i meant (?:to (?:say|write|type)\b"
    r"|(?!to\b|every\b|it\b|well\b|no\b|so\b|what\b|a lot\b|that (?:as|in)\b))",
    rf"{_LEAD}(?:i misspoke|i mistyped|correction\s?[:,—-]|scratch that|let me correct"
    r"|typo\s?[:,—-]|my (?:mistake|bad)[,:;.—-]\s{0,3}(?:it|the|i meant|that))",
    rf"{_LEAD}you(?:'ve| have)? (?:misunderstood|misread|misinterpreted|mixed up|confused"
    rf"|got (?:it|that|this|{_NAMED}) wrong)\b",
    rf"{_LEAD}i (?:didn't|did not|never) (?:say|said|ask|asked|mean|meant)\b(?! {_HARMLESS})",
    rf"{_LEAD}i said [^,.]{{1,60}},? not\b",
    rf"{_SURELY}(?:not (?:that|this|the)\b|i (?:meant|said|want(?:ed)?)\b|[^.]{{1,80}}\binstead\b)",
)

# Only names and figures can be wrong this way: "It's fun, not scary" compares.
_EXACT: Final = r"(?:[^\s,.;]{0,20}\d|[`\"“]|(?-i:[A-Z])[\w-]+|[\w-]{1,30}[_/.][\w-])"
_REPLACES: Final = any_of(
    rf"{_SURELY}(?:(?:it(?:'s| is)|use|make (?:it|that)|{_NAMED} is|my [\w ]{{1,20}} is) {_EXACT}"
    rf"|[^.]{{1,80}},? not {_EXACT})",
    rf"{_LEAD}(?:that|it|this|{_NAMED}) should(?:'ve| have)? (?:been|be|say|read) {_EXACT}",
    rf"{_LEAD}(?:it(?:'s| is)|{_NAMED} (?:is|are)|my [\w ]{{1,20}} is|use)"
    rf" {_EXACT}[^,;]{{0,40}}, not {_EXACT}",
)

_ZH_TELLS: Final = any_of(
    r"(?:^|[，,。；;！!])\s?(?:不[，,]\s?)?[^，,。；;！!]{0,12}不是[^，,。；;！!]{1,24}"
    r"(?:[，,]?\s?而是|[，,]\s?是)",
    r"^(?:不对|错了|不是的|不[，,]\s?(?:是|应该|我))(?![劲称])",
    r"^(?:你|这|那|这里|那里|上面)[^，,。]{0,8}(?:不对|错了|有误)(?!吗|劲)",
    r"(?:^|[，,。；;！!：: ])(?:更正|纠正|订正)(?:一下)?[：:，, ]|我(?:说|记|打|写|弄|搞)错了",
    r"我(?:的意思是|是说|指的是)(?!谢)|(?:不是|并非)我?的?(?:这个|那个|这)?意思",
    r"你(?:理解|误会|搞|弄|记|看|写|说|误解)(?:错了?|我?的意思|我了)",
    r"我(?:没有?|从没)(?:说过?|让你|要求|叫你)(?!话|什么|过?谎|完|出)",
    r"应该是[^，,。]{1,24}[，,]?(?:而)?不是",
)
_ZH_ASKS: Final = re.compile(r"(?:吗|呢|么)[。！!]?\s*$|是不是|对不对")


def is_correction(text: str) -> bool:
    """Whether a user says that something said or done before was wrong, and what is right."""
    text = sample(text)
    if not mentions(text, _MAYBE):
        return False
    return any(
        2 <= len(sentence) <= 1_000 and not sentence.endswith(("?", "？")) and _corrects(sentence)
        for sentence in sentences(own_words(text))
    )


def _corrects(sentence: str) -> bool:
    if CJK.search(sentence) and _ZH_TELLS.search(sentence) and not _ZH_ASKS.search(sentence):
        return True
    return _TELLS.match(sentence) is not None or _REPLACES.match(sentence) is not None
