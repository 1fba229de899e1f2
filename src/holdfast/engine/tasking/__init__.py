"""Task records kept by rules from what is said.

    keeping   when a record opens, goes on and closes
    news      whether anything happened that a record must know
    notes     what is noted in it                     pure

Promise: see ``keeping``.
"""

from __future__ import annotations

from holdfast.engine.tasking.keeping import Kept, keep_tasks, spans_of, task_id
from holdfast.engine.tasking.news import News

__all__ = ["Kept", "News", "keep_tasks", "spans_of", "task_id"]
