"""``holdfast index status|sync|rebuild|verify``"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.cli.render import json_line, json_lines, note, pairs, say, size
from holdfast.text import display

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.engine.searching import Progress

__all__ = ["rebuild", "status", "sync", "verify"]


def status(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.index.status()
    if as_json:
        json_line(found.to_json())
        return
    rows = [
        ("documents", f"{found.documents} ({found.conversations} conversations)"),
        ("passages", str(found.chunks)),
        ("waiting", f"{found.changed} changed document(s)"),
        ("size", size(found.bytes)),
    ]
    rows += [
        (f"meaning: {each.name}", f"{each.embedded} of {each.wanted} passages")
        for each in found.encoders
    ]
    pairs(rows)
    for each in found.problems:
        note(f"! {display(each)}")
    if found.changed or any(each.embedded < each.wanted for each in found.encoders):
        note(f"Bring it up to date: {door.command('index', 'sync')}")


def sync(door: Door, *, as_json: bool) -> None:
    with door.open() as engine, _progress(as_json) as progress:
        done = engine.index.sync(progress)
    if as_json:
        json_line(done.to_json())
    else:
        say(
            f"{done.documents} document(s) indexed, {done.removed} removed, "
            f"{done.embedded} passage(s) embedded."
        )
        for each in done.problems:
            note(f"! {display(each)}")


def rebuild(door: Door, *, as_json: bool) -> None:
    with door.open() as engine, _progress(as_json) as progress:
        done = engine.index.rebuild(progress)
    if as_json:
        json_line(done.to_json())
    else:
        say(f"Built anew: {done.documents} document(s), {done.embedded} passage(s) embedded.")
        for each in done.problems:
            note(f"! {display(each)}")


def verify(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        problems = engine.index.verify()
    if as_json:
        summary = {"summary": True, "problems": len(problems), "intact": not problems}
        json_lines(({"problem": each} for each in problems), summary=summary)
    else:
        for each in problems:
            say(display(each))
        say("The index is what the files say." if not problems else "")
        if problems:
            note(f"Build it anew: {door.command('index', 'rebuild')}")
    if problems:
        raise SystemExit(1)


@contextmanager
def _progress(as_json: bool) -> Iterator[Progress | None]:
    """A bar on a terminal; nothing where a program reads."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        tasks: dict[str, int] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = int(bar.add_task(what, total=total))
            from rich.progress import TaskID

            bar.update(TaskID(tasks[what]), completed=done, total=total)

        yield tell
