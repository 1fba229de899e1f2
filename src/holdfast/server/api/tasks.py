"""Task records: list, open, update, close (``tests/server/test_tasks.py``)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from holdfast.server.places import Here
from holdfast.server.shapes.tasks import (
    TaskAsked,
    TaskClosed,
    TaskFigures,
    TaskList,
    TaskStatus,
    TaskTold,
    TaskUpdated,
    figures_of,
    task_of,
)

__all__ = ["router"]

router = APIRouter(tags=["tasks"])


@router.get("/tasks", summary="Task records, open ones first")
def list_tasks(
    here: Here,
    status: TaskStatus | None = None,
    type: Annotated[str | None, Query(max_length=100, description="Such as bug_fix.")] = None,
) -> TaskList:
    return TaskList(
        tasks=[task_of(each) for each in here.engine.tasks.list(status=status, type=type)]
    )


@router.get("/tasks/stats", summary="How tasks went, by type")
def task_stats(here: Here) -> TaskFigures:
    return figures_of(here.engine.tasks.stats())


@router.get("/tasks/{id}", summary="One task record")
def show_task(here: Here, id: str) -> TaskTold:
    return task_of(here.engine.tasks.show(id))


@router.post("/tasks", summary="Open a task record", status_code=201)
def open_task(here: Here, asked: TaskAsked) -> TaskTold:
    return task_of(here.engine.tasks.open(asked.title, type=asked.type, request=asked.request))


@router.patch("/tasks/{id}", summary="Note progress")
def update_task(here: Here, id: str, updated: TaskUpdated) -> TaskTold:
    return task_of(here.engine.tasks.update(id, note=updated.progress))


@router.post("/tasks/{id}/close", summary="Say how a task ended")
def close_task(here: Here, id: str, closed: TaskClosed) -> TaskTold:
    return task_of(here.engine.tasks.close(id, closed.status, result=closed.result))
