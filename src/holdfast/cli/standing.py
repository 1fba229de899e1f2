"""``holdfast status`` and ``holdfast doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from holdfast.cli.render import json_line, json_lines, note, pairs, say, size
from holdfast.engine.status import Check
from holdfast.errors import HoldfastError
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["doctor", "status"]

_MARKS = {"ok": "✓", "warning": "!", "failed": "✗"}


def status(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.status()
    if as_json:
        json_line(found.to_json())
        return
    newest = f" in session {found.newest_session!r}" if found.newest_session else ""
    pairs(
        [
            ("home", found.home),
            ("agent", f"{found.agent}, today is {found.today}"),
            (
                "immediate",
                f"{found.view_messages} messages, {found.view_chars:,} characters{newest}",
            ),
            (
                "short-term",
                f"{found.sessions} sessions, {found.session_entries:,} entries, "
                f"{size(found.session_bytes)}, artifacts {size(found.artifact_bytes)}",
            ),
            (
                "long-term",
                f"{found.memory_files} memory files, {size(found.memory_bytes)}: "
                f"{found.memories:,} memories, {found.tasks:,} tasks ({found.open_tasks:,} open)",
            ),
        ]
    )
    if not found.sessions:
        note("No sessions yet. See what one looks like: holdfast demo")


def doctor(door: Door, *, fix: bool, as_json: bool) -> None:
    try:
        with door.open() as engine:
            checks = engine.doctor(fix=fix)
    except HoldfastError as error:  # the home cannot even be opened: that is the finding
        checks = [Check(name="open", result="failed", text=error.message, hint=error.hint)]
    counts = {
        result: sum(check.result == result for check in checks)
        for result in ("ok", "warning", "failed")
    }
    if as_json:
        json_lines((check.to_json() for check in checks), summary={"summary": True, **counts})
    else:
        for check in checks:
            say(f"{_MARKS[check.result]} {check.name}: {display(check.text)}")
            if check.hint:
                say(f"    → {display(check.hint)}")
    if counts["failed"]:
        raise typer.Exit(1)
