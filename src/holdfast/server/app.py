"""The app: every route under ``/api/v1``, one shape for failures, OpenAPI.

Promise: what the description says is what is answered (``tests/server/test_openapi.py``, which
asks every route with what schemathesis thinks of). Who may ask is decided before, by the
entrance.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, FastAPI

from holdfast._version import __version__
from holdfast.server.api import (
    context,
    events,
    facts,
    files,
    health,
    memory,
    messages,
    searching,
    serving,
    sessions,
    stats,
    tasks,
    transcripts,
)
from holdfast.server.describing import describe, id_of
from holdfast.server.desk import Desk
from holdfast.server.failing import answer_failures
from holdfast.server.places import Places

__all__ = ["API", "build"]

API: Final = "/api/v1"
_ROUTES: Final = (
    serving,
    sessions,
    messages,
    transcripts,
    context,
    events,
    files,
    memory,
    facts,
    tasks,
    searching,
    stats,
    health,
)


def build(places: Places, *, desk: Desk | None = None) -> FastAPI:
    """The app that serves these places; ``desk`` is the server it is part of, if it is one's."""
    app = FastAPI(
        title="Holdfast",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=id_of,
        redirect_slashes=False,  # one address for each thing, and one shape for failures
    )
    app.state.places = places
    app.state.desk = desk
    answer_failures(app)
    describe(app)
    api = APIRouter(prefix=API)
    for each in _ROUTES:
        api.include_router(each.router)
    app.include_router(api)
    return app
