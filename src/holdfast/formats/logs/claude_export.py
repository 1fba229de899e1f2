"""Conversations of a claude.ai export: a list of messages, each with its blocks.

Promise: what was said is read with its attachments, calls and results, as messages that
Anthropic would take; with branches it is the one that ends in the last message; the rest is
counted (``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.formats.logs.recorded import moment, objects_of
from holdfast.formats.logs.said import About, Left, Said, Talk, text_in
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["is_claude_export", "read_claude_export"]

_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_CALLS: Final = frozenset({"tool_use", "server_tool_use"})
_RESULTS: Final = frozenset({"tool_result", "web_search_tool_result"})


def is_claude_export(value: Json) -> bool:
    """Whether a value is a conversation of an export."""
    return isinstance(value, dict) and isinstance(value.get("chat_messages"), list)


def read_claude_export(value: Wire) -> Talk:
    """The conversation, or its branch that was written last."""
    messages = objects_of(value["chat_messages"])
    about = About(
        id=text_in(value, "uuid"),
        title=text_in(value, "name"),
        began=moment(value.get("created_at")),
    )
    talk = Talk(about=about, format="anthropic")
    branch = _branch(messages)
    if len(branch) < len(messages):
        beside = "messages of branches beside the one that was written last"
        talk.left.add(beside, len(messages) - len(branch))
    for message in branch:
        role = _ROLES.get(text_in(message, "sender").lower())
        if role is None:
            talk.left.add("messages of unknown senders")
            continue
        at = moment(message.get("created_at"))
        uuid = text_in(message, "uuid")
        for number, wire in enumerate(_wires(role, message, uuid, talk.left)):
            key = f"{uuid}.{number}" if uuid and number else uuid
            talk.said.append(Said(wire=wire, key=key, at=at))
    return talk


def _branch(messages: Sequence[Wire]) -> list[Wire]:
    by_uuid = {uuid: message for message in messages if (uuid := text_in(message, "uuid"))}
    if not any(text_in(message, "parent_message_uuid") in by_uuid for message in messages):
        return list(messages)
    path: dict[str, Wire] = {}
    current: Wire | None = messages[-1]
    while current is not None and text_in(current, "uuid") not in path:
        path[text_in(current, "uuid")] = current
        current = by_uuid.get(text_in(current, "parent_message_uuid"))
    return list(path.values())[::-1]


def _wires(role: str, message: Wire, uuid: str, left: Left) -> Iterator[Wire]:
    """One message, or more: results belong into messages of the user, between those of Claude."""
    blocks: list[Wire] = []
    last_call = ""
    for number, block in enumerate(_content(message)):
        kind = text_in(block, "type")
        if kind == "text" and isinstance(text := block.get("text"), str):
            if text:
                blocks.append({"type": "text", "text": text})
        elif kind in _CALLS:
            last_call = text_in(block, "id") or f"{uuid}-{number}"
            blocks.append(_call(block, last_call))
        elif kind in _RESULTS:
            if blocks:
                yield {"role": role, "content": blocks}
            blocks = []
            yield {"role": "user", "content": [_result(block, last_call)]}
        else:
            left.add("thoughts of the model" if kind == "thinking" else f"blocks: {kind}")
    blocks += _attached(message, left)
    if blocks:
        yield {"role": role, "content": blocks}


def _content(message: Wire) -> Sequence[Wire]:
    """The blocks; of older exports the text, which newer ones repeat."""
    blocks = objects_of(message.get("content"))
    text = text_in(message, "text")
    return blocks or ([{"type": "text", "text": text}] if text else [])


def _call(block: Wire, call: str) -> Wire:
    given = block.get("input")
    return {
        "type": "tool_use",
        "id": call,
        "name": text_in(block, "name") or "tool",
        "input": given if isinstance(given, dict) else {"input": given},
    }


def _result(block: Wire, last_call: str) -> Wire:
    content = block.get("content")
    if isinstance(content, str):
        texts = [content]
    else:
        told = [_told(each) for each in objects_of(content)]
        texts = [text for text in told if text]
    result: Wire = {
        "type": "tool_result",
        "tool_use_id": text_in(block, "tool_use_id") or last_call,
        "content": [{"type": "text", "text": text} for text in texts],
    }
    if block.get("is_error") is True:
        result["is_error"] = True
    return result


def _told(block: Wire) -> str:
    """What a block of a result says: its text, or where it leads."""
    return text_in(block, "text") or "\n".join(
        filter(None, (text_in(block, "title"), text_in(block, "url")))
    )


def _attached(message: Wire, left: Left) -> Iterator[Wire]:
    for file in objects_of(message.get("attachments")):
        name, text = text_in(file, "file_name"), text_in(file, "extracted_content")
        if text:
            yield {"type": "text", "text": f"[{name or 'attachment'}]\n{text}"}
        else:
            left.add("attachments without text")
    files = objects_of(message.get("files"))
    if files:
        left.add("files, which are not in an export", len(files))
