"""The seams to everything that is not ours or not deterministic: a few small Protocols.

Promise: nobody above reads the clock, draws a random id or calls a model except through
these, so every test can inject its own (``holdfast.testing``). What needs a network is
async; the rest is plain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from holdfast.types import Erased, Json, Message, Usage

if TYPE_CHECKING:
    from holdfast.matching import Match

__all__ = [
    "Clock",
    "Embedder",
    "Erasable",
    "Ids",
    "Model",
    "ModelFailure",
    "ModelReply",
    "ModelRequest",
    "Reranker",
    "TokenCounter",
]


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


class Ids(Protocol):
    def new(self, at: datetime) -> str:
        """An id nobody has had before; ids made later sort later."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked: system text, messages, tools by their JSON schema."""

    messages: Sequence[Message]
    system: str | None = None
    tools: Sequence[Mapping[str, Json]] = ()
    max_tokens: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    message: Message
    usage: Usage | None = None
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """In place of an answer: the model did not give one. ``error`` is what it raised, if it did."""

    reason: str
    error: Exception | None = None


class Model(Protocol):
    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest) -> ModelReply: ...


class Embedder(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...


class Reranker(Protocol):
    async def score(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...


class Erasable(Protocol):
    """A store that can take a text out of everything it holds, at once and for good."""

    def erase(self, match: Match, *, dry_run: bool = False) -> Erased:
        """What was found. Doing it again after a crash finishes it; then it finds nothing."""
        ...
