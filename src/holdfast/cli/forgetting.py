"""``holdfast forget``: show what would go, ask, do it, and say what remains."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from holdfast.cli.render import json_lines, note, say, table
from holdfast.engine.erase import Forgotten, Item
from holdfast.errors import HoldfastError, UsageError
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["forget"]

_WHAT = {
    "goes": "is removed",
    "marked": "a mark takes its place",
    "archived": "to the archive",
    "near": "near, not touched",
}


def forget(
    door: Door,
    targets: Sequence[str],
    *,
    erase: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Forget what the targets name, after a look at what that is."""
    with door.open() as engine:
        if not (dry_run or yes):
            planned = engine.forget(*targets, erase=erase, dry_run=True)
            if planned.items:
                _confirm(planned, erase=erase, as_json=as_json)
        done = engine.forget(*targets, erase=erase, dry_run=dry_run)
    if as_json:
        shown = (*done.items, *done.near)
        json_lines((each.to_json() for each in shown), summary=done.summary())
    else:
        if dry_run or yes:
            _show(done)
        _tell(door, done, erase=erase)
    if done.remaining and not dry_run:
        raise typer.Exit(HoldfastError.exit_code)


def _confirm(planned: Forgotten, *, erase: bool, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            f"{_places(len(planned.items))} would be changed, and nobody can be asked here.",
            hint="See them with --dry-run, then say --yes.",
        )
    _show(planned)
    question = "Erase this everywhere? There is no undo." if erase else "Move these to the archive?"
    if not typer.confirm(question, err=True):
        note("Nothing was changed.")
        raise typer.Exit


def _show(done: Forgotten) -> None:
    shown = [item for item in done.items if item.kind != "file" or item.text]
    rows = [_row(item) for item in (*shown, *done.near)]
    if rows:
        table(("where", "what", "text"), rows)
    if rest := len(done.items) - len(shown):
        say(f"and {rest} more: artifacts, journal, quarantine, logs (--json names them)")


def _row(item: Item) -> tuple[str, str, str]:
    text = item.text or (f"{item.count} entries" if item.kind == "entries" else "")
    return item.where, _WHAT[item.what], text


def _tell(door: Door, done: Forgotten, *, erase: bool) -> None:
    if not done.items:
        where = "" if erase else "No memory line or task holds it; other text is yours to edit. "
        note(f"Nothing matches. {where}A text is matched to the letter, whatever its case.")
    elif done.is_dry_run:
        note("Nothing was changed: this was a dry run.")
    elif erase:
        note(f"Erased from {_places(len(done.items))}. Receipt: {display(done.receipt_path or '')}")
    else:
        back = door.command("undo", done.operation or "")
        them = "it" if len(done.items) == 1 else "them"
        note(f"{len(done.items)} moved to the archive. To have {them} back: {back}")
    if done.remaining:
        would = "would remain" if done.is_dry_run else "remains"
        say(f"It {would} in {_places(len(done.remaining))} that we may not change:")
        for each in done.remaining:
            say(f"  {display(each.path)}: {display(each.why)} → {display(each.hint)}")


def _places(count: int) -> str:
    return "1 place" if count == 1 else f"{count} places"
