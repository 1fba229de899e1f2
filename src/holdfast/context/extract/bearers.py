"""Who bears a value, where one word means several people.

"我上司45岁", "我上司42岁": a person has one age, so these are two, or one was wrong. Either way a
line must not say both of one person. Values that a person has once (age, height, birthday, phone,
address of mail) part those who are called the same.

Promise: two different values of one such kind never have one bearer
(``tests/context/test_extract_chinese.py``).
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["Bearers"]

_SINGLE: Final = (
    (
        "name",
        re.compile(r"^(?:的?名字)?(?:就?是|名)?叫?(?:做|作)?(?<=[叫是])([\u3400-\u9fff·]{2,4})$"),
    ),
    ("age", re.compile(r"(\d{1,3})岁")),
    ("height", re.compile(r"(1\d\d)\s?(?:cm|CM|厘米|公分)")),
    ("birthday", re.compile(r"生日\D{0,3}0?(\d{1,2}\s?月\s?0?\d{1,2})")),
    ("phone", re.compile(r"(?<!\d)(1\d{10})(?!\d)")),
    ("mail", re.compile(r"([\w.+-]{1,64}@[\w.-]{1,64})")),
    ("degree", re.compile(r"(博士|硕士|本科|专科|高中|初中)")),
    ("office", re.compile(r"(?:单位|公司)(?:名称|名字)?[叫是]?([\u3400-\u9fff]{4,24})$")),
    ("home", re.compile(r"(?:老家|家乡)[是在就]{0,2}(?:那边|在)?([\u3400-\u9fff]{2,8})$")),
)
_MOST: Final = 12


class Bearers:
    """The people that a word was used for, by what each has once."""

    def __init__(self) -> None:
        self._of: dict[str, list[dict[str, str]]] = {}

    def of(self, who: str, value: str) -> int:
        """The bearer of a value, by number: the latest that has no other of its kind."""
        people = self._of.setdefault(who, [{}])
        has = {
            kind: found[1].replace(" ", "").replace("月0", "月")
            for kind, single in _SINGLE
            if (found := single.search(value))
        }
        for number in range(len(people) - 1, -1, -1):
            person = people[number]
            if all(person.get(kind, mine) == mine for kind, mine in has.items()):
                person.update(has)
                return number
        if len(people) < _MOST:
            people.append(dict(has))
        return len(people) - 1
