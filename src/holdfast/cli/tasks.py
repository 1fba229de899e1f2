"""``holdfast tasks …``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime, tzinfo
from shutil import get_terminal_size
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from holdfast.cli.render import json_line, json_lines, note, pairs, say, table
from holdfast.errors import UsageError, did_you_mean
from holdfast.text import display, one_line
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.memory.tasks import Task
    from holdfast.memory.tasks.figures import TypeStats

__all__ = ["close", "list_all", "open_", "patterns", "show", "similar", "stats"]

_NONE = 'No tasks yet. They are recorded as tools work; or begin one: holdfast tasks open "…"'


def list_all(
    door: Door, *, status: str | None, type: str | None, text: str | None, as_json: bool
) -> None:
    with door.open() as engine:
        found = engine.tasks.list(status=status, type=type, text=text)
        zone = _zone(engine)
    if as_json:
        is_open = sum(task.is_open for task in found)
        json_lines(map(_json, found), summary=_summary(tasks=len(found), open=is_open))
        return
    if not found:
        note(
            "No task is like that. See all: holdfast tasks list"
            if status or type or text
            else _NONE
        )
        return
    table(
        ("id", "status", "type", "opened", "took", "title"),
        (
            (
                task.id,
                task.status,
                task.type,
                _day(task.opened, zone),
                _took(task.seconds),
                one_line(task.title, _room(64)),
            )
            for task in found
        ),
    )


def show(door: Door, id: str, *, as_json: bool) -> None:
    with door.open() as engine:
        task = engine.tasks.show(id)
        zone = _zone(engine)
    if as_json:
        json_line(_json(task))
        return
    pairs(
        [
            ("task", task.title),
            ("id", task.id),
            ("type", task.type),
            ("status", task.status),
            ("opened", _time(task.opened, zone)),
            *([("closed", _time(task.closed, zone))] if task.closed else []),
            *([("took", _took(task.seconds))] if task.seconds is not None else []),
            *([("sources", ", ".join(task.sources))] if task.sources else []),
            ("file", task.path),
        ]
    )
    _section("asked", task.request.splitlines())
    _section("progress", task.progress)
    told = " (it repeats what a tool said)" if task.trust == "tool" else ""
    _section(f"result{told}", task.result.splitlines())
    _section("went wrong", [_mishap(each.what, each.fix, each.from_tool) for each in task.errors])
    _section("learnt", [f"{each.outcome}: {each.text}" for each in task.patterns])


def stats(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.tasks.stats()
    if as_json:
        totals = {**asdict(found.totals), "summary": True}
        json_lines(map(asdict, found.types), summary=totals)
        return
    if not found.totals.count:
        note(_NONE)
        return
    rows = [*found.types, *([found.totals] if len(found.types) > 1 else [])]
    table(
        ("type", "tasks", "open", "done", "failed", "cancelled", "success", "median", "p90"),
        map(_stats_row, rows),
    )
    common = [each for each in found.totals.errors if each.text]
    if common:
        say()
        say("What went wrong most often:")
    for error in common:
        say(f"  {error.count} ×  {display(one_line(error.text, _room(20)))}")
        for fix in error.fixes[:3]:
            say(f"       → {display(one_line(fix, _room(20)))}")


def patterns(door: Door, *, type: str | None = None, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.tasks.patterns(type=type)
    if as_json:
        json_lines(map(asdict, found), summary=_summary(patterns=len(found)))
        return
    if not found:
        note(
            "No patterns yet: they come from what went wrong and what was learnt in the records. "
            "See them: holdfast tasks list"
        )
        return
    for name in dict.fromkeys(each.type for each in found):
        say(display(name))
        for each in found:
            if each.type == name:
                fixed = f"  (against: {one_line(each.against, 60)})" if each.against else ""
                text = one_line(each.text, _room(40))
                say(f"  {each.outcome:<6}  {each.count} ×  {display(text)}{display(fixed)}")
                say(f"              in {display(', '.join(each.tasks[:5]))}")


def similar(door: Door, text: str, *, type: str | None, outcome: str | None, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.tasks.similar(text, type=type, outcome=outcome)
    if as_json:
        json_lines(map(asdict, found), summary=_summary(tasks=len(found)))
        return
    if not found:
        note("No earlier task is like that. See all: holdfast tasks list")
        return
    for each in found:
        title = display(one_line(each.title, 70))
        say(f"{each.score:.2f}  {display(each.id)}  {each.status}  {title}")
        say(f"      {display('; '.join(each.reasons))}")
        if each.result:
            say(f"      result: {display(one_line(each.result, _room(20)))}")


def open_(door: Door, title: str, *, type: str | None, as_json: bool) -> None:
    with door.open() as engine:
        task = engine.tasks.open(title, type=type)
    _done(task, "opened", as_json=as_json)


def close(door: Door, id: str, *, status: str, result: str | None, as_json: bool) -> None:
    ways = ("done", "failed", "cancelled")
    if status not in ways:
        near = did_you_mean(status, ways)
        raise UsageError(f"A task cannot end as {status!r}.", hint=near or ", ".join(ways))
    with door.open() as engine:
        task = engine.tasks.close(id, status, result=result)
    _done(task, f"closed as {task.status}", as_json=as_json)


def _done(task: Task, what: str, *, as_json: bool) -> None:
    if as_json:
        json_line(_json(task))
    else:
        say(f"{display(task.id)}: {what}, {display(task.path)}")


# ── rendering ───────────────────────────────────────────────────────────────────────────────


def _json(task: Task) -> dict[str, Json]:
    opened = task.opened.isoformat() if task.opened else None
    closed = task.closed.isoformat() if task.closed else None
    return {**asdict(task), "opened": opened, "closed": closed, "seconds": task.seconds}


def _summary(**counts: int) -> dict[str, Json]:
    return {"summary": True, **counts}


def _zone(engine: Engine) -> ZoneInfo:
    return ZoneInfo(engine.settings.memory.time_zone)


def _room(used: int) -> int:
    """How wide a text may be that shares its line with others."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 150
    return max(30, width - used)


def _time(at: date | datetime | None, zone: tzinfo) -> str:
    if isinstance(at, datetime):
        return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"
    return at.isoformat() if at is not None else "unknown"


def _day(at: date | datetime | None, zone: tzinfo) -> str:
    return _time(at, zone)[:10] if at is not None else ""


def _took(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def _stats_row(each: TypeStats) -> tuple[str, ...]:
    rate = "" if each.success_rate is None else f"{each.success_rate:.0%}"
    return (
        each.type,
        str(each.count),
        str(each.open),
        str(each.done),
        str(each.failed),
        str(each.cancelled),
        rate,
        _took(each.median_seconds),
        _took(each.p90_seconds),
    )


def _section(name: str, lines: Sequence[str]) -> None:
    if lines:
        say()
        say(f"{name}:")
    for line in lines:
        say(f"  {display(line)}")


def _mishap(what: str, fix: str | None, from_tool: bool) -> str:
    mark = "[tool] " if from_tool else ""
    return f"{mark}{what} → {fix or 'not fixed'}"
