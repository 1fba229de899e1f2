"""What Holdfast saved: tokens that requests did not carry, and memories that were kept, by day.

Counted from ``events.jsonl``, of a large one from its end: then ``truncated`` says so.

Promise: every figure is the sum of events that stand in the log; no more than ``MOST_BYTES`` of it
is read; a line that is torn or not ours costs only itself (``tests/server/test_stats.py``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Final

from holdfast.engine.eventlog import EVENTS
from holdfast.types import Json

__all__ = ["MOST_BYTES", "SavedDay", "Savings", "savings"]

MOST_BYTES: Final = 16 << 20

_PRUNED: Final = "tool_results_pruned"
_COMPACTED: Final = "compaction_end"
_FLUSHED: Final = "memory_flush_end"
_BEGINNINGS: Final = tuple(
    f'{{"event":"{name}"'.encode() for name in (_PRUNED, _COMPACTED, _FLUSHED)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedDay:
    """What was saved on one day of the user."""

    day: str
    pruned_tokens: int = 0
    compacted_tokens: int = 0
    flushed_lines: int = 0
    flushes: int = 0
    compactions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Savings:
    """All days, the oldest first. ``truncated``: the log is longer than what was read."""

    days: tuple[SavedDay, ...] = ()
    truncated: bool = False

    @property
    def total_tokens(self) -> int:
        return sum(each.pruned_tokens + each.compacted_tokens for each in self.days)


def savings(home: Path, zone: tzinfo, *, most_bytes: int = MOST_BYTES) -> Savings:
    """What the log of a home says was saved."""
    days: dict[str, dict[str, int]] = {}
    lines, truncated = _last_lines(home / EVENTS, most_bytes)
    for line in lines:
        told = _told(line)
        if told is None or (day := _day(told.get("at"), zone)) is None:
            continue
        counted = days.setdefault(day, dict.fromkeys(_COUNTS, 0))
        for name, count in _counted(told):
            counted[name] += count
    return Savings(
        days=tuple(SavedDay(day=day, **days[day]) for day in sorted(days)), truncated=truncated
    )


_COUNTS: Final = tuple(each.name for each in fields(SavedDay) if each.name != "day")


def _counted(told: dict[str, Json]) -> Iterator[tuple[str, int]]:
    match told["event"]:
        case "tool_results_pruned":
            yield "pruned_tokens", _less(told)
        case "compaction_end":
            yield "compacted_tokens", _less(told)
            yield "compactions", 1
        case "memory_flush_end":
            saved = _number(told.get("saved"))
            yield "flushed_lines", saved
            yield "flushes", 1


def _less(told: dict[str, Json]) -> int:
    return max(0, _number(told.get("tokens_before")) - _number(told.get("tokens_after")))


def _number(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _last_lines(path: Path, most_bytes: int) -> tuple[list[bytes], bool]:
    """The lines that are about savings, of the end of the log; and whether there is more."""
    try:
        with path.open("rb") as file:
            start = max(0, os.fstat(file.fileno()).st_size - most_bytes)
            file.seek(start)
            if start:
                file.readline(most_bytes)  # the rest of a line whose beginning is not read
            data = file.read(most_bytes)
    except FileNotFoundError:
        return [], False
    whole = data[: data.rfind(b"\n") + 1]  # what follows is still being written
    return [line for line in whole.split(b"\n") if line.startswith(_BEGINNINGS)], start > 0


def _told(line: bytes) -> dict[str, Json] | None:
    with suppress(ValueError, RecursionError):
        told = json.loads(line)
        if isinstance(told, dict) and isinstance(told.get("event"), str):
            return told
    return None


def _day(at: Json, zone: tzinfo) -> str | None:
    with suppress(TypeError, ValueError, OverflowError):
        return datetime.fromisoformat(at).astimezone(zone).date().isoformat()
    return None
