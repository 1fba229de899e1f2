"""The memory flush: what must be saved before it leaves the view, by whom, and what is kept."""

from __future__ import annotations

from holdfast.context.flush.records import (
    COVERING,
    FlushPlan,
    FlushRecord,
    Lease,
    NoFlush,
    covered_by,
    entry_hash,
    flush_records,
    lease_of,
    model_may_try,
    plan_flush,
)

__all__ = [
    "COVERING",
    "FlushPlan",
    "FlushRecord",
    "Lease",
    "NoFlush",
    "covered_by",
    "entry_hash",
    "flush_records",
    "lease_of",
    "model_may_try",
    "plan_flush",
]
