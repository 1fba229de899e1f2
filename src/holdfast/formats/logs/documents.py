"""Conversations that stand in one JSON value: message lists, requests, answers.

Promise: every message that can be read goes back to its provider as it was, and each that
cannot is told with its line and its place in the list (``tests/foundation/test_logs.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.errors import InvalidMessage
from holdfast.formats.anthropic import from_anthropic
from holdfast.formats.logs.kinds import format_of
from holdfast.formats.logs.recorded import (
    Problems,
    Recorded,
    Spoken,
    objects_of,
    read_wires,
    time_of,
)
from holdfast.formats.wire import Wire, copy_in
from holdfast.types import Json, Message

__all__ = ["read_conversation", "read_lines", "read_list"]

_ID_FIELDS: Final = ("id", "custom_id", "session_id", "conversation_id")


def read_conversation(value: Wire, line: int) -> Recorded:
    """The conversation of a request, of its answer, or of both together."""
    request = _request(value)
    messages = request.get("messages")
    answers = _answers(value)
    said = [*(messages if isinstance(messages, list) else ()), *answers]
    # The id of an answer is that of one call, and names no conversation.
    named = {} if "choices" in value and "messages" not in value else value
    return _read(
        said,
        line,
        id=next((name for field in _ID_FIELDS if (name := _name(named.get(field)))), ""),
        system=request.get("system"),
        tools=request.get("tools"),
    )


def read_list(messages: Sequence[Json], line: int) -> Recorded:
    """The conversation of a bare list of messages."""
    return _read(messages, line)


def read_lines(messages: Sequence[tuple[int, Wire]]) -> Recorded:
    """The conversation of messages that stand in lines of their own."""
    problems = Problems()
    format = format_of(wire for _, wire in messages)
    spoken = [
        Spoken(where=f"line {line}: the message", wire=wire, at=time_of(wire))
        for line, wire in messages
    ]
    read, at = read_wires(spoken, format, problems)
    return Recorded(id="", messages=read, format=format, at=at, problems=problems.drain())


def _request(value: Wire) -> Wire:
    for field in ("request", "body"):
        if isinstance(inner := value.get(field), dict) and "messages" not in value:
            return inner
    return value


def _answers(value: Wire) -> list[Json]:
    """The message of the answer, as the next request would repeat it."""
    response = value if "choices" in value else value.get("response")
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        response = response["body"]
    match response:
        case {"choices": [{"message": dict(message)}, *_others]}:
            return [message]
        case {"role": "assistant"}:
            return [response]
        case _:
            return []


def _name(value: Json) -> str:
    """An id as text: some logs number their conversations."""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _read(
    said: Sequence[Json], line: int, *, id: str = "", system: Json = None, tools: Json = None
) -> Recorded:
    problems = Problems()
    format = format_of(said, system=system, tools=tools)
    spoken = [
        Spoken(
            where=f"line {line}: messages[{index}]",
            wire=wire,
            at=time_of(wire) if isinstance(wire, dict) else None,
        )
        for index, wire in enumerate(said)
    ]
    messages, at = read_wires(spoken, format, problems)
    first = _system(system, line, problems) if system is not None else []
    return Recorded(
        id=id,
        messages=(*first, *messages),
        format=format,
        tools=_tools(tools, line, problems),
        at=(*([None] * len(first)), *at) if at else (),
        problems=problems.drain(),
    )


def _system(system: Json, line: int, problems: Problems) -> list[Message]:
    try:
        return from_anthropic([], system)
    except InvalidMessage as error:
        problems.add(f"line {line}: {error.message}")
        return []


def _tools(tools: Json, line: int, problems: Problems) -> tuple[Wire, ...]:
    if tools is None:
        return ()
    found = objects_of(tools)
    if not isinstance(tools, list) or len(found) < len(tools):
        problems.add(f"line {line}: tools holds something that is no tool")
    try:
        return tuple(copy_in(tool, "tool") for tool in found)
    except InvalidMessage as error:
        problems.add(f"line {line}: {error.message}")
        return ()
