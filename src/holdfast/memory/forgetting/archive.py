"""What forgetting moved away: ``archive/`` has the same files, and everything comes back.

Promise: a move and a restore are one step each, which ``undo`` takes back; nothing is deleted:
what leaves a file is in the archive first, what leaves the archive is in its file first; what
was moved and restored with nothing edited in between gives the same bytes; what is for others
than the reader is neither shown nor moved; a memory that stays is read as before, and one that
is restored is read again (``tests/memory/test_archive.py``).
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from holdfast.errors import NotFound, UsageError
from holdfast.markdown import split_lines
from holdfast.memory.facts.identity import own_id, told_apart
from holdfast.memory.forgetting.archiving import (
    Marked,
    Unit,
    above,
    add_to_archive,
    find_unit,
    missing_parents,
    numbered,
    put_back,
    remove_from_archive,
    task_marked,
    task_unmarked,
    unmarked,
    unread_without,
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
from holdfast.scope import may_read_here
from holdfast.types import Scope

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
    """The archive of one place, as far as ``reader`` may see it."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        now: Callable[[], datetime],
        reader: Scope | None = None,
        memberships: frozenset[str] = frozenset(),
        language: str = "auto",
    ) -> None:
        self._workspace = workspace
        self._now = now
        self._reader = reader
        self._memberships = memberships
        self._language = language

    def _shows(self, line: RetainLine) -> bool:
        return may_read_here(self._reader, line, memberships=self._memberships)

    # ── out ─────────────────────────────────────────────────────────────────────────────────

    def plan(self, policy: Policy) -> ForgetPlan:
        """What would leave by this policy now; nothing is moved.

        A line stays while one below it stays that would not be read without it.
        """
        texts = dict(self._texts())
        total = sum(len(text.encode("utf-8", "surrogateescape")) for text in texts.values())
        lines, records, now = self._lines(texts.items()), _records(texts.items()), self._now()
        needed: set[tuple[str, int]] = set()
        while True:
            plan = plan_forgetting(lines, records, policy, now, total_bytes=total, needed=needed)
            more = set(_needed(plan, texts))
            if not more:
                return plan
            needed |= more

    def move(self, what: ForgetPlan | Iterable[Item | str], *, why: str = "archive") -> str | None:
        """Move memories to the archive: those of a plan, or these, by themselves or by id.

        An id stands for all copies of a line; a memory by itself is that one line. What would no
        longer be read without them comes along (see ``whole``). Returns the id of the step, for
        ``undo``; None if none of them was there any more.
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
            items += [item for item in self.items() if item.id in ids]
        by_path: dict[str, builtins.list[Remembered]] = {}
        for item in items:
            mine = by_path.setdefault(item.path, [])
            if isinstance(item, Remembered) and item not in mine and self._shows(item.line):
                mine.append(item)
        return by_path

    def whole(self, items: Iterable[Item]) -> builtins.list[Item]:
        """These, and the lines that have to move with them: deep below them, they would turn
        into code if these were gone."""
        given = list(items)
        added: builtins.list[Item] = []
        for path in dict.fromkeys(each.path for each in given if isinstance(each, Remembered)):
            mine = [each for each in given if isinstance(each, Remembered) and each.path == path]
            text = self._workspace.read(path)
            added += self._along(path, text, mine) if text is not None else []
        return [*given, *added]

    def _along(
        self, path: str, text: str, items: Sequence[Remembered]
    ) -> builtins.list[Remembered]:
        along: builtins.list[Remembered] = []
        while more := [
            replace(each, path=path)
            for each in unread_without(text, [*items, *along])
            if self._shows(each.line)
        ]:
            along += more
        return along

    def items(self) -> builtins.list[Item]:
        """Everything outside the archive that can be moved to it: lines, then records."""
        texts = [*self._texts()]
        return [*self._lines(texts), *_records(texts)]

    def _lines(self, texts: Iterable[tuple[str, str]]) -> builtins.list[Remembered]:
        found = [
            each
            for path, text in texts
            if not path.startswith(_TASKS)
            for each in remembered_in(path, text)
            if self._shows(each.line)
        ]
        ids = told_apart((each.id, each.line) for each in found)
        return [
            each if each.id == id else replace(each, named=id)
            for each, id in zip(found, ids, strict=True)
        ]

    def _texts(self) -> Iterator[tuple[str, str]]:
        for path in self._workspace.files():
            if (text := self._workspace.read(path)) is not None:
                yield path, text

    def _move_lines(self, path: str, items: Sequence[Remembered]) -> None:
        text = self._workspace.read(path)
        if text is None:
            return
        source = split_lines(text)
        away = [*self._away(path).values()]
        there = Counter([each.text for each in remembered_in(path, text)])
        there.update(unit.text for unit in away)
        moving: dict[int, Remembered] = {}
        for item in sorted(items, key=_line_number):
            at = find_unit(source, split_lines(item.text), item.number)
            if at is not None and at + 1 not in moving:
                moving[at + 1] = replace(item, number=at + 1)
        if not moving:
            return
        leaving = [*moving.values(), *self._along(path, text, [*moving.values()])]
        leaving.sort(key=_line_number)
        marks = [unit.mark for unit in away]
        units = [
            self._unit(each, path, numbered(each.number, marks), there[each.text])
            for each in leaving
        ]
        self._workspace.edit(_FOLDER + path, lambda old: _added(old, path, units, self._language))
        places = [each.number - 1 for each in leaving]
        self._workspace.edit(path, lambda now: _left(now, text, places, units))

    def _unit(self, item: Remembered, path: str, number: int, copies: int) -> Unit:
        lines = split_lines(item.text)
        bare = lines[0].rstrip("\r\n")
        mark = Marked(
            archived=self._now().isoformat(timespec="seconds"),
            path=path,
            number=number,
            end=lines[0][len(bare) :],
            lines=len(lines),
            is_cut=len(lines) > 1 and not lines[-1].endswith(("\n", "\r")),
            copies=max(1, copies),
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
        found = self._archived()
        ids = told_apart((each.id, each.line) for each in found if each.line is not None)
        return [each if each.line is None else replace(each, id=next(ids)) for each in found]

    def _archived(self) -> builtins.list[Archived]:
        found: builtins.list[Archived] = []
        for path in self._workspace.files(archive=True):
            if path.startswith(_FOLDER) and (text := self._workspace.read(path)) is not None:
                source = path.removeprefix(_FOLDER)
                is_task = source.startswith(_TASKS)
                found += [_task(path, text)] if is_task else _lines(path, source, text)
        return [each for each in found if each.line is None or self._shows(each.line)]

    def find(self, id: str) -> Archived | None:
        """The first thing of that id, or whose id begins so, if it is the only one."""
        found = _named(self.list(), id)
        return found[0] if found else None

    # ── back ────────────────────────────────────────────────────────────────────────────────

    def restore(self, ids: Sequence[str]) -> Restored:
        """Put memories back where they were; files that are gone are made again.

        One that cannot be read without another one above it, which is in the archive too, brings
        that one along.

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
                if is_task:
                    done += self._restore_record(items[0])
                else:
                    done += self._restore(path, items, [e for e in there if e.path == path])
            operation = self._workspace.current
        paths = tuple(dict.fromkeys(each.source for each in done))
        return Restored(items=tuple(done), paths=paths, operation=operation)

    def _restore(
        self, path: str, items: Sequence[Archived], there: Sequence[Archived]
    ) -> builtins.list[Archived]:
        text = self._workspace.read(path) or ""
        source = split_lines(text)
        headings = {each.number: each.heading for each in remembered_in(path, text)}
        unit_of = {
            each: _unit_at(
                source, each.number or 1, each.source, headings.get(each.number or 0, "")
            )
            for each in there
        }
        done: builtins.list[Archived] = []
        for target in dict.fromkeys(each.source for each in items):
            mine = [each for each in items if each.source == target]
            asked = set(mine)
            rest = [each for each in there if each.source == target and each not in asked]
            parents = missing_parents(
                self._workspace.read(target),
                [unit_of[each] for each in mine],
                [unit_of[each] for each in rest],
            )
            mine += [each for each in rest if unit_of[each] in parents]
            chosen = {each.number for each in mine} if path == _FOLDER + target else set()
            away = [unit for number, unit in self._away(target).items() if number not in chosen]
            units = [unit_of[each] for each in mine]
            self._workspace.edit(target, partial(_back, units=units, away=away))
            done += mine
        firsts = [source[(each.number or 1) - 1].rstrip("\r\n") for each in done]
        self._workspace.edit(
            path, lambda now: remove_from_archive(now or "", path.removeprefix(_FOLDER), firsts)
        )
        return done

    def _restore_record(self, item: Archived) -> builtins.list[Archived]:
        text = self._workspace.read(item.path) or ""
        found = task_unmarked(text)
        whole = found[0] if found else text
        target = self._free(item.source, item.id)
        self._workspace.edit(target, lambda now: whole if now is None else now)
        self._workspace.edit(item.path, lambda now: None if now == text else now)
        return [replace(item, source=target)]

    def _away(self, path: str) -> dict[int, Unit]:
        """What of a file is in the archive, by its line there."""
        text = self._workspace.read(_FOLDER + path) or ""
        source = split_lines(text)
        units = {
            each.number: _unit_at(source, each.number, path, each.heading)
            for each in remembered_in(path, text)
        }
        return {
            number: unit
            for number, unit in units.items()
            if unit.mark.archived and unit.mark.path == path
        }


def _named(there: Sequence[Archived], id: str) -> list[Archived]:
    """What has that id; if nothing does, what has the one id that begins so."""
    exact = [each for each in there if each.id == id]
    if not exact and id.startswith("h-"):  # by its words it is known wherever it stands
        exact = [each for each in there if each.line is not None and own_id(each.line) == id]
    if exact or not id:
        return exact
    near = [each for each in there if each.id.startswith(id)]
    if len({each.id for each in near}) > 1:
        raise UsageError(
            f"Several things in the archive have an id that begins with {id!r}.", hint=_LIST
        )
    return near


# ── files ───────────────────────────────────────────────────────────────────────────────────


def _added(old: str | None, path: str, units: Sequence[Unit], language: str) -> str:
    """The file of the archive with the units that are not there yet, by place and words."""
    there = set()
    for line in split_lines(old or ""):
        if found := unmarked(line.rstrip("\r\n")):
            there.add((found[0].strip(), found[1].number))
    new = [
        unit for unit in units if (split_lines(unit.text)[0].strip(), unit.mark.number) not in there
    ]
    return add_to_archive(old, path, new, language) if new else old or ""


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


def _needed(plan: ForgetPlan, texts: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Which of the lines that leave would take the meaning of one with them that stays."""
    leaving: dict[str, list[Remembered]] = {}
    for each in plan.items:
        if isinstance(each.item, Remembered):
            leaving.setdefault(each.item.path, []).append(each.item)
    for path, items in leaving.items():
        for line in unread_without(texts[path], items):
            yield path, (above(line, items) or items[0]).number


def _line_number(item: Remembered) -> int:
    return item.number


def _first(pair: tuple[int, Unit]) -> int:
    return pair[0]


def _back(now: str | None, units: Sequence[Unit], away: Sequence[Unit]) -> str:
    """The file with the units, but for those that somebody has put there meanwhile."""
    there = Counter([each.text for each in remembered_in("", now or "")])
    there.update(unit.text for unit in (*units, *away))
    new: list[Unit] = []
    for unit in units:
        if there[unit.text] > unit.mark.copies:
            there[unit.text] -= 1
        else:
            new.append(unit)
    return put_back(now, new, [unit.mark for unit in away]) if new else now or ""


def _unit_at(source: Sequence[str], number: int, path: str, heading: str) -> Unit:
    """The unit that begins at a line of the archive, as it was."""
    at = number - 1
    line = source[at].rstrip("\r\n")
    found = unmarked(line)
    if found is None:
        return Unit(text=source[at], heading=heading, mark=Marked(archived="", path=path))
    first, mark = found
    heading = heading if mark.under is None else mark.under
    body = list(source[at + 1 : at + mark.lines])
    if mark.is_cut and body:
        body[-1] = body[-1].rstrip("\r\n")
    text = "".join([mark.indent + first + mark.end, *body])
    return Unit(text=text, heading=heading, mark=mark)


def _records(texts: Iterable[tuple[str, str]]) -> list[Record]:
    return [
        Record(task=parse_task(text, path), text=text)
        for path, text in texts
        if path.startswith(_TASKS)
    ]


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
