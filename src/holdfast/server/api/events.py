"""What happened, and what happens: a list, and a stream that can be taken up again
(``tests/server/test_events.py``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool

from holdfast.engine.eventlog import EVENTS
from holdfast.engine.eventreading import EventReader, Told
from holdfast.server.following import Follower, Watcher, follower_of
from holdfast.server.places import Here
from holdfast.server.shapes.events import EventList, ToldShape
from holdfast.server.streaming import EVENTS_DESCRIBED, EventStream, frame

__all__ = ["router"]

router = APIRouter(tags=["events"])

_Name = Annotated[str | None, Query(max_length=200)]
_STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "``hello``, then each event by its name; ``reset`` where some were missed.",
        "content": EVENTS_DESCRIBED,
    }
}


@router.get("/events")
def list_events(
    here: Here,
    session: _Name = None,
    kind: _Name = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> EventList:
    """The newest events, the newest last; of one conversation or of one kind, if that is asked."""

    def is_wanted(told: Told) -> bool:
        return session in (None, told.get("session")) and kind in (None, told["event"])

    reader = EventReader(here.engine.home / EVENTS, is_wanted)
    try:
        found = reader.last_placed(limit)
        last = reader.place
    finally:
        reader.close()
    return EventList(
        events=[ToldShape.model_validate({**each.told, "id": each.id}) for each in found],
        last_id=last,
    )


@router.get("/events/stream", response_class=EventStream, responses=_STREAMED)
async def stream_events(
    here: Here,
    request: Request,
    session: _Name = None,
    last_event_id: Annotated[str | None, Header(max_length=100)] = None,
) -> EventStream:
    """Events as they happen, from now on or from behind ``Last-Event-ID``."""
    follower = follower_of(request.app, here)
    watcher = Watcher(session)

    async def closing() -> None:
        follower.leave(watcher)

    await run_in_threadpool(follower.watch, watcher, last_event_id)
    return EventStream(_frames(follower, watcher), closing=closing)


async def _frames(follower: Follower, watcher: Watcher) -> AsyncIterator[bytes]:
    while True:
        seen = await watcher.next()
        if seen.kind == "event":
            yield frame(str(seen.told["event"]), {**seen.told, "id": seen.id}, id=seen.id)
        else:
            yield frame(seen.kind, {"last_id": seen.id}, id=seen.id)
