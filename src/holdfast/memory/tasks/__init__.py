"""Task records: what was asked, how it went, what worked; one Markdown file each.

record, layout, wording   what a file says, and where          editing   changing only that
kinds                     which type of work a request is      likes     what says the same
figures                   statistics and patterns              store     the files
"""

from __future__ import annotations

from holdfast.memory.tasks.figures import CommonError, Pattern, Stats, TypeStats
from holdfast.memory.tasks.kinds import TYPES, infer_type
from holdfast.memory.tasks.likes import Similar
from holdfast.memory.tasks.record import Lesson, Mishap, Outcome, Status, Task
from holdfast.memory.tasks.store import Tasks

__all__ = [
    "TYPES",
    "CommonError",
    "Lesson",
    "Mishap",
    "Outcome",
    "Pattern",
    "Similar",
    "Stats",
    "Status",
    "Task",
    "Tasks",
    "TypeStats",
    "infer_type",
]
