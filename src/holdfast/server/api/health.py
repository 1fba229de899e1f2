"""The index, the models, and the check-up of the home (``tests/server/test_health.py``).

Building the index anew answers when it is done: whoever asked waits, nobody else does.
"""

from __future__ import annotations

import os
from functools import partial

from fastapi import APIRouter, Request

from holdfast.models.folder import models_folder
from holdfast.models.weights import Shelf
from holdfast.server.places import Here
from holdfast.server.shapes.health import (
    CheckUp,
    IndexTold,
    Models,
    SyncedTold,
    check_up_of,
    index_of,
    synced_of,
    weights_of,
)
from holdfast.server.shapes.serving import model_shown
from holdfast.server.turns import turns_of

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/index", summary="How the search index stands against the files")
def index_status(here: Here) -> IndexTold:
    return index_of(here.engine.index.status())


@router.post("/index/sync", summary="Bring the index up to date")
async def index_sync(request: Request, here: Here) -> SyncedTold:
    return synced_of(await turns_of(request.app).at_length(here.engine.index.sync))


@router.post("/index/rebuild", summary="Build the index anew")
async def index_rebuild(request: Request, here: Here) -> SyncedTold:
    return synced_of(await turns_of(request.app).at_length(here.engine.index.rebuild))


@router.get("/doctor", summary="What is well and what is not")
async def doctor(request: Request, here: Here) -> CheckUp:
    return check_up_of(await turns_of(request.app).at_length(here.engine.doctor))


@router.post("/doctor/fix", summary="The same, mending what can be mended")
async def doctor_fix(request: Request, here: Here) -> CheckUp:
    mend = partial(here.engine.doctor, fix=True)
    return check_up_of(await turns_of(request.app).at_length(mend))


@router.get("/models", summary="Which model answers, which encoders search, what can be fetched")
def models(here: Here) -> Models:
    index = here.engine.index
    state = index_of(index.status())
    return Models(
        chosen=model_shown(here.choice()),
        embedders=state.encoders,
        missing=index.embedding.missing,
        weights=[weights_of(each) for each in Shelf(models_folder(os.environ)).list()],
    )
