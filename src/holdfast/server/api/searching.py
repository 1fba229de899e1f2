"""Search memory and conversations (``tests/server/test_searching.py``)."""

from __future__ import annotations

from fastapi import APIRouter

from holdfast.server.places import Here
from holdfast.server.shapes.search import Found, SearchAsked, found_of

__all__ = ["router"]

router = APIRouter(tags=["search"])


@router.post("/search", summary="Passages of memory and conversations, the best first")
def search(here: Here, asked: SearchAsked) -> Found:
    found = here.engine.search(
        asked.query,
        limit=asked.limit,
        kind=asked.kind,
        entity=asked.entity,
        since=asked.since or None,
        until=asked.until or None,
        as_of=asked.as_of or None,
        source=asked.source,
        session=asked.session or None,
        vectors=asked.vectors,
        explain=asked.explain,
    )
    return found_of(found, here.engine.editing.seq)
