"""How full the window is; flush and compact by hand (``tests/server/test_context.py``)."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, cast

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request

from holdfast.context.accounting import SMALLEST_WINDOW
from holdfast.context.compaction import CompactionPlan
from holdfast.context.flush import FlushPlan
from holdfast.engine.chronicle import Files, last_flush, saved_lines
from holdfast.engine.flush.saving import FlushDone
from holdfast.engine.session import Session
from holdfast.engine.standing import standing_of
from holdfast.engine.turn import CompactionDone, Explanation, PruneDone
from holdfast.events import CompactionFailed, Event
from holdfast.server.conversations import conversation
from holdfast.server.failing import FailureBody
from holdfast.server.places import Here, Place
from holdfast.server.shapes.sessions import (
    Compact,
    CompactedShape,
    Fill,
    FlushedShape,
    LastFlush,
    MarkShape,
    Name,
    StandingShape,
)
from holdfast.server.shapes.transcripts import SavedLineShape, saved_shape
from holdfast.server.turns import turns_of

__all__ = ["router"]

router = APIRouter(
    tags=["context"],
    responses={410: {"model": FailureBody, "description": "It was deleted or renamed meanwhile."}},
)

WouldDo = Literal["nothing", "prune", "flush", "compact"]


@router.get("/sessions/{name}/context", summary="How full the window is, and of what")
def explain_context(
    here: Here,
    name: Name,
    window: Annotated[int | None, Query(ge=SMALLEST_WINDOW, le=100_000_000)] = None,
) -> StandingShape:
    """How full the window is, what fills it, and what the next request would do about it."""
    session = conversation(here, name)
    standing = standing_of(session, window=window)
    # As the standing is asked for: what is said of the window holds for the model as well.
    would_do, would = _would(session.explain_context(window=window, model=None))
    return StandingShape(
        session=standing.session,
        phase=standing.phase,
        cycle=standing.cycle,
        compaction_count=standing.compaction_count,
        memory_mode=cast("Any", standing.memory_mode),
        is_incognito=standing.incognito,
        goal=standing.goal,
        messages=standing.messages,
        projected=standing.projected,
        source=cast("Any", standing.source),
        pressure=cast("Any", standing.pressure),
        marks=standing.budget.to_json(),
        fills=[Fill(name=name, tokens=tokens) for name, tokens in standing.breakdown.largest()],
        next_marks=[
            MarkShape(name=each.name, at=each.at, away=each.away) for each in standing.next_marks
        ],
        unsaved=standing.unsaved,
        last_flush=_last_flush(session),
        would=would,
        would_do=would_do,
    )


@router.post("/sessions/{name}/flush", summary="Save what was said to memory")
async def flush(here: Here, name: Name, request: Request) -> FlushedShape:
    """Save to memory what the conversation holds and no flush has read yet."""
    turns = turns_of(request.app)
    session = await run_sync(conversation, here, name)
    with turns.hold_saving(here, name):
        return await turns.at_length(partial(_flushed, session))


def _flushed(session: Session) -> FlushedShape:
    done = session.flush()
    if not isinstance(done, FlushDone):
        return FlushedShape(
            did=False,
            outcome=None,
            mode=None,
            saved=0,
            duplicates=0,
            file=None,
            operation=None,
            lines=[],
            reason=done.reason,
        )
    return FlushedShape(
        did=True,
        outcome=done.outcome,
        mode=done.mode,
        saved=done.saved,
        duplicates=done.duplicates,
        file=done.file,
        operation=done.operation,
        lines=_lines(session, done.file, done.lines),
        reason=done.reason,
    )


@router.post("/sessions/{name}/compact", summary="Compact now")
async def compact(
    here: Here, name: Name, request: Request, asked: Compact | None = None
) -> CompactedShape:
    """Compact now, whatever the marks say; what leaves is saved first."""
    turns = turns_of(request.app)
    session = await run_sync(conversation, here, name)
    with turns.hold(here, name):
        focus = asked.focus if asked is not None else None
        return await turns.at_length(partial(_compacted, here, session, focus))


def _compacted(here: Place, session: Session, focus: str | None) -> CompactedShape:
    reasons: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, CompactionFailed) and event.session == session.name:
            reasons.append(event.reason)

    stop = here.engine.subscribe(hear)
    try:
        prepared = session.compact(focus)
    finally:
        stop()
    for done in prepared.done:
        if isinstance(done, CompactionDone):
            return CompactedShape(
                did=True,
                tokens_before=done.tokens_before,
                tokens_after=done.tokens_after,
                dropped=len(done.dropped),
                strategy=done.strategy,
                reason=None,
            )
    return CompactedShape(
        did=False,
        tokens_before=None,
        tokens_after=prepared.projected,
        dropped=0,
        strategy=None,
        reason=_why_not(prepared.done, reasons),
    )


def _why_not(done: tuple[object, ...], reasons: list[str]) -> str:
    if reasons:
        return reasons[-1]
    if any(isinstance(each, PruneDone) for each in done):
        return "shortening tool results was enough"
    return "nothing may leave the view"


def _would(found: Explanation) -> tuple[WouldDo, str]:
    used = f"{found.projection.tokens:,} tokens"
    if isinstance(found.compaction, CompactionPlan):
        leave, after = len(found.compaction.dropped_entries), found.compaction.expected_after
        told = f"Compact: {leave:,} entries leave the view, about {after:,} tokens stay."
        return "compact", told
    if isinstance(found.flush, FlushPlan):
        return "flush", f"Save {len(found.flush.covers):,} entries to memory after the reply."
    if found.prune.shown:
        shown, saved = len(found.prune.shown), found.prune.saved
        return "prune", f"Show {shown:,} tool results shortened: {saved:,} tokens less."
    mark = min(found.budget.prune_at, found.budget.flush_at)
    below = f"{used} is below the first mark ({mark:,})"
    return "nothing", f"Nothing: {below if found.pressure == 'none' else found.prune.reason}."


def _last_flush(session: Session) -> LastFlush | None:
    entry = last_flush(session)
    if entry is None:
        return None
    file, ids = entry.data.get("file"), entry.data.get("lines")
    path = file if isinstance(file, str) else None
    saved = entry.data.get("saved")
    return LastFlush(
        at=entry.at.isoformat(),
        outcome=str(entry.data.get("outcome")),
        saved=saved if isinstance(saved, int) else 0,
        file=path,
        operation=operation if isinstance(operation := entry.data.get("operation"), str) else None,
        lines=_lines(session, path, tuple(map(str, ids)) if isinstance(ids, list) else ()),
    )


def _lines(session: Session, path: str | None, ids: tuple[str, ...]) -> list[SavedLineShape]:
    return [saved_shape(each) for each in saved_lines(Files(session._rooms), path, ids)]
