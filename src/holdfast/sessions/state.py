"""What a transcript adds up to: counters, goal, variables, where the present cycle begins.

A fold over the entries, so it can always be computed again; ``<session>.state.json`` only
saves the time. Promise: the state after reading a file in any number of steps is the state
after reading it at once (``tests/sessions/test_state.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields

from holdfast.sessions.records import Record
from holdfast.types import GENESIS, Json

__all__ = ["SCHEMA", "State"]

SCHEMA = 1

_TOLD_BY_ENVELOPE = frozenset({"message", "prune", "recall"})
"""Types that change no counter by their data: their JSON need not be parsed."""


@dataclass(slots=True, kw_only=True)
class State:
    """The counters of a session. The names of flush and compaction are part of the API.

    Mutable, because a frozen copy per record would double the time of reading a large file.
    """

    schema: int = SCHEMA
    end: int = 0
    """Bytes of the file that are accounted for."""
    last_offset: int = 0
    last_id: str | None = None
    last_seq: int = -1
    last_at: str | None = None
    created_at: str | None = None
    entries: int = 0
    messages: int = 0
    cycle: str = GENESIS
    cycle_offset: int | None = None
    """Where the compaction entry stands that opened this cycle."""
    compaction_count: int = 0
    memory_flush_compaction_count: int | None = None
    memory_flush_at: str | None = None
    memory_flushing: bool = False
    last_memory_flush: Mapping[str, Json] | None = None
    goal: str | None = None
    vars: Mapping[str, Json] = field(default_factory=dict)
    closed: bool = False
    forked_from: Mapping[str, Json] | None = None
    reset_offset: int | None = None
    """Where the last marker stands that emptied the view."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> State | None:
        """The state that was saved, or None if another version saved it."""
        names = {each.name for each in fields(cls)}
        if stored.get("schema") != SCHEMA or set(stored) != names:
            return None
        return cls(**stored)

    def advance(self, record: Record) -> None:
        """Take one more record into account."""
        self.end = record.end
        self.last_offset = record.offset
        self.last_id = record.id
        self.last_seq = max(record.seq, self.last_seq)
        self.last_at = record.at_text
        self.entries += 1
        if record.type == "message":
            self.messages += 1
            self.closed = False
        elif record.type not in _TOLD_BY_ENVELOPE:
            self._advance_by_data(record)
        if self.created_at is None:
            self.created_at = record.at_text

    def _advance_by_data(self, record: Record) -> None:
        data = record.entry().data
        match record.type:
            case "compaction":
                self.cycle = record.id
                self.cycle_offset = record.offset
                self.compaction_count += 1
            case "flush":
                self._after_flush(data, record.at_text)
            case "marker":
                self._after_marker(data, record)

    def _after_flush(self, data: Mapping[str, Json], at: str) -> None:
        outcome = data.get("outcome")
        self.memory_flushing = outcome == "flushing"
        if outcome in {"flushed", "empty"}:
            self.memory_flush_at = at
            self.memory_flush_compaction_count = self.compaction_count
            self.last_memory_flush = {"at": at, "saved": data.get("saved", 0)}

    def _after_marker(self, data: Mapping[str, Json], record: Record) -> None:
        match data.get("kind"):
            case "goal":
                self.goal = data.get("text")
            case "vars":
                unset = set(data.get("unset", ()))
                kept = {name: value for name, value in self.vars.items() if name not in unset}
                self.vars = {**kept, **data.get("set", {})}
            case "closed":
                self.closed = True
            case "fork":
                self.forked_from = {"session": data.get("session"), "entry": data.get("entry")}
            case "reset":
                self.reset_offset = record.offset
