"""Entries → what the model sees. Nothing is ever rewritten: a view is computed.

    pins      entries the newest compaction re-emits byte for byte
    summary   what that compaction wrote for the entries it dropped
    kept      entries before its cut that stay verbatim
    tail      everything from its cut on, also what arrived while it was being made

A ``prune`` entry gives the exact text to show instead of parts of earlier entries; a
``recall`` entry and a ``marker`` with a message stand where they were appended; a ``reset``
marker starts the view anew. Only the newest compaction counts.

Promise: the same entries give the same view, byte for byte
(``tests/sessions/test_view.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from holdfast.sessions.shapes import message_of, problem_with, references
from holdfast.types import (
    GENESIS,
    Entry,
    Json,
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
    View,
    ViewItem,
)

__all__ = ["compute_view", "needed_before"]


def needed_before(compaction: Entry) -> tuple[str, ...]:
    """Ids of entries before the cut that this compaction still shows."""
    data = compaction.data
    return (*data.get("pins", ()), *data.get("kept", ()))


def compute_view(
    entries: Sequence[Entry], *, compaction: Entry | None = None, earlier: Iterable[Entry] = ()
) -> View:
    """The view of ``entries``: those from the cut of ``compaction`` on (all, without one).

    ``earlier`` are the entries named by ``needed_before(compaction)``.
    """
    shown = _shown_instead([*earlier, *entries])
    items: list[ViewItem] = []
    if compaction is not None:
        in_tail = {entry.id for entry in entries}
        by_id = {entry.id: entry for entry in earlier if entry.id not in in_tail}
        for entry_id in compaction.data.get("pins", ()):
            # A pin is never shortened.
            items += _item(by_id.get(entry_id), {}, kind="pin")
        items += _summary(compaction)
        for entry_id in compaction.data.get("kept", ()):
            items += _item(by_id.get(entry_id), shown)
    for entry in entries:
        if entry.type == "marker" and entry.data.get("kind") == "reset":
            items = []
        else:
            items += _item(entry, shown)
    return View(items=tuple(items), cycle=compaction.id if compaction is not None else GENESIS)


def _shown_instead(entries: Iterable[Entry]) -> dict[str, dict[int, str]]:
    """For each pruned entry, the text to show per part. Later decisions win."""
    shown: dict[str, dict[int, str]] = {}
    for entry in entries:
        if entry.type == "prune" and problem_with("prune", entry.data) is None:
            for change in entry.data.get("shown", ()):
                shown.setdefault(change["entry"], {})[change["part"]] = change["text"]
    return shown


def _item(
    entry: Entry | None, shown: Mapping[str, Mapping[int, str]], *, kind: str = "message"
) -> list[ViewItem]:
    if entry is None or entry.type not in {"message", "recall", "marker"}:
        return []
    if (message := message_of(entry)) is None:
        return []
    changes = shown.get(entry.id, {})
    if changes:
        message = replace(
            message,
            parts=tuple(
                _shortened(part, changes[index]) if index in changes else part
                for index, part in enumerate(message.parts)
            ),
        )
    return [
        ViewItem(
            message=message,
            stands_for=(entry.id,),
            kind="pin" if kind == "pin" else _KINDS[entry.type],
            shortened=bool(changes) or _is_short(entry),
        )
    ]


def _is_short(entry: Entry) -> bool:
    return any(each["short"] for each in references(entry.data))


_KINDS: Mapping[str, Json] = {"message": "message", "recall": "recall", "marker": "marker"}


def _shortened(part: Part, text: str) -> Part:
    match part:
        case ToolResult():
            return replace(part, content=(Text(text=text),), form="text")
        case ToolCall():  # stays a call: its result needs it
            return replace(part, arguments=_arguments(part, text))
        case _:
            return Text(text=text)


def _arguments(call: ToolCall, text: str) -> str | Mapping[str, Json]:
    """The shortened arguments in the form the call had: an object, or text."""
    if isinstance(call.arguments, str):
        return text
    try:
        shortened = json.loads(text)
    except ValueError:
        return call.arguments
    return shortened if isinstance(shortened, dict) else call.arguments


def _summary(compaction: Entry) -> list[ViewItem]:
    parts = compaction.data.get("summary", ())
    text = "\n\n".join(part["text"] for part in parts if part.get("text"))
    if not text:
        return []
    sources = dict.fromkeys(source for part in parts for source in part.get("sources", ()))
    return [
        ViewItem(
            message=Message.of(compaction.data.get("role", "user"), text),
            stands_for=(compaction.id, *sources),
            kind="summary",
        )
    ]
