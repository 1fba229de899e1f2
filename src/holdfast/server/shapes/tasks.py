"""Task records, as the API tells them (``tests/server/test_tasks.py``)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from holdfast.server.shapes.asking import Asked
from holdfast.server.shapes.memory import Source, source_named, when

if TYPE_CHECKING:
    from holdfast.memory.tasks import Stats, Task

__all__ = [
    "TaskAsked",
    "TaskClosed",
    "TaskFigures",
    "TaskList",
    "TaskStatus",
    "TaskTold",
    "TaskUpdated",
    "figures_of",
    "task_of",
]

TaskStatus = Literal["open", "done", "failed", "cancelled"]


class Mishap(BaseModel):
    what: str
    fix: str | None
    from_tool: bool


class Lesson(BaseModel):
    text: str
    outcome: Literal["worked", "failed"]
    from_tool: bool


class TaskTold(BaseModel):
    id: str
    title: str
    type: str
    status: TaskStatus
    opened: str | None
    closed: str | None
    seconds: float | None = Field(description="How long it took, if that is known.")
    request: str
    progress: list[str]
    result: str
    errors: list[Mishap]
    patterns: list[Lesson]
    sources: list[Source]
    trust: str | None
    path: str


class TaskList(BaseModel):
    """Open ones first, then the newest first."""

    tasks: list[TaskTold]


class TaskAsked(Asked):
    title: str = Field(min_length=1, max_length=2_000)
    type: str | None = Field(default=None, max_length=100)
    request: str = Field(default="", max_length=100_000)


class TaskUpdated(Asked):
    progress: str | None = Field(default=None, max_length=20_000, description="A line of progress.")


class TaskClosed(Asked):
    status: Literal["done", "failed", "cancelled"] = "done"
    result: str | None = Field(default=None, max_length=100_000)


class CommonError(BaseModel):
    text: str
    count: int
    tasks: list[str]
    fixes: list[str]


class TypeFigures(BaseModel):
    type: str
    count: int
    open: int
    done: int
    failed: int
    cancelled: int
    success_rate: float | None
    median_seconds: float | None
    p90_seconds: float | None
    errors: list[CommonError]


class TaskFigures(BaseModel):
    types: list[TypeFigures]
    totals: TypeFigures


def task_of(task: Task) -> TaskTold:
    return TaskTold(
        id=task.id,
        title=task.title,
        type=task.type,
        status=task.status,
        opened=when(task.opened),
        closed=when(task.closed),
        seconds=task.seconds,
        request=task.request,
        progress=list(task.progress),
        result=task.result,
        errors=[Mishap(**asdict(each)) for each in task.errors],
        patterns=[Lesson(**asdict(each)) for each in task.patterns],
        sources=[source_named(each) for each in task.sources],
        trust=task.trust,
        path=task.path,
    )


def figures_of(found: Stats) -> TaskFigures:
    return TaskFigures.model_validate(asdict(found))
