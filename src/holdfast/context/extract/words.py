"""Words that carry content, in a form that compares.

Promise: linear, and the same words for the same text (``tests/context/test_extract_english.py``).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["content_words", "numbers"]

_WORD: Final = re.compile(r"[a-z0-9][a-z0-9_./@'’-]{0,80}", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_STOP_WORDS: Final = """
a about above after again all also am an and any are aren't as at be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't
down during each few for from further get gets getting go goes going gonna got had hadn't has
hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how
i i'd i'll i'm i've if in into is isn't it it'll it's its itself just let let's like ll lot lots
may me might more most much must my myself no nor not now of off oh ok okay on once one only or
other our ours out over own please quite rather re really said same say she she'd she's should
shouldn't so some something still such sure than that that's thats the their theirs them then
there there's these they they'd they'll they're they've thing things this those though through to
too until up us ve very was wasn't way we we'd we'll we're we've well were weren't what what's when
where which while who whom why will with won't would wouldn't yeah yep yes yet you you'd you'll
you're you've your yours hey hi hello thanks thank wow cool great nice awesome good glad happy
definitely totally super pretty absolutely actually maybe also even
"""
_STOP: Final = frozenset(_STOP_WORDS.split())


@lru_cache(maxsize=8_192)
def content_words(text: str) -> tuple[str, ...]:
    """The words that say something, lower case, without plural endings, in order."""
    found = []
    for word in _WORD.findall(text.replace("’", "'").lower()):
        bare = word.rstrip("'./-@").removesuffix("'s")
        if bare and bare not in _STOP and (len(bare) > 1 or bare.isdigit()):
            found.append(_stem(bare))
    return tuple(found)


def numbers(text: str) -> frozenset[str]:
    """The figures in a text."""
    return frozenset(_NUMBER.findall(text))


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
