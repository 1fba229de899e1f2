"""What was said, for people: pages of a transcript, one entry, the timeline, the beginning
(``tests/server/test_transcripts.py``)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from holdfast.engine.chronicle import beginning_of, item_of, page_of, timeline_of
from holdfast.errors import UsageError
from holdfast.server.conversations import conversation
from holdfast.server.failing import FailureBody
from holdfast.server.places import Here
from holdfast.server.shapes.sessions import Name
from holdfast.server.shapes.transcripts import (
    BeginningShape,
    ItemShape,
    PageShape,
    TimelineShape,
    beginning_shape,
    item_shape,
    page_shape,
    timeline_shape,
)

__all__ = ["router"]

router = APIRouter(
    tags=["transcripts"],
    responses={410: {"model": FailureBody, "description": "It was deleted or renamed meanwhile."}},
)

_Seq = Annotated[int | None, Query(ge=0, le=2**53)]


@router.get("/sessions/{name}/transcript", summary="A page of what was said")
def show_transcript(
    here: Here,
    name: Name,
    before: _Seq = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 60,
    start: Annotated[int | None, Query(alias="from", ge=0, le=2**53)] = None,
    to: _Seq = None,
) -> PageShape:
    """The newest entries, or those before a number. ``from`` and ``to`` give the originals behind
    a compaction, the newest of them first if they are many."""
    if start is not None and to is not None and start > to:
        raise UsageError(f"from ({start}) lies behind to ({to}).", hint="Exchange them.")
    ends = [each for each in (before, None if to is None else to + 1) if each is not None]
    page = page_of(
        conversation(here, name), before=min(ends, default=None), start=start or 0, limit=limit
    )
    return page_shape(page)


@router.get("/sessions/{name}/entries/{id}", summary="One entry, whole")
def show_entry(here: Here, name: Name, id: Annotated[str, Path(max_length=200)]) -> ItemShape:
    """One entry, whole: up to a million characters of it."""
    return item_shape(item_of(conversation(here, name), id))


@router.get(
    "/sessions/{name}/timeline", summary="Tokens after each answer, and what was done about them"
)
def show_timeline(here: Here, name: Name) -> TimelineShape:
    """Tokens after each answer, and what was done about them."""
    session = conversation(here, name)
    found = session.explain_context()
    outside = found.breakdown.system + found.breakdown.tools
    return timeline_shape(timeline_of(session, outside=outside), found.budget.to_json())


@router.get("/sessions/{name}/restore", summary="What a conversation was told at its start")
def show_beginning(here: Here, name: Name) -> BeginningShape:
    """What this conversation was told at its start; or what a new one would be."""
    return beginning_shape(beginning_of(conversation(here, name)))
