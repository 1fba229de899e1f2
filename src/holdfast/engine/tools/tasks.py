"""The tools that keep a record of a piece of work.

Promise: how a task ended is said once, and what a tool said is marked as such in its record
(``tests/engine/test_tools.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.engine.remembering import said_in, trusted
from holdfast.engine.rooms import Rooms
from holdfast.engine.tools.shape import Tool, fenced, object_of, text_of
from holdfast.errors import UsageError
from holdfast.fencing import Quoted
from holdfast.memory.tasks import Lesson, Mishap, Task
from holdfast.types import Json

__all__ = ["TASK_TOOLS"]


def _task(task: Task) -> Json:
    return {"id": task.id, "status": task.status, "title": task.title, "path": task.path}


def _task_start(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    task = rooms.memory.tasks.open(
        given["title"],
        type=given.get("type"),
        request=given.get("request") or "",
        sources=() if session is None else (session,),
    )
    return _task(task)


def _task_update(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    return _task(rooms.memory.tasks.update(given["id"], note=given["note"]))


def _task_finish(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """Close it, once: how it ended is not for a model to change."""
    tasks = rooms.memory.tasks
    known = tasks.show(given["id"])
    if not known.is_open:
        raise UsageError(
            f"{known.id} is closed already ({known.status}).",
            hint="Note what is new with task_update, or begin another with task_start.",
        )
    said = said_in(rooms, session)

    def is_tools(text: str) -> bool:
        return trusted(text, said) == "tool"

    result = given.get("result")
    with rooms.memory.workspace.operation("close task"):
        tasks.close(
            known.id,
            status=given.get("status") or "done",
            result=result,
            errors=[
                Mishap(what=each, from_tool=is_tools(each)) for each in given.get("errors") or ()
            ],
            patterns=[
                Lesson(text=each, from_tool=is_tools(each)) for each in given.get("patterns") or ()
            ],
        )
        trust = trusted(result or "", said)
        return _task(
            tasks.revise(known.id, lambda task: replace(task, trust=trust), what="close task")
        )


def _task_similar(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    found = rooms.memory.tasks.similar(
        given["text"], type=given.get("type"), outcome=given.get("outcome")
    )
    quoted = [
        Quoted(
            text=f"{each.title}\n{each.result}",
            citation=each.path,
            label=rooms.memory.tasks.show(each.id).trust or "",
        )
        for each in found
    ]
    tasks = [
        {"id": each.id, "status": each.status, "type": each.type, "score": round(each.score, 3)}
        for each in found
    ]
    return {"tasks": tasks, "text": fenced(rooms, quoted)}


TASK_TOOLS: Final = (
    Tool(
        name="task_start",
        description="Begin a record of a piece of work.",
        parameters=object_of(
            ["title"],
            title=text_of("What is to be done, in one line."),
            type=text_of("Such as bug_fix, feature, research, booking."),
            request=text_of("What was asked for, in the user's words."),
        ),
        call=_task_start,
        access="writes",
    ),
    Tool(
        name="task_update",
        description="Note progress on a task.",
        parameters=object_of(
            ["id", "note"], id=text_of("The task's id."), note=text_of("What happened.")
        ),
        call=_task_update,
        access="writes",
    ),
    Tool(
        name="task_finish",
        description="Say how a task ended, and what was learnt.",
        parameters=object_of(
            ["id"],
            id=text_of("The task's id."),
            status={
                "type": "string",
                "enum": ["done", "failed", "cancelled"],
                "description": "How it ended.",
            },
            result=text_of("What came of it."),
            errors={
                "type": "array",
                "items": {"type": "string"},
                "description": "What went wrong, and what fixed it.",
            },
            patterns={
                "type": "array",
                "items": {"type": "string"},
                "description": "What worked or did not, for the next time.",
            },
        ),
        call=_task_finish,
        access="writes",
    ),
    Tool(
        name="task_similar",
        description="Find earlier tasks like this one, and how they went.",
        parameters=object_of(
            ["text"],
            text=text_of("What is to be done."),
            type=text_of("Only tasks of this type."),
            outcome={
                "type": "string",
                "enum": ["done", "failed"],
                "description": "Only tasks that ended so.",
            },
        ),
        call=_task_similar,
    ),
)
