"""An entry of a transcript → what a person sees of it.

Promise: every entry that tells something becomes one item, whatever wrote it; what the model
still sees and what is shown to it shortened is said of each; a compaction tells which entries it
took out of the view (``tests/engine/test_chronicle.py``). Nothing is rendered here: text is text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from holdfast.engine.chronicle.looking import Back
from holdfast.engine.chronicle.saved import (
    Files,
    Quoted,
    SavedLine,
    is_flush,
    quoted_in,
    saved_lines,
)
from holdfast.sessions.artifacts import inline
from holdfast.sessions.shapes import message_of, problem_with
from holdfast.text import cut
from holdfast.types import Entry, Image, Json, Message, Text, ToolResult, Usage

if TYPE_CHECKING:
    from holdfast.engine.session import Session

__all__ = [
    "Called",
    "Compacted",
    "Flushed",
    "Item",
    "Kind",
    "Marked",
    "Page",
    "Pruned",
    "Resulted",
    "Summed",
    "item_of",
    "left_by",
    "page_of",
    "usage_of",
]

Kind = Literal["message", "recall", "prune", "compaction", "flush", "restored", "marker"]

SHOWN: Final = 20_000
"""Characters of one text in a page; ``item_of`` gives the rest."""
WHOLE: Final = 1_000_000
"""Characters of one text at most."""
_SAID: Final = frozenset({"message", "recall"})
_MARKED: Final = ("text", "name", "mode", "session", "entry", "model")
_TRUST: Final = {"user": "user", "assistant": "agent", "tool": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resulted:
    id: str
    name: str
    """Of the tool; empty if its call is not near."""
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """A part of a summary, and the entries it stands on."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What left the view: the entries from one number to another, but for those that stayed."""

    strategy: str
    reason: str
    tokens_before: int
    tokens_after: int
    dropped: int
    summary: tuple[Summed, ...]
    from_seq: int | None
    to_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flushed:
    outcome: str
    mode: str
    saved: int
    duplicates: int
    file: str | None
    reason: str | None
    operation: str | None
    """What takes back what it wrote."""
    lines: tuple[SavedLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    shortened: int
    tokens_before: int
    tokens_after: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A marker: its kind, and what it says."""

    kind: str
    says: Mapping[str, str]
    number: int | None = None
    """A window or a limit, in tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry, for a person."""

    seq: int
    id: str
    kind: Kind
    at: datetime
    role: str | None = None
    text: str = ""
    trust: str | None = None
    in_view: bool = False
    shortened: bool = False
    truncated: bool = False
    tool_calls: tuple[Called, ...] = ()
    tool_results: tuple[Resulted, ...] = ()
    usage: Usage | None = None
    compaction: Compacted | None = None
    flush: Flushed | None = None
    recall: tuple[Quoted, ...] = ()
    prune: Pruned | None = None
    marker: Marked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some items, the oldest first."""

    items: tuple[Item, ...]
    earlier: int | None
    """What to ask for with ``before`` to see what stands in front of them; None at the start."""
    total: int
    """Entries of the whole transcript."""


def page_of(
    session: Session,
    *,
    before: int | None = None,
    start: int = 0,
    limit: int = 60,
) -> Page:
    """The newest items before a number, of those from ``start`` on; no more than ``limit``."""
    state = session._transcript.state()
    end = min(state.last_seq + 1 if before is None else before, state.last_seq + 1)
    telling = _Telling(session)
    first = max(start, end - limit)
    entries = telling.back.between(first, end)
    items = tuple(telling.item(each) for each in entries if is_told(each))
    earlier = first if first > start and first > 0 and end > 0 else None
    return Page(items=items, earlier=earlier, total=state.entries)


def item_of(session: Session, id: str) -> Item:
    """One entry, with its payloads.

    Raises:
        NotFound: there is no such entry.
    """
    entry = session._transcript.find(id)
    return _Telling(session, limit=WHOLE, is_whole=True).item(entry)


def is_told(entry: Entry) -> bool:
    """Whether a person is told of it: not of the head of the file, nor of a lease."""
    if entry.type == "flush":
        return is_flush(entry)
    return entry.type != "session"


class _Telling:
    """Tells the entries of one conversation while one answer is made."""

    def __init__(self, session: Session, *, limit: int = SHOWN, is_whole: bool = False) -> None:
        self._rooms = session._rooms
        self._limit = limit
        self._is_whole = is_whole
        self.back = Back(session)
        self._files = Files(session._rooms)
        look = session._rooms.store.look(session._transcript)
        shown = [item for item in look.view.items if item.kind != "summary"]
        self._seen = {id for item in shown for id in item.stands_for}
        self._short = {id for item in shown if item.shortened for id in item.stands_for}
        cut_at = min((each.seq for each in look.entries if each.id in self._seen), default=0)
        self._cut = look.compaction.seq if look.compaction is not None else cut_at
        self._names: dict[str, str] = {}

    def item(self, entry: Entry) -> Item:
        if problem_with(entry.type, entry.data) is not None:
            return self._bare(entry, Marked(kind=entry.type, says={"text": "cannot be read"}))
        match entry.type:
            case "message":
                return self._message(entry)
            case "recall":
                quoted = quoted_in(entry)
                return replace(self._bare(entry), kind="recall", recall=quoted)
            case "compaction":
                return replace(self._bare(entry), kind="compaction", compaction=self._left(entry))
            case "flush":
                return replace(self._bare(entry), kind="flush", flush=self._flushed(entry))
            case "prune":
                return replace(self._bare(entry), kind="prune", prune=_pruned(entry))
            case "marker":
                return self._marker(entry)
        return self._bare(entry, Marked(kind=entry.type, says={}))

    def _bare(self, entry: Entry, marker: Marked | None = None) -> Item:
        is_seen = entry.id in self._seen if entry.type in _SAID else entry.seq >= self._cut
        return Item(
            seq=entry.seq,
            id=entry.id,
            kind="marker",
            at=entry.at,
            in_view=is_seen,
            shortened=entry.id in self._short,
            marker=marker,
        )

    def _message(self, entry: Entry) -> Item:
        data = inline(entry.data, self._rooms.store.artifacts, whole=self._is_whole)
        message = message_of(replace(entry, data=data))
        if message is None:
            return self._bare(entry, Marked(kind="message", says={"text": "cannot be read"}))
        self._names |= {call.id: call.name for call in message.tool_calls}
        said = _words_of(message)
        text, is_cut = self._within(said)
        calls, results = self._calls(message), self._results(message.tool_results)
        lengths = [len(each.text) for each in message.tool_results]
        return replace(
            self._bare(entry),
            kind="message",
            role=message.role,
            text=text,
            trust="import" if entry.is_foreign else _TRUST.get(message.role),
            truncated=is_cut or any(each > self._limit for each in lengths),
            tool_calls=calls,
            tool_results=results,
            usage=usage_of(entry),
        )

    def _within(self, text: str) -> tuple[str, bool]:
        return (cut(text, self._limit), True) if len(text) > self._limit else (text, False)

    def _calls(self, message: Message) -> tuple[Called, ...]:
        return tuple(
            Called(id=call.id, name=call.name, arguments=self._within(_argued(call.arguments))[0])
            for call in message.tool_calls
        )

    def _results(self, results: Iterable[ToolResult]) -> tuple[Resulted, ...]:
        return tuple(
            Resulted(
                id=each.call_id,
                name=self._names.get(each.call_id) or self._name_of(each.call_id),
                text=self._within(each.text)[0],
                is_error=bool(each.is_error),
            )
            for each in results
        )

    def _name_of(self, call_id: str) -> str:
        """Of the tool that was called, if that is among what was read anyway."""
        for entry in reversed(self.back.entries):
            message = message_of(entry) if entry.type == "message" else None
            for call in message.tool_calls if message is not None else ():
                if call.id == call_id:
                    return call.name
        return ""

    def _flushed(self, entry: Entry) -> Flushed:
        data = entry.data
        file = data.get("file")
        path = file if isinstance(file, str) else None
        ids = data.get("lines")
        return Flushed(
            outcome=str(data.get("outcome")),
            mode=str(data.get("mode") or "rules"),
            saved=_count(data.get("saved")),
            duplicates=_count(data.get("skipped")),
            file=path,
            reason=_text(data.get("reason")),
            operation=_text(data.get("operation")),
            lines=saved_lines(self._files, path, map(str, ids) if isinstance(ids, list) else ()),
        )

    def _left(self, entry: Entry) -> Compacted:
        start, end = self._range(entry)
        gone = self.back.between(start, end) if start is not None and end is not None else []
        dropped = left_by(entry, gone)
        summary = entry.data.get("summary", ())
        return Compacted(
            strategy=str(entry.data.get("strategy") or ""),
            reason=str(entry.data.get("reason") or ""),
            tokens_before=_count(entry.data.get("tokens_before")),
            tokens_after=_count(entry.data.get("tokens_after")),
            dropped=len(dropped),
            summary=tuple(
                Summed(
                    text=self._within(str(part.get("text", "")))[0],
                    sources=tuple(part.get("sources", ())),
                )
                for part in summary
                if part.get("text")
            ),
            from_seq=dropped[0].seq if dropped else None,
            to_seq=dropped[-1].seq if dropped else None,
        )

    def _range(self, entry: Entry) -> tuple[int | None, int | None]:
        """From where to where the entries stand that were in the view before, and are no more."""
        self.back.reach(entry.seq)
        end = self._cut_of(entry)
        earlier = self.back.find(_cuts, before=entry.seq)
        if earlier is None:
            return 0, end
        return self._cut_of(earlier), end

    def _cut_of(self, entry: Entry) -> int:
        """Where the view begins after a compaction or a reset."""
        first = entry.data.get("first_kept") if entry.type == "compaction" else None
        if isinstance(first, str):
            kept = self.back.find(lambda each: each.id == first)
            if kept is not None:
                return kept.seq
        watermark = entry.data.get("watermark")
        return watermark + 1 if isinstance(watermark, int) else entry.seq

    def _marker(self, entry: Entry) -> Item:
        kind = str(entry.data.get("kind"))
        if kind == "restored":
            text, is_cut = self._within(str(entry.data.get("text", "")))
            marker = Marked(kind=kind, says={"sources": ", ".join(_sources(entry))})
            bare = self._bare(entry, marker)
            return replace(bare, kind="restored", text=text, truncated=is_cut)
        says = {name: str(entry.data[name]) for name in _MARKED if entry.data.get(name)}
        if kind == "vars":
            names = [*entry.data.get("set", {}), *entry.data.get("unset", ())]
            says["text"] = ", ".join(map(str, names))
        number = entry.data.get("window") or entry.data.get("limit")
        marker = Marked(kind=kind, says=says, number=number if isinstance(number, int) else None)
        item = self._bare(entry, marker)
        message = message_of(entry)
        if message is None:
            return item
        return replace(item, role=message.role, text=self._within(_words_of(message))[0])


def left_by(compaction: Entry, candidates: Sequence[Entry]) -> list[Entry]:
    """Those of the entries in which something was said that a compaction took out of the view."""
    stays = {*compaction.data.get("pins", ()), *compaction.data.get("kept", ())}
    return [each for each in candidates if each.type in _SAID and each.id not in stays]


def usage_of(entry: Entry) -> Usage | None:
    """What the provider counted for an answer, if it was kept with it."""
    kept = entry.data.get("usage")
    if not isinstance(kept, Mapping):
        return None
    return Usage(
        input_tokens=_count(kept.get("input_tokens")),
        output_tokens=_count(kept.get("output_tokens")),
        cache_read_tokens=_count(kept.get("cache_read_tokens")),
        cache_write_tokens=_count(kept.get("cache_write_tokens")),
    )


def _pruned(entry: Entry) -> Pruned:
    return Pruned(
        shortened=len(entry.data["shown"]),
        tokens_before=_count(entry.data.get("tokens_before")),
        tokens_after=_count(entry.data.get("tokens_after")),
        reason=str(entry.data.get("reason") or ""),
    )


def _cuts(entry: Entry) -> bool:
    is_reset = entry.type == "marker" and entry.data.get("kind") == "reset"
    return is_reset or (
        entry.type == "compaction" and problem_with("compaction", entry.data) is None
    )


def _words_of(message: Message) -> str:
    """What was said, without what tools said; a picture by its kind."""
    said = []
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            said.append(part.text)
        elif isinstance(part, Image):
            said.append(f"[{part.media_type or 'image'}]")
    return "\n".join(said)


def _argued(arguments: str | Mapping[str, Json]) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(dict(arguments), ensure_ascii=False)


def _sources(entry: Entry) -> list[str]:
    named = entry.data.get("sources")
    return [str(each) for each in named] if isinstance(named, list) else []


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
