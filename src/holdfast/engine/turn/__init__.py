"""One turn of a conversation: measure, make it fit, ask, take the answer."""

from __future__ import annotations

from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.turn.asking import About, Ask
from holdfast.engine.turn.compacting import CompactionDone
from holdfast.engine.turn.fit import (
    Done,
    Explanation,
    Prepared,
    PruneDone,
    append_saved,
    ensure_fit,
    explain,
    save_view,
)

__all__ = [
    "About",
    "Ask",
    "CompactionDone",
    "Done",
    "Explanation",
    "FlushDone",
    "Prepared",
    "PruneDone",
    "append_saved",
    "ensure_fit",
    "explain",
    "save_view",
]
