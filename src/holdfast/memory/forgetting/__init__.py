"""What may be forgotten, and the archive it moves to, from where it can be restored.

    policy      age, importance, size; what is protected; the plan with its diff      pure
    archiving   lines out of a text and back into it                                  pure
    archive     move, list, restore

Promise: nothing is deleted, and what is restored is what was moved, to the byte
(``tests/memory/test_archive.py``).
"""

from __future__ import annotations

from holdfast.memory.forgetting.archive import Archive, Archived, Item, Restored
from holdfast.memory.forgetting.policy import (
    ForgetPlan,
    Forgotten,
    Policy,
    Record,
    Remembered,
    keep_score,
    line_importance,
    plan_forgetting,
    protection,
    remembered_in,
    task_importance,
)

__all__ = [
    "Archive",
    "Archived",
    "ForgetPlan",
    "Forgotten",
    "Item",
    "Policy",
    "Record",
    "Remembered",
    "Restored",
    "keep_score",
    "line_importance",
    "plan_forgetting",
    "protection",
    "remembered_in",
    "task_importance",
]
