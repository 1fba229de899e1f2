"""The tools a model gets, defined once for every door: name, what it does, schema, and the call.

Promise: a tool can add to memory, keep task records and bring back what was said, within the
place of the conversation and its memory mode; none can overwrite, choose a file by path, or say
how far it is to be trusted (``tests/engine/test_tools.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, cast, get_args

from holdfast.engine.rooms import Rooms
from holdfast.engine.tools.context import CONTEXT_TOOLS
from holdfast.engine.tools.memory import MEMORY_TOOLS
from holdfast.engine.tools.shape import Tool, check_mode, problem_in
from holdfast.engine.tools.tasks import TASK_TOOLS
from holdfast.errors import UsageError, did_you_mean
from holdfast.text import cut
from holdfast.types import Json

__all__ = ["TOOLS", "Tool", "ToolFormat", "answered", "call_tool", "definitions"]

ToolFormat = Literal["openai", "anthropic"]

TOOLS: Final[Mapping[str, Tool]] = {
    tool.name: tool for tool in (*MEMORY_TOOLS, *CONTEXT_TOOLS, *TASK_TOOLS)
}


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

    Raises:
        PolicyRefused: the memory mode of the conversation does not allow it.
    """
    return answered(rooms, TOOLS, name, arguments, session=session)


def answered(
    rooms: Rooms,
    tools: Mapping[str, Tool],
    name: str,
    arguments: Mapping[str, Json] | str,
    *,
    session: str | None,
) -> Json:
    """The same for a set of tools: what is not in it cannot be called."""
    tool = tools.get(name)
    if tool is None:
        near = did_you_mean(name, tools)
        raise UsageError(f"There is no tool {cut(name, 60)!r}.", hint=near or ", ".join(tools))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            raise UsageError(f"The arguments of {name} are no JSON: {error}.") from None
    if (problem := problem_in(arguments, tool.parameters, name)) is not None:
        raise UsageError(f"{name}: {problem}.", hint="Its schema says what it takes.")
    check_mode(rooms, session, name, tool.access)
    return tool.call(rooms, cast("Mapping[str, Json]", arguments), session)
