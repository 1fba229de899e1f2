"""What a host says about the request it is about to send.

Promise: everything is optional; what a session was opened with holds until a call says otherwise
(``tests/engine/test_talking.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from holdfast.context.accounting import Reported
from holdfast.context.assembly import WireFormat
from holdfast.ports import Model
from holdfast.types import Json

__all__ = ["About", "Ask", "Described"]


class Described(TypedDict, total=False):
    """What a host may say about its requests besides the model; all of it is optional."""

    system: str | None
    """The system text it sends besides the conversation."""
    tools: Sequence[Mapping[str, Json]]
    """The tools it offers, as the provider takes them."""
    format: WireFormat
    """Whose messages: ``openai`` (default) or ``anthropic``."""
    window: int | None
    """What the model can read; default: ``context.window``."""
    max_output: int
    """How long the answer may become."""
    reported: Reported | None
    """What the provider counted for the last request; ``commit`` reads it from the answer."""
    strategy: Literal["layered", "summary", "selective"] | None
    """How to compact; default: ``compaction.strategy``."""
    summariser: Model | None
    """A model that writes better summaries than the rules do."""
    flusher: Model | None
    """A model that writes better memories than the rules do."""


class About(Described, total=False):
    """What a host may say about the request it is about to send."""

    model: str | None
    """The name of the model: decides what it accepts, and how tokens are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """``About`` with its defaults, and what the session adds."""

    system: str | None = None
    tools: Sequence[Mapping[str, Json]] = ()
    format: WireFormat = "openai"
    model: str | None = None
    window: int | None = None
    max_output: int = 0
    reported: Reported | None = None
    strategy: Literal["layered", "summary", "selective"] | None = None
    summariser: Model | None = None
    flusher: Model | None = None
    restored: str | None = None
    """What the session began with, out of memory: it stands behind the system text."""
    observed_window: int | None = None
    """What the model was seen to read at most."""
    focus: str | None = None
    """What a compaction should keep in mind."""

    @property
    def whole_system(self) -> str | None:
        """The system text as it is sent."""
        return "\n\n".join(filter(None, (self.system, self.restored))) or None
