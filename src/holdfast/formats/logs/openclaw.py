"""Sessions of OpenClaw: a head, then messages, each with its id and that of the one before it.

Promise: every message, call and result is read; other records are counted by their kind
(``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.formats.logs.recorded import LogFormat, moment, objects_of
from holdfast.formats.logs.said import About, Left, Said, key_of, text_in
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["OpenClaw", "begins_openclaw", "is_openclaw"]

_SETTINGS: Final = frozenset(
    {"model_change", "thinking_level_change", "custom", "label", "session_info", "leaf"}
)
"""Records that tell the program something, and nobody else."""


def is_openclaw(value: Wire) -> bool:
    """Whether a line is one of OpenClaw."""
    if "uuid" in value or "hf" in value:
        return False
    match value:
        case {"type": "message", "message": {"role": str()}}:
            return True
        case {"type": str(), "id": str(), "parentId": _}:
            return True
        case _:
            return begins_openclaw(value)


def begins_openclaw(value: Wire) -> bool:
    """Whether a line is the first of a session."""
    match value:
        case {"type": "session", "id": str()}:
            return "hf" not in value and ("cwd" in value or "version" in value)
        case _:
            return False


class OpenClaw:
    """The lines of one session, as they come."""

    format: LogFormat = "anthropic"

    def __init__(self) -> None:
        self.about = About()
        self.left = Left()

    def add(self, value: Wire) -> Sequence[Said]:
        if begins_openclaw(value):
            if not self.about.id:
                self.about.id = text_in(value, "id")
                self.about.project = text_in(value, "cwd")
                self.about.began = moment(value.get("timestamp"))
            return ()
        message = value.get("message")
        if value.get("type") != "message" or not isinstance(message, dict):
            if text_in(value, "type") not in _SETTINGS:
                self.left.add(str(value.get("type")))
            return ()
        wire = self._wire(message)
        if wire is None:
            return ()
        own = text_in(value, "id")
        at = moment(value.get("timestamp")) or moment(message.get("timestamp"))
        parent = value.get("parentId")
        follows = parent if isinstance(parent, str) else None
        return (Said(wire=wire, key=key_of(own, wire), at=at, id=own, parent=follows),)

    def _wire(self, message: Wire) -> Wire | None:
        content = message.get("content")
        match message.get("role"):
            case "user":
                blocks = list(_blocks(content))
                return {"role": "user", "content": blocks} if blocks else None
            case "assistant":
                if message.get("stopReason") == "error" and not content:
                    self.left.add("notes of failed calls")
                    return None
                blocks = list(_blocks(content))
                return {"role": "assistant", "content": blocks} if blocks else None
            case "toolResult":
                result: Wire = {
                    "type": "tool_result",
                    "tool_use_id": text_in(message, "toolCallId"),
                    "content": [each for each in _blocks(content) if each["type"] != "thinking"],
                }
                if message.get("isError") is True:
                    result["is_error"] = True
                return {"role": "user", "content": [result]}
            case role:
                self.left.add(f"messages of {role}")
                return None


def _blocks(content: Json) -> Iterator[Wire]:
    """The blocks of a message, as Anthropic writes them."""
    if isinstance(content, str) and content:
        yield {"type": "text", "text": content}
    for block in objects_of(content):
        match block:
            case {"type": "text", "text": str(text)}:
                if text:
                    yield {"type": "text", "text": text}
            case {"type": "thinking", "thinking": str(text)}:
                yield {"type": "thinking", "thinking": text, "signature": _signature(block)}
            case {"type": "toolCall", "id": str(id), "name": str(name)}:
                arguments = block.get("arguments")
                given = arguments if isinstance(arguments, dict) else {"arguments": arguments}
                yield {"type": "tool_use", "id": id, "name": name, "input": given}
            case {"type": "image", "data": str(data)}:
                kind = text_in(block, "mimeType") or "image/png"
                source = {"type": "base64", "media_type": kind, "data": data}
                yield {"type": "image", "source": source}


def _signature(block: Wire) -> str:
    return text_in(block, "thinkingSignature") or text_in(block, "signature")
