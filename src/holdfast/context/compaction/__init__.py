"""Old messages leave the view, and a shorter account takes their place.

    plan_compaction   what leaves, what stays, how much may be written        plan, pins, tasks
    compact           the account, by one of three strategies                 summary, layered,
                                                                              selective
    no_progress       when to stop trying                                     breaker

Promise, the same for every strategy: the new view is within the target where the parts that
cannot leave allow it and always smaller than before; no group is split; pins stay as they are;
identifiers survive; every dropped entry is named by the part that stands for it
(``tests/context/test_compaction_contract.py``). Pure: a strategy that needs a model yields
requests and is sent replies.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from datetime import datetime

from holdfast.context.compaction.breaker import Pass, no_progress
from holdfast.context.compaction.identifiers import Identifier, required_identifiers
from holdfast.context.compaction.layered import layered, layered_by_model
from holdfast.context.compaction.plan import plan_compaction
from holdfast.context.compaction.selective import selective
from holdfast.context.compaction.shapes import (
    Audit,
    Compacted,
    CompactionPlan,
    History,
    Judge,
    NoCompaction,
    Previous,
    Price,
    SummaryPart,
    Task,
    TaskSpan,
    Tried,
)
from holdfast.context.compaction.summary import summary
from holdfast.context.compaction.writing import Unwritten
from holdfast.ports import ModelFailure, ModelReply, ModelRequest

__all__ = [
    "Audit",
    "Compacted",
    "CompactionPlan",
    "History",
    "Identifier",
    "Judge",
    "ModelFailure",
    "NoCompaction",
    "Pass",
    "Previous",
    "Price",
    "SummaryPart",
    "Task",
    "TaskSpan",
    "compact",
    "no_progress",
    "plan_compaction",
    "required_identifiers",
]


def compact(
    plan: CompactionPlan,
    *,
    price: Price,
    use_model: bool = False,
    summariser_window: int = 0,
    times: Mapping[str, datetime] | None = None,
    judge: Judge | None = None,
) -> Generator[ModelRequest, ModelReply | ModelFailure, Compacted]:
    """The compaction that was planned. Yields what to ask a model, if it may and needs to.

    Whatever a model does wrong, the result comes from the next simpler strategy: a summary falls
    back to the layers without a model, and these to whole messages.
    """
    judge = judge or Judge()
    if plan.strategy == "selective":
        return selective(plan, price=price, judge=judge, times=times)
    by_model = use_model and summariser_window > 0
    if plan.strategy == "layered" and by_model:
        return _checked(
            plan,
            (
                yield from layered_by_model(
                    plan, price=price, judge=judge, times=times, window=summariser_window
                )
            ),
            price=price,
            judge=judge,
            times=times,
        )
    if plan.strategy == "layered":
        done = layered(plan, price=price, judge=judge, times=times)
        return _checked(plan, done, price=price, judge=judge, times=times)
    written: Compacted | Unwritten = Unwritten(reason="no model")
    if by_model:
        written = yield from summary(plan, price=price, times=times, window=summariser_window)
    if isinstance(written, Unwritten):
        tried = written.tried("summary")
        written = layered(plan, price=price, judge=judge, times=times, tried=tried)
    return _checked(plan, written, price=price, judge=judge, times=times)


def _checked(
    plan: CompactionPlan,
    done: Compacted,
    *,
    price: Price,
    judge: Judge,
    times: Mapping[str, datetime] | None,
) -> Compacted:
    """What was done, if it keeps the contract; else the strategy that cannot break it."""
    named = {source for part in done.summary for source in part.sources}
    kept_word = done.audit.shrinks and named.issuperset(done.dropped)
    if kept_word and done.audit.summary_tokens <= plan.summary_cap + plan.pins_cost:
        return done
    tried = Tried(
        fallbacks=(*done.fallbacks, f"{done.strategy}: does not keep the contract"),
        problems=done.audit.problems,
        calls=done.audit.calls,
    )
    return selective(plan, price=price, judge=judge, times=times, tried=tried)
