"""Typed events on one bus: what the engine did, with ids and numbers, never conversation text.

Promise: a broken listener cannot break a turn; it is named once in the log and the others
still hear (``tests/engine/test_events.py``). Events are told in the order they happened,
in the thread where they happened. Writing them to ``events.jsonl`` is the engine's work.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from threading import Lock
from typing import ClassVar, Literal

from holdfast.types import Json

__all__ = [
    "CommandRan",
    "CompactionEnd",
    "CompactionFailed",
    "CompactionStart",
    "ContextMeasured",
    "ContextPressure",
    "CostLimitReached",
    "Event",
    "EventBus",
    "IndexChanged",
    "Listener",
    "MemoryChanged",
    "MemoryConflict",
    "MemoryErased",
    "MemoryFlushEnd",
    "MemoryFlushSkipped",
    "MemoryFlushStart",
    "MemoryForgotten",
    "MemoryWritten",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "NoticeSent",
    "RecallDone",
    "RestoreDone",
    "Searched",
    "SessionClosed",
    "SessionDeleted",
    "SessionRenamed",
    "SessionStarted",
    "StorageDegraded",
    "ToolEnd",
    "ToolResultsPruned",
    "ToolStart",
    "TranscriptDamaged",
    "TurnFinished",
]

log = logging.getLogger("holdfast.events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, when, and in which session (if in one)."""

    name: ClassVar[str] = "event"
    is_kept: ClassVar[bool] = True
    """Whether it is written to ``events.jsonl``."""

    at: datetime
    session: str | None = None

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def to_json(self) -> dict[str, Json]:
        """``{"event": name, "at": …, …}``; fields that are None are left out."""
        told: dict[str, Json] = {"event": self.name}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None:
                told[each.name] = value.isoformat() if isinstance(value, datetime) else value
        return told


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(Event):
    """A session was created (``resumed`` is False) or opened again."""

    resumed: bool
    entries: int
    forked_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClosed(Event):
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenamed(Event):
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted(Event):
    entries: int
    artifacts_freed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageDegraded(Event):
    """The disk refused a write; ``state`` says whether it still does."""

    state: Literal["failing", "resumed"]
    operation: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptDamaged(Event):
    """Bytes that are not a record were found; intact records around them are loaded."""

    regions: int
    damaged_bytes: int
    quarantine: str


# ── the context ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMeasured(Event):
    """How large the next request is, before anything was done about it."""

    projected: int
    source: str
    messages: int
    window: int
    compact_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPressure(Event):
    """A mark was reached that had not been reached before in this process."""

    level: str
    projected: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultsPruned(Event):
    """Parts of the view are shown shortened from now on."""

    entry: str
    shortened: int
    tokens_before: int
    tokens_after: int
    saved_cost: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlushStart(Event):
    """What is about to be lost is being saved. Always followed by its end."""

    cycle: str
    mode: str
    entries: int
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlushEnd(Event):
    """``saved`` lines were added, ``duplicates`` were known already, ``ungrounded`` had no
    support in what was said; ``verified`` were read back from the file. ``reason`` says why a
    better way was not taken."""

    cycle: str
    outcome: str
    saved: int
    covered: int
    mode: str = "rules"
    duplicates: int = 0
    ungrounded: int = 0
    verified: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    took_ms: float = 0.0
    file: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFlushSkipped(Event):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWritten(Event):
    path: str
    added: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanged(Event):
    """Memory files were changed in one step, which ``undo`` takes back."""

    operation: str
    what: str
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConflict(Event):
    """Two memories contradict each other; nothing was changed, a person decides."""

    conflict: str
    kind: str
    facts: tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryForgotten(Event):
    """Memories moved to the archive, from where they can be restored."""

    items: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryErased(Event):
    """A text was removed from everywhere; the receipt says from where."""

    receipt: str
    stores: int
    spans: int
    remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched(Event):
    """A search was answered. What was asked is not told: events are kept, questions are not."""

    passages: int
    took_ms: float
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChanged(Event):
    """The search index was brought up to date, built anew, or found damaged."""

    what: str
    documents: int = 0
    embedded: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStart(Event):
    strategy: str
    reason: str
    tokens_before: int
    leaving: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionEnd(Event):
    entry: str
    strategy: str
    tokens_before: int
    tokens_after: int
    dropped: int
    fallbacks: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionFailed(Event):
    """History stays as it was."""

    reason: str


# ── the turn ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDone(Event):
    """What a new session starts with. ``cut`` names what found no room."""

    tokens: int
    sources: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    took_ms: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallDone(Event):
    """What was brought back beside a message of the user, or why nothing was."""

    passages: int
    tokens: int = 0
    took_ms: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(Event):
    """The model begins to answer."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate(Event):
    """A piece of the answer; the one event that holds what was said, so it is not kept."""

    is_kept: ClassVar[bool] = False

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(Event):
    entry: str
    tool_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStart(Event):
    tool: str
    call: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnd(Event):
    tool: str
    call: str
    is_error: bool
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(Event):
    """The answer is given and on disk."""

    steps: int
    projected: int
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeSent(Event):
    """A notice went out through a channel, or did not, and why."""

    channel: str
    kind: str
    outcome: str
    attempts: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRan(Event):
    """The command of the hard threshold ended; its output is not told."""

    cycle: str
    outcome: str
    seconds: float
    exit_code: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLimitReached(Event):
    """Models are not asked in the background for the rest of the day: rules take over."""

    spent: float
    limit: float
    what: str


Listener = Callable[[Event], None]


class EventBus:
    """Tells every listener of every event; safe to use from several threads."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._lock = Lock()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` for each event from now on; returns the function that ends it."""
        with self._lock:
            self._listeners = [*self._listeners, listener]

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [each for each in self._listeners if each is not listener]

        return unsubscribe

    def renew(self) -> None:
        """In a forked child: the parent may have held the lock at that moment, for ever."""
        self._lock = Lock()

    def emit(self, event: Event) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:  # the border: other people's code
                log.exception("listener %r failed on %s", listener, event.name)
