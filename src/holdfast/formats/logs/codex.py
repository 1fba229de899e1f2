"""Rollouts of Codex: what the Responses API takes and gives, one item per line.

A line of today is ``{"timestamp", "type", "payload"}``; those of 2025 are bare items behind a
head with the id of the session. What the program says for itself (its instructions, the state of
the machine) is no part of the conversation, and of every event that only tells the screen what an
item says again, the item counts.

Promise: every message, call and result is read in both shapes, in the order of the file, and
what is left out is counted by its kind (``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from holdfast.formats.logs.recorded import LogFormat, moment, objects_of
from holdfast.formats.logs.said import About, Left, Said, key_of, text_in
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["Codex", "begins_codex", "is_codex", "is_surely_codex"]

_ITEMS: Final = frozenset(
    {
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
        "reasoning",
    }
)
_RECORDS: Final = frozenset(
    {"session_meta", "response_item", "turn_context", "event_msg", "compacted"}
)
_TEXTS: Final = frozenset({"input_text", "output_text", "text"})
_OWN_WORDS: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "<skill>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<app-context>",
    "<personality_spec>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
)
"""How messages begin that the program writes in the user's place."""


def is_codex(value: Wire) -> bool:
    """Whether a line is one of Codex."""
    match value:
        case {"type": str(), "payload": dict(), "timestamp": str()}:
            # Claude Code may write records of this shape, with names of its own.
            return "uuid" not in value and "sessionId" not in value
        case {"type": "message", "role": str(), "content": [{"type": kind}, *_]}:
            return kind in ("input_text", "output_text")
        case {"type": str(kind)}:
            return kind in _ITEMS and ("call_id" in value or "summary" in value or "id" in value)
        case {"record_type": str()}:
            return True
        case _:
            return _is_head(value)


def is_surely_codex(value: Wire) -> bool:
    """Whether a line of Codex is of a kind that nobody else writes."""
    return not isinstance(value.get("payload"), dict) or value.get("type") in _RECORDS


def begins_codex(value: Wire) -> bool:
    """Whether a line is the first of a session."""
    return value.get("type") == "session_meta" or _is_head(value)


def _is_head(value: Wire) -> bool:
    return (
        "type" not in value
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and ("instructions" in value or "git" in value)
    )


class Codex:
    """The lines of one rollout, as they come."""

    format: LogFormat = "openai"

    def __init__(self) -> None:
        self.about = About()
        self.left = Left()

    def add(self, value: Wire) -> Sequence[Said]:
        payload = value.get("payload")
        if not isinstance(payload, dict):
            return self._bare(value)
        match value.get("type"):
            case "session_meta":
                self._head(payload)
            case "response_item":
                return self._item(payload, value)
            case "turn_context":
                self.about.project = self.about.project or text_in(payload, "cwd")
            case "event_msg":
                pass  # what the screen was told: the items say it too
            case kind:
                self.left.add(str(kind))
        return ()

    def _bare(self, value: Wire) -> Sequence[Said]:
        if _is_head(value):
            self._head(value)
            return ()
        return () if "record_type" in value else self._item(value, value)

    def _head(self, meta: Wire) -> None:
        if self.about.id:
            return  # a rollout that goes on with another one repeats its head
        self.about.id = text_in(meta, "id")
        self.about.project = text_in(meta, "cwd")
        self.about.began = moment(meta.get("timestamp"))

    def _item(self, item: Wire, line: Wire) -> Sequence[Said]:
        wire = self._wire(item)
        if wire is None:
            return ()
        at = moment(line.get("timestamp"))
        return (Said(wire=wire, key=_key(item, line, wire, at is not None), at=at),)

    def _wire(self, item: Wire) -> Wire | None:
        match item.get("type"):
            case "message":
                return self._message(item)
            case "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call":
                return _call(item)
            case "function_call_output" | "custom_tool_call_output":
                call = text_in(item, "call_id")
                return {"role": "tool", "tool_call_id": call, "content": _output(item)}
            case kind:
                self.left.add(str(kind))
                return None

    def _message(self, item: Wire) -> Wire | None:
        role, content = item.get("role"), item.get("content")
        text = content if isinstance(content, str) else _joined(content)
        if role not in ("user", "assistant") or text.lstrip().startswith(_OWN_WORDS):
            self.left.add("messages of the program itself")
            return None
        images = [{"type": "image_url", "image_url": {"url": url}} for url in _images(content)]
        if not images:
            return {"role": role, "content": text} if text else None
        return {"role": role, "content": [{"type": "text", "text": text}, *images]}


def _key(item: Wire, line: Wire, wire: Wire, is_timed: bool) -> str:
    """What a line is known by: its call, or all of it if it tells its time."""
    kind, call = item.get("type"), text_in(item, "call_id")
    if call:
        return key_of(f"{kind} {call}", wire)
    if not is_timed:
        return ""
    written = json.dumps(line, sort_keys=True, ensure_ascii=True)
    return sha256(written.encode()).hexdigest()[:32]


def _call(item: Wire) -> Wire:
    name = text_in(item, "name") or str(item.get("type", "call")).removesuffix("_call")
    given: Json = next((item[key] for key in ("arguments", "input", "action") if key in item), {})
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    call = text_in(item, "call_id") or text_in(item, "id") or name
    function = {"name": name, "arguments": arguments}
    calls = [{"id": call, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _output(item: Wire) -> str:
    match item.get("output"):
        case str(text):
            return _unwrapped(text)
        case {"content": str(text)}:
            return text
        case list(parts):
            return _joined(parts)
        case None:
            return ""
        case other:
            return json.dumps(other, ensure_ascii=False)


def _unwrapped(text: str) -> str:
    """What a command wrote: some versions put it into JSON beside its exit code."""
    if text.startswith('{"output":'):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(found, dict) and isinstance(found.get("output"), str):
            return str(found["output"])
    return text


def _joined(content: Json) -> str:
    texts = [part.get("text") for part in objects_of(content) if text_in(part, "type") in _TEXTS]
    return "\n".join(text for text in texts if isinstance(text, str))


def _images(content: Json) -> list[str]:
    urls = [part.get("image_url") for part in objects_of(content)]
    return [url for url in urls if isinstance(url, str) and url]
