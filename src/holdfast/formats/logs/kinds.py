"""What a JSON value of a log is, seen from its own fields.

Promise: every record of a known program is recognised by what it holds, wherever it stands:
files are joined, cut and renamed (``tests/foundation/test_logs.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from holdfast.formats.logs.chatgpt import is_chatgpt
from holdfast.formats.logs.claude_export import is_claude_export
from holdfast.formats.logs.codex import is_codex
from holdfast.formats.logs.openclaw import is_openclaw
from holdfast.formats.logs.recorded import LogFormat, objects_of
from holdfast.formats.wire import Wire
from holdfast.types import Json

__all__ = ["KNOWN", "Kind", "format_of", "recognise"]

Kind = Literal[
    "chatgpt",
    "claude_code",
    "claude_export",
    "codex",
    "conversation",
    "holdfast",
    "message",
    "messages",
    "openclaw",
    "several",
]

KNOWN: Final = (
    'conversations, one per line: {"id": …, "messages": […]}',
    'one JSON document: {"messages": […]}, a list of messages, a request with its response '
    "(OpenAI or Anthropic)",
    'messages, one per line: {"role": …, "content": …}',
    "session logs of Claude Code, Codex and OpenClaw",
    "the conversations.json of a ChatGPT or claude.ai export",
    "transcripts and exports of Holdfast",
)
"""The formats, as a person is told them."""

_CLAUDE_CODE_FIELDS: Final = frozenset(
    {"uuid", "parentUuid", "sessionId", "session_id", "leafUuid", "snapshot"}
)

_RESULT_ROLES: Final = ("tool", "function")

_OPENAI_FIELDS: Final = frozenset({"tool_calls", "tool_call_id", "function_call", "refusal"})

_OPENAI_PARTS: Final = frozenset({"file", "image_url", "input_audio", "refusal", "video_url"})


def recognise(value: Json) -> Kind | None:
    """What the value is, or None."""
    if isinstance(value, dict) and (kind := _of_program(value)) is not None:
        return kind
    match value:
        case {"messages": list()} | {"choices": list()}:
            return "conversation"
        case {"role": _}:
            return "message"
        case {"type": str()} if not _CLAUDE_CODE_FIELDS.isdisjoint(value):
            return "claude_code"
        case {"request": dict(body)} | {"body": dict(body)}:
            return "conversation" if isinstance(body.get("messages"), list) else None
        case list():
            return _recognise_list(value)
        case _:
            return None


def _of_program(value: Wire) -> Kind | None:
    """Whose record an object is, by fields that nobody else writes."""
    if isinstance(value.get("hf"), int) and isinstance(value.get("type"), str):
        return "holdfast"
    if is_chatgpt(value):
        return "chatgpt"
    if is_claude_export(value):
        return "claude_export"
    if "messages" in value or "choices" in value:
        return None
    if is_openclaw(value):
        return "openclaw"
    return "codex" if is_codex(value) else None


def _recognise_list(values: list[Json]) -> Kind | None:
    if any("role" in each for each in objects_of(values)):
        return "messages"
    # One level is enough for an array of conversations, and keeps the depth bounded.
    for each in values:
        if isinstance(each, list) and any("role" in inner for inner in objects_of(each)):
            return "several"
        if isinstance(each, dict) and recognise(each) is not None:
            return "several"
    return None


def format_of(messages: Iterable[Json], *, system: Json = None, tools: Json = None) -> LogFormat:
    """Whose messages these are. Plain text could be anybody's: it is read as OpenAI's."""
    if isinstance(system, str | list) or any("input_schema" in each for each in objects_of(tools)):
        return "anthropic"
    is_anthropic = False
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") in _RESULT_ROLES or not _OPENAI_FIELDS.isdisjoint(message):
            return "openai"
        is_anthropic = is_anthropic or _has_blocks(message)
    return "anthropic" if is_anthropic else "openai"


def _has_blocks(message: Wire) -> bool:
    """Whether the content holds what only Anthropic's does."""
    if message.get("type") == "message":
        return True
    kinds = [part.get("type") for part in objects_of(message.get("content"))]
    return any(
        isinstance(kind, str) and kind != "text" and kind not in _OPENAI_PARTS for kind in kinds
    )
