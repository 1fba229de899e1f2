"""Write to memory, forget, and bring back what was forgotten (``tests/server/test_memory.py``)."""

from __future__ import annotations

from fastapi import APIRouter

from holdfast.server.places import Here
from holdfast.server.shapes.memory import (
    ArchiveList,
    ForgetAsked,
    ForgottenTold,
    RememberAsked,
    RememberedTold,
    RestoreAsked,
    RestoredTold,
    archive_of,
    forgotten_of,
    remembered_of,
    restored_of,
)

__all__ = ["router"]

router = APIRouter(tags=["memory"])


@router.post("/memory/remember", summary="Write to memory what is to be remembered")
def remember(here: Here, asked: RememberAsked) -> RememberedTold:
    done = here.engine.remember(
        asked.text,
        kind=asked.kind,
        entity=asked.entity,
        confidence=asked.confidence,
        target=asked.target,
    )
    return remembered_of(done)


@router.post("/memory/forget", summary="Move memories to the archive, or erase a text everywhere")
def forget(here: Here, asked: ForgetAsked) -> ForgottenTold:
    done = here.engine.forget(
        *asked.targets, ids=asked.ids, erase=asked.erase, dry_run=asked.dry_run
    )
    return forgotten_of(done)


@router.get("/memory/archive", summary="What was moved to the archive")
def list_archive(here: Here) -> ArchiveList:
    return archive_of(here.engine.archive.list())


@router.post("/memory/archive/restore", summary="Put memories back where they were")
def restore(here: Here, asked: RestoreAsked) -> RestoredTold:
    return restored_of(here.engine.archive.restore(asked.ids))
