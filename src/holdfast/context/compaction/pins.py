"""What stays in the view word for word, whatever else leaves it.

Always: the leading system messages, the first message of the user (the task), and the newest
one. Within caps: the message that opened the active task, and rules and corrections of the
user, the newest first. A pin of an earlier compaction stays one for as long as one of these
reasons holds.

Promise: a pinned group is pinned whole, and the caps bound what is pinned beside what must be
(``tests/context/test_compaction_plan.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from holdfast.context.blocks import Group, is_system
from holdfast.context.compaction.shapes import Judge
from holdfast.context.compaction.tasks import user_text

__all__ = ["MOST_RULES", "required_pins", "rules", "speaks", "task_pin"]

MOST_RULES: Final = 12
_RULES_SHARE: Final = 0.15
_TASK_SHARE: Final = 0.10
_LONGEST_RULE: Final = 1_500  # a rule is a sentence; a long paste that contains one is not


def speaks(group: Group) -> bool:
    """Whether the user speaks here: a summary has the user's role, but not their voice."""
    return group.first.item.kind in ("message", "pin") and group.is_user


def required_pins(groups: Sequence[Group], spoken: Sequence[int]) -> set[int]:
    """Positions of what can never leave; ``spoken`` are those where the user speaks."""
    required: set[int] = set()
    for index, group in enumerate(groups):
        if not is_system(group.first.message):
            break
        required.add(index)
    return required | {*spoken[:1], *spoken[-1:]}


def task_pin(
    groups: Sequence[Group], spoken: Sequence[int], entry: str | None, *, target: int, room: int
) -> set[int]:
    """The position of the message that opened the active task, if it is small enough."""
    most = min(int(target * _TASK_SHARE), room)
    return {
        index
        for index in spoken
        if groups[index].first.entry == entry and groups[index].tokens <= most
    }


def rules(
    groups: Sequence[Group],
    spoken: Sequence[int],
    judge: Judge,
    *,
    taken: Collection[int],
    target: int,
    room: int,
) -> set[int]:
    """Positions of rules and corrections that fit, the newest first.

    A group of which a part is shown shortened is left out: a pin is shown whole, and nobody
    here knows what the whole of it would cost.
    """
    left = min(int(target * _RULES_SHARE), room)
    chosen: set[int] = set()
    told = [i for i, group in enumerate(groups) if is_system(group.first.message)]
    for index in sorted({*spoken, *told} - set(taken), reverse=True):
        if len(chosen) == MOST_RULES or left <= 0:
            break
        tokens = groups[index].tokens
        if tokens <= left and _sets_a_rule(groups[index], judge):
            chosen.add(index)
            left -= tokens
    return chosen


def _sets_a_rule(group: Group, judge: Judge) -> bool:
    if any(block.item.shortened for block in group.blocks):
        return False
    if is_system(group.first.message):
        return group.first.item.kind in ("message", "pin")
    text = user_text(group)
    return len(text) <= _LONGEST_RULE and _is_rule(text, judge)


@lru_cache(maxsize=4_096)  # the same messages are judged again at every turn
def _is_rule(text: str, judge: Judge) -> bool:
    return judge.is_constraint(text) or judge.is_correction(text)
