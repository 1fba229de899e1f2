"""How much a passage must have to do with a message to be brought back unasked.

The scores of a search say which passage is best, not whether any is good: the best of nothing
has a high score too. So the words that a passage shares with the message are weighed by how
rare they are here, against all words of the message:

    strength = Σ rarity(shared) / (Σ rarity(all)) ** 0.7

The exponent lies between a share, which no passage reaches for a long message, and a sum,
which every passage reaches. Of a passage in another language nearness of meaning decides, if an
encoder is there. How the bar was measured is in docs/restore.md (``benchmarks/recall.py``).

Promise: a message of courtesies and of words of asking has no words; linear; pure
(``tests/engine/test_recall.py``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.text.token_words import STOP_CHARACTERS
from holdfast.text.tokens import Term, index_terms, query_terms

__all__ = ["MEANING_BAR", "WORDS_BAR", "content_terms", "strength"]

WORDS_BAR: Final = 0.7
MEANING_BAR: Final = 0.55
"""Cosine of the message and a passage."""
_POWER: Final = 0.7
_FEWEST: Final = 200
"""In a home of fewer passages a word that stands in one of them is not rare yet."""

# Not what a message is about: thanks, greetings, consent, and what one asks an assistant to do.
_COURTESIES: Final = re.compile(
    r"\b(?:thanks?|thank|thx|ty|cheers|please|pls|ok|okay|yes|yeah|yep|yup|no|nope|sure|fine|great"
    r"|good|nice|cool|perfect|awesome|excellent|wonderful|lovely|right|hi|hey|hello|morning"
    r"|afternoon|evening|night|bye|goodbye|welcome|sorry|well|much|lot|go|going|continue|next|proceed"
    r"|wait|stop|stopped|again|more|shorter|longer|better|like|want|need|try|let|make|made|get|got"
    r"|give|write|tell|show|say|said|list|explain|describe|summari[sz]e|summary|translate|rewrite"
    r"|compare|help|do|does|did|done|know|think|mean|means|text|following|sentences?|words?|question"
    r"|answer|thing|things|something|anything|everything|one|two|three|first|second|last|how|many"
    r"|what|when|where|which|who|why|about|could|would|should|can|lol|haha|wow|great)\b",
    re.IGNORECASE,
)
_COURTESIES_ZH: Final = re.compile(
    r"你好|您好|大家好|谢谢|多谢|感谢|辛苦了?|不客气|没关系|没问题|对不起|抱歉|好的|好吧|好啊|好呀"
    r"|是的|对的|可以了?|行吧|知道了?|明白了?|收到|了解了?|继续|下一步|接着|然后呢?|再见|拜拜"
    r"|早上好|下午好|晚上好|晚安|早安|请问|请|麻烦|帮我|帮忙|给我|告诉我|怎么样|怎么|什么|为什么"
    r"|多少|哪里|哪个|如何|解释一下|解释|总结一下|总结|翻译成?|一下|写一?[个首篇段]|讲一?个|说说"
    r"|下面的?|内容|这句话|再短一点|再来|哈哈+|嗯+|哦+|啊+|再说|再讲|再"
)


def content_terms(text: str) -> list[Term]:
    """The terms that say what a message is about; none of a mere courtesy."""
    asked = _COURTESIES_ZH.sub(" ", _COURTESIES.sub(" ", text))
    return [
        term
        for term in query_terms(asked)
        if not STOP_CHARACTERS.issuperset(term.text) and any(map(str.isalnum, term.text))
    ]


def strength(
    terms: Sequence[Term], passage: str, *, found_in: Mapping[str, int], passages: int
) -> float:
    """How firmly the words tie a passage to a message; terms that were not looked for are none.

    ``found_in`` says in how many of the ``passages`` that may be read each term stands.
    """
    many = max(passages, _FEWEST)
    rarity = {
        term.text: term.weight * math.log1p(many / max(found_in[term.text], 0.5))
        for term in terms
        if term.text in found_in
    }
    asked = sum(rarity.values())
    if not asked:
        return 0.0
    held = frozenset(index_terms(passage))
    shared = sum(worth for term, worth in rarity.items() if term in held)
    return float(shared / asked**_POWER)
