"""The last step of every strategy: count what is left, and say what was checked. Pure.

Promise: ``tokens_after`` is what the new view will cost by the same prices
(``tests/context/test_compaction_contract.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.context.blocks import Group
from holdfast.context.compaction.shapes import (
    Audit,
    Compacted,
    CompactionPlan,
    History,
    Strategy,
    SummaryPart,
    joined,
)

__all__ = ["finish"]


def finish(
    plan: CompactionPlan,
    *,
    strategy: Strategy,
    parts: tuple[SummaryPart, ...],
    kept: Sequence[Group] = (),
    tokens: int,
    history: History,
    fallbacks: tuple[str, ...] = (),
    problems: tuple[str, ...] = (),
    calls: int = 0,
    required: Sequence[str] = (),
    identifiers_added: int = 0,
    request_added: bool = False,
) -> Compacted:
    """The compaction with its figures.

    ``tokens`` is what the summary message costs, ``kept`` what is kept of what the plan drops.
    """
    after = plan.staying + tokens + sum(group.tokens for group in kept)
    stays = {entry for group in kept for entry in group.entries}
    text = joined(parts)
    in_front = {group.first.entry for group in (*plan.pins, *plan.kept, *kept)}
    order = {entry: place for place, entry in enumerate(plan.sequence)}
    shown = sorted((*plan.kept, *kept), key=lambda group: order[group.first.entry])
    return Compacted(
        strategy=strategy,
        reason=plan.reason,
        summary=parts,
        pins=plan.pinned_entries,
        kept=tuple(entry for group in shown for entry in group.entries),
        front=tuple(entry for entry in plan.sequence if entry in in_front),
        first_kept=plan.first_kept,
        dropped=tuple(entry for entry in plan.dropped_entries if entry not in stays),
        tokens_before=plan.tokens_before,
        tokens_after=after,
        task=plan.task,
        cut_title=plan.cut_title,
        history=history,
        audit=Audit(
            calls=calls,
            problems=problems,
            identifiers=len(required),
            identifiers_kept=sum(each in text for each in required),
            identifiers_added=identifiers_added,
            request_added=request_added,
            summary_tokens=tokens,
            shrinks=after < plan.tokens_before,
            reaches_target=after <= plan.target,
        ),
        fallbacks=fallbacks,
    )
