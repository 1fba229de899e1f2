"""No compaction without progress.

Promise: two passes in a row that freed almost nothing, or that had almost nothing new to work
on, stop the next automatic one; as soon as enough new text has arrived it may run again, and a
single second pass right after the first is never refused
(``tests/context/test_compaction_breaker.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Pass", "no_progress"]

_LEAST_FREED: Final = 0.05
_LEAST_NEW: Final = 0.02
_NEW_AGAIN: Final = 0.05
_IN_A_ROW: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One compaction: tokens before and after, and what had arrived since the one before it.

    ``new_tokens`` is None for the first compaction of a session: then all of it was new.
    """

    tokens_before: int
    tokens_after: int
    new_tokens: int | None = None

    @property
    def futile(self) -> bool:
        freed = self.tokens_before - self.tokens_after
        if freed < _LEAST_FREED * self.tokens_before:
            return True
        return self.new_tokens is not None and self.new_tokens < _LEAST_NEW * self.tokens_before


def no_progress(passes: Sequence[Pass], *, new_tokens: int) -> str | None:
    """Why another pass would be in vain; None if it may run. ``passes`` are the newest last."""
    recent = passes[-_IN_A_ROW:]
    if len(recent) < _IN_A_ROW or not all(each.futile for each in recent):
        return None
    last = recent[-1]
    if new_tokens >= _NEW_AGAIN * max(1, last.tokens_after):
        return None
    return (
        f"no progress: the last {_IN_A_ROW} compactions left {recent[0].tokens_after} and "
        f"{last.tokens_after} tokens, and only {new_tokens} arrived since"
    )
