"""The tools a model gets, defined once for every door: name, what it does, schema, and the call.

Promise: a tool can add to memory and keep task records, within the place of the conversation;
none can overwrite, choose a file by path, or say how far it is to be trusted
(``tests/engine/test_tools.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final, Literal

from holdfast.engine.remembering import get, retain
from holdfast.engine.rooms import Rooms
from holdfast.errors import UsageError, did_you_mean
from holdfast.memory.tasks import Task
from holdfast.types import Json

__all__ = ["TOOLS", "Tool", "ToolFormat", "call_tool", "definitions"]

ToolFormat = Literal["openai", "anthropic"]

Call = Callable[[Rooms, Mapping[str, Json], str | None], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. ``call`` gets the rooms, the arguments and the session that asks."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    call: Call


def definitions(format: ToolFormat = "openai") -> list[dict[str, Json]]:
    """The tools as a provider wants them described."""
    if format == "anthropic":
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": dict(tool.parameters),
            }
            for tool in TOOLS.values()
        ]
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in TOOLS.values()
    ]


def call_tool(
    rooms: Rooms, name: str, arguments: Mapping[str, Json], *, session: str | None
) -> Json:
    """The answer of a tool, as JSON; an error says what to do differently."""
    tool = TOOLS.get(name)
    if tool is None:
        raise UsageError(f"There is no tool {name!r}.", hint=did_you_mean(name, TOOLS))
    known = tool.parameters["properties"]
    for given in arguments:
        if given not in known:
            near = did_you_mean(given, known)
            raise UsageError(f"{name} has no argument {given!r}.", hint=near or ", ".join(known))
    for needed in tool.parameters.get("required", ()):
        if arguments.get(needed) in (None, "", []):
            raise UsageError(f"{name} needs {needed!r}.", hint=known[needed]["description"])
    return tool.call(rooms, arguments, session)


def _object(required: list[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Json]:
    return {"type": "string", "description": description}


_TARGET: Final = _text(
    "Where it goes: 'daily' (today's notes, the default), 'memory' (long-term memory; only what "
    "the user said) or 'topic:<name>'."
)
_KINDS: Final = (
    "W: a fact about the world or the user; B: what was done and how it went; O: an opinion or "
    "preference; S: a summary of where things stand."
)


def _memory_write(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    target = given.get("target") or "daily"
    return retain(rooms, [{"text": given["text"]}], session=session, target=target).to_json()


def _memory_retain(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    memories = given["memories"]
    if not isinstance(memories, list) or not all(isinstance(each, Mapping) for each in memories):
        raise UsageError("memory_retain: 'memories' must be a list of objects.")
    target = given.get("target") or "daily"
    return retain(rooms, memories, session=session, target=target).to_json()


def _memory_get(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    return get(rooms, given["path"]).to_json()


def _task(task: Task) -> Json:
    return {"id": task.id, "status": task.status, "title": task.title, "path": task.path}


def _task_open(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    sources = () if session is None else (session,)
    return _task(
        rooms.memory.tasks.open(
            given["title"],
            type=given.get("type"),
            request=given.get("request") or "",
            sources=sources,
        )
    )


def _task_update(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    return _task(rooms.memory.tasks.update(given["id"], note=given["note"]))


def _task_close(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    return _task(
        rooms.memory.tasks.close(
            given["id"],
            status=given.get("status") or "done",
            result=given.get("result"),
            errors=tuple(given.get("errors") or ()),
            patterns=tuple(given.get("patterns") or ()),
        )
    )


def _task_similar(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    found = rooms.memory.tasks.similar(
        given["text"], type=given.get("type"), outcome=given.get("outcome")
    )
    return {"tasks": [asdict(each) for each in found]}


def _tools(*tools: Tool) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}


TOOLS: Final = _tools(
    Tool(
        name="memory_write",
        description=(
            "Add a note to memory. It is appended to today's notes; nothing is overwritten, and "
            "what is already there is not written twice."
        ),
        parameters=_object(
            ["text"],
            text=_text("What to remember: self-contained sentences, one fact each."),
            target=_TARGET,
        ),
        call=_memory_write,
    ),
    Tool(
        name="memory_retain",
        description="Add typed memories: facts, experiences, opinions, summaries.",
        parameters=_object(
            ["memories"],
            memories={
                "type": "array",
                "description": "The memories, one statement each.",
                "items": _object(
                    ["text"],
                    text=_text("One self-contained statement."),
                    kind={"type": "string", "enum": ["W", "B", "O", "S"], "description": _KINDS},
                    entity=_text("Whom or what it is about, by name."),
                    confidence={
                        "type": "number",
                        "minimum": 0,
                        "maximum": 1,
                        "description": "How sure an opinion is.",
                    },
                    since=_text("From which day it is true, as YYYY-MM-DD."),
                    until=_text("Until which day it is true, as YYYY-MM-DD."),
                ),
            },
            target=_TARGET,
        ),
        call=_memory_retain,
    ),
    Tool(
        name="memory_get",
        description="Read a memory file, some lines of it, or what a citation points to.",
        parameters=_object(
            ["path"],
            path=_text("'MEMORY.md', 'memory/2026-03-04.md#L3-L9' or 'session#entry'."),
        ),
        call=_memory_get,
    ),
    Tool(
        name="task_open",
        description="Begin a record of a piece of work.",
        parameters=_object(
            ["title"],
            title=_text("What is to be done, in one line."),
            type=_text("Such as bug_fix, feature, research, booking."),
            request=_text("What was asked for, in the user's words."),
        ),
        call=_task_open,
    ),
    Tool(
        name="task_update",
        description="Note progress on a task.",
        parameters=_object(
            ["id", "note"], id=_text("The task's id."), note=_text("What happened.")
        ),
        call=_task_update,
    ),
    Tool(
        name="task_close",
        description="Say how a task ended, and what was learnt.",
        parameters=_object(
            ["id"],
            id=_text("The task's id."),
            status={
                "type": "string",
                "enum": ["done", "failed", "cancelled"],
                "description": "How it ended.",
            },
            result=_text("What came of it."),
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
        call=_task_close,
    ),
    Tool(
        name="task_similar",
        description="Find earlier tasks like this one, and how they went.",
        parameters=_object(
            ["text"],
            text=_text("What is to be done."),
            type=_text("Only tasks of this type."),
            outcome={
                "type": "string",
                "enum": ["done", "failed"],
                "description": "Only tasks that ended so.",
            },
        ),
        call=_task_similar,
    ),
)
