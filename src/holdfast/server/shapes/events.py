"""What happened, as it is told (``tests/server/test_events.py``)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from holdfast.server.shapes.transcripts import Words

__all__ = ["EventList", "ToldShape"]


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
