"""What a model's flush may ask for on its way, and what it gives in the end.

A mode is a generator: it yields a ``ModelRequest`` (answered by a ``ModelReply`` or a
``ModelFailure``) or a ``MemorySearch`` (answered by the text that was found) and returns
``Found`` or ``Failed``. It yields nothing else, so whoever drives it can do nothing else for
it (``tests/context/test_flush_redteam.py``).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from holdfast.ports import ModelFailure, ModelReply, ModelRequest
from holdfast.retain import RetainLine
from holdfast.types import Json, Message

__all__ = ["Failed", "Flushing", "Found", "MemorySearch", "Prefix", "Spent"]

Mode = Literal["agent", "extract"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySearch:
    """The model wants to know what memory says already."""

    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The live request, byte for byte, so that the provider's cache still holds it."""

    system: str | None
    tools: Sequence[Mapping[str, Json]]
    messages: Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What the calls have cost so far."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def with_reply(self, reply: ModelReply | ModelFailure) -> Spent:
        """One call more; a failure counts as a call, for the provider may charge it."""
        usage = reply.usage if isinstance(reply, ModelReply) else None
        return replace(
            self,
            calls=self.calls + 1,
            input_tokens=self.input_tokens + (usage.context_tokens if usage else 0),
            output_tokens=self.output_tokens + (usage.output_tokens if usage else 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is to be written. Kind, entity, trust, time and sources are ours, not the model's."""

    mode: Mode
    lines: tuple[RetainLine, ...]
    ungrounded: int = 0
    """Statements that do not stand in the conversation: dropped."""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    said: str | None = None
    """Other text than a silent token, bounded: for the record, never for the user."""
    refused: tuple[str, ...] = ()
    """Names of tools that were asked for and not allowed, or asked for wrongly."""
    silent: bool = False
    """The model said that there is nothing to store."""
    unread: tuple[str, ...] = ()
    """Entries the model did not read to their end: rules have to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Nothing usable came of it, and why."""

    mode: Mode
    reason: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    said: str | None = None
    refused: tuple[str, ...] = ()
    ungrounded: int = 0


Flushing: TypeAlias = Generator[
    ModelRequest | MemorySearch, ModelReply | ModelFailure | str, Found | Failed
]
