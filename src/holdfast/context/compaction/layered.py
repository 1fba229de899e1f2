"""Recent messages whole, the active task as a summary, finished tasks as key points, the rest as
figures.

Without a model the summary of the active task is extracted: the lines of ``facts``, and those
of the previous summary that still say something. With one, the model writes it, is audited, and
everything else stays as it is.

Promise: the contract of every strategy; what is carried over from one summary to the next never
makes it grow (``tests/context/test_compaction_contract.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from holdfast.context.compaction.assemble import (
    line_limit,
    names_of,
)
from holdfast.context.compaction.facts import Line, finished_task, history_of, lines_of_task
from holdfast.context.compaction.finish import finish
from holdfast.context.compaction.sentences import excerpt
from holdfast.context.compaction.shapes import (
    Compacted,
    CompactionPlan,
    History,
    Judge,
    Kind,
    Price,
    SummaryPart,
    Task,
    Tried,
)
from holdfast.context.compaction.wording import body_of
from holdfast.context.compaction.writing import Unwritten, write
from holdfast.ports import ModelFailure, ModelReply, ModelRequest

__all__ = ["layered", "layered_by_model"]

_SOURCES_CARRIED: Final = 6
_FILES_LENGTH: Final = 400
_OF_THE_ACTIVE: Final[Mapping[Kind, float]] = {
    "goal": 0.98,
    "state": 0.5,
    "finding": 0.55,
    "decision": 0.62,
    "constraint": 0.85,
    "said": 0.42,
    "tried": 0.4,
    "error": 0.5,
    "files": 0.6,
    "question": 0.4,
    "text": 0.5,
}
"""What of the previous summary is carried on while its task goes on, and how much it weighs."""


def layered(
    plan: CompactionPlan,
    *,
    price: Price,
    judge: Judge,
    times: Mapping[str, datetime] | None = None,
    tried: Tried = Tried(),  # noqa: B008 - frozen
) -> Compacted:
    """The layers, extracted without a model."""
    limit = line_limit(plan)
    active = _active(plan)
    lines = list(_layers(plan, limit))
    if active is not None:
        staying = plan.staying_entries
        lines += lines_of_task(active, plan.dropped, limit=limit, judge=judge, staying=staying)
    return finish(
        plan,
        strategy="layered",
        lines=_without_repeats(lines),
        names=names_of(plan, plan.dropped, price),
        history=_history(plan, times),
        price=price,
        tried=tried,
    )


def layered_by_model(
    plan: CompactionPlan,
    *,
    price: Price,
    judge: Judge,
    times: Mapping[str, datetime] | None = None,
    window: int,
) -> Generator[ModelRequest, ModelReply | ModelFailure, Compacted]:
    """The layers, the active task written by a model; extracted if that fails."""
    names = names_of(plan, plan.dropped, price)
    active = _active(plan)
    entries = {group.first.entry for group in active.groups} if active is not None else set()
    groups = [group for group in plan.dropped if group.first.entry in entries] or plan.dropped
    written = yield from write(
        plan,
        groups=groups,
        required=names.demanded,
        cap=plan.summary_cap * 2 // 3,
        price=price,
        window=window,
    )
    if isinstance(written, Unwritten):
        tried = written.tried("layered by model")
        return layered(plan, price=price, judge=judge, times=times, tried=tried)
    lines = [line for line in _layers(plan, line_limit(plan)) if line.kind == "finished"]
    return finish(
        plan,
        strategy="layered",
        lines=[*written.lines, *lines],
        names=names,
        history=_history(plan, times),
        price=price,
        tried=Tried(problems=written.problems, calls=written.calls),
        identifiers_added=len(written.missing),
        request_added=written.request_added,
    )


def _active(plan: CompactionPlan) -> Task | None:
    return plan.tasks[-1] if plan.tasks else None


def _history(plan: CompactionPlan, times: Mapping[str, datetime] | None) -> History:
    earlier = plan.previous.history if plan.previous is not None else History()
    return history_of(plan.dropped, earlier, finished=len(_finished(plan)), times=times)


def _finished(plan: CompactionPlan) -> list[Task]:
    """Tasks that are over and leave the view with this compaction."""
    last = {group.blocks[-1].entry for group in plan.dropped}
    return [
        task for task in plan.tasks if not task.active and task.groups[-1].blocks[-1].entry in last
    ]


def _layers(plan: CompactionPlan, limit: int) -> Iterator[Line]:
    """Finished tasks, and what the previous summary still has to say."""
    dropped = frozenset(group.first.entry for group in plan.dropped)
    over = [task for task in plan.tasks if not task.active]
    again: str | None = None  # the title of a task of which a part was told before
    for age, task in enumerate(reversed(over)):
        line = finished_task(task, dropped, limit=limit, rank=age, order=1_000_000 - age)
        if line is not None:
            again = task.title if task.opening is None else again
            yield line
    yield from _carried(plan, limit, ranked_after=len(over), again=again)


def _carried(
    plan: CompactionPlan, limit: int, *, ranked_after: int, again: str | None
) -> Iterator[Line]:
    """Lines of the previous summary. They weigh less than what is new."""
    if plan.previous is None:
        return
    finished = [part for part in plan.previous.parts if part.kind == "finished"]
    for age, part in enumerate(reversed(finished)):
        told_again = again is not None and body_of(part.text).startswith(excerpt(again, 40)[:-1])
        if not told_again:
            yield _again(part, 0.7 - 0.04 * (age + ranked_after), -age, limit * 2)
    if plan.task != plan.previous.task:
        return
    for place, part in enumerate(plan.previous.parts):
        if part.kind in _OF_THE_ACTIVE:
            yield _again(part, _OF_THE_ACTIVE[part.kind] - 0.001 * place, place - 1_000, limit)


def _again(part: SummaryPart, score: float, order: int, limit: int) -> Line:
    rows = body_of(part.text).split("\n")[:3]
    return Line(
        kind=part.kind,
        text="\n".join(excerpt(row, limit) for row in rows),
        sources=part.sources[:_SOURCES_CARRIED],
        score=score,
        order=order,
    )


def _without_repeats(lines: Sequence[Line]) -> list[Line]:
    """Each text once, in its weightiest form; one goal and one state only."""
    chosen: dict[tuple[str, str], Line] = {}
    for line in sorted(lines, key=lambda each: -each.score):
        single = line.kind in ("goal", "state", "next", "files")
        key = (line.kind, "" if single else line.text)
        if line.kind == "files" and key in chosen:
            chosen[key] = _more_files(chosen[key], line)
        chosen.setdefault(key, line)
    return list(chosen.values())


def _more_files(newer: Line, older: Line) -> Line:
    """The newer list with as many of the older one's files as it takes to be full."""
    names = newer.text.split(", ")
    more = [name for name in older.text.split(", ") if name not in names and "(+" not in name]
    while more and len(", ".join([*names, *more])) > _FILES_LENGTH:
        more.pop()
    return replace(
        newer,
        text=", ".join([*names, *more]),
        sources=tuple(dict.fromkeys([*newer.sources, *(older.sources if more else ())])),
    )
