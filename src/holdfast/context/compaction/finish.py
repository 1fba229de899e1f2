"""The last step of every strategy: put the summary together, count, say what was checked. Pure.

Promise: ``tokens_after`` is what the new view will cost by the same prices
(``tests/context/test_compaction_contract.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.context.blocks import Group
from holdfast.context.compaction.assemble import Names, assemble, line_limit, message_tokens
from holdfast.context.compaction.facts import Line
from holdfast.context.compaction.focus import focus_lines, in_focus
from holdfast.context.compaction.shapes import (
    Audit,
    Compacted,
    CompactionPlan,
    History,
    Price,
    Strategy,
    Tried,
    joined,
)

__all__ = ["finish"]


def finish(
    plan: CompactionPlan,
    *,
    strategy: Strategy,
    lines: Sequence[Line],
    names: Names,
    history: History,
    price: Price,
    kept: Sequence[Group] = (),
    tried: Tried = Tried(),  # noqa: B008 - frozen
    identifiers_added: int = 0,
    request_added: bool = False,
) -> Compacted:
    """The compaction with its figures; ``kept`` is what is kept of what the plan drops."""
    chosen = {group.first.entry for group in kept}
    dropped = [group for group in plan.dropped if group.first.entry not in chosen]
    if plan.focus:
        about = focus_lines(dropped, plan.focus, limit=line_limit(plan))
        told = {line.text for line in about}
        rest = [line for line in lines if line.text not in told]
        lines = [*about, *in_focus(rest, plan.focus)]
    parts = assemble(plan, lines, dropped=dropped, history=history, names=names, price=price)
    tokens = message_tokens(parts, price)
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
            calls=tried.calls,
            problems=tried.problems,
            identifiers=len(names.demanded),
            identifiers_kept=sum(each in text for each in names.demanded),
            identifiers_added=identifiers_added,
            request_added=request_added,
            summary_tokens=tokens,
            shrinks=after < plan.tokens_before,
            reaches_target=after <= plan.target,
        ),
        fallbacks=tried.fallbacks,
    )
