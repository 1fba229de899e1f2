"""Task records kept by rules from what is said.

    keeping   when a record opens, goes on and closes
    notes     what is noted in it                     pure

Promise: see ``keeping``.
"""

from __future__ import annotations

from holdfast.engine.tasking.keeping import Kept, keep_tasks, spans_of, task_id

__all__ = ["Kept", "keep_tasks", "spans_of", "task_id"]
