"""The tools as a client sees them, and a call of one.

Promise: descriptions never change while the server runs; arguments are checked against what was
described, sizes included, before anything is done; whatever goes wrong is an error that says so
(``tests/doors/test_mcp_answers.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.engine.facade import Engine
from holdfast.engine.tools.clients import CLIENT_TOOLS, call_client_tool
from holdfast.errors import HoldfastError, UsageError
from holdfast.mcp_server.limits import ITEMS, RESULT_CHARS, TEXT_CHARS
from holdfast.mcp_server.results import OUTPUTS, shaped
from holdfast.types import Json

__all__ = ["call", "listed"]

log = logging.getLogger("holdfast.mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What a client may tell its user about a tool before it is called."""

    title: str
    reads_only: bool = True
    destroys: bool = False
    repeats_safely: bool = True

    def to_json(self) -> dict[str, Json]:
        return {
            "title": self.title,
            "readOnlyHint": self.reads_only,
            "destructiveHint": self.destroys,
            "idempotentHint": self.repeats_safely,
            "openWorldHint": False,
        }


_KINDS: Final[Mapping[str, _Kind]] = {
    "memory_write": _Kind(title="Write to memory", reads_only=False),
    "memory_retain": _Kind(title="Write typed memories", reads_only=False),
    "memory_search": _Kind(title="Search memory"),
    "memory_get": _Kind(title="Read memory"),
    "memory_forget": _Kind(title="Forget a memory", reads_only=False, destroys=True),
    "context_expand": _Kind(title="Read an original"),
    "session_list": _Kind(title="List conversations"),
    "task_start": _Kind(title="Begin a task", reads_only=False, repeats_safely=False),
    "task_update": _Kind(title="Note progress", reads_only=False, repeats_safely=False),
    "task_finish": _Kind(title="Finish a task", reads_only=False, repeats_safely=False),
    "task_similar": _Kind(title="Find earlier tasks"),
}


def listed() -> list[dict[str, Json]]:
    """All tools, as the protocol describes them."""
    return [
        {
            "name": tool.name,
            "title": _KINDS[tool.name].title,
            "description": tool.description,
            "inputSchema": _bounded(tool.parameters),
            "outputSchema": OUTPUTS[tool.name],
            "annotations": _KINDS[tool.name].to_json(),
        }
        for tool in CLIENT_TOOLS.values()
    ]


def call(engine: Engine, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The result of a call; also of one that failed."""
    try:
        _check_sizes(arguments, name)
        found = shaped(name, call_client_tool(engine, name, arguments))
        _check_result(found, name)
    except HoldfastError as error:
        return _failed(str(error))
    except Exception as error:  # the border: a client must hear of it, and the server go on
        log.exception("tool %s failed", name)
        return _failed(
            f"{name} failed inside Holdfast ({type(error).__name__}); nothing is known of what it "
            "was to do.\n  → Look into the log of the server, and run: holdfast doctor"
        )
    return {
        "content": [{"type": "text", "text": found["text"]}],
        "structuredContent": found,
        "isError": False,
    }


def _failed(text: str) -> dict[str, Json]:
    return {"content": [{"type": "text", "text": text}], "isError": True}


# ── sizes ───────────────────────────────────────────────────────────────────────────────────


def _bounded(schema: Mapping[str, Json]) -> dict[str, Json]:
    """The schema with the largest text and list that are taken."""
    bounded = dict(schema)
    if schema["type"] == "string" and "enum" not in schema:
        bounded["maxLength"] = TEXT_CHARS
    if schema["type"] == "array":
        bounded["maxItems"] = ITEMS
        bounded["items"] = _bounded(schema["items"])
    if schema["type"] == "object":
        bounded["properties"] = {
            name: _bounded(each) for name, each in schema["properties"].items()
        }
    return bounded


def _check_sizes(value: Json, name: str) -> None:
    """Refuse what is too large. As deep as our schemas are: deeper values are refused by them."""
    if isinstance(value, str) and len(value) > TEXT_CHARS:
        raise UsageError(
            f"A text for {name} has {len(value):,} characters; the limit is {TEXT_CHARS:,}.",
            hint="Give it in several calls, or only what matters of it.",
        )
    if isinstance(value, list):
        if len(value) > ITEMS:
            raise UsageError(
                f"A list for {name} has {len(value):,} members; the limit is {ITEMS}.",
                hint="Give them in several calls.",
            )
        for each in value:
            _check_sizes(each, name)
    if isinstance(value, Mapping):
        for each in value.values():
            _check_sizes(each, name)


def _check_result(found: Mapping[str, Json], name: str) -> None:
    if len(found["text"]) > RESULT_CHARS and _KINDS[name].reads_only:
        raise UsageError(
            f"The answer of {name} has {len(found['text']):,} characters; the limit is "
            f"{RESULT_CHARS:,}.",
            hint="Ask for fewer passages, or for a part: limit=5, or a path with #L1-L200.",
        )
