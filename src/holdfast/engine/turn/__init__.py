"""One turn of a conversation: measure, make it fit, ask, take the answer."""

from __future__ import annotations

from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.turn.compacting import CompactionDone
from holdfast.engine.turn.fit import (
    Done,
    Explanation,
    Prepared,
    PruneDone,
    ensure_fit,
    explain,
    save_view,
)
from holdfast.engine.turn.measuring import About, Ask

__all__ = [
    "About",
    "Ask",
    "CompactionDone",
    "Done",
    "Explanation",
    "FlushDone",
    "Prepared",
    "PruneDone",
    "ensure_fit",
    "explain",
    "save_view",
]
