"""The task records of a place: opened, kept and closed by tools, by rules and by hand.

Promise: opening and closing twice is opening and closing once; whatever a person wrote into a
record stays; every change is one step that ``undo`` takes back (``tests/memory/test_tasks.py``).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from holdfast.errors import NotFound, UsageError
from holdfast.memory.tasks.editing import rewrite
from holdfast.memory.tasks.figures import Pattern, Stats, find_patterns, measure
from holdfast.memory.tasks.kinds import infer_type, type_name
from holdfast.memory.tasks.likes import Similar, rank
from holdfast.memory.tasks.record import (
    Lesson,
    Mishap,
    Task,
    as_lesson,
    as_mishap,
    check_status,
    parse,
    render,
    tidy,
    tidy_line,
)
from holdfast.memory.tasks.wording import language_for
from holdfast.memory.workspace import Workspace
from holdfast.ports import Ids
from holdfast.text import normalise, title_slug

__all__ = ["FOLDER", "Tasks"]

FOLDER = "tasks/"
_ARCHIVED = "archive/tasks/"


class Tasks:
    """The task records of one place; each call reads the files as they are now."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        now: Callable[[], datetime],
        zone: tzinfo,
        ids: Ids,
        language: str = "auto",
    ) -> None:
        self._workspace = workspace
        self._now = now
        self._zone = zone
        self._ids = ids
        self._language = language
        self._parsed: dict[str, tuple[str, Task]] = {}
        self._cited: dict[str, builtins.list[str]] = {}
        self.seen: dict[str, str] = {}
        """For whoever keeps records of sessions: up to which entry each was read."""

    @property
    def is_read_only(self) -> bool:
        return self._workspace.read_only

    @property
    def zone(self) -> tzinfo:
        """In which dates are written."""
        return self._zone

    def language_of(self, task: Task) -> str:
        """``en`` or ``zh``: as it is set, else that of what was asked."""
        return language_for(self._language, f"{task.title}\n{task.request}")

    # ── changing ────────────────────────────────────────────────────────────────────────────

    def open(
        self,
        title: str,
        *,
        type: str | None = None,
        request: str = "",
        sources: Sequence[str] = (),
        id: str | None = None,
        opened: datetime | None = None,
    ) -> Task:
        """A new record, or the one that has this id already, as it is."""
        with self._workspace.operation("open task", **({"task": id} if id else {})):
            if id is not None and (there := self.find(id)) is not None:
                self._cite(there)
                return there
            at = (opened or self._now()).astimezone(self._zone)
            task = tidy(
                Task(
                    id=id or self._ids.new(at),
                    title=title,
                    type=type or infer_type(f"{title}\n{request}"),
                    opened=at,
                    request=request,
                    sources=tuple(sources),
                )
            )
            task = replace(
                task, path=self._free_path(f"{at.date().isoformat()}-{title_slug(task.title)}")
            )
            self._workspace.edit(task.path, lambda _: render(task, language=self._language))
        self._cite(task)
        return task

    def update(
        self,
        id: str,
        *,
        note: str | None = None,
        title: str | None = None,
        type: str | None = None,
        result: str | None = None,
        errors: Sequence[Mishap | str] = (),
        patterns: Sequence[Lesson | str] = (),
        sources: Sequence[str] = (),
    ) -> Task:
        """The record with what is new; what it says already is not said twice."""

        def change(task: Task) -> Task:
            task = _with(task, result, errors, patterns, sources)
            task = replace(task, title=title or task.title, type=type or task.type)
            return self._noted(task, note) if note else task

        return self.revise(id, change, what="update task")

    def close(
        self,
        id: str,
        status: str = "done",
        result: str | None = None,
        errors: Sequence[Mishap | str] = (),
        patterns: Sequence[Lesson | str] = (),
    ) -> Task:
        """The record with how the task ended: done, failed or cancelled."""
        ended = check_status(status)
        if ended == "open":
            raise UsageError(
                "A task cannot be closed as open.", hint="Use done, failed or cancelled."
            )

        def change(task: Task) -> Task:
            task = _with(task, result, errors, patterns, ())
            if task.status == ended:
                return task  # closed before: when that was stays
            return replace(task, status=ended, closed=self._now().astimezone(self._zone))

        return self.revise(id, change, what="close task")

    def reopen(self, id: str) -> Task:
        """The record as an open one again."""
        return self.revise(
            id, lambda task: replace(task, status="open", closed=None), what="reopen task"
        )

    def revise(self, task: Task | str, change: Callable[[Task], Task], *, what: str) -> Task:
        """The record after ``change``, which may be called again if somebody edits it meanwhile.

        ``change`` sees the record as it is now, under the lock of the memory.
        """
        id = task if isinstance(task, str) else task.id
        with self._workspace.operation(what, task=id):
            path = self._path_of(task)
            after: Task | None = None

            def edit(text: str | None) -> str | None:
                nonlocal after
                if text is None:
                    raise NotFound(f"The record of task {id} is gone.", hint=_LIST)
                before = parse(text, path, zone=self._zone)
                after = change(before)
                if after == before:
                    return text
                after = tidy(after, before=before)
                return rewrite(text, after, zone=self._zone, language=self._language)

            self._workspace.edit(path, edit)
        assert after is not None
        self._cite(after)
        return after

    def _path_of(self, task: Task | str) -> str:
        """Where a record stands now; it is looked for only if it is not where it was."""
        if isinstance(task, str):
            return self.show(task).path
        text = self._workspace.read(task.path) if task.path else None
        if text is not None and self._parse(task.path, text).id == task.id:
            return task.path
        return self.show(task.id).path

    def _noted(self, task: Task, note: str) -> Task:
        """With a dated note, unless the same was noted the same day."""
        at = self._now().astimezone(self._zone)
        text, day = tidy_line(note), at.date().isoformat()
        today = [each for each in task.progress if each.startswith(day)]
        if not text or any(each.endswith(f": {text}") for each in today):
            return task
        return replace(task, progress=(*task.progress, f"{day} {at:%H:%M}: {text}"))

    def _free_path(self, name: str) -> str:
        """A name no record has, in the archive neither: from there it may come back."""
        taken = {path.rpartition("/")[2].casefold() for path in self._paths(archive=True)}
        candidate, number = f"{name}.md", 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{name}-{number}.md"
        return FOLDER + candidate

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def list(
        self, *, status: str | None = None, type: str | None = None, text: str | None = None
    ) -> builtins.list[Task]:
        """The records, open ones first, then the newest first."""
        wanted = check_status(status) if status is not None else None
        kind = type_name(type) if type is not None else None
        held = normalise(text) if text else ""
        found = [
            task
            for task in self._all()
            if wanted in (None, task.status)
            and kind in (None, task.type)
            and (not held or held in normalise(_words(task)))
        ]
        found.sort(key=lambda task: task.path, reverse=True)
        found.sort(key=lambda task: not task.is_open)
        return found

    def show(self, id: str) -> Task:
        """The record of that id, of the one id that begins so, or of that file or title."""
        tasks = self._all()
        found = (
            [task for task in tasks if task.id == id]
            or [task for task in tasks if id and task.id.startswith(id)]
            or [task for task in tasks if id and _is_called(task, id)]
        )
        if len(found) == 1 or (found and all(task.id == id for task in found)):
            return found[0]
        if found:
            ids = ", ".join(task.id for task in found[:5])
            raise UsageError(f"Several tasks could be {id!r}: {ids}.", hint=_LIST)
        if self._is_archived(id):
            raise NotFound(f"Task {id} is in the archive.", hint=f"holdfast archive restore {id}")
        raise NotFound(f"There is no task {id!r}.", hint=_LIST)

    def find(self, id: str) -> Task | None:
        """The record of exactly that id, if there is one; only what may be it is parsed."""
        for path in self._paths():
            text = self._workspace.read(path)
            if text is not None and (id in text or id.startswith("h-")):
                task = self._parse(path, text)
                if task.id == id:
                    return task
        return None

    def of_session(self, session: str) -> builtins.list[Task]:
        """The records that cite a session, oldest first.

        All are read the first time; from then on only those that did, and those opened here:
        this is asked at every turn. Whoever opens one with an id finds the others too.
        """
        known = self._cited.get(session)
        found = [] if known is None else [self._at(path) for path in known]
        if known is None or any(task is None for task in found):
            found = [task for task in self._all() if _cites(task, session)]
        self._cited[session] = [task.path for task in found if task is not None]
        return [task for task in found if task is not None and _cites(task, session)]

    def _at(self, path: str) -> Task | None:
        text = self._workspace.read(path)
        return None if text is None else self._parse(path, text)

    def _cite(self, task: Task) -> None:
        """Remember which sessions a record cites, once they were asked for."""
        for session, paths in self._cited.items():
            if task.path not in paths and _cites(task, session):
                paths.append(task.path)

    def was_opened(self, id: str) -> bool:
        """Whether a record of this id was made before, though it may be gone since.

        What a person undid, removed or archived is not made again by a rule.
        """
        if self._is_archived(id):
            return True
        return any(each.about.get("task") == id for each in self._workspace.operations())

    def similar(
        self, text: str, *, type: str | None = None, outcome: str | None = None, limit: int = 5
    ) -> builtins.list[Similar]:
        """The tasks most like the text, with the reason; only of a type or outcome, if given."""
        wanted = check_status(outcome) if outcome is not None else None
        kind = type_name(type) if type is not None else None
        tasks = [
            task
            for task in self._all()
            if kind in (None, task.type) and wanted in (None, task.status)
        ]
        return rank(tasks, text, limit=limit, type=kind)

    def stats(self) -> Stats:
        """Success by type, durations, common errors."""
        return measure(self._all())

    def patterns(self, *, type: str | None = None) -> builtins.list[Pattern]:
        """What worked, what failed, how often, and in which records."""
        kind = type_name(type) if type is not None else None
        return find_patterns([task for task in self._all() if kind in (None, task.type)])

    def _all(self) -> builtins.list[Task]:
        found = []
        for path in self._paths():
            text = self._workspace.read(path)
            if text is not None:
                found.append(self._parse(path, text))
        return found

    def _paths(self, *, archive: bool = False) -> builtins.list[str]:
        folders = (FOLDER, _ARCHIVED) if archive else (FOLDER,)
        return [path for path in self._workspace.files(archive=archive) if path.startswith(folders)]

    def _parse(self, path: str, text: str) -> Task:
        known = self._parsed.get(path)
        if known is None or known[0] != text:
            known = self._parsed[path] = (text, parse(text, path, zone=self._zone))
        return known[1]

    def _is_archived(self, id: str) -> bool:
        return any(
            id in text and self._parse(path, text).id == id
            for path in self._paths(archive=True)
            if path.startswith(_ARCHIVED) and (text := self._workspace.read(path))
        )


_LIST = "holdfast tasks list"


def _is_called(task: Task, name: str) -> bool:
    """Whether a record has this file name, with or without folder and ending, or this title."""
    file = task.path.rpartition("/")[2]
    if name in (task.path, file, file.removesuffix(".md")):
        return True
    return normalise(name) == normalise(task.title)


def _words(task: Task) -> str:
    errors = " ".join(f"{each.what} {each.fix or ''}" for each in task.errors)
    lessons = " ".join(each.text for each in task.patterns)
    return f"{task.title} {task.request} {task.result} {' '.join(task.progress)} {errors} {lessons}"


def _cites(task: Task, session: str) -> bool:
    return any(each == session or each.startswith(f"{session}#") for each in task.sources)


def _with(
    task: Task,
    result: str | None,
    errors: Sequence[Mishap | str],
    patterns: Sequence[Lesson | str],
    sources: Sequence[str],
) -> Task:
    """The task with what is new of these."""
    known = list(task.errors)
    for mishap in filter(None, map(as_mishap, errors)):
        place = next((i for i, each in enumerate(known) if each.what == mishap.what), None)
        if place is None:
            known.append(mishap)
        elif mishap.fix and not known[place].fix:
            known[place] = replace(known[place], fix=mishap.fix)
    lessons = list(task.patterns)
    for lesson in filter(None, map(as_lesson, patterns)):
        if all((each.outcome, each.text) != (lesson.outcome, lesson.text) for each in lessons):
            lessons.append(lesson)
    return replace(
        task,
        result=task.result if result is None else result,
        errors=tuple(known),
        patterns=tuple(lessons),
        sources=tuple(dict.fromkeys((*task.sources, *sources))),
    )
