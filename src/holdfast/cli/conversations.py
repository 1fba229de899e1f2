"""``holdfast sessions …``"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from shutil import get_terminal_size
from typing import TYPE_CHECKING, cast, get_args
from zoneinfo import ZoneInfo

import typer

from holdfast.cli.render import json_line, json_lines, local_time, note, say, size, table
from holdfast.engine.exporting import ExportFormat
from holdfast.engine.session import Session
from holdfast.errors import StorageError, UsageError, did_you_mean
from holdfast.formats import to_openai
from holdfast.sessions.shapes import message_of
from holdfast.sessions.transcript import Verification
from holdfast.text import display, one_line
from holdfast.types import Entry, Json, Message

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.cli.options import Door

__all__ = ["delete", "expand", "export", "fork", "list_all", "rename", "show", "verify"]


def list_all(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.sessions()
        zone = ZoneInfo(engine.settings.memory.time_zone)
    if as_json:
        total = sum(each.bytes for each in found)
        json_lines(
            (each.to_json() for each in found),
            summary={"summary": True, "sessions": len(found), "bytes": total},
        )
        return
    if not found:
        note("No sessions yet. A program makes them with engine.session(name); try: holdfast demo")
        return
    table(
        ("session", "messages", "entries", "size", "last used", "goal"),
        (
            (
                each.name,
                str(each.messages),
                str(each.entries),
                size(each.bytes),
                local_time(each.last_at, zone),
                one_line(each.goal or "", 40),
            )
            for each in found
            if each.problem is None
        ),
    )
    broken = [each for each in found if each.problem is not None]
    for each in broken:
        note(f"{display(each.name)} cannot be read: {display(each.problem or '')}")
    if broken:
        raise typer.Exit(StorageError.exit_code)


def show(door: Door, name: str, *, view: bool, last: int | None, full: bool, as_json: bool) -> None:
    with door.open() as engine:
        session = engine.existing_session(name)
        if view:
            _show_view(session, last=last, full=full, as_json=as_json)
            return
        entries = session.entries(last=last)
        if as_json:
            json_lines(
                (_entry_json(entry) for entry in entries),
                summary={"summary": True, "session": name, **_counters(session)},
            )
            return
        zone = ZoneInfo(engine.settings.memory.time_zone)
        seq = entries[0].seq if entries else 0
        for entry in entries:
            if entry.seq > seq:
                say(f"… {entry.seq - seq} entries are missing here …")
            seq = entry.seq + 1
            if full and "artifacts" in entry.data:
                entry = session.expand(entry.id).entry or entry
            say(_line(entry, zone, full=full))


def _line(entry: Entry, zone: ZoneInfo, *, full: bool) -> str:
    time = entry.at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
    message = message_of(entry)
    role = message.role if message is not None else entry.type
    start = f"{time}  {entry.id}  {display(role):<9}  "
    text = _message_text(message, full=full) if message is not None else _fields(entry)
    return start + (text if full else one_line(text, max(30, _width() - len(start))))


def _width() -> int:
    return get_terminal_size().columns if sys.stdout.isatty() else 150


def _show_view(session: Session, *, last: int | None, full: bool, as_json: bool) -> None:
    view = session.view()
    items = view.items[-last:] if last is not None else view.items
    if as_json:
        json_lines(
            (
                {
                    "kind": item.kind,
                    "stands_for": list(item.stands_for),
                    "shortened": item.shortened,
                    "messages": to_openai([item.message]),
                }
                for item in items
            ),
            summary={
                "summary": True,
                "session": session.name,
                "cycle": view.cycle,
                "messages": len(view),
            },
        )
        return
    for item in items:
        mark = "" if item.kind == "message" else f" ({item.kind})"
        text = _message_text(item.message, full=full)
        say(f"{display(item.message.role)}{mark}: {text}")
    if not view.items:
        note("The view is empty: nothing was said yet.")


def _entry_json(entry: Entry) -> dict[str, Json]:
    return {
        "id": entry.id,
        "parent": entry.parent,
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "type": entry.type,
        "data": dict(entry.data),
    }


def _counters(session: Session) -> dict[str, Json]:
    state = session.state()
    return {key: state[key] for key in ("entries", "messages", "compaction_count", "goal", "vars")}


def _fields(entry: Entry) -> str:
    return one_line(", ".join(f"{key}={value!r}" for key, value in entry.data.items()), 100)


def _message_text(message: Message, *, full: bool) -> str:
    calls = [f"calls {call.name}" for call in message.tool_calls]
    text = "; ".join(filter(None, [message.text, *calls]))
    if not full:
        return one_line(text, 500)
    return "\n    ".join(display(line) for line in text.split("\n"))


def expand(door: Door, name: str, id: str, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.existing_session(name).expand(id)
    if as_json:
        messages = to_openai([found.message]) if found.message is not None else None
        json_line({"id": found.id, "text": found.text, "messages": messages})
    else:
        for line in found.text.split("\n"):
            say(display(line))


def verify(door: Door, names: list[str], *, as_json: bool) -> None:
    with door.open() as engine:
        wanted = names or [each.name for each in engine.sessions()]
        found = [engine.existing_session(name).verify() for name in wanted]
    damaged = [each for each in found if not each.is_intact]
    if as_json:
        json_lines(
            ({**asdict(each), "intact": each.is_intact} for each in found),
            summary={"summary": True, "sessions": len(found), "damaged": len(damaged)},
        )
    else:
        for each in found:
            verdict = "intact" if each.is_intact else _what_is_wrong(each)
            say(f"{display(each.session)}: {each.entries} entries, {size(each.bytes)}, {verdict}")
        if not found:
            note("No sessions yet: nothing to verify.")
    if damaged:
        raise typer.Exit(StorageError.exit_code)


def _what_is_wrong(found: Verification) -> str:
    wrong = []
    if found.damaged_regions:
        wrong.append(
            f"{found.damaged_regions} damaged region(s) of {found.damaged_bytes} bytes, "
            f"set aside in {display(found.quarantine or '')}"
        )
    if found.missing:
        wrong.append(f"{found.missing} entries cannot be read")
    if found.missing_artifacts:
        wrong.append(f"{len(found.missing_artifacts)} artifact(s) missing or changed")
    return "; ".join(wrong)


def fork(door: Door, name: str, new: str, *, at: str | None, as_json: bool) -> None:
    with door.open() as engine:
        session = engine.existing_session(name)
        entry_id = at or session.entries(last=1)[-1].id
        entries = session.fork(entry_id, new).state()["entries"]
    if as_json:
        json_line({"session": new, "forked_from": name, "at": entry_id, "entries": entries})
    else:
        say(f"{new}: {entries} entries, forked from {name} after {entry_id}")


def rename(door: Door, name: str, new: str, *, as_json: bool) -> None:
    with door.open() as engine:
        engine.rename_session(name, new)
    if as_json:
        json_line({"session": new, "renamed_from": name})
    else:
        say(f"{name} is now {new}")


def delete(door: Door, name: str, *, yes: bool, as_json: bool) -> None:
    with door.open() as engine:
        entries = engine.existing_session(name).state()["entries"]
        if not yes:
            _confirm(f"Delete session {name!r} with its {entries} entries? There is no undo.")
        engine.delete_session(name)
    if as_json:
        json_line({"session": name, "deleted": True, "entries": entries})
    else:
        say(f"{name}: {entries} entries deleted")


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("Deleting needs your consent.", hint="Say it with: --yes")
    if not typer.confirm(question, err=True):
        note("Nothing was deleted.")
        raise typer.Exit(1)


def export(
    door: Door,
    name: str,
    format: str,
    *,
    view: bool,
    with_secrets: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    formats = get_args(ExportFormat)
    if format not in formats:
        near = did_you_mean(format, formats)
        raise UsageError(f"There is no export format {format!r}.", hint=near or ", ".join(formats))
    with door.open() as engine:
        text = engine.existing_session(name).export(
            cast(ExportFormat, format), view=view, with_secrets=with_secrets
        )
    if output is not None:
        _write_new(output, text)
        note(f"Wrote {output}.")
    if as_json:
        found: dict[str, Json] = {"session": name, "format": format, "characters": len(text)}
        json_line({**found, "file": str(output)} if output else {**found, "text": text})
    elif output is None and sys.stdout.isatty():
        for line in text.split("\n"):
            say(display(line))
    elif output is None:
        sys.stdout.write(text)


def _write_new(file: Path, text: str) -> None:
    """A conversation is private, and what is there already is not ours."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"There is a {str(file)!r} already.", hint="Name a new file.") from None
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as opened:
        opened.write(text)
