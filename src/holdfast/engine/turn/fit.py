"""The one function through which context is lost: prune → flush → compact, then the request.

    measure     what the next request would cost, against the marks of the budget
    prune       stale tool results are shown shortened, if that pays or must be
    flush       what a compaction would drop is saved to memory ahead of time
    compact     what leaves is saved first, then a shorter account takes its place
    shorten     if one block alone is too large, the largest are cut, wherever they stand
    assemble    the request, valid for its provider

Each step is planned by a pure function of ``context`` and only carried out here, so ``explain``
gives the plans without acting on them.

Promise: nothing leaves the view that no flush record covers; the request is valid and at most
``compact_at`` tokens, or ``IrreducibleContext`` names what does not fit
(``tests/engine/test_turn.py``, ``tests/engine/test_messy_sequences.py``,
``tests/engine/test_replay.py``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from holdfast.context.accounting import Breakdown, Budget, Projection
from holdfast.context.assembly import Request, assemble
from holdfast.context.blocks import Block, is_system, is_user
from holdfast.context.compaction import CompactionPlan, NoCompaction
from holdfast.context.flush import COVERING, FlushPlan, NoFlush, flush_records
from holdfast.context.pruning import Force, PrunePlan, plan_prune
from holdfast.context.validity import capabilities_of
from holdfast.engine.flush.saving import FlushDone, Saver
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.compacting import (
    CompactionDone,
    Compactor,
    Why,
    append_unless_edited,
    said_in,
)
from holdfast.engine.turn.measuring import About, Ask, Measured, Measurer
from holdfast.errors import HoldfastError, IrreducibleContext, StorageError
from holdfast.events import (
    CompactionFailed,
    ContextMeasured,
    ContextPressure,
    Event,
    ToolResultsPruned,
)
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Draft, Transcript
from holdfast.types import Json

__all__ = [
    "About",
    "Ask",
    "CompactionDone",
    "Done",
    "Explanation",
    "FlushDone",
    "Prepared",
    "PruneDone",
    "ensure_fit",
    "explain",
    "save_view",
]

_OTHERS: Final = 4
"""How often another process may change the session between a plan and its act."""

_LAST_RESORTS: Final = 3
"""How often shortening and compacting may take turns when nothing else is left."""

_TRIES: Final = 3
"""How often the request may turn out larger than the view it was made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneDone:
    entry: str
    shortened: tuple[str, ...]
    tokens_before: int
    tokens_after: int
    reason: str


Done: TypeAlias = PruneDone | FlushDone | CompactionDone


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The request that fits, and what was done to make it fit."""

    request: Request
    projected: int
    """Tokens of the request: as the provider counts, if it has said so, else estimated."""
    budget: Budget
    breakdown: Breakdown
    done: tuple[Done, ...] = ()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The messages as the provider's client takes them."""
        return self.request.messages

    @property
    def system(self) -> Json:
        """The system text, where the provider takes it apart from the messages."""
        return self.request.system

    @property
    def max_tokens(self) -> int:
        """The room that is left for the answer."""
        return max(1, self.budget.window - self.projected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What the next ``ensure_fit`` would do, and why, or why not. Nothing was done."""

    budget: Budget
    projection: Projection
    breakdown: Breakdown
    pressure: str
    messages: int
    prune: PrunePlan
    flush: FlushPlan | NoFlush
    compaction: CompactionPlan | NoCompaction


def ensure_fit(rooms: Rooms, transcript: Transcript, ask: Ask, *, now: bool = False) -> Prepared:
    """The request of the session as it stands, made to fit; compacted in any case if ``now``."""
    return _Turn(rooms, transcript, ask, compact_now=now).run()


def save_view(rooms: Rooms, transcript: Transcript, reason: str) -> None:
    """Save everything in the view that is not covered yet: all of it is about to leave."""
    look = rooms.store.look(transcript)
    shown = [id for item in look.view.items for id in item.stands_for]
    Saver(rooms, transcript).save(said_in(look, shown), reason=reason, must=True)


def explain(rooms: Rooms, transcript: Transcript, ask: Ask) -> Explanation:
    """What ``ensure_fit`` would do now."""
    return _Turn(rooms, transcript, ask).explain()


class _Turn:
    def __init__(
        self, rooms: Rooms, transcript: Transcript, ask: Ask, *, compact_now: bool = False
    ) -> None:
        self._rooms = rooms
        self._transcript = transcript
        self._ask = ask
        self._compact_now = compact_now
        self._measurer = Measurer(rooms, transcript, ask)
        self._saver = Saver(rooms, transcript)
        self._compactor = Compactor(rooms, transcript, ask, self._measurer, self._saver)
        self._done: list[Done] = []

    def run(self) -> Prepared:
        if self._ask.reported is not None:
            self._measurer.learn()
        measured = self._measurer.measure()
        self._tell_measured(measured)
        if min(measured.immovable, measured.projected) > measured.budget.compact_at:
            raise self._irreducible(measured, measured.immovable)  # before anything is shortened
        for _ in range(_TRIES):
            measured = self._fit(measured)
            request = self._request(measured)
            # Repair may have added to what was measured: results that were never recorded.
            inside = sum(block.tokens for block in measured.blocks)
            added = request.tokens - self._measurer.outside - inside
            projected = measured.projected - self._measurer.added + added
            if projected <= measured.budget.compact_at:
                return self._prepared(measured, request, projected)
            self._measurer.added = added
            measured = self._measurer.measure()
        raise self._irreducible(measured, projected)

    def _fit(self, measured: Measured) -> Measured:
        if measured.projected >= measured.budget.prune_at:
            with suppress(StorageError):  # it can wait; ``watching`` tells of the disk
                measured = self._prune(measured, self._plan_prune(measured))
        if measured.projected >= measured.budget.flush_at:
            self._flush_ahead(measured)
        if self._reason_to_compact(measured) is not None:
            measured = self._make_room(measured)
        for _ in range(_LAST_RESORTS):
            if measured.projected <= measured.budget.compact_at:
                break
            measured = self._prune(measured, self._plan_shortening(measured))
            if measured.projected > measured.budget.compact_at:
                measured, _ = self._compact(measured, "threshold", even_in_vain=True)
        return measured

    def explain(self) -> Explanation:
        measured = self._measurer.measure()
        why = self._reason_to_compact(measured)
        plan = self._compactor.plan(measured, why or "threshold")
        if measured.projected >= measured.budget.flush_at:
            leaving = self._compactor.leaving(measured, plan)
            flush = self._saver.plan(measured.look, leaving, reason=_FLUSH_DUE)
        else:
            flush = NoFlush(reason=measured.below("flush_at"))
        return Explanation(
            budget=measured.budget,
            projection=measured.projection,
            breakdown=self._measurer.break_down(measured),
            pressure=measured.budget.pressure(measured.projected),
            messages=len(measured.blocks),
            prune=self._plan_prune(measured),
            flush=flush,
            compaction=plan if why else NoCompaction(reason=measured.below("compact_at")),
        )

    def _tell_measured(self, measured: Measured) -> None:
        budget, projected = measured.budget, measured.projected
        self._tell(
            ContextMeasured,
            projected=projected,
            source=measured.projection.source,
            messages=len(measured.blocks),
            window=budget.window,
            compact_at=budget.compact_at,
        )
        level = budget.pressure(projected)
        if self._rooms.pressure.get(self._transcript.name, "none") != level:
            self._rooms.pressure[self._transcript.name] = level
            if level != "none":
                mark = getattr(budget, f"{level}_at")
                self._tell(ContextPressure, level=level, projected=projected, mark=mark)

    # ── pruning ─────────────────────────────────────────────────────────────────────────────

    def _plan_prune(
        self, measured: Measured, *, force: Force = "no", limit: int | None = None
    ) -> PrunePlan:
        pinned = (block.entry for block in measured.blocks if block.item.kind == "pin")
        return plan_prune(
            measured.blocks,
            measured.budget,
            self._rooms.settings.prune,
            projected=measured.projected,
            price_text=self._measurer.estimator.text,
            cache_is_cold=self._is_cold(measured.look),
            force=force,
            limit=limit,
            protected=frozenset(pinned),
        )

    def _plan_shortening(self, measured: Measured) -> PrunePlan:
        """Cut the largest blocks: to the first mark that can be reached, and no further."""
        marks = (measured.budget.flush_at, measured.budget.hard_at, measured.budget.compact_at)
        for mark in marks:
            plan = self._plan_prune(measured, force="largest", limit=mark)
            if measured.projected - plan.saved <= mark:
                break
        return plan

    def _is_cold(self, look: Look) -> bool:
        """Whether the provider has forgotten the prefix: nothing was asked for longer than ttl."""
        now = self._rooms.clock.now()
        for entry in reversed(look.entries):
            if entry.type == "message" and entry.data.get("role") == "assistant":
                return now - entry.at > self._rooms.settings.prune.ttl
        return True

    def _prune(self, measured: Measured, plan: PrunePlan) -> Measured:
        if not plan.shown:
            return measured
        draft = Draft(type="prune", data=plan.entry_data())
        entry = append_unless_edited(self._rooms, self._transcript, measured, draft)
        if entry is not None:
            done = PruneDone(
                entry=entry,
                shortened=tuple(dict.fromkeys(each.entry for each in plan.shown)),
                tokens_before=plan.tokens_before,
                tokens_after=plan.tokens_after,
                reason=plan.reason,
            )
            self._done.append(done)
            told = asdict(done) | {"shortened": len(plan.shown), "saved_cost": plan.saved_cost}
            self._tell(ToolResultsPruned, **told)
        return self._measurer.measure()

    # ── flush and compaction ────────────────────────────────────────────────────────────────

    def _flush_ahead(self, measured: Measured) -> None:
        """Save what a compaction would drop now, while there is still time; once per cycle.

        Where flushing ahead is switched off, that moment comes later: at the hard mark.
        """
        is_hard = measured.projected >= measured.budget.hard_at
        if _is_flushed(measured.look) or not (self._rooms.settings.flush.enabled or is_hard):
            return
        plan = self._compactor.plan(measured, "threshold")
        leaving = self._compactor.leaving(measured, plan)
        with suppress(HoldfastError):  # told by its event; nothing leaves yet, so it can wait
            done = self._saver.save(leaving, reason=_FLUSH_DUE, must=False)
            if isinstance(done, FlushDone):
                self._done.append(done)

    def _reason_to_compact(self, measured: Measured) -> Why | None:
        limit = self._rooms.settings.compaction.max_messages
        if measured.projected >= measured.budget.compact_at:
            return "threshold"
        if limit and len(measured.blocks) > limit:
            return "messages"
        has_compacted = any(isinstance(done, CompactionDone) for done in self._done)
        return "manual" if self._compact_now and not has_compacted else None

    def _make_room(self, measured: Measured) -> Measured:
        """Prune if that alone gives room for a while, else compact."""
        if self._reason_to_compact(measured) == "threshold":
            plan = self._plan_prune(measured, force="needed")
            comfortable = (measured.budget.target + measured.budget.flush_at) // 2
            if plan.shown and measured.projected - plan.saved <= comfortable:
                return self._prune(measured, plan)
            if _has_a_giant(measured):  # cut it, before everything else leaves because of it
                measured = self._prune(measured, self._plan_shortening(measured))
        for _ in range(_OTHERS):
            why = self._reason_to_compact(measured)
            if why is None:
                break
            measured, is_settled = self._compact(measured, why)
            if is_settled:
                break
        return measured

    def _compact(
        self, measured: Measured, why: Why, *, even_in_vain: bool = False
    ) -> tuple[Measured, bool]:
        """The session after a compaction, and whether another try would be of no use.

        The breaker stops compactions that gain nothing, unless the request would not fit.
        """
        plan = self._compactor.plan(measured, why, even_in_vain=even_in_vain)
        if isinstance(plan, NoCompaction):
            self._tell(CompactionFailed, reason=plan.reason)
            return measured, True
        done, is_settled = self._compactor.run(measured, plan)
        self._done += done
        return self._measurer.measure(), is_settled

    # ── the request ─────────────────────────────────────────────────────────────────────────

    def _request(self, measured: Measured) -> Request:
        return assemble(
            measured.look.view.items,
            format=self._ask.format,
            capabilities=capabilities_of(self._ask.model, self._ask.format),
            estimator=self._measurer.estimator,
            system=self._ask.system,
            tools=self._ask.tools,
            edited=_sent_before_the_last_edit(measured.look),
        )

    def _prepared(self, measured: Measured, request: Request, projected: int) -> Prepared:
        return Prepared(
            request=request,
            projected=projected,
            budget=measured.budget,
            breakdown=self._measurer.break_down(measured),
            done=tuple(self._done),
        )

    def _irreducible(self, measured: Measured, needed: int) -> IrreducibleContext:
        parts = [(_name(block), block.tokens) for block in measured.blocks]
        if outside := self._measurer.outside:
            parts.append(("system text and tools given with the request", outside))
        largest = sorted(parts, key=lambda part: -part[1])[:3]
        named = "; ".join(f"{name}: {tokens:,} tokens" for name, tokens in largest)
        return IrreducibleContext(
            f"The request needs {needed:,} tokens, and {measured.budget.compact_at:,} is "
            f"the most that fits in a window of {measured.budget.window:,}. What may not be "
            f"shortened is too large: {named}.",
            blocks=largest,
            hint="Use a model with a larger window (context.window), fewer or smaller tools, "
            "or give the text as a file the agent can read in parts.",
        )

    def _tell(self, event: type[Event], **told: Any) -> None:
        self._rooms.tell(event, session=self._transcript.name, **told)


_FLUSH_DUE: Final = "flush_at is reached"


def _has_a_giant(measured: Measured) -> bool:
    """Whether one message takes more than half of what all of them may have."""
    room = measured.budget.compact_at - measured.immovable
    return any(block.tokens > room // 2 for block in measured.blocks if not _is_fixed(block))


def _is_fixed(block: Block) -> bool:
    return is_system(block.message) or is_user(block.message)


def _is_flushed(look: Look) -> bool:
    """Whether the cycle has had its flush."""
    return any(
        record.cycle == look.view.cycle and record.outcome in COVERING
        for record in flush_records(look.entries)
    )


def _sent_before_the_last_edit(look: Look) -> frozenset[str]:
    edits = [each.seq for each in look.entries if each.type in {"prune", "compaction"}]
    if look.compaction is not None:
        edits.append(look.compaction.seq)
    last = max(edits, default=0)
    return frozenset(each.id for each in look.entries if each.seq < last)


def _name(block: Block) -> str:
    if block.item.kind in {"pin", "summary", "recall"}:
        return f"{block.item.kind} {block.entry}"
    who = "user" if is_user(block.message) else block.message.role
    return f"{who} message {block.entry}"
