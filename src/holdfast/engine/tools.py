"""The tools a model gets, defined once for every door: name, what it does, schema, and the call.

Promise: a tool can add to memory and keep task records, within the place of the conversation;
none can overwrite, choose a file by path, or say how far it is to be trusted
(``tests/engine/test_tools.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from holdfast.engine.remembering import get, moment, retain, said_in, trusted
from holdfast.engine.rooms import Rooms
from holdfast.errors import UsageError, did_you_mean
from holdfast.fencing import Quoted, fence
from holdfast.markdown import split_lines
from holdfast.memory.tasks import Lesson, Mishap, Task
from holdfast.retain import parse
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.search.request import Passage, SearchResult

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
    if format not in get_args(ToolFormat):
        raise UsageError(
            f"There is no tool format {format!r}.", hint=" or ".join(get_args(ToolFormat))
        )
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
    rooms: Rooms, name: str, arguments: Mapping[str, Json] | str, *, session: str | None
) -> Json:
    """The answer of a tool, as JSON; an error says what to do differently.

    ``arguments`` may be the JSON text in which some providers give them.
    """
    tool = TOOLS.get(name)
    if tool is None:
        near = did_you_mean(name, TOOLS)
        raise UsageError(f"There is no tool {name!r}.", hint=near or ", ".join(TOOLS))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise UsageError(f"The arguments of {name} are no JSON: {error}.") from None
    if (problem := _problem(arguments, tool.parameters, name)) is not None:
        raise UsageError(f"{name}: {problem}.", hint="See engine.tools() for what it takes.")
    return tool.call(rooms, cast("Mapping[str, Json]", arguments), session)


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
}


def _problem(value: Json, schema: Mapping[str, Json], name: str) -> str | None:
    """What of a value its schema does not allow; of the few things our schemas say."""
    kind = schema["type"]
    is_right = isinstance(value, _TYPES[kind]) and not isinstance(value, bool)
    if not is_right:
        return f"{name!r} must be of type {kind}, not {type(value).__name__}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name!r} must be one of {', '.join(schema['enum'])}"
    if kind in ("number", "integer") and not schema["minimum"] <= value <= schema["maximum"]:
        return f"{name!r} must be from {schema['minimum']} to {schema['maximum']}"
    if kind == "array":
        found = (_problem(each, schema["items"], f"{name}[]") for each in value)
        return next((problem for problem in found if problem is not None), None)
    return _problem_inside(value, schema) if kind == "object" else None


def _problem_inside(value: Mapping[str, Json], schema: Mapping[str, Json]) -> str | None:
    known = schema["properties"]
    for each, inner in value.items():
        if each not in known:
            return f"there is no {each!r}; there are {', '.join(known)}"
        if inner is not None and (problem := _problem(inner, known[each], each)) is not None:
            return problem
    missing = [each for each in schema["required"] if value.get(each) in (None, "", [])]
    return f"{missing[0]!r} is missing: {known[missing[0]]['description']}" if missing else None


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
    target = given.get("target") or "daily"
    return retain(rooms, given["memories"], session=session, target=target).to_json()


def _memory_search(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """What is found, quoted: a model reads it as data, and can look up each source."""
    del session  # of the whole memory, not of this conversation
    # Loaded by the first search: the other tools need no numpy.
    searching = import_module("holdfast.engine.searching.asking")
    found: SearchResult = searching.search(
        rooms,
        given["query"],
        limit=given.get("limit"),
        kind=given.get("kind"),
        entity=given.get("entity"),
        since=moment("since", given.get("since")),
        until=moment("until", given.get("until")),
        as_of=moment("as_of", given.get("as_of")),
        source=given.get("source"),
        max_chars=rooms.settings.search.max_injected_chars or None,
    )
    is_cited = _cites(rooms)
    quoted = [
        Quoted(
            text=_readable(each),
            citation=each.citation if is_cited else str(number),
            label=each.trust,
            observed=each.time and each.time.astimezone(rooms.zone).date(),
        )
        for number, each in enumerate(found.passages, 1)
    ]
    passages = [
        ({"citation": each.citation} if is_cited else {})
        | {"score": round(each.score, 3), "source": each.source}
        for each in found.passages
    ]
    said = [] if found.why_empty is None else [f"Nothing was found. {found.why_empty}"]
    return {
        "text": "\n".join([*said, *found.degraded, _fenced(rooms, quoted)]).rstrip(),
        "passages": passages,
        "degraded": list(found.degraded),
        "why_empty": found.why_empty,
    }


def _readable(passage: Passage) -> str:
    """A passage on its own, as the page around it would have shown it: who, and under what."""
    said = f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text
    return f"({passage.context})\n{said}" if passage.context else said


def _cites(rooms: Rooms) -> bool:
    """Whether sources are named: where others listen, a path may say too much."""
    chosen = rooms.settings.search.citations
    return chosen == "on" or (chosen == "auto" and rooms.scope.chat_type == "direct")


def _memory_get(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    del session
    passage = get(rooms, given["path"])
    quoted = Quoted(text=_labelled(passage.text), citation=passage.citation)
    return passage.to_json() | {"text": _fenced(rooms, [quoted])}


def _labelled(text: str) -> str:
    """Memory lines as a model should read them: without ids, with whose word they are."""
    return "".join(_shown(line) for line in split_lines(text))


def _shown(line: str) -> str:
    known = parse(line)
    if known is None or "<!--" not in line:
        return line
    plain = line[: line.rindex("<!--")].rstrip()
    return plain + ("" if known.trust == "user" else f" [{known.trust}, unconfirmed]") + "\n"


def _fenced(rooms: Rooms, passages: Sequence[Quoted]) -> str:
    language = rooms.settings.memory.language
    nonce = rooms.ids.new(rooms.clock.now())
    return fence(passages, nonce=nonce.rjust(8, "0"), language=language)


# ── tasks ───────────────────────────────────────────────────────────────────────────────────


def _task(task: Task) -> Json:
    return {"id": task.id, "status": task.status, "title": task.title, "path": task.path}


def _task_open(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
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


def _task_close(rooms: Rooms, given: Mapping[str, Json], session: str | None) -> Json:
    """Close it, once: how it ended is not for a model to change."""
    tasks = rooms.memory.tasks
    known = tasks.show(given["id"])
    if not known.is_open:
        raise UsageError(
            f"{known.id} is closed already ({known.status}).",
            hint="Note what is new with task_update, or begin another with task_open.",
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
    return {"tasks": tasks, "text": _fenced(rooms, quoted)}


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
        name="memory_search",
        description=(
            "Search memory and earlier conversations, by words and by meaning, in English and "
            "Chinese. Ask before answering anything about earlier work, decisions, dates, people "
            "or preferences. Quotes come with a citation that memory_get reads."
        ),
        parameters=_object(
            ["query"],
            query=_text("What to look for: a question or a few words, as a person would ask."),
            limit={
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "description": "The most passages to return.",
            },
            kind={"type": "string", "enum": ["W", "B", "O", "S"], "description": _KINDS},
            entity=_text("Only memories about this person or thing."),
            since=_text("Only from this day on, as YYYY-MM-DD."),
            until=_text("Only until this day, as YYYY-MM-DD."),
            as_of=_text("Only what was known and held on this day, as YYYY-MM-DD."),
            source={
                "type": "string",
                "enum": ["memory", "daily", "topic", "bank", "task", "session"],
                "description": "Only this kind of source.",
            },
        ),
        call=_memory_search,
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
