"""What a transcript adds up to: counters, goal, variables, where the present cycle begins.

A fold over the entries, so it can always be computed again; ``<session>.state.json`` only
saves the time. Promise: the state after reading a file in any number of steps is the state
after reading it at once (``tests/sessions/test_state.py``). Pure.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from holdfast.sessions.records import Record
from holdfast.sessions.shapes import problem_with
from holdfast.types import GENESIS, Json

__all__ = ["SCHEMA", "State"]

log = logging.getLogger("holdfast.sessions")

SCHEMA = 2

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
    memory_mode: str | None = None
    """What the conversation may do with memory, if it was restricted."""
    restored: str | None = None
    """What the conversation began with, out of memory."""
    observed_window: int | None = None
    """What a model was seen to read at most, and which."""
    observed_model: str | None = None
    model: str | None = None
    """The model of the conversation, and what it can read, as the host last said."""
    window: int | None = None
    forked_from: Mapping[str, Json] | None = None
    reset_offset: int | None = None
    """Where the last marker stands that emptied the view."""
    earlier_offsets: dict[str, int] = field(default_factory=dict)
    """Where the entries stand that the compaction shows from before its cut, once found."""

    def to_bytes(self) -> bytes:
        """The state as it is saved, with a checksum."""
        text = json.dumps(asdict(self)).encode()
        return b"%b\n%08x\n" % (text, zlib.crc32(text))

    @classmethod
    def from_bytes(cls, saved: bytes) -> State | None:
        """The state that was saved; None if it was not us, not this version, or not all of it."""
        text, _, checksum = saved.partition(b"\n")
        if checksum != b"%08x\n" % zlib.crc32(text):
            return None
        try:
            stored = json.loads(text)
            return cls(**stored) if stored.get("schema") == SCHEMA else None
        except TypeError:
            return None  # fields of another version, whatever its number

    def advance(self, record: Record) -> None:
        """Take one more record into account."""
        self.end = record.offset + len(record.line)
        self.last_offset = record.offset
        self.last_id = record.id
        self.last_seq = max(record.seq, self.last_seq)
        self.last_at = record.at_text
        self.entries += 1
        if record.type == "message":
            self.messages += 1
            self.closed = False
        elif record.type == "prune" and self.earlier_offsets:
            self._remember_prune(record)
        elif record.type not in _TOLD_BY_ENVELOPE:
            self._advance_by_data(record)
        if self.created_at is None:
            self.created_at = record.at_text

    def _remember_prune(self, record: Record) -> None:
        """It may shorten an entry that is shown from before the cut."""
        data = record.entry().data
        if problem_with("prune", data) is None and any(
            change["entry"] in self.earlier_offsets for change in data["shown"]
        ):
            self.earlier_offsets[record.id] = record.offset

    def _advance_by_data(self, record: Record) -> None:
        entry = record.entry()
        data = entry.data
        if entry.type != record.type:
            return  # only its envelope can be read
        if (problem := problem_with(record.type, data)) is not None:
            log.warning("entry %s (%s) is left out: %s", record.id, record.type, problem)
            return
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
                self.cycle = record.id
            case "memory":
                self.memory_mode = data.get("mode")
            case "restored":
                self.restored = data.get("text")
            case "overflow":
                self.observed_window, self.observed_model = data.get("limit"), data.get("model")
            case "model":
                self.model, self.window = data.get("name"), data.get("window")
