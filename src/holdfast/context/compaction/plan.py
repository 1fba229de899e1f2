"""Which groups leave the view, which stay, and how much may be written in their place.

    [system … pins] [summary] [kept] [tail]

The tail is the newest groups that fit, at least the last one; a cut falls between any two
groups, also inside a long run of tool calls. Where one large group ends the tail early, smaller
ones before it are kept. Everything else before the cut that is not pinned is dropped: the
strategy writes the summary for it.

Promise: no group is split; what the plan expects to be left is within the target unless the
parts that cannot leave exceed it alone, and then nothing else stays beside them; what replaces
costs less than what it replaces (``tests/context/test_compaction_plan.py``). Linear in the
number of messages, and no text is priced again but the note itself. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.context.accounting import Budget
from holdfast.context.blocks import Block, Group, group_blocks, is_system
from holdfast.context.compaction.breaker import Pass, no_progress
from holdfast.context.compaction.pins import required_pins, rules, speaks, task_pin
from holdfast.context.compaction.shapes import (
    CompactionPlan,
    Judge,
    NoCompaction,
    Previous,
    Price,
    Reason,
    Strategy,
    Task,
    TaskSpan,
)
from holdfast.context.compaction.tasks import find_tasks, user_text
from holdfast.context.compaction.wording import Language, language_of, lead, pins_text
from holdfast.text import one_line
from holdfast.types import Message

__all__ = ["plan_compaction", "summary_room"]

_FOCUS_CHARS: Final = 300
_KEPT_SHARE: Final = 0.5  # of the room for whole groups, when a strategy chooses some of them
_MUCH_UNUSED: Final = 0.15  # of the target
_MOST_SKIPPED: Final = 8  # groups too large to be kept, before the search for smaller ones ends
_LOOKED_AT: Final = 50  # messages of the user, to know the language
_ALIGN_SHARE: Final = 0.15  # of the tail may be given up to begin with a user's message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Situation:
    """The view in groups, with what is known before anything is decided."""

    groups: tuple[Group, ...]
    spoken: tuple[int, ...]  # positions where the user speaks
    floor: int  # the first position at which the tail may begin
    target: int
    before: int
    fixed: int
    ceiling: int  # what a compaction must stay below, or the next one is due at once
    least_summary: int  # tokens for it even if the target is full
    base: int  # tokens of the least summary: its first line and the config pins
    pins_cost: int
    language: Language


def plan_compaction(
    blocks: Sequence[Block],
    budget: Budget,
    *,
    price: Price,
    strategy: Strategy = "layered",
    reason: Reason = "threshold",
    fixed: int = 0,
    pins: Sequence[str] = (),
    tasks: Sequence[TaskSpan] = (),
    previous: Previous | None = None,
    passes: Sequence[Pass] = (),
    max_messages: int = 0,
    focus: str = "",
    judge: Judge | None = None,
) -> CompactionPlan | NoCompaction:
    """What a compaction of this view would do, or why there is none to do.

    ``fixed`` are the tokens of a request outside the view (system text, tool schemas), ``pins``
    the texts of the configuration, ``tasks`` recorded tasks, ``previous`` the compaction that
    made this view, ``passes`` the earlier compactions for the breaker. With ``max_messages``
    the tail holds at most half as many messages. ``focus`` is what the user wants kept in mind.
    """
    new_tokens = previous.new_tokens if previous is not None else 0
    if reason != "manual" and (futile := no_progress(passes, new_tokens=new_tokens)):
        return NoCompaction(reason=futile)
    situation = _situation(blocks, budget, price, fixed, pins, previous)
    found = _tasks_of(situation, tasks, previous)
    task = _opening_of(found, previous)
    pinned = _pinned(situation, task, judge or Judge())
    share = _KEPT_SHARE if strategy == "selective" else 1.0
    cut = _cut(situation, pinned, share, max_messages)
    kept = set() if strategy == "selective" else _kept(situation, pinned, cut, max_messages)
    dropped = tuple(
        group
        for index, group in enumerate(situation.groups[:cut])
        if index not in pinned and index not in kept and group.first.item.kind != "summary"
    )
    if not dropped:
        return NoCompaction(reason="nothing to drop: all that is left must stay")
    plan = CompactionPlan(
        strategy=strategy,
        reason=reason,
        pins=tuple(situation.groups[index] for index in sorted(pinned) if index < cut),
        kept=tuple(situation.groups[index] for index in sorted(kept)),
        dropped=dropped,
        tail=situation.groups[cut:],
        sequence=tuple(group.first.entry for group in situation.groups[:cut]),
        first_kept=situation.groups[cut].first.entry,
        released=tuple(g.first.entry for g in dropped if g.first.item.kind == "pin"),
        tasks=found,
        task=task,
        previous=previous,
        config_pins=tuple(pins),
        language=situation.language,
        target=situation.target,
        fixed=fixed,
        max_messages=max_messages,
        summary_cap=0,
        pins_cost=situation.pins_cost,
        tokens_before=situation.before,
        expected_after=0,
        why="",
        focus=one_line(focus, _FOCUS_CHARS),
    )
    return _with_summary(plan, situation)


def _situation(
    blocks: Sequence[Block],
    budget: Budget,
    price: Price,
    fixed: int,
    pins: Sequence[str],
    previous: Previous | None,
) -> _Situation:
    groups = _as_said(group_blocks(blocks), previous)
    before = fixed + sum(group.tokens for group in groups)
    spoken = tuple(index for index, group in enumerate(groups) if speaks(group))
    language = language_of(user_text(groups[index]) for index in spoken[-_LOOKED_AT:])
    gone = previous.history.messages if previous is not None else 0
    first_line = lead(gone + len(blocks), language)  # at least as long as the one to be written
    least = price(Message.of("user", first_line))
    whole = least
    if pins:
        whole = price(Message.of("user", f"{first_line}\n\n{pins_text(pins, language)}"))
    return _Situation(
        groups=groups,
        spoken=spoken,
        floor=_floor(groups, previous),
        # Wanted although everything fits (by hand, by time, by count): then half of it goes.
        target=budget.target if before > budget.target else before // 2,
        before=before,
        fixed=fixed,
        ceiling=budget.flush_at,
        least_summary=budget.compact_at // 10,
        base=whole,
        pins_cost=whole - least,
        language=language,
    )


def _as_said(groups: tuple[Group, ...], previous: Previous | None) -> tuple[Group, ...]:
    """The groups in the order of the conversation.

    A view shows all pins before all kept groups; who spoke last is only known from the order in
    which they were said.
    """
    if previous is None or not previous.kept:
        return groups
    floor = _floor(groups, previous)
    said = {entry: place for place, entry in enumerate(previous.front)}
    front = sorted(groups[:floor], key=lambda group: said.get(group.first.entry, len(said)))
    return (*front, *groups[floor:])


def _floor(groups: Sequence[Group], previous: Previous | None) -> int:
    """Behind what an earlier compaction put in front: the tail is the rest of the transcript."""
    kept = set(previous.kept) if previous is not None else set()
    floor = 0
    for index, group in enumerate(groups):
        in_front = group.first.item.kind in ("pin", "summary")
        if in_front or group.first.entry in kept:
            floor = index + 1
    return floor


def _tasks_of(
    situation: _Situation, spans: Sequence[TaskSpan], previous: Previous | None
) -> tuple[Task, ...]:
    said = [
        group
        for group in situation.groups
        if group.first.item.kind == "message" and not is_system(group.first.message)
    ]
    return find_tasks(said, spans, continues=previous.cut_title if previous is not None else None)


def _opening_of(tasks: Sequence[Task], previous: Previous | None) -> str | None:
    if not tasks:
        return previous.task if previous is not None else None
    active = tasks[-1]
    if active.opening is not None:
        return active.opening.first.entry
    return previous.task if previous is not None else None


def _pinned(situation: _Situation, task: str | None, judge: Judge) -> set[int]:
    groups, spoken, target = situation.groups, situation.spoken, situation.target
    pinned = required_pins(groups, spoken)
    fixed = situation.fixed + situation.base + situation.least_summary
    room = target - fixed - _least(situation, pinned)
    pinned |= task_pin(groups, spoken, task, target=target, room=room // 3)
    room = target - fixed - _least(situation, pinned)
    return pinned | rules(groups, spoken, judge, taken=pinned, target=target, room=room // 3)


def _least(situation: _Situation, pinned: set[int]) -> int:
    """Tokens of the pins and the last group, each counted once."""
    groups = situation.groups
    last = {len(groups) - 1} if groups else set()
    return sum(groups[index].tokens for index in pinned | last)


def _cut(situation: _Situation, pinned: set[int], share: float, max_messages: int) -> int:
    """The position of the first group of the tail."""
    groups = situation.groups
    if not groups:
        return 0
    room = situation.target - situation.fixed - _least(situation, pinned)
    room -= max(situation.base, _summary_room(situation, pinned) + situation.pins_cost)
    room = int(room * share)
    most = max_messages // 2 if max_messages else len(groups) * 1_000
    cut = len(groups) - 1
    count = len(groups[cut].blocks)
    spent = 0
    while cut > situation.floor:
        group = groups[cut - 1]
        cost = 0 if cut - 1 in pinned else group.tokens
        if spent + cost > room or count + len(group.blocks) > most:
            break
        cut, spent, count = cut - 1, spent + cost, count + len(group.blocks)
    return _aligned(situation, cut, pinned, spent)


def _kept(situation: _Situation, pinned: set[int], cut: int, max_messages: int) -> set[int]:
    """Recent groups behind one that was too large for the tail, if it left much room unused."""
    groups, target = situation.groups, situation.target
    stays = pinned | set(range(cut, len(groups)))
    room = target - situation.fixed - sum(groups[index].tokens for index in stays)
    room -= max(situation.base, _summary_room(situation, pinned) + situation.pins_cost)
    if room < target * _MUCH_UNUSED or max_messages:
        return set()
    kept: set[int] = set()
    too_large = 0
    for index in range(cut - 1, -1, -1):
        if index in pinned or groups[index].first.item.kind in ("summary", "recall"):
            continue
        if groups[index].tokens <= room:
            kept.add(index)
            room -= groups[index].tokens
        else:
            too_large += 1
            if too_large == _MOST_SKIPPED:
                break
    return kept


def _aligned(situation: _Situation, cut: int, pinned: set[int], spent: int) -> int:
    """A little later, if the tail then begins where the user speaks."""
    index = next((each for each in situation.spoken if each >= cut), None)
    if index is None:
        return cut
    given_up = sum(situation.groups[i].tokens for i in range(cut, index) if i not in pinned)
    return index if given_up <= spent * _ALIGN_SHARE else cut


def summary_room(target: int) -> int:
    """The most tokens a summary may have, beside the config pins."""
    return min(target // 5, 2_000 + target // 50)


def _summary_room(situation: _Situation, pinned: set[int]) -> int:
    """The same, but not more than half of what pins and system text leave of the target, and
    a few lines in any case."""
    stays = sum(situation.groups[index].tokens for index in pinned)
    free = situation.target - situation.fixed - stays
    return min(summary_room(situation.target), max(situation.least_summary, free // 2))


def _with_summary(plan: CompactionPlan, situation: _Situation) -> CompactionPlan | NoCompaction:
    replaced, base = plan.replaced, situation.base
    if base >= replaced:
        return NoCompaction(
            reason=f"nothing to gain: {replaced} tokens could leave, and the note about it "
            f"takes {base}"
        )
    # Pins and one large group may fill the target; a few lines are worth more than meeting it.
    room = summary_room(plan.target)
    left = max(
        plan.target - plan.staying,
        min(situation.least_summary, room, situation.ceiling - plan.staying),
    )
    wanted = min(room + plan.pins_cost, left, replaced // 2)
    total = max(base, wanted)
    after = plan.staying + total
    return replace(
        plan,
        summary_cap=total - plan.pins_cost,
        expected_after=after,
        why=f"{plan.reason}: {plan.tokens_before} tokens, {len(plan.dropped)} of "
        f"{len(situation.groups)} groups leave, {after} expected for a target of {plan.target}",
    )
