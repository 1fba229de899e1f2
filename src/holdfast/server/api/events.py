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
from holdfast.server.shapes.events import EventList, told_shape
from holdfast.server.streaming import EVENTS_DESCRIBED, EventStream, frame

__all__ = ["router"]

router = APIRouter(tags=["events"])

_LOOKED_AT: Final = 20_000
"""Events: whoever asks for what never happened does not have years of them read."""
_OURS: Final = frozenset({"hello", "reset"})
_Name = Annotated[str | None, Query(max_length=200)]
_STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "``hello``, then each event by its name; ``reset`` where some were missed.",
        "content": EVENTS_DESCRIBED,
    }
}


@router.get("/events", summary="The newest events")
def list_events(
    here: Here,
    session: _Name = None,
    kind: _Name = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> EventList:
    """The newest events, the newest last; of one conversation or of one kind, if that is asked.

    Looked for among the newest 20,000: ``more`` says whether there are others before them."""

    def is_wanted(told: Told) -> bool:
        return session in (None, told.get("session")) and kind in (None, told["event"])

    reader = EventReader(here.engine.home / EVENTS, is_wanted)
    try:
        found = reader.last_placed(limit, within=_LOOKED_AT)
        last, more = reader.place, reader.has_more
    finally:
        reader.close()
    return EventList(events=[told_shape(each) for each in found], last_id=last, more=more)


@router.get(
    "/events/stream",
    response_class=EventStream,
    responses=_STREAMED,
    summary="Events as they happen",
)
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
            if not _says_ours(name := str(seen.told["event"])):
                yield frame(name, {**seen.told, "id": seen.id}, id=seen.id)
        else:
            yield frame(seen.kind, {"last_id": seen.id}, id=seen.id)


def _says_ours(name: str) -> bool:
    """Whether an event would be taken for a word of the stream itself: others write that log."""
    return "".join(filter(str.isalpha, name)).casefold() in _OURS
