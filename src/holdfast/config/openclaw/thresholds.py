"""OpenClaw's two flush thresholds → marks that come in the right order.

OpenClaw takes both numbers for distances below the end of the window, yet its own example
(soft 100000, hard 120000) means tokens in use: as distances the hard one would fire first, and
since both share one guard the soft one never. Numbers that can only be counts become ``{at = N}``;
plain distances stay. Promise: soft before hard before compaction for the window assumed, or the
number is left out with the reason (``tests/foundation/test_config_openclaw_thresholds.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.config.openclaw.draft import DEFAULTS, Draft, Leaf
from holdfast.types import Json

__all__ = ["WINDOW", "translate_thresholds"]

WINDOW = 200_000
_RESERVE = 20_000
_SOFT = 4000
_FLUSH = (*DEFAULTS, "compaction", "memoryFlush")
_SOFT_KEY = "flush.soft_threshold_tokens"
_HARD_KEY = "flush.hard_threshold_tokens"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Frame:
    """The window both numbers are judged by."""

    window: int
    compact_at: int

    def is_count(self, tokens: int, *, reversed_order: bool) -> bool:
        """Whether a number makes sense only as tokens in use.

        A distance above a quarter of the compaction mark would flush a window that is mostly
        empty. Two numbers in the wrong order for distances are counts as well, unless they are
        so small that as counts they would flush all the time.
        """
        too_far = tokens > self.compact_at // 4
        return too_far or (reversed_order and tokens >= self.compact_at // 10)


def translate_thresholds(draft: Draft, *, window: int | None) -> None:
    """Translate softThresholdTokens and hardThresholdTokens together."""
    soft, hard = draft.take((*_FLUSH, "softThresholdTokens")), _take_hard(draft)
    frame = _frame(draft, window)
    soft_tokens, hard_tokens = _tokens(soft), _tokens(hard)
    first = _SOFT if soft_tokens is None else soft_tokens
    is_reversed = hard_tokens is not None and hard_tokens >= first
    soft_at = frame.compact_at - _SOFT
    if soft is not None:
        soft_at = _translate_soft(draft, soft, frame, is_reversed)
    if hard is not None:
        _translate_hard(draft, hard, frame, soft_at=soft_at, is_reversed=is_reversed)


def _take_hard(draft: Draft) -> Leaf | None:
    hard = draft.take((*_FLUSH, "hardThresholdTokens"))
    if hard is None or hard.value != 0:
        return hard
    draft.leave_out(
        hard.source, "0 is off in OpenClaw; here no command runs unless one is set", _HARD_KEY
    )
    return None


def _frame(draft: Draft, window: int | None) -> _Frame:
    size = window or WINDOW
    floor = draft.value_of("context.reserve_tokens_floor")
    reserve = min(_RESERVE if floor is None else floor, size // 4)
    return _Frame(window=size, compact_at=size - reserve)


def _tokens(leaf: Leaf | None) -> int | None:
    """The number as OpenClaw reads it (rounded down), or None when it is none."""
    value: Json = None if leaf is None else leaf.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return math.floor(value) if is_number and math.isfinite(value) and value >= 0 else None


def _translate_soft(draft: Draft, soft: Leaf, frame: _Frame, is_reversed: bool) -> int:
    """Set the soft threshold; returns its mark in tokens in use."""
    tokens, default_at = _tokens(soft), frame.compact_at - _SOFT
    if tokens is None:
        draft.put(soft.source, _SOFT_KEY, soft.value)  # refused there, with the reason
        return default_at
    if not frame.is_count(tokens, reversed_order=is_reversed):
        draft.put(soft.source, _SOFT_KEY, tokens)
        return frame.compact_at - tokens
    if tokens >= frame.compact_at:
        draft.leave_out(soft.source, _no_mark(tokens, frame), _SOFT_KEY)
        return default_at
    draft.put(soft.source, _SOFT_KEY, {"at": tokens}, _means_count(tokens, frame))
    return tokens


def _translate_hard(
    draft: Draft, hard: Leaf, frame: _Frame, *, soft_at: int, is_reversed: bool
) -> None:
    tokens = _tokens(hard)
    if tokens is None:
        draft.put(hard.source, _HARD_KEY, hard.value)
    elif not frame.is_count(tokens, reversed_order=is_reversed):
        why = ""
        if is_reversed:
            why = (
                "OpenClaw would reach it before the soft threshold; here it comes after it, at "
                "most a quarter of the soft distance below compaction"
            )
        draft.put(hard.source, _HARD_KEY, tokens, why)
    elif tokens >= frame.compact_at:
        draft.leave_out(hard.source, _no_mark(tokens, frame), _HARD_KEY)
    elif tokens <= soft_at:
        draft.to_do(
            hard.source,
            f"{tokens} tokens in use would come before the flush at {soft_at}; set "
            f"{_SOFT_KEY} = {{at = N}} with a smaller N first, then {_HARD_KEY} = "
            f"{{at = {tokens}}}",
            _HARD_KEY,
        )
    else:
        why = _means_count(tokens, frame) + (
            "; and it has a guard of its own here: in OpenClaw a soft flush suppressed it, and "
            "the reverse"
        )
        draft.put(hard.source, _HARD_KEY, {"at": tokens}, why)


def _means_count(tokens: int, frame: _Frame) -> str:
    return (
        f"OpenClaw's code reads {tokens} as a distance, which would fire at "
        f"{max(0, frame.compact_at - tokens)} of {frame.window} tokens; it is meant as tokens in "
        "use, so it became an absolute mark"
    )


def _no_mark(tokens: int, frame: _Frame) -> str:
    return (
        f"{tokens} is too much for a distance and not below compaction, which comes at "
        f"{frame.compact_at} of {frame.window} tokens; the default stays"
    )
