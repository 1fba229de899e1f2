"""``holdfast backup …``"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from holdfast.cli.render import json_line, note, say, size
from holdfast.config import default_home
from holdfast.engine.backup import Progress, make_backup, restore_backup, verify_backup
from holdfast.engine.clock import SystemClock
from holdfast.errors import PolicyRefused, UsageError
from holdfast.text import display

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.options import Door

__all__ = ["make", "restore", "verify"]


def make(door: Door, file: Path, *, as_json: bool) -> None:
    if door.user or door.chat:
        raise PolicyRefused("A backup is of the whole home, and only its owner makes one.")
    home = _home(door)
    made = make_backup(home, file, clock=SystemClock(), progress=_progress("Backing up"))
    if as_json:
        json_line(
            {
                "file": str(made.file),
                "files": made.files,
                "bytes": made.bytes,
                "sha256": made.sha256,
                "skipped": list(made.skipped),
                "left_out": list(made.left_out),
            }
        )
        return
    say(f"{display(str(made.file))}: {made.files} files, {size(made.bytes)}, read back and intact")
    note(f"Left out: {', '.join(made.left_out)}.")
    for path in made.skipped:
        note(f"Left out, because it is no plain file of its own: {display(path)}")


def verify(door: Door, file: Path, *, as_json: bool) -> None:
    del door
    found = verify_backup(file)
    if as_json:
        json_line(
            {
                "file": str(found.file),
                "files": found.files,
                "bytes": found.bytes,
                "sha256": found.sha256,
                "made_at": found.made_at.isoformat(),
                "intact": True,
            }
        )
        return
    day = found.made_at.strftime("%Y-%m-%d %H:%M UTC")
    say(f"{display(str(found.file))}: {found.files} files, {size(found.bytes)}, of {day}, intact")


def restore(door: Door, file: Path, *, replace: bool, yes: bool, as_json: bool) -> None:
    home = _home(door)
    if replace and not yes and home.is_dir() and any(home.iterdir()):
        made = verify_backup(file).made_at.strftime("%Y-%m-%d %H:%M UTC")
        note("Stop the programs that use this home first: they would go on writing into the old.")
        _confirm(f"Move {str(home)!r} aside and put the backup of {made} in its place?")
    done = restore_backup(file, home, replace=replace, progress=_progress("Restoring"))
    if as_json:
        json_line(
            {
                "home": str(done.home),
                "files": done.files,
                "bytes": done.bytes,
                "made_at": done.made_at.isoformat(),
                "moved_to": str(done.moved_to) if done.moved_to is not None else None,
            }
        )
        return
    say(f"{display(str(done.home))}: {done.files} files, {size(done.bytes)} restored")
    if done.moved_to is not None:
        note(f"What was there before is in {display(str(done.moved_to))}")


def _home(door: Door) -> Path:
    path = door.home_path()
    return path.expanduser() if path is not None else default_home(os.environ)


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            "Replacing a home needs your consent.", hint="Say it with: --replace --yes"
        )
    if not typer.confirm(question, err=True):
        note("Nothing was changed.")
        raise typer.Exit(1)


def _progress(what: str) -> Progress | None:
    """A line that counts up, where somebody is looking."""
    if not sys.stderr.isatty():
        return None
    shown = -1

    def tell(done: int, total: int) -> None:
        nonlocal shown
        percent = 100 * done // total if total else 100
        if percent != shown:
            shown = percent
            end = "\n" if done >= total else ""
            sys.stderr.write(f"\r{what}: {percent} % of {size(total)}{end}")
            sys.stderr.flush()

    return tell
