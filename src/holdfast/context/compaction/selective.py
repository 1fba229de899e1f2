"""No summary but the messages that matter, whole: nothing is rephrased, and it cannot fail.

Groups are kept by importance, recent ones preferred, for as long as there is room; the note in
place of the others says how many they were, which identifiers stood in them and where the
originals are.

Promise: the contract of every strategy (``tests/context/test_compaction_contract.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from holdfast.context.blocks import Group
from holdfast.context.compaction.assemble import (
    line_limit,
    names_of,
)
from holdfast.context.compaction.facts import history_of, lines_of_task
from holdfast.context.compaction.finish import finish
from holdfast.context.compaction.focus import share_of
from holdfast.context.compaction.shapes import (
    Compacted,
    CompactionPlan,
    History,
    Judge,
    Price,
    Tried,
)

__all__ = ["choose_groups", "selective"]

_RECENT_BONUS: Final = 0.3
_LEAST_SCORE: Final = 0.2


def selective(
    plan: CompactionPlan,
    *,
    price: Price,
    judge: Judge,
    times: Mapping[str, datetime] | None = None,
    tried: Tried = Tried(),  # noqa: B008 - frozen
) -> Compacted:
    """The view with the important groups and a short note for the rest."""
    room = plan.target - plan.staying - plan.summary_cap - plan.pins_cost
    most = plan.max_messages // 4 or None
    kept = choose_groups(plan.dropped, room, judge, most=most, focus=plan.focus)
    chosen = {group.first.entry for group in kept}
    dropped = [group for group in plan.dropped if group.first.entry not in chosen]
    earlier = plan.previous.history if plan.previous is not None else History()
    history = history_of(dropped, earlier, finished=0, times=times)
    lines = []
    if plan.tasks:
        limit, staying = line_limit(plan), plan.staying_entries
        told = lines_of_task(plan.tasks[-1], dropped, limit=limit, judge=judge, staying=staying)
        lines = [line for line in told if line.kind in ("goal", "constraint", "files")]
    return finish(
        plan,
        strategy="selective",
        lines=lines,
        names=names_of(plan, dropped, price, kept),
        history=history,
        price=price,
        kept=kept,
        tried=tried,
    )


def choose_groups(
    groups: Sequence[Group],
    room: int,
    judge: Judge,
    *,
    most: int | None = None,
    focus: str = "",
) -> tuple[Group, ...]:
    """The groups worth their tokens, in order: the best ones, for as long as there is room.

    With ``most`` they are no more messages than that; what is about the ``focus`` comes first.
    """
    if room <= 0:
        return ()
    texts: set[str] = set()
    scores: list[tuple[float, int]] = []
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        if group.first.item.kind == "recall" or group.tokens > room:
            continue
        text = "\n".join(block.message.text for block in group.blocks)
        score = max(judge.importance(block.message).score for block in group.blocks)
        score += share_of(focus, text)
        if text in texts:
            score -= 0.5
        texts.add(text)
        if score >= _LEAST_SCORE:
            recent = _RECENT_BONUS * index / max(1, len(groups))
            scores.append((score + recent, index))
    kept: list[int] = []
    left = most if most is not None else sum(len(group.blocks) for group in groups)
    for _, index in sorted(scores, reverse=True):
        group = groups[index]
        if group.tokens <= room and len(group.blocks) <= left:
            kept.append(index)
            room -= group.tokens
            left -= len(group.blocks)
    return tuple(groups[index] for index in sorted(kept))
