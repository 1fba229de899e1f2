"""Typed memories: list, history, confirm, retract; and contradictions to settle
(``tests/server/test_facts.py``)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from holdfast.memory.facts import Fact
from holdfast.server.places import Here, Place
from holdfast.server.shapes.facts import (
    Conflicting,
    ConflictList,
    EntityList,
    FactDecided,
    FactList,
    FactTold,
    Resolution,
    Resolved,
    Retraction,
    decided_of,
    entities_of,
    fact_of,
)

__all__ = ["router"]

router = APIRouter(tags=["facts"])


@router.get("/facts", summary="Typed memories, the newest first: those that hold, or all")
def list_facts(
    here: Here,
    entity: Annotated[str | None, Query(max_length=200)] = None,
    kind: Literal["W", "B", "O", "S"] | None = None,
    trust: Literal["user", "agent", "tool", "import"] | None = None,
    holds: Annotated[bool, Query(description="False: also those that ended.")] = True,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> FactList:
    found = here.engine.facts.list(entity=entity, kind=kind, trust=trust, ended=not holds)
    newest = here.engine.editing.newest_first(found)[:limit]
    return FactList(facts=_told(here, *newest), total=len(found))


@router.get("/facts/{id}", summary="One memory")
def show_fact(here: Here, id: str) -> FactTold:
    return _told(here, here.engine.facts.show(id))[0]


@router.get(
    "/facts/{id}/history", summary="What it replaced, and what replaced it, the oldest first"
)
def fact_history(here: Here, id: str) -> FactList:
    chain = here.engine.facts.history(id)
    return FactList(facts=_told(here, *chain), total=len(chain))


@router.post("/facts/{id}/confirm", summary="A person says that it is true")
def confirm_fact(here: Here, id: str) -> FactDecided:
    return decided_of(here.engine.editing.confirm(id))


@router.post("/facts/{id}/retract", summary="A person says that it is not true; it stays readable")
def retract_fact(here: Here, id: str, retraction: Retraction | None = None) -> FactDecided:
    reason = None if retraction is None else retraction.reason
    return decided_of(here.engine.editing.retract(id, reason))


@router.get("/entities", summary="Whom and what memories are about")
def list_entities(here: Here) -> EntityList:
    return entities_of(here.engine.facts.entities())


@router.get("/conflicts", summary="Memories that contradict each other")
def list_conflicts(
    here: Here,
    doubtful: Annotated[bool, Query(description="Also what only might be one.")] = False,
) -> ConflictList:
    found = here.engine.facts.conflicts(doubtful=doubtful)
    told = iter(_told(here, *(fact for each in found for fact in (each.old, each.new))))
    return ConflictList(
        conflicts=[
            Conflicting(
                id=each.id,
                kind=each.kind,
                doubtful=each.doubtful,
                old=next(told),
                new=next(told),
            )
            for each in found
        ]
    )


@router.post("/conflicts/{id}/resolve", summary="Say which of the two is true")
def resolve_conflict(here: Here, id: str, resolution: Resolution) -> Resolved:
    done = here.engine.editing.resolve(id, resolution.keep)
    old, new = (fact_of(each) for each in done.lines)
    return Resolved(old=old, new=new, operation=done.operation)


def _told(here: Place, *facts: Fact) -> list[FactTold]:
    return [fact_of(each) for each in here.engine.editing.lines(facts)]
