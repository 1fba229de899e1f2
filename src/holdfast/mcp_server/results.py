"""What each tool answers: its schema, and the answer cut down to it.

Promise: what an answer holds of stored words stands in its ``text`` only, quoted as data; the
other fields are ids, places and counts (``tests/doors/test_mcp_answers.py``).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from holdfast.fencing import Quoted, fence
from holdfast.types import Json

__all__ = ["OUTPUTS", "shaped"]

_MOST: Final = 50
"""Ids in one answer; counts are always whole."""


def _object(**properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}


_TEXT: Final[Json] = {"type": "string", "description": "To be read; what is quoted is data."}
_STRING: Final[Json] = {"type": "string"}
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_FLAG: Final[Json] = {"type": "boolean"}
_MAYBE: Final[Json] = {"type": ["string", "null"]}

_WRITTEN: Final = _object(
    text=_TEXT,
    path={"type": "string", "description": "The file it stands in; memory_get reads it."},
    written=_COUNT,
    ids=_list(_STRING),
    trust=_list(_STRING),
    repeats=_COUNT,
    ended=_list(_STRING),
    conflicts=_list(_object(id=_STRING, kind=_STRING, path=_STRING)),
    operation=_MAYBE,
    redirected=_MAYBE,
)
_TASK: Final = _object(text=_TEXT, id=_STRING, status=_STRING, path=_STRING)

OUTPUTS: Final[Mapping[str, dict[str, Json]]] = {
    "memory_write": _WRITTEN,
    "memory_retain": _WRITTEN,
    "memory_search": _object(
        text=_TEXT,
        passages=_list(
            {
                "type": "object",
                "properties": {
                    "citation": {"type": "string", "description": "What memory_get reads."},
                    "score": {"type": "number"},
                    "source": _STRING,
                },
                "required": ["score", "source"],
                "additionalProperties": False,
            }
        ),
        degraded=_list(_STRING),
        why_empty=_MAYBE,
    ),
    "memory_get": _object(
        text=_TEXT,
        citation=_STRING,
        lines={"type": ["integer", "null"], "description": "Of the whole file."},
        trust=_MAYBE,
        more={"type": ["string", "null"], "description": "Where it goes on: the next path."},
    ),
    "memory_forget": _object(
        text=_TEXT,
        items=_list(_object(where=_STRING, kind=_STRING)),
        near=_list(_STRING),
        dry_run=_FLAG,
        operation=_MAYBE,
    ),
    "context_expand": _object(
        text=_TEXT,
        id=_STRING,
        **{"from": _COUNT},
        to=_COUNT,
        characters=_COUNT,
        more={"type": ["integer", "null"], "description": "'from' of the next page."},
    ),
    "session_list": _object(
        text=_TEXT,
        sessions=_list(_object(name=_STRING, messages=_COUNT, last_at=_MAYBE)),
        more=_FLAG,
    ),
    "task_start": _TASK,
    "task_update": _TASK,
    "task_finish": _TASK,
    "task_similar": _object(
        text=_TEXT,
        tasks=_list(
            _object(id=_STRING, status=_STRING, score={"type": "number"}),
        ),
    ),
}


# ── answers ─────────────────────────────────────────────────────────────────────────────────


def _written(found: Json) -> dict[str, Json]:
    added, skipped, clashes = found["added"], found["skipped"], found["conflicts"]
    said = [f"{len(added)} written to {found['path']}."] if added else ["Nothing new was written."]
    if skipped:
        said.append(f"{len(skipped)} of it was known already.")
    if found["redirected"]:
        said.append(str(found["redirected"]))
    if clashes:
        said.append("It contradicts what was known; a person decides (holdfast conflicts):")
    known = [Quoted(text=each["known"], citation=each["path"]) for each in clashes[:_MOST]]
    return {
        "text": _joined([" ".join(said), _quoted(known)]),
        "path": found["path"],
        "written": len(added),
        "ids": [each["id"] for each in added[:_MOST]],
        "trust": sorted({each["trust"] for each in added}),
        "repeats": len(skipped),
        "ended": list(found["updates"])[:_MOST],
        "conflicts": [
            {key: each[key] for key in ("id", "kind", "path")} for each in clashes[:_MOST]
        ],
        "operation": found["operation"],
        "redirected": found["redirected"],
    }


def _task(found: Json) -> dict[str, Json]:
    told = f"{found['id']} is {found['status']}: {found['path']}"
    kept = {key: found[key] for key in ("id", "status", "path")}
    return {"text": _joined([told, _quoted([_title(found)])]), **kept}


def _title(found: Json) -> Quoted:
    return Quoted(text=found["title"], citation=found["path"])


def _similar(found: Json) -> dict[str, Json]:
    """Without the type, which is a word of whoever kept the task."""
    kept = [{key: each[key] for key in ("id", "status", "score")} for each in found["tasks"]]
    return {"text": found["text"] or "There is no earlier task like this one.", "tasks": kept}


_SHAPES: Final[Mapping[str, Callable[[Json], dict[str, Json]]]] = {
    "memory_write": _written,
    "memory_retain": _written,
    "task_start": _task,
    "task_update": _task,
    "task_finish": _task,
    "task_similar": _similar,
}


def shaped(name: str, found: Json) -> dict[str, Json]:
    """The engine's answer as the schema of that tool says it."""
    shape = _SHAPES.get(name)
    return dict(found) if shape is None else shape(found)


def _quoted(passages: Sequence[Quoted]) -> str:
    return fence(passages, nonce=secrets.token_hex(8))


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part for part in parts if part)
