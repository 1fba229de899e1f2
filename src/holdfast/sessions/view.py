"""Entries → what the model sees. Nothing is ever rewritten: a view is computed.

    pins      entries the newest compaction re-emits byte for byte
    summary   what that compaction wrote for the entries it dropped
    kept      entries before its cut that stay verbatim
    tail      everything from its cut on, also what arrived while it was being made

A ``prune`` entry gives the exact text to show instead of parts of earlier entries; a
``recall`` entry and a ``marker`` with a message stand where they were appended; a ``reset``
marker starts the view anew. Only the newest compaction counts.

Promise: the same entries give the same view, byte for byte
(``tests/sessions/test_view.py``); a ``GrowingView`` gives what ``compute_view`` gives, and of an
entry that is shown as before the very same item (``tests/sessions/test_view_cache.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

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

__all__ = ["GrowingView", "compute_view", "needed_before"]

_Shown: TypeAlias = Mapping[str, Mapping[int, str]]
_Sequence: TypeAlias = Sequence[ViewItem]
_Items: TypeAlias = Callable[..., _Sequence]

_SHOWING: Final = frozenset({"message", "recall", "marker"})


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
    return _view(entries, compaction, earlier, shown, _item)


def _view(
    entries: Sequence[Entry],
    compaction: Entry | None,
    earlier: Iterable[Entry],
    shown: _Shown,
    item: _Items,
) -> View:
    items: list[ViewItem] = []
    cycle = compaction.id if compaction is not None else GENESIS
    if compaction is not None:
        in_tail = {entry.id for entry in entries}
        by_id = {entry.id: entry for entry in earlier if entry.id not in in_tail}
        for entry_id in compaction.data.get("pins", ()):
            # A pin is never shortened.
            items += item(by_id.get(entry_id), {}, kind="pin")
        items += _summary(compaction)
        for entry_id in compaction.data.get("kept", ()):
            items += item(by_id.get(entry_id), shown)
    for entry in entries:
        if _is_reset(entry):
            items, cycle = [], entry.id
        else:
            items += item(entry, shown)
    return View(items=tuple(items), cycle=cycle)


def _is_reset(entry: Entry) -> bool:
    return entry.type == "marker" and entry.data.get("kind") == "reset"


def _shown_instead(entries: Iterable[Entry]) -> dict[str, dict[int, str]]:
    """For each pruned entry, the text to show per part. Later decisions win."""
    shown: dict[str, dict[int, str]] = {}
    for entry in entries:
        if entry.type == "prune" and problem_with("prune", entry.data) is None:
            for change in entry.data.get("shown", ()):
                shown.setdefault(change["entry"], {})[change["part"]] = change["text"]
    return shown


def _item(entry: Entry | None, shown: _Shown, *, kind: str = "message") -> _Sequence:
    if entry is None or entry.type not in _SHOWING:
        return ()
    if (message := message_of(entry)) is None:
        return ()
    changes = shown.get(entry.id, {})
    if changes:
        message = replace(
            message,
            parts=tuple(
                _shortened(part, changes[index]) if index in changes else part
                for index, part in enumerate(message.parts)
            ),
        )
    return (
        ViewItem(
            message=message,
            stands_for=(entry.id,),
            kind="pin" if kind == "pin" else _KINDS[entry.type],
            shortened=bool(changes) or _is_short(entry),
        ),
    )


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


# ── a view that grows ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The items of one entry, and from what they were made."""

    entry: Entry
    changes: Mapping[int, str]
    stamp: Json
    items: Sequence[ViewItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The last view, the number of entries it was computed from, and the last of them."""

    view: View
    count: int
    last: Entry | None
    shown: _Shown


class GrowingView:
    """The views of one window, whose entries only become more.

    A turn looks several times at a hundred thousand tokens of which a few are new: so entries
    are read once, and what is shown as before is the same object, which lets everything that is
    worked out from it be kept, too. Safe to use from several threads: what two of them make at
    once is equal, and either may stay.

    ``put_back`` gives an entry with its payloads, ``stamp`` what changes when they do. Payloads
    of more than ``MOST_CHARACTERS`` in all are not kept, but read whenever they are shown.
    """

    __slots__ = ("_before", "_made", "_payloads", "_room", "parsed")

    MOST_CHARACTERS: Final = 16_000_000

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], _Made] = {}
        self._payloads: dict[str, tuple[Entry, Json]] = {}
        self._before: _Before | None = None
        self._room = self.MOST_CHARACTERS
        self.parsed = 0
        """How many entries were turned into messages so far."""

    def view(
        self,
        entries: Sequence[Entry],
        *,
        compaction: Entry | None,
        earlier: Sequence[Entry],
        put_back: Callable[[Entry], Entry],
        stamp: Callable[[Entry], Json],
    ) -> View:
        """What ``compute_view`` gives for these entries with their payloads put back."""

        def item(entry: Entry | None, shown: _Shown, *, kind: str = "message") -> _Sequence:
            return self._items(entry, shown, kind, put_back, stamp)

        before = self._before
        is_grown = before is not None and self._is_grown(before, entries, stamp)
        if before is not None and is_grown:
            if len(entries) == before.count:
                return before.view
            shown = before.shown
            new = [each for entry in entries[before.count :] for each in item(entry, shown)]
            view = replace(before.view, items=(*before.view.items, *new))
        else:
            shown = _shown_instead([*earlier, *entries])
            view = _view(entries, compaction, earlier, shown, item)
        last = entries[-1] if entries else None
        self._before = _Before(view=view, count=len(entries), last=last, shown=shown)
        return view

    def _is_grown(
        self, before: _Before, entries: Sequence[Entry], stamp: Callable[[Entry], Json]
    ) -> bool:
        """Whether nothing but new messages came, and all payloads are what they were."""
        if len(entries) < before.count:
            return False
        if before.count and entries[before.count - 1] is not before.last:
            return False
        if any(each.type == "prune" or _is_reset(each) for each in entries[before.count :]):
            return False
        return all(stamp(entry) == known for entry, known in list(self._payloads.values()))

    def _items(
        self,
        entry: Entry | None,
        shown: _Shown,
        kind: str,
        put_back: Callable[[Entry], Entry],
        stamp: Callable[[Entry], Json],
    ) -> _Sequence:
        if entry is None or entry.type not in _SHOWING:
            return ()
        changes = shown.get(entry.id, {})
        made = self._made.get((entry.id, kind))
        now = stamp(entry) if "artifacts" in entry.data else None
        is_same = made is not None and made.entry is entry and made.changes == changes
        if made is not None and is_same and made.stamp == now:
            return made.items
        self.parsed += 1
        items = _item(put_back(entry), shown, kind=kind)
        if now is not None:
            now = now if self._has_room(entry, kind) else object()  # equal to nothing
            self._payloads[entry.id] = (entry, now)
        self._made[entry.id, kind] = _Made(
            entry=entry, changes=changes, stamp=now, items=items if type(now) is not object else ()
        )
        return items

    def _has_room(self, entry: Entry, kind: str) -> bool:
        """Whether the payloads of this entry may be kept, too."""
        if (entry.id, kind) not in self._made:
            sizes = [each.get("chars") for each in references(entry.data) if not each["short"]]
            self._room -= sum(size for size in sizes if isinstance(size, int))
        return self._room >= 0
