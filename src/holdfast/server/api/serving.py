"""The server itself: what it is, which model answers, codes for browsers, the tour's next message.

Promise: only whoever has the token in the file can let another browser in
(``tests/server/test_serving.py``).
"""

from __future__ import annotations

from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Request, Response

from holdfast._version import __version__
from holdfast.errors import NotFound, PolicyRefused
from holdfast.server.api.messages import answer_of
from holdfast.server.desk import TOKEN, WHO, Desk
from holdfast.server.places import OWN, Here, Place, Places
from holdfast.server.shapes.serving import (
    ChosenModel,
    CodeGiven,
    PlaceShown,
    ServerShown,
    TourShown,
    model_shown,
)
from holdfast.server.streaming import EVENTS_DESCRIBED, EventStream, sse
from holdfast.server.turns import Played, turns_of

__all__ = ["router"]

router = APIRouter(tags=["serving"])


def _desk(request: Request) -> Desk:
    """The server that this app is part of.

    Raises:
        NotFound: it is part of none.
    """
    desk: Desk | None = request.app.state.desk
    if desk is None:
        raise NotFound("No server is known here.", hint="holdfast serve")
    return desk


def _own(request: Request) -> Place:
    places: Places = request.app.state.places
    return places.get(OWN)


AtDesk = Annotated[Desk, Depends(_desk)]
Own = Annotated[Place, Depends(_own)]


@router.get("/server", summary="What runs here, and which model answers")
def server(request: Request, desk: AtDesk, own: Own) -> ServerShown:
    """What runs here, since when, whose memory it serves, and which model answers."""
    places: Places = request.app.state.places
    engine = own.engine
    return ServerShown(
        version=__version__,
        agent=engine.agent,
        home=str(engine.home),
        language=desk.language,
        time_zone=engine.settings.memory.time_zone,
        today=engine.today(),
        started_at=desk.started_at,
        places=[PlaceShown(name=place.name) for place in places],
        model=model_shown(own.choice()),
        tour=_tour(places),
    )


def _tour(places: Places) -> TourShown | None:
    player = next((place.player for place in places if place.player is not None), None)
    if player is None:
        return None
    return TourShown(session=player.session(), left=player.left(), upcoming=player.upcoming())


@router.post("/models/look", summary="Look again for a model")
def look_for_models(own: Own) -> ChosenModel:
    """Look again for a model: keys, servers on this machine, embedded ones."""
    return model_shown(own.choice(again=True))


@router.post("/sign-out", status_code=204, summary="End the token of this browser")
def sign_out(request: Request, desk: AtDesk) -> Response:
    """The token of this browser ends now. The one in the file stays."""
    desk.tokens.sign_out(request.scope.get(TOKEN, ""))
    return Response(status_code=204)


@router.post("/sign-in-codes", summary="A link for one more browser")
def new_code(request: Request, desk: AtDesk) -> CodeGiven:
    """A link for one more browser. Only with the token in the file, not with a browser's."""
    if request.scope.get(WHO) != "master":
        raise PolicyRefused(
            "Only whoever has the token in the file may let in another browser.",
            hint="holdfast serve link",
        )
    given = desk.tokens.new_code()
    return CodeGiven(code=given.secret, url=desk.link(given), expires_at=given.expires_at)


@router.post(
    "/tour/next",
    summary="Play the tour's next message",
    response_class=EventStream,
    responses={200: {"description": "Steps, as of a message.", "content": EVENTS_DESCRIBED}},
)
async def play_on(request: Request, place: Here) -> EventStream:
    """Let the tour's next message be said and answered."""
    player = place.player
    said = None if player is None else await run_sync(player.upcoming)
    if player is None or said is None:
        raise NotFound(
            "There is no message of the tour to come here.",
            hint="holdfast serve --tour, and the header Holdfast-Place: tour",
        )
    held = turns_of(request.app).hold(place, player.session())
    try:
        steps = Played(player.play(), held)
    except BaseException:
        held.let_go()
        raise

    async def ended() -> dict[str, Any]:
        return await run_sync(lambda: answer_of(place.session(player.session())))

    return sse(steps, first=({"kind": "accepted"}, {"kind": "said", "text": said}), ended=ended)
