"""How much the model can read, how much of it is used, and where the marks are.

    0 ── prune_at ── flush_at ─ hard_at ─ compact_at ──── window
              target = half of compact_at

One ``Budget`` is computed per request and used by every trigger. ``project`` says how many
tokens the next request will have: what the provider reported for the last one and the estimate
of what came since, or the estimate of everything.

Promise: prune_at ≤ flush_at < hard_at < compact_at < window for every window of 2,000 tokens
or more and any growth and output; settings that break the order are refused with the marks they
would give (``tests/context/test_accounting.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

from holdfast.config import At, Below, Settings, Share, Threshold
from holdfast.context.blocks import Block, category_of
from holdfast.errors import ConfigError
from holdfast.types import Json

__all__ = [
    "CHARS_PER_TOKEN",
    "SMALLEST_WINDOW",
    "UNKNOWN_WINDOW",
    "Breakdown",
    "Budget",
    "Projection",
    "Reported",
    "break_down",
    "effective_window",
    "ingest_cap",
    "make_budget",
    "p95",
    "project",
]

SMALLEST_WINDOW: Final = 2_000
UNKNOWN_WINDOW: Final = 200_000
CHARS_PER_TOKEN: Final = 4
"""How a window in tokens is turned into one in characters, for limits that count those."""
_LEAST_CAP: Final = 1_000
_TURNS_WATCHED: Final = 20
_LEAST_SOFT: Final = 8  # so that its quarter still separates hard_at from compact_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The marks, in tokens of a request."""

    window: int
    reserve: int
    compact_at: int
    flush_at: int
    hard_at: int
    prune_at: int
    target: int

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    def pressure(self, projected: int) -> str:
        """The highest mark that is reached, or ``none``."""
        for mark in ("compact_at", "hard_at", "flush_at", "prune_at"):
            if projected >= getattr(self, mark):
                return mark.removesuffix("_at")
        return "none"

    def with_room_for(self, fixed: int) -> Budget:
        """The same marks with a target that can be met beside ``fixed`` tokens that must stay.

        System text and tools that alone exceed the target would make every shrinking stop
        before it starts; then half of what is left beside them is the target.
        """
        least = fixed + (self.compact_at - fixed) // 2
        if fixed <= self.target * 3 // 4 or least <= self.target:
            return self
        changed = asdict(self) | {"target": min(least, self.compact_at)}
        return Budget(**changed)


def effective_window(
    configured: int | None, *, known: int | None = None, observed: int | None = None
) -> int:
    """The configured window, else the model's known one; never more than an overflow showed."""
    window = configured or known or UNKNOWN_WINDOW
    return max(SMALLEST_WINDOW, min(window, observed) if observed else window)


def ingest_cap(settings: Settings) -> int:
    """Characters above which a payload is set aside when it arrives: a tenth of the window."""
    cap = settings.context.ingest_cap_chars
    window = settings.context.window
    return cap if window is None else max(_LEAST_CAP, min(cap, window * CHARS_PER_TOKEN // 10))


def make_budget(
    settings: Settings,
    *,
    window: int | None = None,
    max_output: int = 0,
    overhead: int = 0,
    growth: int = 0,
) -> Budget:
    """The marks for one request. ``growth`` is what a turn usually adds (``p95``)."""
    if window is None:
        window = effective_window(settings.context.window)
    window = max(window, SMALLEST_WINDOW)
    floor = max(settings.context.reserve_tokens_floor, max_output + overhead)
    reserve = max(1, min(floor, window // 4))
    compact_at = window - reserve
    soft = _below(settings.flush.soft_threshold_tokens, compact_at, growth)
    hard = _below_hard(settings.flush.hard_threshold_tokens, compact_at, soft)
    flush_at = compact_at - soft
    start = settings.context.context_tokens or window * 6 // 10
    budget = Budget(
        window=window,
        reserve=reserve,
        compact_at=compact_at,
        flush_at=flush_at,
        hard_at=compact_at - hard,
        prune_at=min(start, flush_at),
        target=compact_at // 2,
    )
    _check_order(budget)
    return budget


def _below(threshold: Threshold, compact_at: int, growth: int) -> int:
    """How far below ``compact_at`` the flush is due."""
    if isinstance(threshold, Below):
        wanted = max(threshold.tokens, growth, _LEAST_SOFT)
        return min(wanted, compact_at // 4)
    return compact_at - _absolute(threshold, compact_at)


def _below_hard(threshold: Threshold, compact_at: int, soft: int) -> int:
    if isinstance(threshold, Below):
        return max(1, min(threshold.tokens, soft // 4))
    return compact_at - _absolute(threshold, compact_at)


def _absolute(threshold: At | Share, compact_at: int) -> int:
    if isinstance(threshold, At):
        return threshold.tokens
    return round(threshold.fraction * compact_at)


def _check_order(budget: Budget) -> None:
    marks = budget
    if 0 < marks.flush_at < marks.hard_at < marks.compact_at < marks.window:
        return
    raise ConfigError(
        "The flush thresholds are not in order: the flush must come before the hard threshold, "
        "and both before compaction. They would be "
        f"flush_at {marks.flush_at}, hard_at {marks.hard_at}, compact_at {marks.compact_at}, "
        f"window {marks.window}.",
        hint="See: holdfast config explain flush.soft_threshold_tokens "
        "and flush.hard_threshold_tokens; a plain number counts down from compaction and is "
        "always in order.",
    )


def p95(growths: Sequence[int]) -> int:
    """The growth that 19 of 20 turns stay below, over the last turns."""
    recent = sorted(growths[-_TURNS_WATCHED:])
    if not recent:
        return 0
    return max(0, recent[min(len(recent) - 1, len(recent) * 95 // 100)])


# ── what is used ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the provider counted for the last call: ``tokens`` up to and including ``entry``."""

    tokens: int
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """How many tokens the next request will have."""

    tokens: int
    source: Literal["reported", "estimated"]


def project(
    blocks: Sequence[Block], *, fixed: int = 0, reported: Reported | None = None
) -> Projection:
    """The tokens of the next request: ``fixed`` for system text and tools outside the view.

    A report counts as long as its entry is still in the view; after a prune or a compaction
    the caller passes none, until the next one comes.
    """
    if reported is not None:
        position = next(
            (index for index, block in enumerate(blocks) if block.entry == reported.entry), None
        )
        if position is not None:
            since = sum(block.tokens for block in blocks[position + 1 :])
            return Projection(tokens=reported.tokens + since, source="reported")
    return Projection(tokens=fixed + sum(block.tokens for block in blocks), source="estimated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """What the tokens of a request are spent on."""

    system: int = 0
    tools: int = 0
    memory: int = 0
    summary: int = 0
    messages: int = 0
    tool_results: int = 0
    images: int = 0

    @property
    def total(self) -> int:
        return sum(asdict(self).values())

    def to_json(self) -> dict[str, Json]:
        return asdict(self) | {"total": self.total}

    def largest(self) -> list[tuple[str, int]]:
        """The categories that cost something, the dearest first."""
        spent: Mapping[str, int] = asdict(self)
        return sorted(((k, v) for k, v in spent.items() if v), key=lambda pair: -pair[1])


def break_down(blocks: Iterable[Block], *, system: int = 0, tools: int = 0) -> Breakdown:
    """The tokens by category; ``system`` and ``tools`` are those outside the view."""
    spent: dict[str, int] = {"system": system, "tools": tools}
    for block in blocks:
        category = category_of(block)
        spent[category] = spent.get(category, 0) + block.tokens - block.images
        spent["images"] = spent.get("images", 0) + block.images
    return Breakdown(**spent)
