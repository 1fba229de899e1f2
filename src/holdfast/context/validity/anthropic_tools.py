"""Reading Anthropic's wire, and its rules about calls and results (A1–A5).

The table that names these rules, and all others, is in ``anthropic``. Promise: any JSON value
can be read (``tests/context/test_validity_rules.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from holdfast.context.validity.blocks import SERVER_CALLS, is_server_result
from holdfast.context.validity.rules import Found, Request, dict_messages
from holdfast.types import Json

__all__ = [
    "Block",
    "a1",
    "a2",
    "a3",
    "a4",
    "a5",
    "blocks_of",
    "inner_blocks",
    "is_paused",
    "neighbours",
    "of_type",
]

Block = Mapping[str, Json]


# ── reading the wire ────────────────────────────────────────────────────────────────────────


def blocks_of(message: Mapping[str, Json]) -> list[tuple[int, Block]]:
    """The blocks that are objects, with their places; a plain text counts as one."""
    content = message.get("content")
    if isinstance(content, str):
        return [(0, {"type": "text", "text": content})]
    if not isinstance(content, list | tuple):
        return []
    return [(at, block) for at, block in enumerate(content) if isinstance(block, Mapping)]


def of_type(message: Mapping[str, Json] | None, *kinds: str) -> list[tuple[int, Block]]:
    if message is None:
        return []
    return [(at, block) for at, block in blocks_of(message) if block.get("type") in kinds]


def neighbours(
    request: Request,
) -> Iterator[tuple[int, Mapping[str, Json], Mapping[str, Json] | None, Mapping[str, Json] | None]]:
    """Each message with its place, the one before and the one after it."""
    found = dict(dict_messages(request))
    for index, message in found.items():
        yield index, message, found.get(index - 1), found.get(index + 1)


def _ids(blocks: Sequence[tuple[int, Block]], field: str) -> list[str]:
    return [value for _, block in blocks if isinstance(value := block.get(field), str)]


def is_paused(message: Mapping[str, Json] | None) -> bool:
    """Whether the provider paused in its own tool call: then the turn goes on from here."""
    if message is None or message.get("role") != "assistant" or not (blocks := blocks_of(message)):
        return False
    last = blocks[-1][1]
    return last.get("type") in SERVER_CALLS


def inner_blocks(block: Block) -> list[Block]:
    """The blocks inside a tool result."""
    content = block.get("content")
    if block.get("type") != "tool_result" or not isinstance(content, list | tuple):
        return []
    return [inner for inner in content if isinstance(inner, Mapping)]


# ── calls and results ───────────────────────────────────────────────────────────────────────


def a1(request: Request) -> Iterator[Found]:
    for index, message, _, after in neighbours(request):
        if not (calls := of_type(message, "tool_use")):
            continue
        is_user = after is not None and after.get("role") == "user"
        answers = of_type(after, "tool_result") if is_user else []
        answered = set(_ids(answers, "tool_use_id"))
        for at, call in calls:
            call_id = call.get("id")
            if isinstance(call_id, str) and call_id not in answered:
                yield (
                    index,
                    at,
                    "`tool_use` ids were found without `tool_result` blocks immediately "
                    f"after: {call_id}",
                )


def a2(request: Request) -> Iterator[Found]:
    for index, message, before, _ in neighbours(request):
        if not (results := of_type(message, "tool_result")):
            continue
        is_assistant = before is not None and before.get("role") == "assistant"
        called = set(_ids(of_type(before, "tool_use") if is_assistant else [], "id"))
        seen: set[str] = set()
        for at, result in results:
            call_id = result.get("tool_use_id")
            if not isinstance(call_id, str):
                continue
            if call_id not in called:
                yield index, at, f"unexpected `tool_use_id` found in `tool_result`: {call_id}"
            elif call_id in seen:
                yield index, at, f"each tool_use must have a single result: {call_id}"
            seen.add(call_id)


def a3(request: Request) -> Iterator[Found]:
    for index, message in dict_messages(request):
        first_other = None
        for at, block in blocks_of(message):
            if block.get("type") != "tool_result":
                first_other = at if first_other is None else first_other
            elif first_other is not None:
                yield index, at, "`tool_result` blocks must come first in the content"


def a4(request: Request) -> Iterator[Found]:
    messages = dict(dict_messages(request))
    last = max(messages, default=None)
    for index, message in messages.items():
        open_calls: dict[str, int] = {}
        for at, block in blocks_of(message):
            if block.get("type") in SERVER_CALLS and isinstance(block.get("id"), str):
                open_calls[block["id"]] = at
            elif is_server_result(block.get("type")):
                if str(block.get("tool_use_id")) not in open_calls:
                    yield index, at, f"{block['type']} without its call in the same message"
                open_calls.pop(str(block.get("tool_use_id")), None)
        if index == last and is_paused(message):
            open_calls.pop(str(blocks_of(message)[-1][1].get("id")), None)
        for call_id, at in open_calls.items():
            yield index, at, f"server tool call without its result in the same message: {call_id}"


def a5(request: Request) -> Iterator[Found]:
    caps = request.caps
    seen: set[str] = set()
    for index, message in dict_messages(request):
        for at, block in of_type(message, "tool_use", "tool_result"):
            is_call = block.get("type") == "tool_use"
            value = block.get("id" if is_call else "tool_use_id")
            if not isinstance(value, str):
                continue
            if re.fullmatch(caps.id_pattern, value) is None or len(value) > caps.id_length:
                yield (
                    index,
                    at,
                    f"id {value[:80]!r}: String should match pattern '^{caps.id_pattern}$'"
                    f" and have at most {caps.id_length} characters",
                )
            if is_call and value in seen:
                yield index, at, "`tool_use` ids must be unique"
            if is_call:
                seen.add(value)
