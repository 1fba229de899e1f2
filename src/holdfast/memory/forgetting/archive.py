"""What forgetting moved away: ``archive/`` has the same files, and everything comes back.

Promise: a move and a restore are one step each, which ``undo`` takes back; nothing is deleted:
what leaves a file is in the archive first, what leaves the archive is in its file first; what
was moved and restored with nothing edited in between gives the same bytes
(``tests/memory/test_archive.py``).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from holdfast.errors import NotFound, UsageError
from holdfast.markdown import split_lines
from holdfast.memory.forgetting.archiving import (
    Marked,
    Unit,
    add_to_archive,
    find_unit,
    numbered,
    put_back,
    remove_from_archive,
    task_marked,
    task_unmarked,
    unmarked,
    without,
)
from holdfast.memory.forgetting.policy import (
    ForgetPlan,
    Policy,
    Record,
    Remembered,
    plan_forgetting,
    remembered_in,
)
from holdfast.memory.tasks.record import parse as parse_task
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, line_id

__all__ = ["Archive", "Archived", "Item", "Restored"]

_FOLDER = "archive/"
_TASKS = "tasks/"
_LIST = "holdfast archive list"

Item: TypeAlias = Remembered | Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """One thing in the archive: a memory line, or a task record."""

    id: str
    kind: str
    """``line`` or ``task``."""
    text: str
    path: str
    number: int | None = None
    source: str = ""
    """The file it came from."""
    archived: str | None = None
    """When; None if somebody put it there by hand."""
    line: RetainLine | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back, to which files, and the step that ``undo`` takes back."""

    items: tuple[Archived, ...]
    paths: tuple[str, ...]
    operation: str | None = None


class Archive:
    """The archive of one place."""

    def __init__(self, workspace: Workspace, *, now: Callable[[], datetime]) -> None:
        self._workspace = workspace
        self._now = now

    # ── out ─────────────────────────────────────────────────────────────────────────────────

    def plan(self, policy: Policy) -> ForgetPlan:
        """What would leave by this policy now; nothing is moved."""
        remembered: builtins.list[Remembered] = []
        records: builtins.list[Record] = []
        total = 0
        for path, text in self._texts():
            total += len(text.encode("utf-8", "surrogateescape"))
            if path.startswith(_TASKS):
                records.append(Record(task=parse_task(text, path), text=text))
            else:
                remembered += remembered_in(path, text)
        return plan_forgetting(remembered, records, policy, self._now(), total_bytes=total)

    def move(self, what: ForgetPlan | Iterable[Item | str], *, why: str = "archive") -> str | None:
        """Move memories to the archive: those of a plan, or these, by themselves or by id.

        The id of the step, for ``undo``; None if none of them was there any more.
        """
        with self._workspace.operation(why):
            for path, items in self._by_path(what).items():
                if path.startswith(_TASKS):
                    self._move_record(path)
                else:
                    self._move_lines(path, items)
            return self._workspace.current

    def _by_path(
        self, what: ForgetPlan | Iterable[Item | str]
    ) -> dict[str, builtins.list[Remembered]]:
        given: Iterable[Item | str] = (
            [each.item for each in what.items] if isinstance(what, ForgetPlan) else what
        )
        items = [each for each in given if not isinstance(each, str)]
        ids = {each for each in given if isinstance(each, str)}
        if ids:
            items += [item for item in self._all() if item.id in ids]
        by_path: dict[str, builtins.list[Remembered]] = {}
        for item in items:
            mine = by_path.setdefault(item.path, [])
            if isinstance(item, Remembered) and item not in mine:
                mine.append(item)
        return by_path

    def _all(self) -> Iterator[Item]:
        for path, text in self._texts():
            if path.startswith(_TASKS):
                yield Record(task=parse_task(text, path), text=text)
            else:
                yield from remembered_in(path, text)

    def _texts(self) -> Iterator[tuple[str, str]]:
        for path in self._workspace.files():
            if (text := self._workspace.read(path)) is not None:
                yield path, text

    def _move_lines(self, path: str, items: Sequence[Remembered]) -> None:
        text = self._workspace.read(path)
        if text is None:
            return
        source = split_lines(text)
        away = [mark for _, mark in self._marks(path)]
        units: builtins.list[Unit] = []
        taken: set[int] = set()
        for item in sorted(items, key=lambda each: each.number):
            at = find_unit(source, split_lines(item.text), item.number)
            if at is not None and at not in taken:
                taken.add(at)
                units.append(self._unit(item, path, numbered(at + 1, away)))
        if not units:
            return
        self._workspace.edit(_FOLDER + path, lambda old: _added(old, path, units))
        self._workspace.edit(path, lambda now: _left(now, text, sorted(taken), units))

    def _unit(self, item: Remembered, path: str, number: int) -> Unit:
        lines = split_lines(item.text)
        bare = lines[0].rstrip("\r\n")
        mark = Marked(
            archived=self._now().isoformat(timespec="seconds"),
            path=path,
            number=number,
            end=lines[0][len(bare) :],
            lines=len(lines),
            is_cut=len(lines) > 1 and not lines[-1].endswith(("\n", "\r")),
        )
        return Unit(text=item.text, heading=item.heading, mark=mark)

    def _move_record(self, path: str) -> None:
        if (text := self._workspace.read(path)) is None:
            return
        id = parse_task(text, path).id
        mark = Marked(archived=self._now().isoformat(timespec="seconds"), path=path)
        self._workspace.edit(self._free(_FOLDER + path, id), lambda _: task_marked(text, mark))
        # Whoever edits it in this moment keeps it: it is in the archive as it was before.
        self._workspace.edit(path, lambda now: None if now == text else now)

    def _free(self, path: str, id: str) -> str:
        """The path, or one beside it if another record has that name."""
        stem, number, free = path.removesuffix(".md"), 1, path
        while (text := self._workspace.read(free)) is not None:
            if parse_task(text, free).id == id:
                return free
            number += 1
            free = f"{stem}-{number}.md"
        return free

    # ── what is there ───────────────────────────────────────────────────────────────────────

    def list(self) -> builtins.list[Archived]:
        """Everything in the archive, by file."""
        found: builtins.list[Archived] = []
        for path in self._workspace.files(archive=True):
            if path.startswith(_FOLDER) and (text := self._workspace.read(path)) is not None:
                source = path.removeprefix(_FOLDER)
                is_task = source.startswith(_TASKS)
                found += [_task(path, text)] if is_task else _lines(path, source, text)
        return found

    def find(self, id: str) -> Archived | None:
        """The first thing of that id, or whose id begins so, if it is the only one."""
        found = _named(self.list(), id)
        return found[0] if found else None

    # ── back ────────────────────────────────────────────────────────────────────────────────

    def restore(self, ids: Sequence[str]) -> Restored:
        """Put memories back where they were; files that are gone are made again.

        Raises:
            NotFound: there is nothing of one of these ids in the archive. Nothing is moved then.
        """
        with self._workspace.operation("restore"):
            wanted: dict[Archived, None] = {}
            there = self.list()
            by_id: dict[str, builtins.list[Archived]] = {}
            for each in there:
                by_id.setdefault(each.id, []).append(each)
            for id in ids:
                found = by_id.get(id) or _named(there, id)
                if not found:
                    raise NotFound(f"There is no {id!r} in the archive.", hint=_LIST)
                wanted |= dict.fromkeys(found)
            done: builtins.list[Archived] = []
            for path in dict.fromkeys(each.path for each in wanted):
                items = [each for each in wanted if each.path == path]
                is_task = items[0].kind == "task"
                done += self._restore_record(items[0]) if is_task else self._restore(path, items)
            operation = self._workspace.current
        paths = tuple(dict.fromkeys(each.source for each in done))
        return Restored(items=tuple(done), paths=paths, operation=operation)

    def _restore(self, path: str, items: Sequence[Archived]) -> builtins.list[Archived]:
        text = self._workspace.read(path) or ""
        source = split_lines(text)
        headings = {each.number: each.heading for each in remembered_in(path, text)}
        chosen = {each.number for each in items}
        for target in dict.fromkeys(each.source for each in items):
            units = [
                _unit_at(source, each, headings.get(each.number or 0, ""))
                for each in items
                if each.source == target
            ]
            away = [mark for n, mark in self._marks(target) if n not in chosen]
            self._workspace.edit(target, partial(_back, units=units, away=away))
        firsts = [source[(each.number or 1) - 1].rstrip("\r\n") for each in items]
        self._workspace.edit(
            path, lambda now: remove_from_archive(now or "", path.removeprefix(_FOLDER), firsts)
        )
        return [*items]

    def _restore_record(self, item: Archived) -> builtins.list[Archived]:
        text = self._workspace.read(item.path) or ""
        found = task_unmarked(text)
        whole = found[0] if found else text
        target = self._free(item.source, item.id)
        self._workspace.edit(target, lambda now: whole if now is None else now)
        self._workspace.edit(item.path, lambda now: None if now == text else now)
        return [replace(item, source=target)]

    def _marks(self, path: str) -> builtins.list[tuple[int, Marked]]:
        """Which lines of a file are in the archive, by their line there."""
        text = self._workspace.read(_FOLDER + path) or ""
        marks = []
        for each in remembered_in(path, text):
            found = unmarked(split_lines(each.text)[0].rstrip("\r\n"))
            if found is not None and found[1].path == path:
                marks.append((each.number, found[1]))
        return marks


def _named(there: Sequence[Archived], id: str) -> list[Archived]:
    """What has that id; if nothing does, what has the one id that begins so."""
    exact = [each for each in there if each.id == id]
    if exact or not id:
        return exact
    near = [each for each in there if each.id.startswith(id)]
    if len({each.id for each in near}) > 1:
        raise UsageError(
            f"Several things in the archive have an id that begins with {id!r}.", hint=_LIST
        )
    return near


# ── files ───────────────────────────────────────────────────────────────────────────────────


def _added(old: str | None, path: str, units: Sequence[Unit]) -> str:
    """The file of the archive with the units that are not there yet, by place and words."""
    there = set()
    for line in split_lines(old or ""):
        if found := unmarked(line.rstrip("\r\n")):
            there.add((found[0].strip(), found[1].number))
    new = [
        unit for unit in units if (split_lines(unit.text)[0].strip(), unit.mark.number) not in there
    ]
    return add_to_archive(old, path, new) if new else old or ""


def _left(now: str | None, text: str, places: Sequence[int], units: Sequence[Unit]) -> str | None:
    """The file without what was moved; by place if nobody edited it meanwhile, else by words."""
    if now is None:
        return None
    if now != text:
        return without(now, [unit.text for unit in units])[0]
    source = split_lines(text)
    for place, unit in sorted(zip(places, units, strict=True), reverse=True, key=_first):
        del source[place : place + unit.mark.lines]
    return "".join(source)


def _first(pair: tuple[int, Unit]) -> int:
    return pair[0]


def _back(now: str | None, units: Sequence[Unit], away: Sequence[Marked]) -> str:
    """The file with the units; one with an id that is there already is not put there twice."""
    there = {line.rstrip("\r\n") for line in split_lines(now or "")}
    new = [
        unit
        for unit in units
        if (first := split_lines(unit.text)[0].rstrip("\r\n")) not in there or '"id":' not in first
    ]
    return put_back(now, new, away) if new else now or ""


def _unit_at(source: Sequence[str], item: Archived, heading: str) -> Unit:
    """The unit that begins at a line of the archive, as it was."""
    at = (item.number or 1) - 1
    line = source[at].rstrip("\r\n")
    found = unmarked(line)
    if found is None:
        return Unit(text=source[at], heading=heading, mark=Marked(archived="", path=item.source))
    first, mark = found
    heading = heading if mark.under is None else mark.under
    body = list(source[at + 1 : at + mark.lines])
    if mark.is_cut and body:
        body[-1] = body[-1].rstrip("\r\n")
    text = "".join([mark.indent + first + mark.end, *body])
    return Unit(text=text, heading=heading, mark=mark)


def _lines(path: str, source: str, text: str) -> Iterator[Archived]:
    for each in remembered_in(path, text):
        found = unmarked(split_lines(each.text)[0].rstrip("\r\n"))
        yield Archived(
            id=line_id(each.line),
            kind="line",
            text=each.line.text,
            path=path,
            number=each.number,
            source=found[1].path if found else source,
            archived=found[1].archived if found else None,
            line=each.line,
        )


def _task(path: str, text: str) -> Archived:
    found = task_unmarked(text)
    task = parse_task(found[0] if found else text, path)
    return Archived(
        id=task.id,
        kind="task",
        text=task.title,
        path=path,
        source=found[1].path if found else path.removeprefix(_FOLDER),
        archived=found[1].archived if found else None,
    )
