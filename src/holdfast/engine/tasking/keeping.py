"""Task records kept by rules: what a user asks for and tools work on is recorded as it happens.

Opens when a user asks for work and tools are used, notes tools, errors and fixes, closes when
the user says "thanks", "done", 完成 or 谢谢, goes on if the work does, and stays open when the
session ends. Where one task ends and the next begins is decided as for compactions.

Promise: the record follows from the entries: run again, after a crash, in another process or on
a shorter view it changes nothing twice; what a person changed, closed or removed stays so
(``tests/engine/test_tasking.py``). Inside a run of tool calls a record is written when it is
opened and at every 25th call, not at each. What tools said is marked as theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Final, Literal

from holdfast.context.blocks import Group, group_blocks, is_user
from holdfast.context.compaction import TaskSpan
from holdfast.context.compaction.tasks import content_words, find_tasks, user_text
from holdfast.engine.tasking.news import News
from holdfast.engine.tasking.notes import (
    EVERY,
    Ending,
    Mark,
    closes,
    first_sentence,
    mishaps_in,
    note_closed,
    note_progress,
    note_reopened,
    sentences_of,
    was_closed_by_rule,
)
from holdfast.errors import NotFound
from holdfast.importance import importance
from holdfast.memory.provenance import Said, trust_of
from holdfast.memory.tasks import Mishap, Task, Tasks
from holdfast.retain import Trust
from holdfast.text import cut, shorten
from holdfast.types import Entry, Message

__all__ = ["Kept", "keep_tasks", "spans_of", "task_id"]

_TITLE: Final = 80
_RESULT: Final = 800
_ERRORS: Final = 20
_HEARD: Final = 4_000
_REMEMBERED: Final = 60
_SENTENCES: Final = 12

What = Literal["opened", "updated", "closed", "reopened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of a record."""

    task: str
    what: What
    status: str
    path: str


def task_id(entry: str) -> str:
    """The id of the task that was asked for in an entry; the same in a fork of the session."""
    return f"t-{entry}"


def spans_of(tasks: Sequence[Task], session: str) -> list[TaskSpan]:
    """The recorded tasks of a session as a compaction wants them, oldest first."""
    spans = []
    for task in tasks:
        cited = _cited(task, session)
        if cited:
            last = None if task.is_open else cited[-1]
            spans.append(TaskSpan(title=task.title, first=cited[0], last=last))
    return sorted(spans, key=lambda span: span.first)


def keep_tasks(
    tasks: Tasks,
    session: str,
    entries: Sequence[Entry],
    *,
    final: bool = False,
    news: News | None = None,
) -> list[Kept]:
    """Bring the records of a session up to its entries; what changed.

    The entries may begin anywhere in the session. ``final``: nothing comes after them for now,
    so that also what is in the middle of tool calls is noted. ``news`` is the session's, if it
    has one: then only what was appended since is read.
    """
    if tasks.is_read_only:
        return []
    news = news or News()
    with news.lock:
        news.read(entries)
        where = news.moment() + ("." if final else "")
        if tasks.seen.get(session) == where or not (news.is_due or final):
            return []
        done = _Keeper(tasks, session, news.marks, final, since=news.until).run()
        tasks.seen[session] = where
        news.settle()
        return done


# ── one round ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A task as the conversation shows it: its marks in order, and where it was asked for.

    ``goes_on``: it began before the entries do. ``ended`` is the message with which the next
    task began, if it began with thanks for this one.
    """

    marks: tuple[Mark, ...]
    request: Group | None
    goes_on: bool = False
    ended: Mark | None = None


class _Keeper:
    """Keeps the records of one session, once."""

    def __init__(
        self, tasks: Tasks, session: str, marks: Sequence[Mark], final: bool, *, since: str
    ) -> None:
        self._tasks = tasks
        self._session = session
        self._final = final
        self._since = since
        self._marks = marks
        self._by_id = {mark.entry: mark for mark in self._marks}

    def run(self) -> list[Kept]:
        worked = any(mark.is_work for mark in self._marks)
        if not worked and not any(mark.is_user and closes(mark.text) for mark in self._marks):
            return []  # nothing to open, nothing to close: no file is looked at
        records = self._tasks.of_session(self._session)
        works = [work for work in self._works(records) if self._final or self._is_news(work)]
        return [kept for work in works for kept in self._keep(work, records)]

    def _is_news(self, work: _Work) -> bool:
        last = work.marks[-1].entry if work.ended is None else work.ended.entry
        return last > self._since

    def _continued(self, records: Sequence[Task]) -> Task | None:
        """The record in the midst of which the entries begin."""
        first = self._marks[0].entry
        if any(task.id == task_id(first) for task in records):
            return None
        reaching = [
            task
            for task in records
            if (cited := _cited(task, self._session))
            and cited[0] < first
            and (task.is_open or cited[-1] >= first)
        ]
        return max(reaching, key=lambda task: _cited(task, self._session)[-1], default=None)

    def _works(self, records: Sequence[Task]) -> list[_Work]:
        """The tasks in these entries; where a record begins one begins, whatever is in view."""
        continued = self._continued(records)
        known = None if continued is None else f"{continued.title}\n{continued.request}"
        recorded = {task.id for task in records}
        works: list[_Work] = []
        for found in find_tasks(
            group_blocks([mark.block for mark in self._marks]), continues=known
        ):
            for place, groups in enumerate(_parted(found.groups, recorded)):
                goes_on = found.opening is None and place == 0
                marks = tuple(self._by_id[entry] for group in groups for entry in group.entries)
                if works:
                    works[-1] = replace(works[-1], ended=_thanked(marks))
                request = None if goes_on else _request(groups)
                works.append(_Work(marks=marks, request=request, goes_on=goes_on))
        return works

    def _keep(self, work: _Work, records: Sequence[Task]) -> list[Kept]:
        seen = self._settled(work.marks)
        record = self._record_of(work, records)
        opened = self._open(work, seen) if record is None else None
        record = record or opened
        if record is None:
            return []
        done: list[What] = ["opened"] if opened is not None else []
        changes: tuple[tuple[What, Callable[[Task], Task]], ...] = (
            ("reopened", lambda task: self._reopened(task, seen)),
            ("updated", self._updating(seen)),
            ("closed", self._closing(work, seen)),
        )
        for what, change in changes:
            after = self._revised(record, change, what)
            if after is not None:
                record = after
                done.append(what)
        if opened is not None:
            done = [what for what in done if what != "updated"]
        return [
            Kept(task=record.id, what=what, status=record.status, path=record.path) for what in done
        ]

    # ── which record ────────────────────────────────────────────────────────────────────────

    def _record_of(self, work: _Work, records: Sequence[Task]) -> Task | None:
        if work.request is None:
            return self._continued(records) if work.goes_on else None
        asked = _opening_entry(work.request)
        own = next((task for task in records if task.id == task_id(asked)), None)
        if own is not None:
            return own
        for task in records:  # a shorter view may part tasks elsewhere
            cited = _cited(task, self._session)
            if cited and cited[0] <= asked <= cited[-1]:
                return task
        return self._opened_by_tool(work, records)

    def _opened_by_tool(self, work: _Work, records: Sequence[Task]) -> Task | None:
        """A record the agent opened for this work: then the rule needs no other."""
        begin, end = work.marks[0].at, work.marks[-1].at
        for task in records:
            at = task.opened
            is_bare = not _cited(task, self._session)
            if not is_bare or not isinstance(at, datetime) or at.utcoffset() is None:
                continue
            if begin.replace(microsecond=0) <= at and (at <= end or self._is_last(work)):
                return task
        return None

    def _is_last(self, work: _Work) -> bool:
        return work.marks[-1] is self._marks[-1]

    # ── changes ─────────────────────────────────────────────────────────────────────────────

    def _settled(self, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
        """The marks up to where somebody has come to the end of a turn, or enough has happened."""
        if self._final:
            return marks
        settled, calls, is_first = 0, 0, True
        for place, mark in enumerate(marks, start=1):
            if mark.is_user or (mark.message.role == "assistant" and not mark.message.tool_calls):
                settled, calls = place, 0
            elif mark.is_work:
                calls += 1
                if is_first or calls % EVERY == 0:
                    settled = place
                is_first = False
        return marks[:settled]

    def _open(self, work: _Work, seen: tuple[Mark, ...]) -> Task | None:
        if work.request is None:
            return None
        asked = _opening_entry(work.request)
        worked = [mark for mark in seen if mark.is_work and mark.entry > asked]
        id = task_id(asked)
        if not worked or (self._tasks.was_opened(id) and self._tasks.find(id) is None):
            return None
        text = user_text(work.request)
        return self._tasks.open(
            _title(text),
            request=text,
            sources=(self._cite(asked),),
            id=id,
            opened=self._by_id[asked].at,
        )

    def _reopened(self, task: Task, seen: Sequence[Mark]) -> Task:
        """Open again if the work went on after a rule closed it."""
        news = [mark for mark in self._news(task, seen) if mark.is_work]
        if task.is_open or not news or not was_closed_by_rule(task):
            return task
        task = replace(task, status="open", closed=None)
        cited = self._cite(news[0].entry)
        return note_reopened(task, cited, news[0].at, self._tasks.zone, self._language(task))

    def _updating(self, seen: Sequence[Mark]) -> Callable[[Task], Task]:
        """Note tools, errors and fixes, if there is anything new to note."""
        worked = _worked(seen)
        mishaps = cache(lambda: mishaps_in(seen))  # asked before the lock is taken, and under it

        def change(task: Task) -> Task:
            news = self._news(task, worked)
            if not task.is_open or not news:
                return task
            errors = _merged(task.errors, mishaps())
            task = replace(task, errors=errors, sources=self._sources(task, worked))
            return note_progress(task, news, self._tasks.zone, self._language(task))

        return change

    def _closing(self, work: _Work, seen: Sequence[Mark]) -> Callable[[Task], Task]:
        """Close it as the user did, if that is news."""

        def change(task: Task) -> Task:
            ending = _ending(work, seen) if task.is_open else None
            if ending is None or ending.at.entry <= _newest(task, self._session):
                return task
            if not task.progress and not any(mark.is_work for mark in seen):
                return task  # thanks before anything was done thank for something else
            result = _last_words(work.marks, ending.at)
            task = replace(
                task,
                status=ending.status,
                closed=ending.at.at.astimezone(self._tasks.zone),
                result=result or task.result,
                trust=_trust(result, work.marks) if result else task.trust,
                sources=self._sources(task, (ending.at,)),
            )
            cited = self._cite(ending.at.entry)
            return note_closed(task, cited, ending, self._tasks.zone, self._language(task))

        return change

    def _revised(self, record: Task, change: Callable[[Task], Task], what: str) -> Task | None:
        """The record after the change; None if there was nothing to change."""
        if change(record) == record:
            return None  # as far as can be told without the lock
        changed = False

        def watched(task: Task) -> Task:
            nonlocal changed
            after = change(task)
            changed = after != task
            return after

        try:
            after = self._tasks.revise(record, watched, what=f"task {what}")
        except NotFound:
            return None  # somebody has just taken it away: that stands
        return after if changed else None

    # ── places ──────────────────────────────────────────────────────────────────────────────

    def _language(self, task: Task) -> str:
        return self._tasks.language_of(task)

    def _cite(self, entry: str) -> str:
        return f"{self._session}#{entry}"

    def _news(self, task: Task, seen: Sequence[Mark]) -> list[Mark]:
        newest = _newest(task, self._session)
        return [mark for mark in seen if mark.entry > newest]

    def _sources(self, task: Task, seen: Sequence[Mark]) -> tuple[str, ...]:
        """First and last entry of the session, and whatever else was cited."""
        last = self._cite(seen[-1].entry)
        cited = _cited(task, self._session)
        if cited and cited[-1] >= seen[-1].entry:
            return task.sources
        stale = self._cite(cited[-1]) if len(cited) > 1 else None
        kept = [each for each in task.sources if each not in (stale, self._session)]
        first = [] if cited else [self._cite(seen[0].entry)]
        return tuple(dict.fromkeys((*kept, *first, last)))


# ── what the entries say ────────────────────────────────────────────────────────────────────


def _parted(groups: Sequence[Group], recorded: set[str]) -> list[list[Group]]:
    parts: list[list[Group]] = []
    for group in groups:
        begins = group.is_user and task_id(_opening_entry(group)) in recorded
        if begins or not parts:
            parts.append([])
        parts[-1].append(group)
    return parts


def _thanked(marks: Sequence[Mark]) -> Mark | None:
    """The message with which a task begins, if it first thanks for the one before."""
    first = next((mark for mark in marks if mark.is_user), None)
    if first is None or closes(first_sentence(first.text), whole=False) is None:
        return None
    return first


def _worked(marks: Sequence[Mark]) -> Sequence[Mark]:
    """The marks up to the last use of tools and what the assistant said to it."""
    last = max((place for place, mark in enumerate(marks) if mark.is_work), default=-1)
    end = last + 1
    while end < len(marks) and not marks[end].is_user:
        end += 1
    return marks[:end]


def _request(groups: Sequence[Group]) -> Group | None:
    """The first thing the user asks for: a greeting asks for nothing."""
    for group in groups:
        if group.is_user and _asks_for_something(user_text(group)):
            return group
    return None


def _asks_for_something(text: str) -> bool:
    said = importance(Message.of("user", text))
    return bool(content_words(text)) and said.reasons != ("social",)


def _opening_entry(group: Group) -> str:
    return next(block.entry for block in group.blocks if is_user(block.message))


def _title(text: str) -> str:
    """The first sentence of a request that says something."""
    sentence = first_sentence(text, says=lambda part: len(content_words(part)) >= 2)
    return shorten(sentence, _TITLE, 0, "…")


def _ending(work: _Work, seen: Sequence[Mark]) -> Ending | None:
    """How the user ended the work after tools were last used."""
    ended: Ending | None = None
    for mark in seen:
        if mark.is_work:
            ended = None
        elif mark.is_user and ended is None and (status := closes(mark.text)):
            ended = Ending(status=status, at=mark)
    if ended is None and work.ended is not None:
        status = closes(first_sentence(work.ended.text), whole=False)
        ended = Ending(status=status, at=work.ended) if status else None
    return ended


def _merged(known: Sequence[Mishap], found: Sequence[Mishap]) -> tuple[Mishap, ...]:
    """The errors of a record with those found since, and with what fixed them since."""
    places = {each.what: place for place, each in enumerate(known)}
    errors = list(known)
    for mishap in found:
        if (place := places.get(mishap.what)) is None:
            errors += [mishap] if len(errors) < _ERRORS else []
        elif mishap.fix and errors[place].fix is None:
            errors[place] = mishap
    return tuple(errors)


def _last_words(marks: Sequence[Mark], before: Mark) -> str:
    """What the assistant said last before the work ended."""
    said = [
        mark
        for mark in marks
        if mark.entry < before.entry and mark.message.role == "assistant" and mark.text.strip()
    ]
    return shorten(said[-1].text.strip(), _RESULT * 2 // 3, _RESULT // 3, "\n…\n") if said else ""


def _trust(result: str, marks: Sequence[Mark]) -> Trust:
    """On what the result stands: on tools if any sentence of it does."""
    said = [
        Said(role=role, text=cut(text, _HEARD), source=mark.entry)
        for mark in marks[-_REMEMBERED:]
        for role, text in _voices(mark)
        if text.strip()
    ]
    sentences = [part for part in sentences_of(result) if content_words(part)][:_SENTENCES]
    return "tool" if any(trust_of(part, said).trust == "tool" for part in sentences) else "agent"


def _voices(mark: Mark) -> list[tuple[str, str]]:
    heard = [("tool", each.text) for each in mark.message.tool_results]
    return [*heard, ("user" if mark.is_user else "assistant", mark.text)]


def _cited(task: Task, session: str) -> list[str]:
    """The entries of a session that a record cites; later ids sort later."""
    start = f"{session}#"
    return sorted(each[len(start) :] for each in task.sources if each.startswith(start))


def _newest(task: Task, session: str) -> str:
    """Up to which entry a record was kept; those of a fork or an old name count as well."""
    cited = _cited(task, session)
    if cited:
        return cited[-1]
    others = [each.rpartition("#")[2] for each in task.sources if "#" in each]
    return max(others, default="")
