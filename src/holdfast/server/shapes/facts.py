"""Typed memories and contradictions, as the API tells them (``tests/server/test_facts.py``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from holdfast.server.shapes.asking import Asked
from holdfast.server.shapes.memory import MemoryLine, line_fields

if TYPE_CHECKING:
    from holdfast.engine.editing import Decided, Line
    from holdfast.memory.facts import Entity

__all__ = [
    "ConflictList",
    "Conflicting",
    "EntityList",
    "FactDecided",
    "FactList",
    "FactTold",
    "Resolution",
    "Resolved",
    "Retraction",
    "decided_of",
    "entities_of",
    "fact_of",
]


class FactTold(MemoryLine):
    """A memory line, and its file."""

    path: str
    citation: str
    archived: bool


class FactDecided(FactTold):
    """A memory as it is after a person judged it."""

    operation: str | None = Field(
        description="What undo takes it back by; null: nothing had to change."
    )


class FactList(BaseModel):
    facts: list[FactTold]
    total: int = Field(description="How many there are, also those beyond the limit.")


class Retraction(Asked):
    reason: str | None = Field(default=None, max_length=1_000)


class EntityTold(BaseModel):
    name: str
    aliases: list[str]
    facts: int = Field(description="How many hold now.")
    path: str | None


class EntityList(BaseModel):
    entities: list[EntityTold]


class Conflicting(BaseModel):
    """Two memories that cannot both hold; ``doubtful``: they only might contradict."""

    id: str
    kind: str
    doubtful: bool
    old: FactTold
    new: FactTold


class ConflictList(BaseModel):
    conflicts: list[Conflicting]


class Resolution(Asked):
    keep: str = Field(description="The id of the memory that is true; or new, old, both.")


class Resolved(BaseModel):
    """The two as they are now."""

    old: FactTold
    new: FactTold
    operation: str | None = Field(
        description="What undo takes it back by; null: nothing had to change."
    )


def fact_of(found: Line) -> FactTold:
    fact = found.fact
    return FactTold(
        **line_fields(found), path=fact.path, citation=fact.citation, archived=fact.archived
    )


def decided_of(done: Decided) -> FactDecided:
    (found,) = done.lines
    return FactDecided(**fact_of(found).model_dump(), operation=done.operation)


def entities_of(found: list[Entity]) -> EntityList:
    return EntityList(
        entities=[
            EntityTold(name=each.name, aliases=list(each.aliases), facts=each.facts, path=each.path)
            for each in found
        ]
    )
