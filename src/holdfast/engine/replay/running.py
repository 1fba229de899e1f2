"""The run itself: before every answer of the log the request is prepared, counted and checked.

Promise: figures are counted, never assumed, and a fault of the engine shows in them
(``tests/engine/test_replay.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeGuard

from holdfast.context.accounting import make_budget
from holdfast.context.assembly import Request, WireFormat
from holdfast.context.blocks import is_user
from holdfast.context.flush import COVERING, FlushRecord, flush_records
from holdfast.context.tokens import TokenEstimator, family_of
from holdfast.context.validity.strings import mend_unicode
from holdfast.engine.facade import open_engine
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.replay.figures import Replayed
from holdfast.engine.replay.metering import Meter, Others
from holdfast.engine.replay.receipts import Receipts, read_back
from holdfast.engine.session import Session
from holdfast.engine.turn import About, CompactionDone, Done, Prepared, PruneDone
from holdfast.errors import IrreducibleContext
from holdfast.events import Event, MemoryFlushEnd, NoticeSent
from holdfast.formats.logs import Recorded
from holdfast.models.tokenizers import find_counter
from holdfast.ports import Model
from holdfast.types import Json, Message

__all__ = ["Dump", "replay"]

SESSION: Final = "replay"
_ASKED_BACK: Final = 12
"""How many dropped entries are asked back through ``expand``; the others by a reading of all."""
_NAMED: Final = 3

# Notices of a replay are counted, not shown: nobody is in that conversation any more.
logging.getLogger("holdfast.notices").addHandler(logging.NullHandler())

Dump = Callable[[dict[str, Json]], None]


def replay(
    recorded: Recorded,
    home: Path,
    *,
    window: int,
    strategy: str | None = None,
    format: WireFormat | None = None,
    model: Model | None = None,
    for_model: str | None = None,
    dump: Dump | None = None,
) -> Replayed:
    """Feed one conversation through an engine at ``home``.

    ``model`` writes the summaries; ``for_model`` names the model that the requests are for, which
    decides how tokens are counted and what is valid.
    """
    clock, ears = _LogClock(recorded), _Ears()
    config: dict[str, Json] = {"context.window": window, **_NOBODY_IS_TOLD}
    if strategy is not None:
        config["compaction.strategy"] = strategy
    opened = open_engine(home, config=config, clock=clock, ids=_Numbers(), background=False)
    with opened as engine:
        engine.subscribe(ears)
        budget = make_budget(engine.settings, window=window)
        family = family_of(for_model) if for_model else "default"
        estimator = TokenEstimator(family, counter=find_counter(family))
        others = Others(budget, estimator, fixed=estimator.tools(recorded.tools))
        run = _Run(engine.session(SESSION), recorded, clock, others, ears, dump)
        about: About = {
            "tools": recorded.tools,
            "format": format or recorded.format,
            "model": for_model,
            "window": window,
            "summariser": model,
        }
        run.go(about)
        result = run.result(home / "agents" / engine.agent)
    return replace(result, notices=ears.notices)  # the last may be sent while it closes


_NOBODY_IS_TOLD: Final[Mapping[str, Json]] = {
    "notices.log.enabled": True,
    "notices.desktop.enabled": False,
    "notices.telegram.token": None,
    "notices.webhook.url": None,
}
"""The conversation is over: what would have been sent is counted, whatever the environment says."""


class _Ears:
    """Hears what the engine tells during a replay."""

    def __init__(self) -> None:
        self.notices = 0
        self.has_flushed = False

    def __call__(self, event: Event) -> None:
        if isinstance(event, MemoryFlushEnd):
            self.has_flushed = True
        elif isinstance(event, NoticeSent):
            is_told = event.channel == "log" and event.outcome == "sent"
            self.notices += is_told and event.kind == "nearly_full"


_NO_DROPS: Final[Mapping[str, Sequence[str]]] = {}
_NO_TIME: Final = datetime(2025, 1, 1, tzinfo=UTC)


class _Numbers:
    """Ids that are the same in every replay of the same log."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, at: datetime) -> str:
        del at
        self._last += 1
        return f"e{self._last:06d}"


class _LogClock:
    """The time of the log, if it tells one; else no time passes that anybody could take for one."""

    def __init__(self, recorded: Recorded) -> None:
        self._times = recorded.at
        known = [at for at in recorded.at if at is not None]
        self._last = known[0] if known else _NO_TIME

    def now(self) -> datetime:
        self._last += timedelta(microseconds=1)
        return self._last

    def reach(self, index: int) -> None:
        """It is the moment of that message."""
        at = self._times[index] if self._times else None
        if at is not None:
            self._last = max(self._last, at)


class _Run:
    def __init__(
        self,
        session: Session,
        recorded: Recorded,
        clock: _LogClock,
        others: Others,
        ears: _Ears,
        dump: Dump | None,
    ) -> None:
        self._session = session
        self._recorded = recorded
        self._clock = clock
        self._ears = ears
        self._dump = dump
        self._entries_seen = 0
        self._said: dict[str, Message] = {}
        self._covered: set[str] = set()
        self._gone: set[str] = set()
        self._uncovered: set[str] = set()
        self._repaired: set[str] = set()
        self._shortened: set[str] = set()
        self._task = next((each.text for each in recorded.messages if is_user(each)), "")
        self._task_as_sent = mend_unicode(self._task) if self._task.strip() else ""
        self._sent = Meter()
        self._others = others
        self._figures = Replayed(
            id=recorded.id, problems=recorded.problems, unread=len(recorded.problems)
        )

    def go(self, about: About) -> None:
        for index, message in enumerate(self._recorded.messages):
            if message.role == "assistant":
                self._ask(about)
            self._clock.reach(index)
            self._said[self._session.append(message)] = message
            self._others.hear(message)
        if self._recorded.messages and self._recorded.messages[-1].role != "assistant":
            self._ask(about)

    def _ask(self, about: About) -> None:
        """One call of the model: the request is prepared, counted and checked."""
        turn = self._figures.turns + 1
        self._others.ask(turn, self._task)
        self._add(turns=1)
        try:
            prepared = self._session.prepare(**about)
        except IrreducibleContext as error:
            self._add(over_budget=1)
            self._note(f"call {turn}: {error.message} → {error.hint}")
            self._read_flushes(turn)
            return
        self._take_note(turn, prepared)
        self._check(turn, prepared)

    def _add(self, **counts: int) -> None:
        figures = self._figures
        grown = {name: getattr(figures, name) + count for name, count in counts.items()}
        self._figures = replace(figures, **grown)

    def _note(self, problem: str) -> None:
        self._figures = replace(self._figures, problems=(*self._figures.problems, problem))

    def _take_note(self, turn: int, prepared: Prepared) -> None:
        """Count and dump what was done to make the request fit."""
        dropped = {each.entry: each.dropped for each in prepared.done if _is_compaction(each)}
        self._read_flushes(turn, dropped)
        for done in prepared.done:
            match done:
                case PruneDone():
                    self._add(prunes=1)
                    self._shortened |= set(done.shortened)
                    self._tell("prune", turn, shortened=list(done.shortened))
                case CompactionDone():
                    self._add(compactions=1)
                    self._gone |= set(done.dropped)
                    self._uncovered |= set(done.dropped) - self._covered
                    self._tell(
                        "compaction", turn, strategy=done.strategy, dropped=list(done.dropped)
                    )

    def _read_flushes(self, turn: int, dropped: Mapping[str, Sequence[str]] = _NO_DROPS) -> None:
        """Take the flushes that ended since from the transcript: it says what is covered.

        In its order: what a compaction ``dropped`` must be covered by a record before it.
        """
        if not self._ears.has_flushed:
            return
        self._ears.has_flushed = False
        entries: int = self._session.state()["entries"]
        fresh = self._session.entries(last=entries - self._entries_seen)
        self._entries_seen = entries
        for entry in fresh:
            for record in _ended_well(flush_records([entry])):
                self._add(flushes=1, flush_lines=record.saved)
                self._covered |= set(record.covers)
                self._tell("flush", turn, outcome=record.outcome, covers=list(record.covers))
            self._uncovered |= set(dropped.get(entry.id, ())) - self._covered

    def _check(self, turn: int, prepared: Prepared) -> None:
        request = prepared.request
        is_edited = any(not isinstance(done, FlushDone) for done in prepared.done)
        shared = self._sent.send(request)
        if not shared and not is_edited:
            self._note(f"call {turn}: the request does not begin with the one before it")
        if request.violations:
            self._add(invalid_views=1)
            self._note(f"call {turn}: {request.violations[0].rule}: {request.violations[0].text}")
        if request.tokens > (most := prepared.budget.compact_at):
            self._add(over_budget=1)
            self._note(f"call {turn}: the request has {request.tokens:,} tokens; {most:,} fit")
        self._uncovered |= self._said.keys() - set(request.stands_for) - self._covered
        self._repaired |= set(_repaired_in(request, turn))
        self._check_task(turn, request)
        largest = max(self._figures.max_view_tokens, request.tokens)
        self._figures = replace(self._figures, max_view_tokens=largest)
        self._tell(
            "request",
            turn,
            format=request.format,
            system=request.system,
            messages=request.messages,
            tools=list(request.tools),
            tokens=request.tokens,
            stands_for=list(request.stands_for),
        )

    def _check_task(self, turn: int, request: Request) -> None:
        """The task text must be in every request; that it is lost is said once."""
        task = self._task_as_sent
        if not task or not self._figures.task_text_kept:
            return
        if not any(task in text for text in _texts(request.messages)):
            self._figures = replace(self._figures, task_text_kept=False)
            self._note(f"call {turn}: the task text is lost")

    def _tell(self, kind: str, turn: int, **told: Json) -> None:
        if self._dump is not None:
            self._dump({"kind": kind, "conversation": self._recorded.id, "turn": turn, **told})

    def result(self, folder: Path) -> Replayed:
        """The figures; ``folder`` is where the memory files are."""
        items = self._session.view().items
        summaries = [item for item in items if item.kind == "summary"]
        self._shortened |= {id for item in items if item.shortened for id in item.stands_for}
        lost = self._not_returned()
        if self._uncovered:
            self._note(f"{_messages(self._uncovered)} left the view without being read for memory")
        if lost:
            self._note(f"{_messages(lost)} cannot be expanded word for word")
        receipts = self._receipts(folder)
        return replace(
            self._figures,
            uncovered_drops=len(self._uncovered),
            expandable=not lost,
            tokens_sent=self._sent.tokens,
            cost_sent=self._sent.cost,
            tokens_full=self._others.full.tokens,
            cost_full=self._others.full.cost,
            dropped=len(self._gone),
            read_first=len(self._gone - self._uncovered),
            came_back=len(self._gone - lost),
            repaired=len(self._repaired),
            shortened=len(self._shortened),
            duplicates=receipts.duplicates,
            receipts_verified=receipts.verified,
            memories=receipts.lines,
            summary=summaries[-1].message.text if summaries else "",
            trimmed=self._others.trimmed(),
        )

    def _receipts(self, folder: Path) -> Receipts:
        found = read_back(folder, flush_records(self._session.entries()))
        if found.missing:
            named = ", ".join(found.missing[:_NAMED])
            self._note(f"{len(found.missing):,} memory lines were written and are gone ({named})")
        return found

    def _not_returned(self) -> set[str]:
        """What does not come back as it was said; also what left the view is asked for."""
        found = self._session.originals(self._said)
        lost = {id for id, message in self._said.items() if found.get(id) != message}
        for id in sorted(self._gone)[:_ASKED_BACK]:
            if self._session.expand(id).message != self._said[id]:
                lost.add(id)
        return lost


def _is_compaction(done: Done) -> TypeGuard[CompactionDone]:
    return isinstance(done, CompactionDone)


def _ended_well(records: Sequence[FlushRecord]) -> list[FlushRecord]:
    return [record for record in records if record.outcome in COVERING]


def _repaired_in(request: Request, turn: int) -> Iterator[str]:
    """The entries that repair changed, and a name for each message that it put between them."""
    for change in request.repairs:
        if change.entries:
            yield from change.entries
        else:  # a last word is put behind another message each time, the others stay in place
            yield f"{change.kind} {turn if change.kind == 'end' else change.index}"


def _messages(entries: set[str]) -> str:
    named = ", ".join(sorted(entries)[:_NAMED]) + (", …" if len(entries) > _NAMED else "")
    return f"{len(entries):,} {'message' if len(entries) == 1 else 'messages'} ({named})"


def _texts(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        content = message.get("content")
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
