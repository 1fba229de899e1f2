"""Two facts side by side: which are worth comparing, what is settled, what is an update.

Promise: an update is one only if the newer line says that something changed and nobody less
trusted says so; a model can raise or calm a doubt, never decide
(``tests/memory/test_facts_updates.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Final

from holdfast.memory.facts.judging import Doubt, judge
from holdfast.memory.facts.shapes import TRUST_ORDER, Conflict, Fact
from holdfast.memory.facts.statements import says_it_changed
from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.retain import RetainLine

__all__ = ["about_the_same", "agreeing", "are_settled", "asked", "is_update"]

_MOST_OLDER: Final = 2_000
_WORD: Final = re.compile(r"[^\W_\u3400-\u9fff]{3,}|[\u3400-\u9fff]")


def about_the_same(
    facts: Sequence[Fact], subjects: Mapping[str, str | None], wanted: set[str]
) -> list[Fact]:
    """The wanted facts, last, and the newest of those they can have something to do with.

    Without a subject that is known, two lines about the same share a word at least.
    """
    new = [fact for fact in facts if fact.id in wanted]
    about = {subjects[fact.id] for fact in new}
    words = {word for fact in new for word in _words_of(fact)}
    older = [
        fact
        for fact in facts
        if fact.id not in wanted
        and (subject := subjects[fact.id]) in about
        and (subject is not None or not words.isdisjoint(_words_of(fact)))
    ]
    return [*older[-_MOST_OLDER:], *new]


def _words_of(fact: Fact) -> list[str]:
    return _WORD.findall(fact.line.text.casefold())


def agreeing(other: str) -> Callable[[RetainLine], RetainLine]:
    def agreeing(line: RetainLine) -> RetainLine:
        return line if other in line.agrees else replace(line, agrees=(*line.agrees, other))

    return agreeing


def are_settled(one: Fact, other: Fact) -> bool:
    """A person said that both are true, or that one has taken the other's place."""
    return (
        other.id in one.line.agrees
        or one.id in other.line.agrees
        or other.id in one.line.supersedes
        or one.id in other.line.supersedes
    )


def is_update(conflict: Conflict, zone: tzinfo) -> bool:
    """The newer line says that it changed, nobody less trusted says so, and it is the newer one.

    What is imported may have been said before what it contradicts; days decide, because a line
    may know no more than its day.
    """
    old, new = conflict.old, conflict.new
    if TRUST_ORDER[new.line.trust] < TRUST_ORDER[old.line.trust]:
        return False
    before, after = old.said_at(zone), new.said_at(zone)
    is_older = (
        before is not None
        and after is not None
        and after.astimezone(zone).date() < before.astimezone(zone).date()
    )
    return not is_older and says_it_changed(new.line.text)


def asked(
    found: list[Conflict],
) -> Generator[ModelRequest, ModelReply | ModelFailure, list[Conflict]]:
    """The pairs with a model's opinion on them; where it has none, the rule's stays."""
    doubts = [
        Doubt(entity=each.new.line.entity, old=each.old.line.text, new=each.new.line.text)
        for each in found
    ]
    opinions = yield from judge(doubts)
    return [
        each if opinion is None else replace(each, doubtful=not opinion)
        for each, opinion in zip(found, opinions, strict=True)
    ]
