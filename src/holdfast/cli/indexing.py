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

_BEHIND = ("not indexed", "changed since it was indexed", "gone, but still indexed")


def status(door: Door, *, as_json: bool) -> None:
    with door.open() as engine:
        found = engine.index.status()
    if as_json:
        json_line(found.to_json())
        return
    rows = [
        ("documents", f"{found.documents}, of which conversations: {found.conversations}"),
        ("passages", str(found.chunks)),
        ("changed since", str(found.changed)),
        ("at rest", f"{found.resting} conversations, not searched (index.retention_days)"),
        ("size", size(found.bytes)),
    ]
    if not found.resting:
        rows.pop(3)
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
            f"Documents indexed: {done.documents}, removed: {done.removed}. "
            f"Passages embedded: {done.embedded}."
        )
        for each in done.problems:
            note(f"! {display(each)}")


def rebuild(door: Door, *, as_json: bool) -> None:
    with door.open() as engine, _progress(as_json) as progress:
        done = engine.index.rebuild(progress)
    if as_json:
        json_line(done.to_json())
    else:
        say(f"Built anew. Documents: {done.documents}. Passages embedded: {done.embedded}.")
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
        if not problems:
            say("The index is what the files say.")
        elif all(each.endswith(_BEHIND) for each in problems):
            note(f"The files are newer. Bring it up to date: {door.command('index', 'sync')}")
        else:
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
