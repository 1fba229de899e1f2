"""A task record: one Markdown file a person can read, write and edit, and what it says.

    # Fix the login crash

    - id: 0c5r…          - type: bug_fix          - status: open | done | failed | cancelled
    - opened: 2026-03-14 10:26:53+01:00           - sources: trip#e000001, trip#e000042

    ## Request          what was asked, quoted
    ## Progress         - 2026-03-14 10:30: what happened
    ## Result           what came of it, quoted
    ## Errors           - what went wrong → what fixed it      ([tool]: a tool said so)
    ## Patterns         - worked: …    - failed: …

Promise: ``parse(render(x)) == x`` for every record that ``tidy`` made; and any text is a record:
fields may be missing, in another order, in front matter, in Chinese, and a file with only a
title is an open task (``tests/memory/test_tasks_record.py``). Pure. What changes a file that
somebody else wrote is ``editing``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Final, Literal, get_args

from holdfast.errors import UsageError, did_you_mean
from holdfast.markdown import quote
from holdfast.memory.tasks.kinds import infer_type, type_name
from holdfast.memory.tasks.layout import Layout, lay_out
from holdfast.memory.tasks.wording import HEADINGS, NOTES, language_for
from holdfast.redact import redact
from holdfast.retain import Trust, visible_line
from holdfast.text import cut, normalise, shorten, strip_hidden

__all__ = [
    "CLOSED",
    "Lesson",
    "Mishap",
    "Outcome",
    "Status",
    "Task",
    "as_lesson",
    "as_mishap",
    "check_status",
    "field_values",
    "lesson_line",
    "mishap_line",
    "parse",
    "read",
    "render",
    "tidy",
    "tidy_line",
    "tidy_text",
]

Status = Literal["open", "done", "failed", "cancelled"]
Outcome = Literal["worked", "failed"]
CLOSED: Final = ("done", "failed", "cancelled")

_TITLE: Final = 120
_LINE: Final = 600
_TEXT: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mishap:
    """What went wrong, and what fixed it, if anything did. ``from_tool``: a tool said so."""

    what: str
    fix: str | None = None
    from_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What worked or what failed, for the next time."""

    text: str
    outcome: Outcome = "worked"
    from_tool: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work. ``sources`` are citations; ``trust`` says what the result stands on."""

    id: str
    title: str
    type: str = "other"
    status: Status = "open"
    opened: date | datetime | None = None
    closed: date | datetime | None = None
    request: str = ""
    progress: tuple[str, ...] = ()
    result: str = ""
    errors: tuple[Mishap, ...] = ()
    patterns: tuple[Lesson, ...] = ()
    sources: tuple[str, ...] = ()
    trust: str | None = None
    path: str = ""

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def seconds(self) -> float | None:
        """How long it took, if both ends are known equally well."""
        if isinstance(self.opened, datetime) and isinstance(self.closed, datetime):
            if (self.opened.utcoffset() is None) != (self.closed.utcoffset() is None):
                return None
            return max(0.0, (self.closed - self.opened).total_seconds())
        if isinstance(self.opened, datetime) or isinstance(self.closed, datetime):
            return None
        if self.opened is None or self.closed is None:
            return None
        return max(0, (self.closed - self.opened).days) * 86_400.0


# ── texts that can stand in a record ────────────────────────────────────────────────────────

_CLOSING_MARKS: Final = re.compile(r"(?:^|\s+)#+$")


def tidy_line(text: str, limit: int = _LINE) -> str:
    """The text as a list item may hold it: one line, nothing hidden, no credentials."""
    return cut(visible_line(redact(text)), limit).strip()


def tidy_text(text: str, limit: int = _TEXT) -> str:
    """The text as a section may hold it; the middle of a very long one is left out."""
    text = redact(text).replace("\r\n", "\n").replace("\r", "\n")
    text = strip_hidden(text.encode("utf-8", "replace").decode())[0].strip()
    return shorten(text, limit * 2 // 3, limit // 3, "\n…\n").strip()


def _tidy_title(text: str) -> str:
    title = tidy_line(text, _TITLE)
    while (bare := _CLOSING_MARKS.sub("", title)) != title:
        title = bare
    return title


_RULE: Final = re.compile(r"[-*_\s]*")


def _tidy_step(text: str) -> str:
    """A line of progress; what Markdown would draw as a rule says nothing."""
    line = tidy_line(text)
    return "" if _RULE.fullmatch(line) else line


def as_mishap(given: Mishap | str) -> Mishap | None:
    """A mishap as a record may hold it; None if it says nothing. A string is read as a line."""
    if isinstance(given, str):
        given = _read_mishap(visible_line(given))
    what = tidy_line(given.what)
    while mark := _TOOL_MARK.match(what):
        what = what[mark.end() :]
    fix = tidy_line((given.fix or "").replace("→", "->"))
    if not what and not fix:
        return None
    read = _read_mishap(mishap_line(replace(given, what=what or "?", fix=fix or None)))
    return replace(read, from_tool=given.from_tool)


def as_lesson(given: Lesson | str) -> Lesson | None:
    """A lesson as a record may hold it; None if it says nothing. A string is read as a line."""
    if isinstance(given, str):
        given = _read_lesson(visible_line(given))
    text = tidy_line(given.text)
    return replace(given, text=text) if text else None


def tidy(task: Task, *, before: Task | None = None) -> Task:
    """The task as a record can hold it: clean texts, whole seconds.

    What ``before`` said in the same words is somebody's, and stays as it is.
    """
    old = before or _NOTHING
    title = task.title if task.title == old.title else _tidy_title(task.title)
    if not title:
        raise UsageError("A task needs a title.", hint="Say in one line what is to be done.")
    errors = (each if each in old.errors else as_mishap(each) for each in task.errors)
    patterns = (each if each in old.patterns else as_lesson(each) for each in task.patterns)
    progress = (each if each in old.progress else _tidy_step(each) for each in task.progress)
    return replace(
        task,
        id=_checked_id(task.id),
        title=title,
        type=type_name(task.type) or infer_type(f"{title}\n{task.request}"),
        opened=_whole_seconds(task.opened),
        closed=_whole_seconds(task.closed),
        request=task.request if task.request == old.request else tidy_text(task.request),
        progress=tuple(filter(None, progress)),
        result=task.result if task.result == old.result else tidy_text(task.result),
        errors=tuple(filter(None, errors)),
        patterns=tuple(filter(None, patterns)),
        sources=tuple(dict.fromkeys(filter(None, map(_tidy_source, task.sources)))),
        trust=task.trust if task.trust in get_args(Trust) else None,
    )


_NOTHING: Final = Task(id="-", title="")


_ID: Final = re.compile(r"[^\s,，、;；]{1,120}")


def _is_id(id: str) -> bool:
    return _ID.fullmatch(id) is not None and visible_line(id) == id


def _checked_id(id: str) -> str:
    if not _is_id(id):
        raise UsageError(f"{id!r} cannot be the id of a task.", hint="Letters, digits, - and _.")
    return id


def _tidy_source(source: str) -> str:
    return _BETWEEN.sub("-", visible_line(source)).strip()


def _whole_seconds(at: date | datetime | None) -> date | datetime | None:
    return at.replace(microsecond=0) if isinstance(at, datetime) else at


def check_status(status: str) -> Status:
    """The status of that name; UsageError, with what there is, for any other."""
    for known in get_args(Status):
        if status == known:
            return known  # type: ignore[no-any-return]
    near = did_you_mean(status, get_args(Status))
    raise UsageError(
        f"There is no status {status!r}.", hint=near or f"Use {', '.join(get_args(Status))}."
    )


# ── writing ─────────────────────────────────────────────────────────────────────────────────


def render(task: Task, *, language: str = "auto") -> str:
    """The record as a new file, in the language of its request if no other is given."""
    language = language_for(language, f"{task.title}\n{task.request}")
    words = HEADINGS[language]
    parts = [f"# {task.title}\n"]
    parts.append("".join(f"- {name}: {value}\n" for name, value in _written(task, language)))
    parts.append(f"<!-- {NOTES[language]} -->\n")
    sections = {
        "request": _quoted(task.request),
        "progress": _listed(task.progress),
        "result": _quoted(task.result),
        "errors": _listed(map(mishap_line, task.errors)),
        "patterns": _listed(lesson_line(each, language) for each in task.patterns),
    }
    parts += [f"## {words[name][0]}\n\n{body}" for name, body in sections.items() if body]
    return "\n".join(parts)


def _written(task: Task, language: str) -> list[tuple[str, str]]:
    names = HEADINGS[language]
    return [(names[key][0], value) for key, value in field_values(task, language).items() if value]


def field_values(task: Task, language: str) -> dict[str, str]:
    """The fields as they are written; what is not known is empty."""
    return {
        "id": task.id,
        "type": task.type,
        "status": HEADINGS[language]["is_" + task.status][0],
        "opened": _written_time(task.opened),
        "closed": _written_time(task.closed),
        "sources": ", ".join(task.sources),
        "trust": task.trust or "",
    }


def _written_time(at: date | datetime | None) -> str:
    if isinstance(at, datetime):
        return at.isoformat(" ", "seconds")
    return at.isoformat() if at is not None else ""


def _quoted(text: str) -> str:
    return f"{quote(text)}\n" if text else ""


def _listed(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def mishap_line(mishap: Mishap) -> str:
    """A mishap as its list item: the arrow is always there, so the text may hold others."""
    mark = "[tool] " if mishap.from_tool else ""
    return f"{mark}{mishap.what} → {mishap.fix or '?'}"


def lesson_line(lesson: Lesson, language: str = "en") -> str:
    mark = "[tool] " if lesson.from_tool else ""
    return f"{mark}{HEADINGS[language][lesson.outcome][0]}: {lesson.text}"


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def parse(text: str, path: str = "", *, zone: tzinfo | None = None) -> Task:
    """What a record says. Any text says something."""
    return read(text, path, zone=zone)[0]


def read(text: str, path: str = "", *, zone: tzinfo | None = None) -> tuple[Task, Layout]:
    """What a record says, and where it says so."""
    layout = lay_out(text)
    values = layout.values
    title = layout.title or _title_of_name(path)
    request = layout.prose("request")
    status = _read_status(values.get("status", ""))
    task = Task(
        id=_read_id(values.get("id", ""), path, title),
        title=title,
        type=type_name(values.get("type", "")) or infer_type(f"{title}\n{request}"),
        status=status,
        opened=_read_time(values.get("opened", ""), zone) or _day_of_name(path),
        closed=_read_time(values.get("closed", ""), zone),
        request=request,
        progress=layout.items("progress"),
        result=layout.prose("result"),
        errors=tuple(map(_read_mishap, layout.items("errors"))),
        patterns=tuple(map(_read_lesson, layout.items("patterns"))),
        sources=_read_sources(values.get("sources", "")),
        trust=values["trust"] if values.get("trust") in get_args(Trust) else None,
        path=path,
    )
    return task, layout


_DATED: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:-|$)")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _title_of_name(path: str) -> str:
    stem = _stem(path)
    found = _DATED.match(stem)
    return (stem[found.end() :] if found else stem).replace("-", " ").strip() or "?"


def _day_of_name(path: str) -> date | None:
    found = _DATED.match(_stem(path))
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def _read_id(written: str, path: str, title: str) -> str:
    """The written id; of a record that has none, one made of its name: it stays while others
    edit the file, and when it moves to the archive."""
    if _is_id(written):
        return written
    name = _stem(path) or title
    return "h-" + hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _read_status(written: str) -> Status:
    said = normalise(written)
    for status in get_args(Status):
        names = [name for words in HEADINGS.values() for name in words["is_" + status]]
        if said in names:
            return status  # type: ignore[no-any-return]
    return "open"


_TIME: Final = re.compile(
    r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[T\s]{1,3}(\d{1,2})[:：](\d\d)(?:[:：](\d\d))?)?"
)


def _read_time(written: str, zone: tzinfo | None) -> date | datetime | None:
    written = written.strip()
    if len(written) > len("2026-01-01"):
        try:
            return _in_zone(datetime.fromisoformat(written), zone)
        except ValueError:
            pass
    if (found := _TIME.search(written)) is None:
        return None
    year, month, day, *clock = (int(part) if part else None for part in found.groups())
    try:
        if clock[0] is None:
            return date(year or 0, month or 0, day or 0)
        at = datetime(  # noqa: DTZ001 (given its zone below)
            year or 0, month or 0, day or 0, clock[0], clock[1] or 0, clock[2] or 0
        )
    except ValueError:
        return None
    return _in_zone(at, zone)


def _in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    return at.replace(tzinfo=zone) if at.utcoffset() is None and zone is not None else at


_BETWEEN: Final = re.compile(r"\s*[,，、;；]\s*")


def _read_sources(written: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for source in _BETWEEN.split(written) if source.strip()))


_TOOL_MARK: Final = re.compile(r"\[(?:tool|工具)\]\s*", re.IGNORECASE)
_NOT_FIXED: Final = ("?", "？", "", "not fixed", "unknown", "未解决", "没解决")
_HAND_ARROW: Final = re.compile(r"\s(?:->|=>|⇒|⟶)\s")


def _read_mishap(line: str) -> Mishap:
    """``what → fix``; the last arrow parts them. By hand ``->`` will do if there is no other."""
    mark = _TOOL_MARK.match(line)
    said = line[mark.end() :] if mark else line
    what, arrow, fix = said.rpartition("→")
    if not arrow and (found := list(_HAND_ARROW.finditer(said))):
        what, fix = said[: found[-1].start()], said[found[-1].end() :]
    elif not arrow:
        what, fix = said, ""
    fix = fix.strip()
    solved = None if normalise(fix) in _NOT_FIXED else fix
    return Mishap(what=what.strip(), fix=solved, from_tool=mark is not None)


_LESSON: Final = re.compile(r"\s*([^:：]{1,16})\s*[:：]\s*(.+)", re.DOTALL)
_MARKS: Final[Mapping[str, Outcome]] = {"✓": "worked", "✔": "worked", "✗": "failed", "✘": "failed"}
_WARNS: Final = re.compile(r"(?:do not|don't|dont|never|avoid)\b|不要|别|避免|切勿", re.IGNORECASE)


def _read_lesson(line: str) -> Lesson:
    mark = _TOOL_MARK.match(line)
    said = (line[mark.end() :] if mark else line).strip()
    from_tool = mark is not None
    if found := _LESSON.fullmatch(said):
        word = normalise(found[1])
        for outcome in get_args(Outcome):
            if any(word in words[outcome] for words in HEADINGS.values()):
                return Lesson(text=found[2].strip(), outcome=outcome, from_tool=from_tool)
    if said[:1] in _MARKS and said[1:].strip():
        return Lesson(text=said[1:].strip(), outcome=_MARKS[said[0]], from_tool=from_tool)
    if _WARNS.match(said):
        return Lesson(text=said, outcome="failed", from_tool=from_tool)
    return Lesson(text=said, from_tool=from_tool)
