"""The words and characters that questions are made of, and that say nothing of what is sought.

Data of ``tokens``, and tested with it. Months and days of the week are no stop words, "may" least
of all. A change here changes what an index holds: raise ``tokens.SCHEME`` with it.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ACRONYMS",
    "QUESTION_PHRASES",
    "QUESTION_WORDS",
    "STOP_CHARACTERS",
    "STOP_WORDS",
]


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# Left out of the index and of every query. Without an apostrophe, as the scanner leaves them.
STOP_WORDS: Final = _words(
    # articles, pronouns
    "a an the this that these those i me my mine myself we us our ours ourselves you your yours",
    "yourself yourselves he him his himself she her hers herself it its itself they them their",
    "theirs themselves one ones",
    # question words
    "who whom whose what which when where why how whatever whichever whoever whenever wherever",
    # forms of be, have, do, and modals ("may" is a month)
    "am is are was were be been being have has had having do does did doing done will would shall",
    "should can could might must ought",
    # prepositions, conjunctions
    "of to in on at for with by from as into onto upon about between through during above below",
    "under over out off up down and or but nor if then than so because while until since although",
    "though whether per via",
    # particles
    "no not yes there here too very just also only own same such both each few more most other",
    "some any all again further once now ever",
    # contractions as they are written without their apostrophe
    "im ive youre youve youd youll hes shes theyre theyve theyd theyll weve isnt arent",
    "wasnt werent dont doesnt didnt hasnt havent hadnt wont wouldnt cant cannot couldnt shouldnt",
    "mightnt mustnt neednt shant aint thats whats whos wheres whens hows whys theres heres lets",
    "itd itll s t d m ll re ve",
)

# Stop words that are names when they are written in capitals.
ACRONYMS: Final = frozenset({"IT", "US", "WHO"})

# Cut from a query that asks for something else too; the index holds them.
QUESTION_WORDS: Final = _words("please tell remind know")

# No query is about these alone: a single one of them is not searched for beside other words, and
# a pair only if one of the two is not among them. The index holds them all.
STOP_CHARACTERS: Final = frozenset(
    "的了是在我你他她它们和与或也都就还又着过吗呢吧啊呀么什这那哪有没不很个把被给对为以于而之其所得让"
)

# Cut from a query that asks for something else too, the longest first.
QUESTION_PHRASES: Final = sorted(
    _words(
        "什么 什么样 什么时候 什么时间 什么地方 为什么 怎么 怎么样 怎样 怎么办 哪里 哪儿 哪个",
        "哪些 哪位 哪一 哪年 哪天 谁 几个 几时 多少 多久 多大 多长 是不是 是否 有没有 能不能",
        "可不可以 会不会 请问 请告诉 告诉我 我想知道 想知道 知道吗 你知道 记得吗 还记得 你记得",
        "想问一下 想问 问一下 一下 如何 为何 何时 何地 是多少 帮我",
    ),
    key=lambda phrase: (-len(phrase), phrase),
)
