"""The window as a bar: what is used, and where the marks are (``tests/doors/test_cli_turn.py``)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast.context.accounting import Budget

__all__ = ["gauge"]

_BAR: Final = 40


def gauge(budget: Budget, used: int) -> str:
    """The bar with each mark by its letter, and what the letters mean."""
    full, free = ("█", "░") if _can_print("█░") else ("#", ".")
    filled = min(_BAR, round(_BAR * used / budget.window))
    cells = [full] * filled + [free] * (_BAR - filled)
    place = _BAR
    for letter, mark in (("c", budget.compact_at), ("f", budget.flush_at), ("p", budget.prune_at)):
        place = max(0, min(place - 1, int(_BAR * mark / budget.window)))  # never on another mark
        cells[place] = letter
    return "".join(cells) + "  p prune, f flush, c compact"


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        return False
    return True
