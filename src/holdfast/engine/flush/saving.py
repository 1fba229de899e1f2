"""Save what is about to leave the view: a lease, a ladder of ways, the daily file, a record.

The lease and the record are entries of the transcript, so two processes never save the same at
once, and a crash blocks nothing: past its deadline a lease counts no more. What is saved is
read back from the file before it counts.

Promise: when ``save`` returns, every entry it was given is covered by a record in the
transcript, and the lines it counts are on disk; a model that fails in whatever way costs at most
the time it was given; ``memory_flush_start`` is always followed by ``memory_flush_end``
(``tests/engine/test_saving.py``, ``tests/engine/test_loss_paths.py``); what was erased while a
model read it is not written (``tests/engine/test_erased_meanwhile.py``), and what was said while
memory was off is not read (``tests/engine/test_off_sessions.py``).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Final

from holdfast.context.compaction.wording import language_of
from holdfast.context.extract import Heard
from holdfast.context.flush import (
    FlushPlan,
    FlushRecord,
    NoFlush,
    entry_hash,
    flush_records,
    lease_of,
    model_may_try,
    plan_flush,
)
from holdfast.engine.flush.ladder import Climbed, Help, Way, climb, ways
from holdfast.engine.notify import Notice, NoticeKind
from holdfast.engine.remembering import Remembered, write_lines
from holdfast.engine.rooms import MemoryMode, Rooms
from holdfast.errors import HoldfastError, StorageError
from holdfast.events import Event, MemoryFlushEnd, MemoryFlushSkipped, MemoryFlushStart
from holdfast.fencing import unconfirmed_in
from holdfast.redact import has_secret
from holdfast.retain import RetainLine
from holdfast.sessions.private import OFF, said_in_private
from holdfast.sessions.shapes import message_of
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Citation, Entry

__all__ = ["PASSED_OVER", "FlushDone", "Saver", "already_covered", "is_held", "passed_over"]

PASSED_OVER: Final = "memory is on again"
"""What a record is for that covers what was said in private, so that nobody reads it."""
_ERASED: Final = "text was erased meanwhile"

_POLL_SECONDS: Final = 0.05
_BESIDE: Final = 400_000
"""Characters of what tools said before that a flush knows about."""
_RULES_SECONDS: Final = 5.0
"""How long a lease for rules is: whoever died with one should not keep others waiting. Also what
a lease for a model has beyond the model's own time, to write down what it found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushDone:
    """The receipt of a flush that ended well: what it covers, what it wrote, what it cost."""

    outcome: str
    covers: tuple[str, ...]
    saved: int
    file: str | None = None
    mode: str = "rules"
    lines: tuple[str, ...] = ()
    """The ids of the memories that were written."""
    operation: str | None = None
    """What ``undo`` takes back."""
    duplicates: int = 0
    ungrounded: int = 0
    verified: int = 0
    tried: tuple[str, ...] = ()
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    took_ms: float = 0.0
    reason: str | None = None


def already_covered(look: Look) -> tuple[str, ...]:
    """Entries shown from before the cut whose flush record lies before it as well."""
    return tuple(look.compaction.data.get("covered", ())) if look.compaction else ()


def is_held(rooms: Rooms, transcript: Transcript) -> bool:
    """Whether somebody is saving entries of the session now: a lease past its deadline is none."""
    look = rooms.store.look(transcript)
    ids = [entry.id for entry in look.entries]
    return lease_of(flush_records(look.entries), ids, rooms.clock.now()) is not None


def passed_over(rooms: Rooms, transcript: Transcript) -> list[Draft]:
    """The lease and the record that cover what was said while memory was off; none, if nothing
    was.

    To be appended by whoever holds the session, before the marker that ends this.
    """
    look = rooms.store.look(transcript)
    private = said_in_private(look.entries, OFF)
    said = [each.id for each in look.entries if each.id in private and message_of(each)]
    saver = Saver(rooms, transcript)
    plan = saver.plan(look, said, reason=PASSED_OVER, wait=False, must=True)
    if isinstance(plan, NoFlush):
        return []
    record = partial(plan.record, owner=rooms.owner, mode="rules")
    ended = record("empty", reason="it was said while memory was off")
    return [Draft(type="flush", data=each.entry_data()) for each in (record("flushing"), ended)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lease:
    plan: FlushPlan
    entries: list[Entry]
    ways: tuple[Way, ...]
    seconds: float
    """How long models may take in all."""
    mode: MemoryMode
    """What the session might do with memory when this was said."""
    beside: tuple[str, ...] = ()
    """What tools said besides: recalled, or saved before. Who repeats it repeats a tool."""


class Saver:
    """Saves entries of one session to the agent's memory."""

    def __init__(self, rooms: Rooms, transcript: Transcript, help: Help | None = None) -> None:
        self._rooms = rooms
        self._transcript = transcript
        self._help = help or Help()

    def plan(
        self,
        look: Look,
        leaving: Collection[str],
        *,
        reason: str,
        wait: bool = True,
        must: bool = False,
        seconds: float = _RULES_SECONDS,
    ) -> FlushPlan | NoFlush:
        """What of ``leaving`` has to be saved now; nothing is written."""
        return plan_flush(
            look.entries,
            leaving,
            cycle=look.view.cycle,
            now=self._rooms.clock.now(),
            reason=reason,
            seconds=seconds,
            covered=already_covered(look),
            attempts=None if must else self._rooms.settings.flush.attempts,
            wait_for_others=wait,
        )

    def save(
        self,
        leaving: Collection[str],
        *,
        reason: str,
        must: bool,
        by_rules: bool = False,
    ) -> FlushDone | NoFlush:
        """Save what is not covered yet.

        A caller who ``must`` drop these entries waits for a model, or for another process that
        is at it, but only for ``flush.inline_seconds``; then rules save them. Nobody waits for
        one who need not: a model then has ``flush.total_seconds``.
        """
        settings = self._rooms.settings.flush
        patience = settings.inline_seconds if must else settings.total_seconds
        give_up = time.monotonic() + patience
        while True:
            left = give_up - time.monotonic()
            found = self._take_lease(
                leaving, reason, must=must, left=0.0 if by_rules else left, wait=left > 0
            )
            if isinstance(found, _Lease):
                with self._rooms.in_phase(self._transcript.name, "FLUSHING"):
                    return self._run(found)
            if found.until is None or not must:
                self._tell(MemoryFlushSkipped, reason=found.reason)
                return found
            time.sleep(_POLL_SECONDS)

    def _take_lease(
        self, leaving: Collection[str], reason: str, *, must: bool, left: float, wait: bool
    ) -> _Lease | NoFlush:
        """The plan under the session's lock: of two who ask at once only one gets it."""
        is_paid = self._is_paid(left)  # before the lock: it may tell somebody something
        with self._transcript.exclusive():
            look = self._rooms.store.look(self._transcript)
            order = self._ways(look, left) if is_paid else ("rules",)
            seconds = left + _RULES_SECONDS if order[0] != "rules" else _RULES_SECONDS
            plan = self.plan(look, leaving, reason=reason, wait=wait, must=must, seconds=seconds)
            if isinstance(plan, NoFlush):
                return plan
            self._append(plan.record("flushing", owner=self._rooms.owner, mode=order[0]))
            mode = self._mode
        covers = set(plan.covers)
        return _Lease(
            plan=plan,
            entries=[entry for entry in look.entries if entry.id in covers],
            ways=order,
            seconds=left,
            mode=mode,
            beside=_tools_beside(look.entries, covers),
        )

    def _is_paid(self, left: float) -> bool:
        """Whether there is a model to ask, and money to ask it."""
        if self._help.model is None or not self._rooms.settings.flush.enabled or left <= 0:
            return False
        return self._may_write and self._rooms.spending.refusal("flush") is None

    def _ways(self, look: Look, left: float) -> tuple[Way, ...]:
        """The ways to save, the best first; rules are always the last."""
        settings = self._rooms.settings.flush
        may_not = model_may_try(
            flush_records(look.entries),
            cycle=look.view.cycle,
            now=self._rooms.clock.now(),
            attempts=settings.attempts,
        )
        return ("rules",) if may_not is not None else ways(settings.mode, self._help, seconds=left)

    @property
    def _mode(self) -> MemoryMode:
        return self._rooms.memory_mode(self._transcript.name)

    @property
    def _may_write(self) -> bool:
        return self._mode == "read-write"

    # ── one flush ───────────────────────────────────────────────────────────────────────────

    def _run(self, lease: _Lease) -> FlushDone:
        plan, began = lease.plan, time.monotonic()
        self._tell(
            MemoryFlushStart,
            cycle=plan.cycle,
            mode=lease.ways[0],
            entries=len(plan.covers),
            attempt=plan.attempt,
            reason=plan.reason,
        )
        try:
            done = self._write(lease, began)
        except BaseException as error:
            self._failed(lease, error)
            raise
        told = asdict(done)
        for name in ("covers", "lines", "operation", "tried", "calls"):
            del told[name]
        self._tell(MemoryFlushEnd, cycle=plan.cycle, covered=len(done.covers), **told)
        if done.mode == "rules" and not all(each.endswith(_ERASED) for each in done.tried):
            self._warn("model_down", lease, attempts=done.calls)
        return done

    def _warn(self, kind: NoticeKind, lease: _Lease, **numbers: int) -> None:
        if self._rooms.is_scratch:
            return
        said = (m.text for e in lease.entries[-20:] if (m := message_of(e)) and m.role == "user")
        chosen = self._rooms.settings.memory.language
        self._rooms.notices.send(
            Notice(
                kind=kind,
                session=self._transcript.name,
                cycle=lease.plan.cycle,
                language=language_of(said) if chosen == "auto" else chosen,
                numbers=numbers,
            )
        )

    def _failed(self, lease: _Lease, error: BaseException) -> None:
        reason = error.message if isinstance(error, HoldfastError) else type(error).__name__
        mode = lease.ways[0]
        with suppress(HoldfastError):  # the disk may refuse this as well: the lease runs out
            self._append(
                lease.plan.record("failed", owner=self._rooms.owner, mode=mode, reason=reason)
            )
        told = {"outcome": "failed", "saved": 0, "covered": 0, "mode": mode, "reason": reason}
        self._tell(MemoryFlushEnd, cycle=lease.plan.cycle, **told)
        self._warn("flush_failed", lease, attempts=lease.plan.attempt)

    def _write(self, lease: _Lease, began: float) -> FlushDone:
        rooms = self._rooms
        # Whatever was allowed when it was said, and is now: the less of both.
        for mode in (lease.mode, self._mode):
            if mode != "read-write":
                nothing = Climbed(mode="rules")
                return self._end(lease, nothing, None, began, f"memory.mode is {mode}")
        heard = list(self._heard(lease.entries))
        found = climb(
            rooms, heard, self._help, lease.ways, seconds=lease.seconds, beside=lease.beside
        )
        # An erasure takes a text out of memory first and then, under this lock, out of here. So
        # what is written now it finds in its last look, or it was done before and shows here.
        with self._transcript.exclusive():
            now = self._as_it_is(lease)
            if now is not lease:
                lease, heard = now, list(self._heard(now.entries))
                found = self._by_rules(now, heard, found)
            secret = tuple(each.entry for each in heard if has_secret(each.message.text))
            written = None
            if found.lines:
                foreign = {entry.id for entry in lease.entries if entry.is_foreign}
                lines = [self._cited(line, foreign) for line in found.lines]
                written = _written_and_read_back(rooms, lines, self._transcript.name)
            reason = "; ".join(found.tried) or None
            return self._end(lease, found, written, began, reason, secret)

    def _as_it_is(self, lease: _Lease) -> _Lease:
        """The same lease, or one of the entries as an erasure has left them."""
        wanted = set(lease.plan.covers)
        look = self._rooms.store.look(self._transcript)
        entries = [entry for entry in look.entries if entry.id in wanted]
        if len(entries) < len(wanted):  # some have left the view
            entries = [entry for entry in self._transcript.entries() if entry.id in wanted]
        hashes = {entry.id: entry_hash(entry) for entry in entries}
        if hashes == dict(zip(lease.plan.covers, lease.plan.hashes, strict=True)):
            return lease
        plan = replace(lease.plan, covers=tuple(hashes), hashes=tuple(hashes.values()))
        return replace(lease, plan=plan, entries=entries)

    def _by_rules(self, lease: _Lease, heard: list[Heard], found: Climbed) -> Climbed:
        """What rules find, where a text went that somebody else has read."""
        again = climb(self._rooms, heard, Help(), ("rules",), seconds=0.0, beside=lease.beside)
        tried = (*found.tried, f"{found.mode}: {_ERASED}") if found.mode != "rules" else found.tried
        return replace(again, tried=tried, ungrounded=found.ungrounded, spent=found.spent)

    def _end(
        self,
        lease: _Lease,
        found: Climbed,
        written: Remembered | None,
        began: float,
        reason: str | None,
        secret: tuple[str, ...] = (),
    ) -> FlushDone:
        """Append the record that covers, and make the receipt."""
        spent = found.spent
        added = written.added if written else ()
        done = FlushDone(
            outcome="flushed" if written else "empty",
            covers=lease.plan.covers,
            saved=len(added),
            file=written.path if written else None,
            mode=found.mode,
            lines=tuple(each.id for each in added),
            operation=written.operation if written else None,
            duplicates=len(written.skipped) if written else 0,
            ungrounded=found.ungrounded,
            verified=len(added),
            tried=found.tried,
            calls=spent.calls,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost=spent.dollars,
            took_ms=round((time.monotonic() - began) * 1000, 1),
            reason=reason,
        )
        cost = {**asdict(spent), "ms": done.took_ms} if spent.calls else None
        record = lease.plan.record(
            "flushed" if written else "empty",
            owner=self._rooms.owner,
            mode=done.mode,
            saved=done.saved,
            skipped=done.duplicates,
            file=done.file,
            lines=done.lines,
            operation=done.operation,
            has_secret=secret,
            tried=done.tried,
            ungrounded=done.ungrounded,
            verified=done.verified,
            cost=cost,
            said=found.said,
            reason=reason,
        )
        self._append(record)
        return done

    def _heard(self, entries: Iterable[Entry]) -> Iterable[Heard]:
        """The entries as they were said: whole, whatever the view shows of them."""
        for entry in entries:
            message = message_of(self._rooms.store.whole(entry, strict=False))
            if message is not None and entry.type != "recall":
                yield Heard(entry=entry.id, at=entry.at, message=message)

    def _cited(self, line: RetainLine, foreign: set[str]) -> RetainLine:
        """The line with sources that can be followed from anywhere: ``session#entry``. What
        stands on words that were brought in from elsewhere is trusted as those are."""
        sources = (Citation(source=self._transcript.name, entry=each) for each in line.sources)
        trust = line.trust if foreign.isdisjoint(line.sources) else "import"
        return replace(line, sources=tuple(map(str, sources)), trust=trust)

    def _append(self, record: FlushRecord) -> None:
        self._transcript.append([Draft(type="flush", data=record.entry_data())])

    def _tell(self, event: type[Event], **told: Any) -> None:
        self._rooms.tell(event, session=self._transcript.name, **told)


def _tools_beside(entries: Sequence[Entry], besides: Collection[str]) -> tuple[str, ...]:
    """What tools said that is not among the entries to be saved: what was recalled of it, and
    what was saved before; the newest, where it is much."""
    found: list[str] = []
    room = _BESIDE
    for entry in reversed(entries):
        message = message_of(entry)
        if message is None or room <= 0:
            continue
        texts = unconfirmed_in(message.text)
        if entry.id not in besides:
            texts += [each.text for each in message.tool_results if each.text]
        found += texts
        room -= sum(map(len, texts))
    return tuple(found)


def _written_and_read_back(rooms: Rooms, lines: list[RetainLine], session: str) -> Remembered:
    """What was written, once every line of it was found in the file again.

    A line that is not there is written once more: somebody may have put an older version of the
    file back in this moment.
    """
    write = partial(write_lines, rooms, lines, what="flush", session=session)
    written = write()
    if _missing(rooms, written):
        written = write()
        if missing := _missing(rooms, written):
            raise StorageError(
                f"{missing} of {len(written.added)} memory lines are not in {written.path} "
                "after they were written.",
                hint="See whether another program puts old versions of the file back.",
            )
    return written


def _missing(rooms: Rooms, written: Remembered) -> int:
    if not written.added:
        return 0
    text = rooms.memory.workspace.read(written.path) or ""
    return sum(each.id not in text or each.text not in text for each in written.added)
