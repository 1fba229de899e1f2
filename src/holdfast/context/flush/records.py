"""Which entries must be saved before they leave the view, who may save them now, and why not.

The guard is a record in the transcript. A ``flush`` entry names the cycle, the entries it covers
and the hash of each as the extractor read it:

    flushing   a lease: owner, attempt, deadline. The first valid one wins; past its deadline
               anyone may take the next attempt, so a crash blocks nothing
    flushed    its lines are in memory
    empty      it was read, and there was nothing to keep
    failed     with the reason; covers nothing

Promise: an entry counts as covered only by a record whose hash is that of the entry as it
stands in the transcript; of two owners at most one holds a lease at a time
(``tests/context/test_flush.py``). Pure: times are given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from holdfast.types import Entry, Json

__all__ = [
    "COVERING",
    "FlushPlan",
    "FlushRecord",
    "Lease",
    "NoFlush",
    "covered_by",
    "entry_hash",
    "flush_records",
    "lease_of",
    "model_may_try",
    "plan_flush",
]

FlushOutcome = Literal["flushing", "flushed", "empty", "failed"]
COVERING: Final = frozenset({"flushed", "empty"})
_HASH_DIGITS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushRecord:
    """What a ``flush`` entry says."""

    outcome: FlushOutcome
    cycle: str
    owner: str
    attempt: int
    mode: str
    covers: tuple[str, ...]
    hashes: tuple[str, ...]
    """Of each entry as the extractor read it, in the same order."""
    deadline: datetime | None = None
    saved: int = 0
    skipped: int = 0
    file: str | None = None
    lines: tuple[str, ...] = ()
    """The ids of the memories that were written."""
    operation: str | None = None
    """What takes them back."""
    has_secret: tuple[str, ...] = ()
    """Those of the entries in which a credential was said. Memory does not hold it."""
    tried: tuple[str, ...] = ()
    """The better ways that were tried before this one, each with why it failed."""
    ungrounded: int = 0
    """Lines a model wrote without support in what was said: left out."""
    verified: int = 0
    """Lines that were read back from the file, word for word."""
    cost: Mapping[str, Json] | None = None
    """Calls, tokens, dollars and milliseconds."""
    said: str | None = None
    """What else a model said in its silent turn; shown to nobody."""
    why: str | None = None
    """What the flush was for: which mark or which loss."""
    reason: str | None = None

    @property
    def asked_a_model(self) -> bool:
        """Whether this flush was, or began as, one by a model."""
        return self.mode != "rules" or bool(self.tried)

    def entry_data(self) -> dict[str, Json]:
        """The data of the entry; fields that say nothing are left out."""
        given: dict[str, Json] = {
            "outcome": self.outcome,
            "cycle": self.cycle,
            "owner": self.owner,
            "attempt": self.attempt,
            "mode": self.mode,
            "covers": list(self.covers),
            "hashes": list(self.hashes),
            "deadline": self.deadline.isoformat() if self.deadline else None,
            "file": self.file,
            "lines": list(self.lines) or None,
            "operation": self.operation,
            "has_secret": list(self.has_secret) or None,
            "tried": list(self.tried) or None,
            "ungrounded": self.ungrounded or None,
            "verified": self.verified or None,
            "cost": dict(self.cost) if self.cost else None,
            "said": self.said,
            "why": self.why,
            "reason": self.reason,
        }
        if self.outcome in COVERING:
            given |= {"saved": self.saved, "skipped": self.skipped}
        return {key: value for key, value in given.items() if value is not None}


def flush_records(entries: Iterable[Entry]) -> list[FlushRecord]:
    """The flush records among ``entries``; what cannot be read as one is left out."""
    return [
        record
        for entry in entries
        if entry.type == "flush" and (record := _read(entry.data)) is not None
    ]


def _read(data: Mapping[str, Json]) -> FlushRecord | None:
    try:
        deadline = data.get("deadline")
        return FlushRecord(
            outcome=data["outcome"],
            cycle=str(data["cycle"]),
            owner=str(data["owner"]),
            attempt=int(data["attempt"]),
            mode=str(data["mode"]),
            covers=tuple(str(each) for each in data["covers"]),
            hashes=tuple(str(each) for each in data["hashes"]),
            deadline=datetime.fromisoformat(deadline) if deadline else None,
            saved=int(data.get("saved", 0)),
            skipped=int(data.get("skipped", 0)),
            file=data.get("file"),
            lines=tuple(data.get("lines", ())),
            operation=data.get("operation"),
            has_secret=tuple(data.get("has_secret", ())),
            tried=tuple(data.get("tried", ())),
            ungrounded=int(data.get("ungrounded", 0)),
            verified=int(data.get("verified", 0)),
            cost=data.get("cost"),
            said=data.get("said"),
            why=data.get("why"),
            reason=data.get("reason"),
        )
    except (KeyError, TypeError, ValueError):
        return None  # somebody else's record: it proves nothing, so it covers nothing


def entry_hash(entry: Entry) -> str:
    """The hash of what an extractor reads when it reads this entry."""
    line = json.dumps([entry.id, entry.data], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]


def covered_by(records: Iterable[FlushRecord], entries: Iterable[Entry]) -> set[str]:
    """Those of the entries that a record covers, and whose content is what it read."""
    read = {
        pair
        for record in records
        if record.outcome in COVERING
        for pair in zip(record.covers, record.hashes, strict=False)
    }
    named = {entry_id for entry_id, _ in read}
    return {
        entry.id for entry in entries if entry.id in named and (entry.id, entry_hash(entry)) in read
    }


# ── the lease ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who is saving what, and until when nobody else may."""

    owner: str
    attempt: int
    deadline: datetime


def lease_of(
    records: Sequence[FlushRecord], wanted: Collection[str], now: datetime
) -> Lease | None:
    """The lease somebody holds on any of these entries now: the first that was not ended.

    Records are in the order of the transcript, which is the order in which they won.
    """
    wanted = set(wanted)
    held: dict[tuple[str, str, int], FlushRecord] = {}
    for record in records:
        key = (record.cycle, record.owner, record.attempt)  # attempts are counted per cycle
        if record.outcome == "flushing":
            held.setdefault(key, record)
        else:
            held.pop(key, None)
    for record in held.values():
        if (
            record.deadline is not None
            and record.deadline > now
            and not wanted.isdisjoint(record.covers)
        ):
            return Lease(owner=record.owner, attempt=record.attempt, deadline=record.deadline)
    return None


def model_may_try(
    records: Sequence[FlushRecord], *, cycle: str, now: datetime, attempts: int
) -> str | None:
    """Why no model may save anything (more) in this cycle; None if one may.

    One flush by a model per cycle: what comes after it is saved by rules. One that died without
    a word may be tried again, ``attempts`` times in all.
    """
    here = [record for record in records if record.cycle == cycle and record.asked_a_model]
    ended = {(each.owner, each.attempt) for each in here if each.outcome != "flushing"}
    if any(record.outcome in COVERING for record in here):
        return "a model has saved this cycle already"
    begun = [record for record in here if record.outcome == "flushing"]
    for record in begun:
        is_open = (record.owner, record.attempt) not in ended
        if is_open and record.deadline is not None and record.deadline > now:
            return "a model is saving this cycle now"
    if len(begun) >= attempts:
        return f"models have tried {len(begun)} times in this cycle"
    return None


# ── the plan ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushPlan:
    """Save these entries, under this lease."""

    cycle: str
    covers: tuple[str, ...]
    hashes: tuple[str, ...]
    attempt: int
    deadline: datetime
    reason: str

    def record(self, outcome: FlushOutcome, *, owner: str, mode: str, **told: Json) -> FlushRecord:
        """The record that begins (``flushing``) or ends this flush."""
        deadline = self.deadline if outcome == "flushing" else None
        return FlushRecord(
            outcome=outcome,
            cycle=self.cycle,
            owner=owner,
            attempt=self.attempt,
            mode=mode,
            covers=self.covers,
            hashes=self.hashes,
            deadline=deadline,
            why=self.reason,
            **told,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFlush:
    """Nothing to save now, and why."""

    reason: str
    until: datetime | None = None
    """When it is worth asking again, if somebody else is at it."""


def plan_flush(
    entries: Sequence[Entry],
    leaving: Collection[str],
    *,
    cycle: str,
    now: datetime,
    reason: str,
    seconds: float,
    covered: Collection[str] = (),
    attempts: int | None = None,
    wait_for_others: bool = True,
) -> FlushPlan | NoFlush:
    """What of ``leaving`` still has to be saved.

    ``entries`` are the transcript from the cut on, with what the view shows from before it;
    ``covered`` are entries that a record before the cut has already covered. Whoever has
    waited long enough for another's lease goes ahead with ``wait_for_others=False``: saved
    twice is better than not at all. After ``attempts`` failures in a cycle nobody tries again
    who need not.
    """
    if not leaving:
        return NoFlush(reason="nothing leaves the view")
    records = flush_records(entries)
    safe = covered_by(records, entries) | set(covered)
    left = [entry for entry in entries if entry.id in leaving and entry.id not in safe]
    if not left:
        return NoFlush(reason=f"all {len(leaving)} entries that leave are covered")
    here = [record for record in records if record.cycle == cycle]
    failed = sum(record.outcome == "failed" for record in here)
    if attempts is not None and failed >= attempts:
        return NoFlush(reason=f"{failed} attempts have failed in this cycle")
    wanted = [entry.id for entry in left]
    if wait_for_others and (lease := lease_of(records, wanted, now)) is not None:
        return NoFlush(
            reason=f"{lease.owner} is saving them until {lease.deadline:%H:%M:%S}",
            until=lease.deadline,
        )
    return FlushPlan(
        cycle=cycle,
        covers=tuple(wanted),
        hashes=tuple(map(entry_hash, left)),
        attempt=max((record.attempt for record in here), default=0) + 1,
        deadline=now + timedelta(seconds=seconds),
        reason=reason,
    )
