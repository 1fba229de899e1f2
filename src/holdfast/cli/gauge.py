"""The window as a bar: what is used, and where the marks are.

Promise: a mark stands by its letter in a cell of its own, in the order of the marks, however
narrow the bar is (``tests/doors/test_cli_turn.py``, ``tests/doors/test_chat_status.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.context.accounting import Budget

__all__ = ["bar", "can_print", "gauge", "short_count"]

_BAR: Final = 40
_LEAST: Final = 6
"""Cells in which four marks and what is left of the first can stand."""
_PLAIN: Final = (("p", "prune_at"), ("f", "flush_at"), ("c", "compact_at"))
_ALL: Final = (("p", "prune_at"), ("f", "flush_at"), ("h", "hard_at"), ("c", "compact_at"))


def gauge(budget: Budget, used: int) -> str:
    """The bar with each mark by its letter, and what the letters mean."""
    return _drawn(budget, used, _BAR, _PLAIN) + "  p prune, f flush, c compact"


def bar(budget: Budget, used: int, cells: int) -> str:
    """The bar alone, in so many cells, with the hard threshold among the marks."""
    return _drawn(budget, used, max(_LEAST, cells), _ALL)


def _drawn(budget: Budget, used: int, cells: int, marks: Sequence[tuple[str, str]]) -> str:
    full, free = ("█", "░") if can_print("█░") else ("#", ".")
    filled = max(0, min(cells, round(cells * used / budget.window)))
    drawn = [full] * filled + [free] * (cells - filled)
    place = cells
    for number, (letter, mark) in enumerate(reversed(marks)):
        wanted = int(cells * getattr(budget, mark) / budget.window)
        left = len(marks) - number - 1  # those need a cell each, before this one
        place = max(left, min(place - 1, wanted))
        drawn[place] = letter
    return "".join(drawn)


def short_count(tokens: int) -> str:
    """A number of tokens in at most five columns: 812, 12.4k, 200k, 1.2M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if tokens >= size - size // 2000:
            amount = tokens / size
            return (
                f"{amount:.0f}{unit}"
                if amount >= 99.95
                else f"{amount:.1f}".rstrip("0").rstrip(".") + unit
            )
    return str(tokens)


def can_print(text: str) -> bool:
    """Whether whoever reads the answer can be shown these characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        return False
    return True
