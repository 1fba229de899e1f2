"""``holdfast forget --stale`` and ``holdfast archive …``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from holdfast.cli.render import json_lines, note, say, size, table
from holdfast.errors import UsageError
from holdfast.text import display, one_line
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.memory.forgetting import ForgetPlan, Forgotten
    from holdfast.memory.forgetting.archive import Archived

__all__ = ["archive_list", "archive_restore", "forget_stale"]


def forget_stale(
    door: Door,
    *,
    after_days: int | None,
    below_importance: float | None,
    max_bytes: int | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    from holdfast.memory.forgetting import Policy

    with door.open() as engine:
        given = engine.settings.forget
        policy = Policy(
            after_days=given.after_days if after_days is None else after_days,
            below_importance=(
                given.below_importance if below_importance is None else below_importance
            ),
            max_bytes=given.max_bytes if max_bytes is None else max_bytes,
        )
        if policy.is_empty:
            raise UsageError(
                "Nothing says what is stale.",
                hint="holdfast forget --stale --after-days 180 --below-importance 0.4 --dry-run",
            )
        plan = engine.archive.plan(policy)
        if not as_json:
            _show(plan)
        operation = None
        if plan.items and not dry_run:
            if not yes:
                _confirm(f"Move {_memories(plan)} to the archive?", as_json=as_json)
            operation = engine.archive.move(plan, why="forget")
    if as_json:
        json_lines(map(_json, plan.items), summary=_summary(plan, operation, dry_run))
    elif operation is not None:
        say(f"Moved {_memories(plan)} ({size(plan.bytes)}) to the archive.")
        ways = (door.command("archive", "restore", "ID"), door.command("undo"))
        what = "it" if len(plan.items) == 1 else "them"
        note(f"To have {what} back: {ways[0]}, or {ways[1]}")
    elif dry_run and plan.items:
        note(f"Nothing was changed. Without --dry-run {_memories(plan)} would move to the archive.")


def _memories(plan: ForgetPlan) -> str:
    return "1 memory" if len(plan.items) == 1 else f"{len(plan.items)} memories"


_KEPT = {
    "confirmed": ("confirmed line", "confirmed lines"),
    "correction": ("correction", "corrections"),
    "curated file": ("line of a curated file", "lines of curated files"),
    "open task": ("open task", "open tasks"),
    "parent": ("line with one below it that stays", "lines with others below them that stay"),
    "rule": ("rule", "rules"),
}


def _kept(reason: str, count: int) -> str:
    one, many = _KEPT.get(reason, (f"of {reason}", f"of {reason}"))
    return f"{count} {one if count == 1 else many}"


def _show(plan: ForgetPlan) -> None:
    for line in plan.diff().splitlines():
        say(display(line))
    kept = ", ".join(_kept(reason, count) for reason, count in plan.kept_protected.items())
    if kept:
        note(f"Protected, so not moved: {kept}.")
    if plan.over:
        note(
            f"The files stay {size(plan.over)} above the limit: the rest is protected or no "
            "memory line."
        )
    if not plan.items:
        note("Nothing is stale by these rules.")


def _json(each: Forgotten) -> dict[str, Json]:
    number = getattr(each.item, "number", None)
    return {
        "id": each.item.id,
        "kind": "line" if number is not None else "task",
        "path": each.item.path,
        "line": number,
        "reason": each.reason,
        "importance": each.importance,
        "age_days": each.age_days,
        "bytes": each.item.size,
    }


def _summary(plan: ForgetPlan, operation: str | None, dry_run: bool) -> dict[str, Json]:
    return {
        "summary": True,
        "items": len(plan.items),
        "bytes": plan.bytes,
        "total_bytes": plan.total_bytes,
        "protected": dict(plan.kept_protected),
        "over": plan.over,
        "operation": operation,
        "dry_run": dry_run,
    }


def _confirm(question: str, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():  # nobody was shown what would move
        raise UsageError(
            "Forgetting needs your consent.", hint="See it with --dry-run, say it with: --yes"
        )
    if not typer.confirm(question, err=True):
        note("Nothing was changed.")
        raise typer.Exit(1)


# ── the archive ─────────────────────────────────────────────────────────────────────────────


def archive_list(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.archive.list()
    if as_json:
        json_lines(map(_archived, found), summary={"summary": True, "items": len(found)})
        return
    if not found:
        note(f"The archive is empty. See: {door.command('forget', '--help')}")
        return
    table(
        ("id", "kind", "archived", "from", "text"),
        (
            (
                each.id,
                each.kind if each.line is None else each.line.kind,
                (each.archived or "by hand")[:10],
                each.source,
                one_line(each.text, 70),
            )
            for each in found
        ),
    )


def archive_restore(door: Door, ids: Sequence[str], *, as_json: bool) -> None:
    with door.open() as engine:
        done = engine.archive.restore(ids)
    if as_json:
        json_lines(
            map(_archived, done.items),
            summary={
                "summary": True,
                "items": len(done.items),
                "paths": list(done.paths),
                "operation": done.operation,
            },
        )
        return
    for each in done.items:
        say(f"{display(each.id)}: back in {display(each.source)}")


def _archived(each: Archived) -> dict[str, Json]:
    return {
        "id": each.id,
        "kind": each.kind,
        "text": each.text,
        "path": each.path,
        "line": each.number,
        "from": each.source,
        "archived": each.archived,
    }
