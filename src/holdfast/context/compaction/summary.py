"""One summary written by a model, with fixed sections, audited.

Identifiers the model left out twice are appended; anything worse falls back to the layers
without a model, and from there to whole messages.

Promise: the contract of every strategy, whatever the model answers
(``tests/context/test_compaction_summary.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from datetime import datetime

from holdfast.context.compaction.assemble import (
    names_of,
)
from holdfast.context.compaction.facts import history_of
from holdfast.context.compaction.finish import finish
from holdfast.context.compaction.shapes import (
    Compacted,
    CompactionPlan,
    History,
    Price,
    Tried,
)
from holdfast.context.compaction.writing import Unwritten, write
from holdfast.ports import ModelFailure, ModelReply, ModelRequest

__all__ = ["summary"]


def summary(
    plan: CompactionPlan,
    *,
    price: Price,
    times: Mapping[str, datetime] | None = None,
    window: int,
) -> Generator[ModelRequest, ModelReply | ModelFailure, Compacted | Unwritten]:
    """The summary of everything that is dropped, or why there is none."""
    names = names_of(plan, plan.dropped, price)
    written = yield from write(
        plan,
        groups=plan.dropped,
        required=names.demanded,
        cap=plan.summary_cap * 2 // 3,
        price=price,
        window=window,
    )
    if isinstance(written, Unwritten):
        return written
    earlier = plan.previous.history if plan.previous is not None else History()
    history = history_of(plan.dropped, earlier, finished=0, times=times)
    return finish(
        plan,
        strategy="summary",
        lines=written.lines,
        names=names,
        history=history,
        price=price,
        tried=Tried(problems=written.problems, calls=written.calls),
        identifiers_added=len(written.missing),
        request_added=written.request_added,
    )
