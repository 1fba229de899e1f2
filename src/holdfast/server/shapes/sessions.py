"""What is asked of conversations, and how they are told (``tests/server/test_sessions.py``)."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field

from holdfast.server.shapes.asking import Asked
from holdfast.server.shapes.transcripts import SavedLineShape, Words

__all__ = [
    "ChangeAsked",
    "Compact",
    "CompactedShape",
    "Detail",
    "Fill",
    "FlushedShape",
    "Fork",
    "LastFlush",
    "MarkShape",
    "Name",
    "NewSession",
    "Next",
    "Said",
    "SessionList",
    "StandingShape",
    "Summary",
    "ToolUse",
    "TurnAnswer",
]

Name = Annotated[str, Path(description="The name of the conversation.", max_length=200)]
_Named = Annotated[str, Field(min_length=1, max_length=200)]
_Goal = Annotated[str, Field(max_length=4_000)]


class NewSession(Asked):
    """A conversation to begin, or to go on with if there is one of that name."""

    name: _Named | None = None
    goal: _Goal | None = None
    model: _Named | None = None
    memory: Literal["read-write", "read", "off"] | None = None
    incognito: bool = False


class ChangeAsked(Asked):
    """What is to be changed; what is not named stays. A goal of null is taken away."""

    goal: _Goal | None = None
    name: _Named | None = None


class Next(Asked):
    name: _Named | None = None


class Fork(Asked):
    entry: _Named = Field(description="The last entry that the new conversation has, too.")
    name: _Named


class Said(Asked):
    text: Annotated[str, Field(min_length=1, max_length=1_000_000, pattern=r"\S")]
    model: _Named | None = None
    stream: bool = True


class Compact(Asked):
    focus: Annotated[str, Field(max_length=2_000)] | None = None


class Summary(BaseModel):
    """A conversation in a list."""

    name: Words
    created_at: str | None
    last_at: str | None
    entries: int
    messages: int
    compactions: int
    bytes: int
    goal: Words | None
    is_closed: bool
    is_incognito: bool
    forked_from: Words | None
    problem: Words | None


class SessionList(BaseModel):
    sessions: list[Summary] = Field(description="The most recently used first.")
    next: Words | None = Field(description="Ask with after=… for more.")


class Detail(Summary):
    phase: Literal["ACTIVE", "FLUSHING", "COMPACTING"]
    model: Words | None
    window: int
    memory_mode: Literal["read-write", "read", "off"]
    vars_count: int
    restored: bool


class ToolUse(BaseModel):
    tool: Words
    arguments: dict[str, object]
    result: Words | None = None
    is_error: bool = False


class TurnAnswer(BaseModel):
    """A turn that came to its end."""

    entry: Words | None
    seq: int | None
    text: Words
    tools: list[ToolUse]


class FlushedShape(BaseModel):
    """What a flush saved, or why there was nothing to do."""

    did: bool
    outcome: str | None
    mode: str | None
    saved: int
    duplicates: int
    file: Words | None
    operation: str | None = Field(description="What POST /memory/undo takes back.")
    lines: list[SavedLineShape]
    reason: Words | None


class CompactedShape(BaseModel):
    """What a compaction did, or why there was nothing to do."""

    did: bool
    tokens_before: int | None
    tokens_after: int
    dropped: int
    strategy: str | None
    reason: Words | None


class Fill(BaseModel):
    name: str
    tokens: int


class MarkShape(BaseModel):
    name: str
    at: int
    away: int


class LastFlush(BaseModel):
    at: str
    outcome: str
    saved: int
    file: Words | None
    operation: str | None
    lines: list[SavedLineShape]


class StandingShape(BaseModel):
    """How full the window is, and what would be done about it."""

    session: Words
    phase: Literal["ACTIVE", "FLUSHING", "COMPACTING"]
    cycle: Words
    compaction_count: int
    memory_mode: Literal["read-write", "read", "off"]
    is_incognito: bool
    goal: Words | None
    messages: int = Field(description="That the model sees.")
    projected: int = Field(description="Tokens of the next request.")
    source: Literal["reported", "estimated"]
    pressure: Literal["none", "prune", "flush", "hard", "compact"]
    marks: dict[str, int]
    fills: list[Fill] = Field(description="What the tokens are spent on, the most first.")
    next_marks: list[MarkShape]
    unsaved: int = Field(description="Entries in the view that no flush has read yet.")
    last_flush: LastFlush | None
    would: str = Field(description="What the next request would do, in words.")
    would_do: Literal["nothing", "prune", "flush", "compact"]
