"""What a replay counts: of one conversation, and of all of them.

Promise: sums are sums of what was counted (``tests/engine/test_replay.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.types import Json

__all__ = ["Replayed", "Trimmed", "total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trimmed:
    """What plain trimming would have done to the same conversation."""

    dropped: int = 0
    task_gone_at: int | None = None
    """The call from which on the task text was no longer sent."""
    tokens_sent: int = 0
    cost_sent: float = 0.0
    over_budget: int = 0
    """Requests above the window: a provider refuses them, so they cost nothing and send nothing."""
    first_dropped: tuple[str, ...] = ()
    """The first few texts it would have dropped, for a person to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What happened to one conversation."""

    id: str
    turns: int = 0
    prunes: int = 0
    flushes: int = 0
    compactions: int = 0
    flush_lines: int = 0
    """Lines that flushes wrote to memory."""
    duplicates: int = 0
    """Those of them that say what another of them says."""
    receipts_verified: int = 0
    """Flushes whose file holds every line they name: it was read back."""
    notices: int = 0
    """How often the user would have been told that the conversation is nearly full."""
    max_view_tokens: int = 0
    over_budget: int = 0
    invalid_views: int = 0
    uncovered_drops: int = 0
    task_text_kept: bool = True
    expandable: bool = True
    tokens_sent: int = 0
    tokens_full: int = 0
    cost_sent: float = 0.0
    cost_full: float = 0.0
    dropped: int = 0
    """Messages that left the view by a compaction."""
    read_first: int = 0
    """How many of those a flush had read before."""
    came_back: int = 0
    """How many of those came back word for word when they were asked for."""
    repaired: int = 0
    """Messages that a provider would not have taken as they were, and those put between them."""
    shortened: int = 0
    """Messages of which less than the whole was shown: pruned, or set aside when they came."""
    summary: str = ""
    memories: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Every promise that was not kept, and what of the log could not be read."""
    unread: int = 0
    """How many of the problems are the log's own; they come first."""
    trimmed: Trimmed = field(default_factory=Trimmed)

    def to_json(self) -> dict[str, Json]:
        """The line of ``replay --json``: figures only."""
        named = (
            "id turns prunes flushes compactions max_view_tokens over_budget invalid_views "
            "uncovered_drops task_text_kept expandable tokens_sent tokens_full "
            "flush_lines duplicates receipts_verified notices"
        )
        told: dict[str, Json] = {name: getattr(self, name) for name in named.split()}
        told |= {"cost_sent": round(self.cost_sent, 6), "cost_full": round(self.cost_full, 6)}
        if self.problems:
            told["problems"] = list(self.problems)
        return told


def total(all_of: Sequence[Replayed]) -> dict[str, Json]:
    """The sums over several conversations; of yes and no, how many are yes."""
    sums: dict[str, Json] = {"summary": True, "conversations": len(all_of)}
    for each in all_of:
        for name, value in each.to_json().items():
            if name == "max_view_tokens":
                sums[name] = max(sums.get(name, 0), value)
            elif isinstance(value, int | float):
                sums[name] = sums.get(name, 0) + value
    return {
        name: round(value, 6) if isinstance(value, float) else value for name, value in sums.items()
    }
