"""Statistics and patterns, derived from the records: nothing of them is stored.

Promise: every figure can be counted again from the records it names; errors and lessons that
say the same count as one, however they are worded (``tests/memory/test_tasks_figures.py``).
Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from holdfast.memory.tasks.likes import cluster
from holdfast.memory.tasks.record import Outcome, Task

__all__ = ["CommonError", "Pattern", "Stats", "TypeStats", "find_patterns", "measure"]

_COMMON: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonError:
    """What went wrong more than once, or once: in which tasks, and what fixed it."""

    text: str
    count: int
    tasks: tuple[str, ...]
    fixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeStats:
    """The tasks of one type. The rate is done / (done + failed); None if none ended so."""

    type: str
    count: int
    open: int
    done: int
    failed: int
    cancelled: int
    success_rate: float | None
    median_seconds: float | None
    p90_seconds: float | None
    errors: tuple[CommonError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    types: tuple[TypeStats, ...]
    totals: TypeStats


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What worked or failed in tasks of a type, how often, and in which records.

    ``against`` is the error that it fixed, if it is a fix.
    """

    type: str
    outcome: Outcome
    text: str
    count: int
    tasks: tuple[str, ...]
    against: str | None = None


# ── figures ─────────────────────────────────────────────────────────────────────────────────


def measure(tasks: Sequence[Task]) -> Stats:
    """How many tasks of each type there are, how they went, and what went wrong."""
    by_type: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        by_type[task.type].append(task)
    ordered = sorted(by_type.items(), key=lambda each: (-len(each[1]), each[0]))
    return Stats(
        types=tuple(_of_type(name, found) for name, found in ordered),
        totals=_of_type("all", tasks),
    )


def _of_type(name: str, tasks: Sequence[Task]) -> TypeStats:
    count = {
        status: sum(task.status == status for task in tasks)
        for status in ("open", "done", "failed", "cancelled")
    }
    ended = count["done"] + count["failed"]
    took = sorted(
        seconds
        for task in tasks
        if task.status in ("done", "failed") and (seconds := task.seconds) is not None
    )
    return TypeStats(
        type=name,
        count=len(tasks),
        open=count["open"],
        done=count["done"],
        failed=count["failed"],
        cancelled=count["cancelled"],
        success_rate=round(count["done"] / ended, 4) if ended else None,
        median_seconds=median(took) if took else None,
        p90_seconds=_ninetieth(took) if took else None,
        errors=_common_errors(tasks),
    )


def _ninetieth(ordered: Sequence[float]) -> float:
    """The least value that nine tenths do not exceed."""
    return ordered[max(0, -(-9 * len(ordered) // 10) - 1)]


def _common_errors(tasks: Sequence[Task]) -> tuple[CommonError, ...]:
    seen = [(task.id, mishap) for task in tasks for mishap in task.errors]
    groups = cluster([mishap.what for _, mishap in seen])
    return tuple(
        CommonError(
            text=seen[group[0]][1].what,
            count=len(group),
            tasks=_once(seen[place][0] for place in group),
            fixes=_once(fix for place in group if (fix := seen[place][1].fix)),
        )
        for group in groups[:_COMMON]
    )


def _once(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


# ── patterns ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    task: str
    text: str
    against: str | None = None

    @property
    def compared(self) -> str:
        return f"{self.against} {self.text}" if self.against else self.text


def find_patterns(tasks: Sequence[Task]) -> list[Pattern]:
    """What worked and what failed per type, the most frequent first.

    A lesson counts as it was written; an error that was fixed says what worked against it, one
    that was not says what failed.
    """
    seen: defaultdict[tuple[str, Outcome, bool], list[_Seen]] = defaultdict(list)
    for task in tasks:
        for lesson in task.patterns:
            key = (task.type, lesson.outcome, False)
            seen[key].append(_Seen(task=task.id, text=lesson.text))
        for mishap in task.errors:
            outcome: Outcome = "worked" if mishap.fix else "failed"
            seen[task.type, outcome, True].append(
                _Seen(
                    task=task.id,
                    text=mishap.fix or mishap.what,
                    against=mishap.what if mishap.fix else None,
                )
            )
    found = [
        _pattern(type, outcome, [told[place] for place in group])
        for (type, outcome, _), told in seen.items()
        for group in cluster([each.compared for each in told])
    ]
    return sorted(found, key=lambda each: (each.type, -each.count, each.outcome, each.text))


def _pattern(type: str, outcome: Outcome, told: Sequence[_Seen]) -> Pattern:
    return Pattern(
        type=type,
        outcome=outcome,
        text=told[0].text,
        count=len(told),
        tasks=_once(each.task for each in told),
        against=told[0].against,
    )
