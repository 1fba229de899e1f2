"""How one session stands: how full its window is, what was saved, what would be done by hand.

Promise: nothing is done; the figures are those the next request is judged by
(``tests/doors/test_cli_turn.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from holdfast.context.accounting import Breakdown, Budget
from holdfast.context.compaction import CompactionPlan, NoCompaction
from holdfast.context.flush import FlushPlan, NoFlush
from holdfast.engine.flush.saving import Saver
from holdfast.engine.rooms import Phase
from holdfast.engine.session import Session
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.compacting import Compactor, said_in
from holdfast.engine.turn.measuring import Measurer
from holdfast.sessions.store import Look
from holdfast.types import Json

__all__ = ["Mark", "Standing", "plan_compaction_now", "plan_flush_now", "standing_of"]

_MARKS: Final = ("prune_at", "flush_at", "hard_at", "compact_at", "window")
MANUAL: Final = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark that is not reached yet, and how many tokens away it is."""

    name: str
    at: int
    away: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One session, before its next request."""

    session: str
    phase: Phase
    cycle: str
    compaction_count: int
    memory_flush_compaction_count: int | None
    memory_flush_at: str | None
    memory_flushing: bool
    last_memory_flush: Mapping[str, Json] | None
    memory_mode: str
    incognito: bool
    """Whether no transcript is kept either."""
    goal: str | None
    vars: int
    messages: int
    """In the view."""
    projected: int
    source: str
    """``reported`` by the provider, or ``estimated``."""
    pressure: str
    budget: Budget
    breakdown: Breakdown
    next_marks: tuple[Mark, ...]
    unsaved: int
    """Entries in the view that no flush has read yet."""

    def to_json(self) -> dict[str, Json]:
        told = asdict(self)
        told["marks"] = told.pop("budget")
        told["breakdown"] = self.breakdown.to_json()
        return told


def standing_of(
    session: Session, *, window: int | None = None, model: str | None = None
) -> Standing:
    """How the session stands; for a window or a model of one's choice, if they are named."""
    found = session.explain_context(window=window, model=model)
    rooms, state = session._rooms, session.state()
    used, budget = found.projection.tokens, found.budget
    marks = ((name, getattr(budget, name)) for name in _MARKS)
    plan = plan_flush_now(session)
    return Standing(
        session=session.name,
        phase=session.phase,
        cycle=state["cycle"],
        compaction_count=state["compaction_count"],
        memory_flush_compaction_count=state["memory_flush_compaction_count"],
        memory_flush_at=state["memory_flush_at"],
        memory_flushing=state["memory_flushing"],
        last_memory_flush=state["last_memory_flush"],
        memory_mode=rooms.memory_mode(session.name),
        incognito=session.is_incognito,
        goal=state["goal"],
        vars=len(state["vars"]),
        messages=found.messages,
        projected=used,
        source=found.projection.source,
        pressure=found.pressure,
        budget=budget,
        breakdown=found.breakdown,
        next_marks=tuple(Mark(name=name, at=at, away=at - used) for name, at in marks if at > used),
        unsaved=len(plan.covers) if isinstance(plan, FlushPlan) else 0,
    )


def plan_flush_now(session: Session) -> FlushPlan | NoFlush:
    """What a flush by hand would save: everything in the view that no flush has read yet."""
    rooms, transcript = session._rooms, session._transcript
    look = rooms.store.look(transcript)
    saver = Saver(rooms, transcript)
    return saver.plan(look, _shown(look), reason=MANUAL, wait=False, must=True)


def _shown(look: Look) -> tuple[str, ...]:
    return said_in(look, [id for item in look.view.items for id in item.stands_for])


def plan_compaction_now(session: Session, ask: Ask) -> CompactionPlan | NoCompaction:
    """What a compaction by hand would do."""
    rooms, transcript = session._rooms, session._transcript
    measurer = Measurer(rooms, transcript, ask)
    saver = Saver(rooms, transcript)
    compactor = Compactor(rooms, transcript, ask, measurer, saver)
    return compactor.plan(measurer.measure(), MANUAL)
