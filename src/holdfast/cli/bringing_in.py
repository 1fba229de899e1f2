"""What ``holdfast import`` does and says.

Promise: without a source or a path nothing is brought in, only said what there is; with
``--json`` one object; a bar on a terminal's stderr; the end says how much it was, from when to
when, and how to search it (``tests/doors/test_cli_import.py``).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.render import json_line, json_lines, note, pairs, say, size, table
from holdfast.engine.importing.places import find, source_named, usual_places
from holdfast.engine.importing.running import bring_in, runs, standing, take_back
from holdfast.engine.searching.sharing import Share, catch_up_share
from holdfast.errors import UsageError
from holdfast.text import display

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

    from holdfast.cli.options import Door
    from holdfast.engine.facade import Engine
    from holdfast.engine.importing.places import Found
    from holdfast.engine.importing.shapes import Done, Progress, Source, Tally

__all__ = ["Wish", "list_imports", "run", "undo"]

_MEANING_SECONDS = 20.0
"""What is spent on meaning before the answer; the rest is done by later searches."""
_SHOWN_LEFT = 8
_WORTH_TWO_BYTES = 8 << 20
"""From here on a second process, which takes a second to start, pays."""
_LOOK_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for."""

    words: tuple[str, ...] = ()
    dry_run: bool = False
    memories: bool = False
    merge: bool = False
    index: bool = True
    as_json: bool = False


def run(door: Door, wish: Wish) -> None:
    source, paths = _asked(wish.words)
    with door.open() as engine:
        if source is None and not paths:
            _say_what_there_is(door, engine, wish)
            return
        began = time.monotonic()
        found = find(source, paths, environ=os.environ, home=Path.home())
        with _second_process(door, engine, wish, found) as wait_for_it:
            with _goes_on(), _bars(wish.as_json) as progress:
                done = bring_in(
                    engine._rooms,
                    found,
                    is_dry=wish.dry_run,
                    memories=wish.memories,
                    merge=wish.merge,
                    progress=progress,
                )
            reading = time.monotonic() - began
            indexing = _index(engine, wish, done, wait_for_it)
    if wish.as_json:
        seconds = {"reading": round(reading, 2), "indexing": round(indexing, 2)}
        json_line({**done.to_json(), "seconds": seconds})
    else:
        _say_done(door, done, found)
    if _is_unreadable(done):
        raise SystemExit(1)


@contextmanager
def _goes_on() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped. What was brought in stays; the same command goes on from there.")
        raise


def _is_unreadable(done: Done) -> bool:
    """Whether there was something, and nothing of it could be read."""
    return bool(done.trouble.told) and not any(map(_has_any, done.tallies.values()))


def _has_any(tally: Tally) -> bool:
    return bool(tally.messages or tally.notes or tally.unchanged)


def _asked(words: tuple[str, ...]) -> tuple[Source | None, list[Path]]:
    """The source, if the first word is one, and the paths."""
    if not words:
        return None, []
    source = source_named(words[0])
    if source is not None and not (Path(words[0]).exists() and len(words) > 1):
        return source, [Path(each) for each in words[1:]]
    return None, [Path(each) for each in words]


# ── what there is ───────────────────────────────────────────────────────────────────────────


def _say_what_there_is(door: Door, engine: Engine, wish: Wish) -> None:
    places = usual_places(os.environ, Path.home())
    found = []
    for source, paths in places.items():
        try:
            files = find(source, paths, environ=os.environ, home=Path.home()).files
        except UsageError as error:  # a link: whoever set it knows where it leads
            note(f"! {source}: {display(error.message)} {display(error.hint or '')}")
            continue
        if files:
            found.append((standing(engine._rooms, source, files), paths))
    if wish.as_json:
        rows = [{**each.to_json(), "paths": [str(path) for path in paths]} for each, paths in found]
        json_lines(rows, summary={"summary": True, "sources": len(rows), "imported": False})
        return
    if not found:
        say("Nothing is where Claude Code, Codex or OpenClaw usually keep it.")
    else:
        rows_shown = [
            [
                each.source,
                f"{each.files:,}",
                f"{each.files - each.unchanged:,}",
                size(each.bytes),
                f"{_day(each.first_ns)} – {_day(each.last_ns)}",
                ", ".join(map(str, paths[:2])),
            ]
            for each, paths in found
        ]
        table(["source", "files", "new", "size", "last changed", "where"], rows_shown)
        note(f"Nothing was imported. Do it: {door.command('import', found[0][0].source)}")
    note("Exports and folders: name the file, such as  holdfast import chatgpt-export.zip")


def _day(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).date().isoformat()


# ── afterwards ──────────────────────────────────────────────────────────────────────────────


def _index(engine: Engine, wish: Wish, done: Done, wait_for_it: Callable[[], None] | None) -> float:
    """Words of all that is new, then meaning for a while; how long it took."""
    is_new = any(each.new_messages or each.new_notes for each in done.tallies.values())
    if wish.dry_run or not wish.index or not (is_new or done.memory_lines):
        return 0.0
    began = time.monotonic()
    with _bars(wish.as_json) as progress:
        tell = _renamed(progress, "files", "index: words")
        if wait_for_it is not None:
            catch_up_share(engine._rooms, Share(number=0, of=2), tell)
            wait_for_it()
        caught = engine.index.catch_up(progress=None if wait_for_it is not None else tell)
        for problem in caught.problems:
            done.trouble.add(problem)
        until = time.monotonic() + _MEANING_SECONDS
        try:
            engine.index.sync(
                _renamed(progress, "", "index: meaning"),
                should_stop=lambda: time.monotonic() > until,
            )
        except KeyboardInterrupt:
            note("Meaning is indexed later; words are found now.")
    return time.monotonic() - began


@contextmanager
def _second_process(
    door: Door, engine: Engine, wish: Wish, found: Found
) -> Iterator[Callable[[], None] | None]:
    """Beside a large import another process takes half of the words into the index, as they come.

    Yields what waits for it, if there is one.
    """
    new_bytes = found.bytes - standing(engine._rooms, "", found.files).unchanged_bytes
    is_worth_it = new_bytes >= _WORTH_TWO_BYTES and (os.cpu_count() or 1) > 1
    if wish.dry_run or not wish.index or not is_worth_it:
        yield None
        return
    context = multiprocessing.get_context("spawn")
    is_over = context.Event()
    process = context.Process(target=_take_half, args=(door, is_over), daemon=True)
    process.start()

    def wait_for_it() -> None:
        is_over.set()
        process.join()

    try:
        yield wait_for_it
    finally:
        if process.is_alive():  # an error or Ctrl-C: the next search does the rest
            process.terminate()
            process.join()


def _take_half(door: Door, is_over: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asked
    with door.open() as engine:
        is_last = False
        while not is_last:
            is_last = is_over.wait(_LOOK_AGAIN_SECONDS)
            catch_up_share(engine._rooms, Share(number=1, of=2))


def _renamed(progress: Progress | None, only: str, to: str) -> Progress | None:
    if progress is None:
        return None

    def tell(what: str, done: int, total: int) -> None:
        if only in ("", what):
            progress(to if only else f"{to} {what}", done, total)

    return tell


def _say_done(door: Door, done: Done, found: Found) -> None:
    for source, tally in done.tallies.items():
        pairs(_rows(source, tally, is_dry=done.is_dry))
    for source, counts in done.left.items():
        shown = sorted(counts.items(), key=lambda each: -each[1])
        told = ", ".join(f"{count:,} {what}" for what, count in shown[:_SHOWN_LEFT])
        more = f", and {len(shown) - _SHOWN_LEFT} further kinds" if len(shown) > _SHOWN_LEFT else ""
        if told:
            note(f"Left out ({source}): {display(told)}{more}")
    for problem in done.trouble.words():
        note(f"! {display(problem)}")
    _say_sum(door, done, found)


def _rows(source: str, tally: Tally, *, is_dry: bool) -> Iterator[tuple[str, str]]:
    would = "would be new" if is_dry else "new"
    files = "1 file" if tally.files == 1 else f"{tally.files:,} files"
    yield source, f"{files}, {size(tally.bytes)}, unchanged: {tally.unchanged:,}"
    if tally.conversations:
        told = f"{tally.conversations:,}, {would}: {tally.new_conversations:,}"
        yield "  conversations", told
        yield "  messages", f"{tally.messages:,}, {would}: {tally.new_messages:,}"
    if tally.notes:
        yield "  notes", f"{tally.notes:,}, {would}: {tally.new_notes:,}"
    if tally.first and tally.last:
        yield "  from … to", f"{tally.first[:10]} … {tally.last[:10]}"


def _say_sum(door: Door, done: Done, found: Found) -> None:
    tallies = done.tallies.values()
    messages = sum(each.new_messages for each in tallies)
    notes = sum(each.new_notes for each in tallies)
    if done.is_dry:
        note("Dry run: nothing was changed.")
        return
    if not messages and not notes and not done.memory_lines:
        if _is_unreadable(done):
            say("Nothing was imported: nothing of it could be read.")
        else:
            say("Nothing new." if found.files else "There are no files of that kind.")
        return
    talks = len(set(done.sessions))
    days = [each.first[:10] for each in tallies if each.first]
    ends = [each.last[:10] for each in tallies if each.last]
    when = f", from {min(days)} to {max(ends)}" if days and ends else ""
    parts = [f"{_many(talks, 'conversation')}, {_many(messages, 'message')}{when}"]
    parts = parts if messages else []
    parts += [_many(notes, "note")] if notes else []
    parts += [_many(done.memory_lines, "memory line")] if done.memory_lines else []
    say(f"Imported: {'; '.join(parts)}.")
    note(f"Search it:    {door.command('search', 'what you look for')}")
    if done.id is not None:
        note(f"Take it back: {door.command('import', '--undo', done.id)}")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


# ── imports that were made ──────────────────────────────────────────────────────────────────


def list_imports(door: Door, wish: Wish) -> None:
    with door.open() as engine:
        found = runs(engine._rooms)
    if wish.as_json:
        rows = [each.to_json() for each in found]
        json_lines(rows, summary={"summary": True, "imports": len(rows)})
        return
    if not found:
        say("Nothing was imported yet.")
        return
    table(
        ["id", "when", "sources", "conversations", "notes"],
        [
            [
                each.id,
                each.at[:16].replace("T", " ") or "as they went on",
                ", ".join(each.sources),
                f"{each.conversations:,}",
                f"{each.notes:,}",
            ]
            for each in found
        ],
    )


def undo(door: Door, id: str, wish: Wish) -> None:
    if wish.words:
        raise UsageError("--undo takes the id of an import and nothing else.")
    with door.open() as engine:
        done = take_back(engine._rooms, id, is_dry=wish.dry_run)
        if not wish.dry_run and wish.index:
            engine.index.catch_up()
    if wish.as_json:
        json_line(done.to_json())
        return
    would = "Would be removed" if wish.dry_run else "Removed"
    say(f"{would}: {done.sessions:,} sessions ({done.entries:,} entries), {done.notes:,} notes.")
    for each in done.kept:
        note(f"Kept: {display(each)}")


# ── bars ────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _bars(as_json: bool) -> Iterator[Progress | None]:
    """Bars on a terminal; nothing where a program reads."""
    if as_json or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns: list[Any] = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(),
    ]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            is_bytes = what == "bytes"
            shown = f"{size(done)} of {size(total)}" if is_bytes else f"{done:,} of {total:,}"
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total, shown=shown)
            bar.update(tasks[what], completed=done, total=total, shown=shown)

        yield tell
