"""Save what is about to leave the view: a lease, an extractor, the daily file, a record.

Promise: when ``save`` returns, every entry it was given is covered by a record in the
transcript, and the lines it counts are on disk; ``memory_flush_start`` is always followed by
``memory_flush_end`` (``tests/engine/test_turn.py``).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.context.extract import Heard, extract
from holdfast.context.flush import FlushPlan, FlushRecord, NoFlush, plan_flush
from holdfast.engine.remembering import write_lines
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.events import (
    Event,
    MemoryFlushEnd,
    MemoryFlushSkipped,
    MemoryFlushStart,
)
from holdfast.redact import has_secret, redact
from holdfast.retain import RetainLine
from holdfast.sessions.shapes import message_of
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Citation, Entry

__all__ = ["FlushDone", "Saver", "already_covered"]

_POLL_SECONDS: Final = 0.05
_RULES_SECONDS: Final = 5.0
"""How long a lease for rules is: whoever died with one should not keep others waiting."""
RULES: Final = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushDone:
    """A flush that ended well: what it covers, and what it wrote."""

    outcome: str
    covers: tuple[str, ...]
    saved: int
    file: str | None = None


def already_covered(look: Look) -> tuple[str, ...]:
    """Entries shown from before the cut whose flush record lies before it as well."""
    return tuple(look.compaction.data.get("covered", ())) if look.compaction else ()


class Saver:
    """Saves entries of one session to the agent's memory."""

    def __init__(self, rooms: Rooms, transcript: Transcript) -> None:
        self._rooms = rooms
        self._transcript = transcript

    def plan(
        self,
        look: Look,
        leaving: Collection[str],
        *,
        reason: str,
        wait: bool = True,
        must: bool = False,
    ) -> FlushPlan | NoFlush:
        """What of ``leaving`` has to be saved now; nothing is written."""
        return plan_flush(
            look.entries,
            leaving,
            cycle=look.view.cycle,
            now=self._rooms.clock.now(),
            reason=reason,
            seconds=min(self._rooms.settings.flush.total_seconds, _RULES_SECONDS),
            covered=already_covered(look),
            attempts=None if must else self._rooms.settings.flush.attempts,
            wait_for_others=wait,
        )

    def save(self, leaving: Collection[str], *, reason: str, must: bool) -> FlushDone | NoFlush:
        """Save what is not covered yet.

        If another process is at it, a caller who ``must`` drop these entries waits for it, but
        only so long; then it saves them itself.
        """
        give_up = time.monotonic() + self._rooms.settings.flush.inline_seconds
        while True:
            wait = time.monotonic() < give_up
            found = self._take_lease(leaving, reason, wait=wait, must=must)
            if isinstance(found, tuple):
                return self._run(*found)
            if found.until is None or not must:
                self._tell(MemoryFlushSkipped, reason=found.reason)
                return found
            time.sleep(_POLL_SECONDS)

    def _take_lease(
        self, leaving: Collection[str], reason: str, *, wait: bool, must: bool
    ) -> tuple[FlushPlan, list[Entry]] | NoFlush:
        """The plan under the session's lock: of two who ask at once only one gets it."""
        with self._transcript.exclusive():
            look = self._rooms.store.look(self._transcript)
            plan = self.plan(look, leaving, reason=reason, wait=wait, must=must)
            if isinstance(plan, NoFlush):
                return plan
            self._append(plan.record("flushing", owner=self._rooms.owner, mode=RULES))
        covers = set(plan.covers)
        return plan, [entry for entry in look.entries if entry.id in covers]

    def _run(self, plan: FlushPlan, entries: list[Entry]) -> FlushDone:
        self._tell(
            MemoryFlushStart,
            cycle=plan.cycle,
            mode=RULES,
            entries=len(plan.covers),
            attempt=plan.attempt,
            reason=plan.reason,
        )
        try:
            record = self._write(plan, entries)
            self._append(record)
        except BaseException as error:
            reason = error.message if isinstance(error, HoldfastError) else type(error).__name__
            with suppress(HoldfastError):  # the disk may refuse this as well: the lease runs out
                self._append(
                    plan.record("failed", owner=self._rooms.owner, mode=RULES, reason=reason)
                )
            self._tell(
                MemoryFlushEnd,
                cycle=plan.cycle,
                outcome="failed",
                saved=0,
                covered=0,
                reason=reason,
            )
            raise
        self._tell(
            MemoryFlushEnd,
            cycle=plan.cycle,
            outcome=record.outcome,
            saved=record.saved,
            covered=len(record.covers),
            file=record.file,
            reason=record.reason,
        )
        return FlushDone(
            outcome=record.outcome, covers=record.covers, saved=record.saved, file=record.file
        )

    def _write(self, plan: FlushPlan, entries: list[Entry]) -> FlushRecord:
        rooms = self._rooms
        if rooms.settings.memory.mode != "read-write":
            reason = f"memory.mode is {rooms.settings.memory.mode}"
            return plan.record("empty", owner=rooms.owner, mode=RULES, reason=reason)
        language = rooms.settings.memory.language
        heard = list(self._heard(entries))
        secret = tuple(each.entry for each in heard if has_secret(each.message.text))
        found = extract(
            heard,
            max_lines=rooms.settings.flush.max_lines,
            language=None if language == "auto" else language,
            redact=redact,
        )
        if not found.lines:
            return plan.record("empty", owner=rooms.owner, mode=RULES, has_secret=secret)
        lines = [self._cited(line) for line in found.lines]
        written = write_lines(rooms, lines, what="flush", session=self._transcript.name)
        return plan.record(
            "flushed",
            owner=rooms.owner,
            mode=RULES,
            saved=len(written.added),
            skipped=len(written.skipped),
            file=written.path,
            lines=tuple(each.id for each in written.added),
            has_secret=secret,
        )

    def _heard(self, entries: Iterable[Entry]) -> Iterable[Heard]:
        """The entries as they were said: whole, whatever the view shows of them."""
        for entry in entries:
            message = message_of(self._rooms.store.whole(entry, strict=False))
            if message is not None and entry.type != "recall":
                yield Heard(entry=entry.id, at=entry.at, message=message)

    def _cited(self, line: RetainLine) -> RetainLine:
        """The line with sources that can be followed from anywhere: ``session#entry``."""
        sources = (Citation(source=self._transcript.name, entry=each) for each in line.sources)
        return replace(line, sources=tuple(map(str, sources)))

    def _append(self, record: FlushRecord) -> None:
        self._transcript.append([Draft(type="flush", data=record.entry_data())])

    def _tell(self, event: type[Event], **told: Any) -> None:
        self._rooms.tell(event, session=self._transcript.name, **told)
