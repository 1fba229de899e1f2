"""Words for what somebody is to the speaker: a brother is no sister, a boss no colleague.

A statement about one of them with the words of a statement about another is the likeliest mistake
of a model that mixes up people, so these words must stand in the source. Forms of one word are
one (mom and mother); proven by ``tests/context/test_grounding.py``. Pure data and one pattern.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["relations_in"]

_SAME: Final = (
    "mother mom mum mommy mummy mama 妈妈 母亲 老妈 妈",
    "father dad daddy papa 爸爸 父亲 老爸 爸",
    "sister sis 姐姐 妹妹 姐妹",
    "brother bro 哥哥 弟弟 兄弟",
    "wife 老婆 妻子 太太",
    "husband 老公 丈夫",
    "son 儿子",
    "daughter 女儿",
    "aunt auntie 姑姑 姑妈 姨妈 阿姨 婶婶 舅妈 伯母",
    "uncle 叔叔 舅舅 姑父 伯父 姨父",
    "cousin",
    "表哥 堂哥",
    "表弟 堂弟",
    "表姐 堂姐",
    "表妹 堂妹",
    "nephew 侄子 外甥",
    "niece 侄女 外甥女",
    "grandmother grandma granny nana 奶奶 外婆 姥姥 祖母",
    "grandfather grandpa granddad 爷爷 外公 姥爷 祖父",
    "girlfriend 女朋友 女友",
    "boyfriend 男朋友 男友",
    "boss 上司 老板 领导",
    "colleague coworker co-worker 同事",
    "下属",
    "roommate flatmate 室友",
    "classmate 同学",
    "neighbour neighbor 邻居",
    "landlord 房东",
    "客户 client",
)
_OF: Final = {word: same.split()[0] for same in _SAME for word in same.split()}
_LATIN: Final = "|".join(sorted((w for w in _OF if w.isascii()), key=len, reverse=True))
_CHINESE: Final = "|".join(sorted((w for w in _OF if not w.isascii()), key=len, reverse=True))
_ANY: Final = re.compile(rf"\b({_LATIN})(?:s|'s|s')?\b|({_CHINESE})", re.IGNORECASE)


def relations_in(text: str) -> frozenset[str]:
    """The relations that a text names, each in one form."""
    return frozenset(_OF[(found[1] or found[2]).lower()] for found in _ANY.finditer(text))
