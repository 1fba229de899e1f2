"""The seams to everything that is not ours or not deterministic: a few small Protocols.

Promise: nobody above reads the clock, draws a random id or calls a model except through
these, so every test can inject its own (``holdfast.testing``). What needs a network is
async; the rest is plain.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from holdfast.types import Erased, Json, Message, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from holdfast.matching import Match

    Floats: TypeAlias = NDArray[np.float32]

__all__ = [
    "Clock",
    "Embedded",
    "Embedder",
    "Erasable",
    "Expander",
    "Ids",
    "Model",
    "ModelFailure",
    "ModelReply",
    "ModelRequest",
    "Reranker",
    "Script",
    "StreamingModel",
    "TokenCounter",
    "Tokens",
    "Traits",
    "traits_of",
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


class StreamingModel(Model, Protocol):
    """A model that can be heard while it speaks."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        """Pieces of the text as they come; the whole reply is the last."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is known of a model beside its name: ``model.traits``, if it says."""

    window: int | None = None
    """What it can read."""
    tool_calls: bool = True
    is_local: bool = False
    """It runs on this machine: time is what it costs."""
    prefill_per_second: float | None = None
    """Tokens it was measured to read in a second."""
    caches_prefix: bool = False
    """A request that begins like the last one is cheaper."""
    input_price: float = 0.0
    """US dollars per million tokens."""
    output_price: float = 0.0
    cache_read_price: float | None = None
    """Of tokens that were in the provider's cache; None: as dear as any other."""
    cache_write_price: float | None = None
    """Of tokens that were put into it; None: as dear as any other."""

    def cost(self, usage: Usage) -> float:
        """US dollars of one call; cached tokens at their own price, where it is known."""
        read, write = self.cache_read_price, self.cache_write_price
        dear = (
            usage.input_tokens * self.input_price
            + usage.cache_read_tokens * (self.input_price if read is None else read)
            + usage.cache_write_tokens * (self.input_price if write is None else write)
            + usage.output_tokens * self.output_price
        )
        return dear / 1_000_000


def traits_of(model: Model) -> Traits:
    """What a model says of itself; of one that says nothing the usual is believed."""
    found = getattr(model, "traits", None)
    return found if isinstance(found, Traits) else Traits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The vectors of the words of one text, as the encoder saw them in their sentence."""

    vectors: Floats
    """One row for each, of length 1. Marks of the encoder and punctuation are left out."""
    spans: Sequence[tuple[int, int]]
    """Where each stands in the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """What an encoder makes of some texts."""

    vectors: Floats
    """One row for each text, of length 1."""
    tokens: Sequence[Tokens] | None = None
    """One for each text, if they were asked for and the encoder has them."""


Script = Literal["latin", "cjk", "any"]


class Embedder(Protocol):
    """Turns texts into vectors. Plain, not async: encoding is work, and callers choose the
    thread; one that asks a server waits for it, bounded by its own time limit."""

    @property
    def name(self) -> str:
        """Changes whenever the vectors would: model, version, quantisation, pooling."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def script(self) -> Script:
        """Which texts it is meant for."""
        ...

    @property
    def has_tokens(self) -> bool: ...

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        """In the order of the texts, in batches of its own choice.

        Raises:
            ModelUnavailable: it cannot be loaded or reached; says what to do.
        """
        ...


class Reranker(Protocol):
    """Scores how well each text answers the query, within ``seconds``."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, texts: Sequence[str], *, seconds: float) -> Sequence[float]: ...


class Expander(Protocol):
    """Other words for a query: aliases from the bank, or a model's, within ``seconds``."""

    @property
    def name(self) -> str: ...

    def expand(self, query: str, *, seconds: float) -> Sequence[str]: ...


class TokenCounter(Protocol):
    def count(self, text: str) -> int: ...


class Erasable(Protocol):
    """A store that can take a text out of everything it holds, at once and for good."""

    def erase(self, match: Match, *, dry_run: bool = False) -> Erased:
        """What was found. Doing it again after a crash finishes it; then it finds nothing."""
        ...
