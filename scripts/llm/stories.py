"""Two short conversations, in English and Chinese, with facts whose fate can be checked.

Written for this run; none of them is in any data set or in any prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.context.flush.prompting import Language

__all__ = ["STORIES", "Story"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    title: str
    language: Language
    system: str
    said: Sequence[Mapping[str, str]]
    more: Sequence[Mapping[str, str]]
    """What is said after it, over and over, before a summary is worth its while."""
    facts: Sequence[str]
    """Words that memory must hold afterwards."""
    questions: Sequence[tuple[str, str]]
    """What a later session is asked, and the word its answer must have."""


def _talk(*texts: str) -> tuple[Mapping[str, str], ...]:
    roles = ("user", "assistant")
    return tuple({"role": roles[n % 2], "content": text} for n, text in enumerate(texts))


STORIES: Final[Mapping[str, Story]] = {
    "en": Story(
        title="English",
        language="en",
        system="You are a helpful assistant. Answer in one short sentence, from what you remember.",
        said=_talk(
            "Hi! I run a small bakery called Rye & Stone in Tromsø.",
            "Nice to meet you. What can I do for you?",
            "We are moving the till software to PostgreSQL 16 on 3 June. We decided against MySQL.",
            "Good choice. I will plan for 3 June.",
            "My business partner Liv Aune is allergic to hazelnuts, so never suggest them.",
            "Understood, no hazelnuts.",
            "The backup password is in the green binder behind the oven.",
            "Noted.",
            "Please write a checklist for the move later.",
            "I will. First the backup, then the schema, then the till.",
        ),
        more=_talk(
            "What should the checklist look at first?",
            "Start with what you cannot repeat. Export the sales of the last seven years and check "
            "that the export opens on another machine. Then list every report the accountant "
            "takes from the till: the daily close, the monthly tax sheet and the stock count. "
            "Each of them needs its query in the new database, and each result has to be "
            "compared with the old one for the same day before the old till is switched off.",
            "The export failed last week with error E4417, the disk was full.",
            "Then free some room before you try again. The old receipts in /var/till/receipts "
            "take most of it and are in the archive already. Move them to the second disk, run "
            "the export again, and look whether error E4417 comes back. If it does, the limit is "
            "not the disk but the temporary folder, which can be set in till.conf.",
            "Moving the receipts solved it. The export took 40 minutes.",
            "Good. Then the export is done, and the next step is to create the tables in the new "
            "database, load the export into them, and run the three reports side by side for one "
            "week. Only when all three agree for seven days in a row is the old till taken away.",
        ),
        facts=("Rye & Stone", "PostgreSQL 16", "hazelnuts", "green binder"),
        questions=(
            ("What is Liv allergic to?", "hazelnut"),
            ("Which database did we decide on?", "PostgreSQL"),
        ),
    ),
    "zh": Story(
        title="Chinese",
        language="zh",
        system="你是一个乐于助人的助手。请根据你记得的内容，用一句简短的中文回答。",
        said=_talk(
            "你好！我在昆明开了一家书店，名字叫青禾书屋。",
            "很高兴认识你。有什么可以帮你的？",
            "我们决定六月三日把收银系统换成 PostgreSQL 16，不用 MySQL。",
            "好的，我按六月三日来安排。",
            "我的合伙人周岚对花生过敏，千万不要推荐含花生的点心。",
            "明白，不会推荐花生。",
            "备用钥匙放在仓库的蓝色铁盒里。",
            "记下了。",
            "以后请帮我写一份搬迁清单。",
            "好的，先备份，再建表，最后换收银机。",
        ),
        more=_talk(
            "清单应该先看什么？",
            "先处理不能重来的事情。把最近七年的销售记录导出来，并确认在另一台电脑上能打开。然后列出会计"
            "每个月要用的报表：每日结算、每月税表和库存盘点。每一份报表在新数据库里都要有对应的查询，"
            "旧收银机停用之前，要用同一天的数据逐一核对结果是否一致。",
            "上周导出失败了，错误代码 E4417，原因是磁盘满了。",
            "那就先腾出空间再试一次。/var/till/receipts 里的旧小票占了大部分空间，而且已经归档。"
            "把它们移到第二块磁盘，重新导出，看看 E4417 是否再次出现。如果还出现，问题就不在磁盘，"
            "而在临时目录，"
            "可以在 till.conf 里修改。",
            "移走小票以后解决了，导出用了四十分钟。",
            "很好，导出已经完成。下一步是在新数据库里建表，把导出的数据装进去，三份报表新旧并行跑一周。"
            "连续七天全部一致以后，才能撤掉旧的收银机。",
        ),
        facts=("青禾书屋", "PostgreSQL 16", "花生", "蓝色铁盒"),
        questions=(
            ("周岚对什么过敏？", "花生"),
            ("备用钥匙放在哪里？", "铁盒"),
        ),
    ),
}
