"""``holdfast remember``, ``get`` and ``undo``"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from holdfast.cli.render import json_line, json_lines, local_time, note, say, table
from holdfast.text import display, one_line
from holdfast.types import Json

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.remembering import Remembered

__all__ = ["changes", "get", "remember", "undo"]


def remember(
    door: Door,
    text: str,
    *,
    kind: str | None,
    entity: str | None,
    confidence: float | None,
    target: str,
    as_json: bool,
) -> None:
    if text == "-":
        text = sys.stdin.read()
    with door.open() as engine:
        done = engine.remember(text, kind=kind, entity=entity, confidence=confidence, target=target)
    if as_json:
        json_line(done.to_json())
    else:
        _say_remembered(door, done)


def _say_remembered(door: Door, done: Remembered) -> None:
    for line in done.added:
        about = f" @{line.entity}" if line.entity else ""
        say(f"{line.id}  {line.kind}{display(about)}: {display(line.text)}")
    for each in done.skipped:
        say(f"not written again ({each.why}), {each.path} says: {display(each.kept)}")
    if done.added:
        back = door.command("undo", done.operation or "")
        note(f"Written to {door.folder}{done.path}. Take it back: {back}")
    if done.redirected:
        note(done.redirected)
    for id in done.updates:
        note(f"This ends an older memory: {door.command('facts', 'history', id)}")
    for clash in done.conflicts:
        note(f"This contradicts {clash.path}: {display(clash.known)}")
        note(
            f"  → {door.command('conflicts', 'resolve', clash.id, '--keep', 'new')}  (or old, both)"
        )


def get(door: Door, path: str | None, *, as_json: bool) -> None:
    if path is None:
        _list_files(door, as_json=as_json)
        return
    with door.open() as engine:
        passage = engine.get(path)
    if as_json:
        json_line(passage.to_json())
    else:
        text = passage.text if passage.text.endswith("\n") else passage.text + "\n"
        sys.stdout.write("\n".join(map(display, text.split("\n"))))


def _list_files(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        files = engine.files()
    if as_json:
        summary = {"summary": True, "files": len(files)}
        json_lines(({"path": path} for path in files), summary=summary)
    elif files:
        for path in files:
            say(display(path))
    else:
        note(f"No memory files yet. Begin with: {door.command('remember', '…')}")


def undo(door: Door, operation: str | None, *, dry_run: bool, as_json: bool) -> None:
    with door.open() as engine:
        done = engine.undo(operation, dry_run=dry_run)
    if as_json:
        json_line(
            {
                "operation": done.operation,
                "what": done.what,
                "paths": list(done.paths),
                "diff": done.diff,
                "undo": done.undo,
                "dry_run": dry_run,
            }
        )
        return
    for line in done.diff.splitlines():
        say(display(line))
    files = ", ".join(done.paths)
    if dry_run:
        note(f"Would take back: {done.what} in {files}")
    else:
        note(f"Took back: {done.what} in {files}.")
        if done.undo:
            note(f"Bring it back: {door.command('undo', done.undo)}")


def changes(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.changes()
        zone = ZoneInfo(engine.settings.memory.time_zone)
    if as_json:
        rows: list[dict[str, Json]] = [
            {
                "operation": each.id,
                "at": each.at.isoformat(),
                "what": each.what,
                "paths": list(each.paths),
                "undone_by": each.undone_by,
                "undoes": each.undoes,
            }
            for each in found
        ]
        json_lines(rows, summary={"summary": True, "operations": len(rows)})
    elif not found:
        note(f"Nothing has changed yet. Begin with: {door.command('remember', '…')}")
    else:
        table(
            ("id", "when", "what", "files", ""),
            (
                (
                    each.id,
                    local_time(each.at.isoformat(), zone),
                    each.what,
                    one_line(", ".join(each.paths), 60),
                    "undone" if each.undone_by else "",
                )
                for each in found
            ),
        )
