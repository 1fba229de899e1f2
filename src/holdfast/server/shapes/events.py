"""What happened, as it is told (``tests/server/test_events.py``)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast.engine.eventreading import Placed
from holdfast.server.shapes.transcripts import Words
from holdfast.types import Json

__all__ = ["EventList", "ToldShape", "told_shape"]


class ToldShape(BaseModel):
    """One event: its name, when it was, in which conversation, and what belongs to it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any] = Field(init=False)

    id: str = Field(description="The place behind it: a stream goes on there (Last-Event-ID).")
    event: Words
    at: Words | None = None
    session: Words | None = None


class EventList(BaseModel):
    events: list[ToldShape] = Field(description="The newest last.")
    last_id: str = Field(description="Where a stream goes on behind all of them.")
    more: bool = Field(description="Whether there are older ones that were not looked at.")


def told_shape(placed: Placed) -> ToldShape:
    return ToldShape.model_validate({**_readable(placed.told), "id": placed.id})


def _readable(told: Json) -> Json:
    """What others wrote into the log, as it can be sent: half a surrogate pair is no character."""
    if isinstance(told, str):
        return told.encode("utf-8", "replace").decode()
    if isinstance(told, dict):
        return {_readable(name): _readable(value) for name, value in told.items()}
    return [_readable(each) for each in told] if isinstance(told, list) else told
