"""A compaction: what leaves is saved first, then one entry says what takes its place.

Promise: the entry is appended only after a flush record covers everything it drops, and only if
nobody else edited the session or erased a text meanwhile; if it cannot be done, history stays as
it was (``tests/engine/test_turn.py``, ``tests/engine/test_erased_meanwhile.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from holdfast.context.compaction import (
    Compacted,
    CompactionPlan,
    NoCompaction,
    Pass,
    Previous,
    compact,
    plan_compaction,
)
from holdfast.context.compaction.wording import Language, receipt_text
from holdfast.context.flush import covered_by, flush_records
from holdfast.engine.driving import drive
from holdfast.engine.flush.saving import FlushDone, Saver, already_covered
from holdfast.engine.rooms import Rooms
from holdfast.engine.spending import Metered, Spent
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.measuring import Measured, Measurer
from holdfast.events import CompactionEnd, CompactionFailed, CompactionStart, Event
from holdfast.models.windows import window_of
from holdfast.ports import Model, traits_of
from holdfast.redact import redact
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Entry, Json

__all__ = ["CompactionDone", "Compactor", "Why", "append_unless_edited", "said_in"]

log = logging.getLogger("holdfast.engine")

Why = Literal["threshold", "messages", "manual", "overflow", "interval"]

SAVED: Final = frozenset({"message", "marker"})
"""The entries that must be saved before they leave. What was recalled came from memory."""

_ERASED: Final = "text was erased meanwhile"
_PASSES: Final = 3
"""How many compactions back the breaker looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDone:
    entry: str
    strategy: str
    dropped: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    fallbacks: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class Compactor:
    """Compacts one session on behalf of one request."""

    def __init__(
        self, rooms: Rooms, transcript: Transcript, ask: Ask, measurer: Measurer, saver: Saver
    ) -> None:
        self._rooms = rooms
        self._transcript = transcript
        self._ask = ask
        self._measurer = measurer
        self._saver = saver
        self._spent = Spent()

    def plan(
        self, measured: Measured, why: Why, *, even_in_vain: bool = False
    ) -> CompactionPlan | NoCompaction:
        """What a compaction would do now. The breaker is not asked if ``even_in_vain``."""
        settings = self._rooms.settings.compaction
        return plan_compaction(
            measured.blocks,
            measured.budget,
            strategy=self._ask.strategy or settings.strategy,
            reason=why,
            fixed=measured.fixed,
            pins=settings.pins,
            previous=_previous(measured),
            passes=() if even_in_vain else _passes(measured.look.compaction),
            max_messages=settings.max_messages,
            focus=self._ask.focus or "",
            price=self._measurer.estimator.price,
        )

    def leaving(self, measured: Measured, plan: CompactionPlan | NoCompaction) -> tuple[str, ...]:
        """The entries that would have to be saved first."""
        if isinstance(plan, NoCompaction):
            return ()
        return said_in(measured.look, plan.dropped_entries)

    def run(
        self, measured: Measured, plan: CompactionPlan
    ) -> tuple[list[FlushDone | CompactionDone], bool]:
        """What was done, and whether the compaction was."""
        leaving = self.leaving(measured, plan)
        self._tell(
            CompactionStart,
            strategy=plan.strategy,
            reason=plan.reason,
            tokens_before=measured.projected,
            leaving=len(leaving),
        )
        done: list[FlushDone | CompactionDone] = []
        done += self._save(leaving, plan.reason)
        compacted = self._compacted(measured, plan)
        dropped = said_in(measured.look, compacted.dropped)
        if not set(dropped) <= set(leaving):  # a strategy that took over may drop others
            done += self._save(dropped, plan.reason)
        if (finished := self._commit(measured, plan, compacted, dropped)) is None:
            is_erased = was_erased(measured.look, self._rooms.store.look(self._transcript))
            reason = _ERASED if is_erased else "another process edited the session meanwhile"
            self._tell(CompactionFailed, reason=reason)
            return done, is_erased
        return [*done, finished], True

    def _compacted(self, measured: Measured, plan: CompactionPlan) -> Compacted:
        """The plan carried out, by a model if there is one and it may be paid."""
        spending = self._rooms.spending
        model = self._ask.summariser
        if model is not None and spending.refusal("compaction") is not None:
            model = None
        if model is None:
            return self._carried_out(measured, plan, None)
        metered = spending.metered(model, self._measurer.estimator.price)
        try:
            return self._carried_out(measured, plan, metered)
        except Exception as error:  # the border: a model may make us read anything
            log.exception("session %s: compaction by a model failed", self._transcript.name)
            compacted = self._carried_out(measured, plan, None)
            failed = f"{plan.strategy}: it failed: {type(error).__name__}"
            return replace(compacted, fallbacks=(failed, *compacted.fallbacks))
        finally:
            self._spent = metered.spent
            if metered.spent.calls:
                session = None if self._rooms.is_scratch else self._transcript.name
                spending.note("compaction", metered.name, metered.spent, session=session)

    def _carried_out(
        self, measured: Measured, plan: CompactionPlan, model: Metered | None
    ) -> Compacted:
        work = compact(
            plan,
            price=self._measurer.estimator.price,
            use_model=model is not None,
            summariser_window=_window_of(model, measured),
            times={entry.id: entry.at for entry in measured.look.entries},
        )
        return drive(work, model, seconds=self._rooms.settings.compaction.inline_seconds)

    def _save(self, leaving: Sequence[str], reason: str) -> list[FlushDone]:
        done = self._saver.save(leaving, reason=reason, must=True)
        return [done] if isinstance(done, FlushDone) else []

    def _commit(
        self,
        measured: Measured,
        plan: CompactionPlan,
        compacted: Compacted,
        dropped: tuple[str, ...],
    ) -> CompactionDone | None:
        data = compacted.entry_data(watermark=measured.look.last_seq)
        data |= {key: redact(value) for key, value in data.items() if isinstance(value, str)}
        data["summary"] = [each | {"text": redact(each["text"])} for each in data["summary"]]
        data["summary"] += self._receipt(compacted, plan.language)
        data["covered"] = self._still_covered(compacted)
        data["passes"] = [asdict(each) for each in _passes_with(measured, compacted)]
        draft = Draft(type="compaction", data=data)
        entry = append_unless_edited(self._rooms, self._transcript, measured, draft)
        if entry is None:
            return None
        done = CompactionDone(
            entry=entry,
            strategy=compacted.strategy,
            dropped=dropped,
            tokens_before=compacted.tokens_before,
            tokens_after=compacted.tokens_after,
            fallbacks=compacted.fallbacks,
            input_tokens=self._spent.input_tokens,
            output_tokens=self._spent.output_tokens,
            cost=round(self._spent.dollars, 6),
        )
        self._tell(CompactionEnd, **(asdict(done) | {"dropped": len(dropped)}))
        return done

    def _receipt(self, compacted: Compacted, language: Language) -> list[dict[str, Json]]:
        """Where what left was saved, for whoever reads the summary; nothing if nothing was."""
        look = self._rooms.store.look(self._transcript)
        gone = set(compacted.dropped)
        saved: dict[str, int] = {}
        for record in flush_records(look.entries):
            if record.file and record.saved and not gone.isdisjoint(record.covers):
                saved[record.file] = saved.get(record.file, 0) + record.saved
        if not saved:
            return []
        return [{"text": receipt_text(saved, language), "sources": [], "kind": "receipt"}]

    def _still_covered(self, compacted: Compacted) -> list[str]:
        """Entries that stay from before the cut and are covered: their records may not be seen
        any more when they leave at last."""
        look = self._rooms.store.look(self._transcript)
        covered = covered_by(flush_records(look.entries), look.entries)
        covered |= set(already_covered(look))
        return [each for each in (*compacted.pins, *compacted.kept) if each in covered]

    def _tell(self, event: type[Event], **told: Any) -> None:
        self._rooms.tell(event, session=self._transcript.name, **told)


def _window_of(model: Model | None, measured: Measured) -> int:
    if model is None:
        return 0
    return traits_of(model).window or window_of(model.name) or measured.budget.window


def append_unless_edited(
    rooms: Rooms, transcript: Transcript, measured: Measured, draft: Draft
) -> str | None:
    """The id of the entry; None if somebody else edited the view since it was measured, or
    erased something of it: what is to be appended may tell that."""
    with transcript.exclusive():
        look = rooms.store.look(transcript)
        if was_erased(measured.look, look):
            return None
        seen = measured.look.last_seq
        is_edited = any(each.seq > seen and _edits(each) for each in look.entries)
        if is_edited or look.view.cycle != measured.look.view.cycle:
            return None
        return transcript.append([draft])[0].id


def was_erased(before: Look, after: Look) -> bool:
    """Whether an entry says something else than it did: nothing but an erasure does that."""
    shown = [*after.entries, *([after.compaction] if after.compaction else [])]
    now = {entry.id: entry for entry in shown}
    return any(
        (found := now.get(entry.id, entry)) is not entry and found.data != entry.data
        for entry in [*before.entries, *([before.compaction] if before.compaction else [])]
    )


def _edits(entry: Entry) -> bool:
    return entry.type == "prune" or (entry.type == "marker" and entry.data.get("kind") == "reset")


def said_in(look: Look, ids: Sequence[str]) -> tuple[str, ...]:
    """Those of the ids that are entries in which something was said."""
    wanted = set(ids)
    return tuple(each.id for each in look.entries if each.id in wanted and each.type in SAVED)


def _previous(measured: Measured) -> Previous | None:
    compaction = measured.look.compaction
    if compaction is None:
        return None
    before = Previous.of(compaction.id, compaction.data)
    return replace(before, new_tokens=max(0, measured.projected - before.tokens_after))


def _passes(compaction: Entry | None) -> list[Pass]:
    stored = compaction.data.get("passes") if compaction is not None else None
    if isinstance(stored, list):
        with suppress(TypeError):  # somebody else's: then there is nothing to judge by
            return [Pass(**each) for each in stored]
    return []


def _passes_with(measured: Measured, compacted: Compacted) -> list[Pass]:
    """The last compactions and this one, without what no compaction can free."""
    previous = _previous(measured)
    this = Pass(
        tokens_before=max(0, compacted.tokens_before - measured.immovable),
        tokens_after=max(0, compacted.tokens_after - measured.immovable),
        new_tokens=None if previous is None else previous.new_tokens,
    )
    return [*_passes(measured.look.compaction), this][-_PASSES:]
