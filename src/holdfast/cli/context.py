"""``holdfast context explain``: the marks, what is used, and what would be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.gauge import gauge
from holdfast.cli.render import json_line, pairs, say
from holdfast.context.compaction import CompactionPlan
from holdfast.context.flush import FlushPlan
from holdfast.engine.turn import Explanation
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["explain"]


def explain(door: Door, name: str, *, window: int | None, model: str | None, as_json: bool) -> None:
    with door.open() as engine:
        session = engine.existing_session(name)
        found = session.explain_context(window=window, model=model)
    if as_json:
        json_line(to_json(name, found))
    else:
        _show(name, found)


def to_json(name: str, found: Explanation) -> dict[str, Json]:
    """The explanation as one object."""
    return {
        "session": name,
        "marks": found.budget.to_json(),
        "projected": found.projection.tokens,
        "source": found.projection.source,
        "pressure": found.pressure,
        "messages": found.messages,
        "breakdown": found.breakdown.to_json(),
        "plan": {"prune": _prune(found), "flush": _flush(found), "compaction": _compaction(found)},
    }


def _prune(found: Explanation) -> dict[str, Json]:
    plan = found.prune
    return {
        "due": bool(plan.shown),
        "reason": plan.reason,
        "tokens_before": plan.tokens_before,
        "tokens_after": plan.tokens_after,
        "saved_cost": round(plan.saved_cost, 6),
        "parts": [
            {
                "entry": each.entry,
                "part": each.part,
                "how": each.how,
                "tokens_before": each.tokens_before,
                "tokens_after": each.tokens_after,
            }
            for each in plan.shown
        ],
    }


def _flush(found: Explanation) -> dict[str, Json]:
    plan = found.flush
    if isinstance(plan, FlushPlan):
        return {
            "due": True,
            "reason": plan.reason,
            "entries": list(plan.covers),
            "attempt": plan.attempt,
        }
    return {"due": False, "reason": plan.reason}


def _compaction(found: Explanation) -> dict[str, Json]:
    plan = found.compaction
    if isinstance(plan, CompactionPlan):
        return {
            "due": True,
            "reason": plan.why,
            "strategy": plan.strategy,
            "drops": list(plan.dropped_entries),
            "pins": list(plan.pinned_entries),
            "first_kept": plan.first_kept,
            "tokens_before": plan.tokens_before,
            "expected_after": plan.expected_after,
        }
    return {"due": False, "reason": plan.reason}


# ── for people ──────────────────────────────────────────────────────────────────────────────


def _show(name: str, found: Explanation) -> None:
    budget, used = found.budget, found.projection.tokens
    share = used / budget.window
    how = "as the provider counted" if found.projection.source == "reported" else "estimated"
    say(f"{name}: {used:,} of {budget.window:,} tokens ({share:.0%}), {how}")
    say(gauge(budget, used))
    say()
    pairs(
        (mark.replace("_", " "), f"{getattr(budget, mark):>9,}  {meaning}")
        for mark, meaning in _MEANINGS
    )
    say()
    pairs(
        (category.replace("_", " "), f"{tokens:>9,}  {tokens / max(used, 1):.0%}")
        for category, tokens in found.breakdown.largest()
    )
    say()
    pairs(_told(found))


_MEANINGS = (
    ("target", "pruning and compaction shrink to here"),
    ("prune_at", "stale tool results may be shortened"),
    ("flush_at", "what would be dropped is read for memory"),
    ("hard_at", "read by rules, without a model, if it was not read by then"),
    ("compact_at", "old messages leave the view"),
    ("window", "what the model can read"),
)


def _told(found: Explanation) -> list[tuple[str, str]]:
    prune, flush, compaction = _prune(found), _flush(found), _compaction(found)
    rows = []
    if prune["due"]:
        freed = prune["tokens_before"] - prune["tokens_after"]
        parts = _many(len(prune["parts"]), "part", "parts")
        rows.append(("prune", f"{parts}, {freed:,} tokens: {prune['reason']}"))
    else:
        rows.append(("prune", f"nothing: {prune['reason']}"))
    if flush["due"]:
        entries = _many(len(flush["entries"]), "entry", "entries")
        rows.append(("flush", f"{entries}: {flush['reason']}"))
    else:
        rows.append(("flush", f"nothing: {flush['reason']}"))
    if compaction["due"]:
        rows.append(
            (
                "compact",
                f"{_many(len(compaction['drops']), 'entry leaves', 'entries leave')} by "
                f"{compaction['strategy']}, about "
                f"{compaction['expected_after']:,} tokens stay: {compaction['reason']}",
            )
        )
    else:
        rows.append(("compact", f"nothing: {compaction['reason']}"))
    return rows


def _many(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
