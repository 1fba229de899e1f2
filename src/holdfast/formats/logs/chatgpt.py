"""Conversations of a ChatGPT export: a tree of messages, of which one branch is shown.

Promise: what is read is what the person saw last: the branch that ends in the current node,
with calls of tools and their results; branches beside it, hidden messages and files that are not
in the export are counted (``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.formats.logs.recorded import moment, objects_of
from holdfast.formats.logs.said import About, Left, Said, Talk, text_in
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["is_chatgpt", "read_chatgpt"]

_ROLES: Final = frozenset({"user", "assistant", "tool"})
_UNSAID: Final = {
    "user_editable_context": "instructions of the account",
    "model_editable_context": "notes of ChatGPT's memory",
    "thoughts": "thoughts of the model",
    "reasoning_recap": "thoughts of the model",
    "system_error": "errors",
}


def is_chatgpt(value: Json) -> bool:
    """Whether a value is a conversation of an export."""
    return isinstance(value, dict) and isinstance(value.get("mapping"), dict)


def read_chatgpt(value: Wire) -> Talk:
    """The conversation as it was shown last."""
    mapping: Mapping[str, Json] = value["mapping"]
    about = About(
        id=text_in(value, "conversation_id") or text_in(value, "id"),
        title=text_in(value, "title"),
        began=moment(value.get("create_time")),
    )
    talk = Talk(about=about, format="openai")
    branch = _branch(mapping, value.get("current_node"))
    calls: dict[str, str] = {}
    for name in branch:
        message = mapping[name].get("message")
        if isinstance(message, dict):
            _add(talk, name, message, calls)
    shown = set(branch)
    beside = sum(_speaks(node) for name, node in mapping.items() if name not in shown)
    if beside:
        talk.left.add("messages of branches beside the one that was shown last", beside)
    return talk


def _branch(mapping: Mapping[str, Json], current: Json) -> list[str]:
    """The names of the nodes from the root to the current one."""
    if not isinstance(current, str) or current not in mapping:
        # Older exports do not name it: it is the leaf that was written last.
        leaves = [name for name, node in mapping.items() if _speaks(node)]
        current = max(leaves, key=lambda name: _written(mapping[name]), default=None)
    path: dict[str, None] = {}
    while isinstance(current, str) and current not in path:
        node = mapping.get(current)
        if not isinstance(node, dict):
            break
        path[current] = None
        current = node.get("parent")
    return list(path)[::-1]


def _written(node: Json) -> float:
    at = moment(node["message"].get("create_time"))
    return at.timestamp() if at is not None else 0.0


def _speaks(node: Json) -> bool:
    match node:
        case {"message": {"author": {"role": role}}}:
            return isinstance(role, str) and role in _ROLES
        case _:
            return False


def _add(talk: Talk, name: str, message: Wire, calls: dict[str, str]) -> None:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, dict) or not isinstance(content, dict):
        talk.left.add("messages without an author or content")
        return
    role, kind = text_in(author, "role"), text_in(content, "content_type")
    if role not in _ROLES:
        talk.left.add("messages of the system")
        return
    if kind in _UNSAID:
        talk.left.add(_UNSAID[kind])
        return
    if _is_hidden(message):
        talk.left.add("hidden messages")
        return
    text = _text(content, talk.left)
    if not text:
        return
    wire = _wire(role, author, message, name, text, calls)
    talk.said.append(Said(wire=wire, key=name, at=moment(message.get("create_time"))))


def _is_hidden(message: Wire) -> bool:
    about = message.get("metadata")
    is_hidden = isinstance(about, dict) and about.get("is_visually_hidden_from_conversation")
    return is_hidden is True


def _wire(
    role: str, author: Wire, message: Wire, name: str, text: str, calls: dict[str, str]
) -> Wire:
    """A message to a tool is a call; what the tool says next is its result."""
    recipient = text_in(message, "recipient")
    if role == "tool":
        tool = text_in(author, "name")
        return {"role": "tool", "tool_call_id": calls.get(tool, name), "content": text}
    if role == "assistant" and recipient not in ("", "all"):
        calls[recipient] = name
        function = {"name": recipient, "arguments": text}
        made = [{"id": name, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": made}
    return {"role": role, "content": text}


def _text(content: Wire, left: Left) -> str:
    parts = content.get("parts")
    if not isinstance(parts, list):
        told = (content.get(field) for field in ("text", "result", "title", "url"))
        return "\n".join(each for each in told if isinstance(each, str) and each)
    texts = [part for part in parts if isinstance(part, str) and part]
    for part in objects_of(parts):
        if isinstance(said := part.get("text"), str) and said:  # what was spoken
            texts.append(said)
        else:
            left.add("images and files, which are not in the text of an export")
    return "\n".join(texts)
