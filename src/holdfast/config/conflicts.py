"""Settings that are fine each for itself and make no sense together.

Only what no window and no model could make right is refused here; the order of absolute
thresholds depends on the window and is checked where the budget is computed. Proof:
``tests/foundation/test_config_load.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.config.keys import Settings

__all__ = ["Conflict", "conflicts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Conflict:
    """Two or more keys that contradict each other, and how to say it."""

    keys: tuple[str, ...]
    text: str


def conflicts(settings: Settings) -> Iterator[Conflict]:
    """Every contradiction, with the values and where they came from."""
    prune, flush, search = settings.prune, settings.flush, settings.search
    if prune.head + prune.tail > prune.soft_trim_chars:
        yield _conflict(
            settings,
            ("prune.soft_trim_chars", "prune.head", "prune.tail"),
            "a trimmed result would be longer than the whole one",
        )
    if flush.inline_seconds > flush.total_seconds:
        yield _conflict(
            settings,
            ("flush.inline_seconds", "flush.total_seconds"),
            "a turn would wait longer than the flush may take",
        )
    if search.vector_weight == 0 and search.text_weight == 0:
        yield _conflict(
            settings,
            ("search.vector_weight", "search.text_weight"),
            "without any weight nothing can be ranked",
        )


def _conflict(settings: Settings, keys: tuple[str, ...], why: str) -> Conflict:
    named = [f"{key} = {settings.value(key)} ({settings.source(key)})" for key in keys]
    return Conflict(keys=keys, text=f"{', '.join(named[:-1])} and {named[-1]}: {why}.")
