"""Write memories: to the file of the day, to ``MEMORY.md`` or to a topic, and never over anything.

Promise: what ``write`` returned is on disk, in the file of the day that it was when it was written;
whatever else stands there stays, to the byte; of processes that write at once none loses a line
(``tests/memory/test_notes.py``, ``test_midnight.py``). A repeat is not written again: the line
that stands gets its source; two lines that differ in a number, date, name, identifier or in
polarity are both kept, and what was not written is in the receipt (``test_notes_repeats.py``).
Secrets and hidden characters do not get through (``test_notes_safety.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Final, Literal

from holdfast.errors import UsageError
from holdfast.markdown import append_to_section, split_lines
from holdfast.memory.notes.free_text import Note, lines_of
from holdfast.memory.notes.repeats import (
    STATED,
    Page,
    Pages,
    Repeat,
    find,
    lower_trust,
    stamp_of,
    with_line,
)
from holdfast.memory.notes.wording import README, is_chinese, new_file
from holdfast.memory.workspace import Workspace
from holdfast.redact import redact
from holdfast.retain import RetainLine, Trust, line_id, render, visible_line
from holdfast.retain.documents import rewritten
from holdfast.scope import check_name
from holdfast.text import strip_hidden
from holdfast.types import Json

__all__ = ["Asking", "Note", "Notes", "Skipped", "Target", "Written", "lines_of", "parse_target"]

Asking = Literal["person", "model"]
"""Who wants a memory written."""

HEADING: Final = "Retain"
_NEAR_DAYS: Final = 7
_MOST_SOURCES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where memories go: ``slug`` is a topic's."""

    kind: Literal["daily", "memory", "topic"] = "daily"
    slug: str = ""


def parse_target(written: str) -> Target:
    """The target that ``daily``, ``memory`` or ``topic:<slug>`` names.

    Raises:
        UsageError: it names none.
        PolicyRefused: the slug cannot be the name of a file.
    """
    kind, _, slug = written.partition(":")
    if written == "daily":
        return Target()
    if written == "memory":
        return Target(kind="memory")
    if kind == "topic" and slug:
        return Target(kind="topic", slug=check_name(slug.removesuffix(".md")))
    raise UsageError(
        f"{written!r} is no place for a memory.",
        hint='Use "daily", "memory" or "topic:<name>", for example topic:travel.',
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A line that was not written: ``kept`` says it already, in the file ``path``."""

    line: RetainLine
    kept: str
    why: str
    """``repeat`` or ``near-duplicate``."""
    path: str = ""
    id: str = ""
    """Of the line that was kept."""
    evidence: tuple[str, ...] | None = None
    """The sources that are new to it; None if none were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of the lines that were given."""

    path: str
    """From the folder of the place."""
    added: tuple[RetainLine, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    operation: str | None = None
    """What ``undo`` takes back; None if nothing was changed."""
    redirected: str | None = None
    """Why something went elsewhere than asked, and where."""


class Notes:
    """The memory files of one place, as far as they are added to; nothing here overwrites."""

    def __init__(
        self, workspace: Workspace, *, today: Callable[[], date], language: str = "en"
    ) -> None:
        self._workspace = workspace
        self._today = today
        self._language = language
        self._pages = Pages(workspace)

    def write(
        self,
        lines: Sequence[RetainLine | Note],
        *,
        target: str = "daily",
        what: str = "remember",
        about: Mapping[str, Json] | None = None,
        asked_by: Asking = "person",
    ) -> Written:
        """Add the lines to the target, in order, without those that are known.

        The day is asked when the lock is held: what waited over midnight is of the new day.
        What a tool said, or was imported, does not go to ``MEMORY.md``, but to the day's file;
        if a model asks, neither does anything else that is not the user's. What the assistant
        says in words that stand as a tool's or an import's is trusted no more than those.
        """
        place = parse_target(target)
        clean = [_cleaned(line) for line in lines]
        if not clean:
            return Written(path=self._path(place, self._today()))
        with self._workspace.operation(what, **(about or {})):
            self._workspace.welcome(README)
            day = self._today()
            path = self._path(place, day)
            given = self._judged(clean, path, day)
            may = _MAY_STAND[asked_by] if place.kind == "memory" else _MAY_STAND["anywhere"]
            here = [each for each in given if each.line.trust in may]
            aside = [each for each in given if each.line.trust not in may]
            added, skipped = self._write(place, path, day, here)
            redirected = None
            if aside:
                daily = self._path(Target(), day)
                more, skipped_more = self._write(Target(), daily, day, aside)
                added, skipped = [*added, *more], [*skipped, *skipped_more]
                redirected = _redirected(aside, daily)
                path = path if here else daily
            operation = self._workspace.current
        return Written(
            path=path,
            added=tuple(added),
            skipped=tuple(skipped),
            operation=operation,
            redirected=redirected,
        )

    def _judged(self, given: Sequence[_Given], path: str, day: date) -> list[_Given]:
        """The lines with the day they were said, and the trust that older lines leave them."""
        pages: Iterable[Page] = ()
        if any(each.line.trust == "agent" for each in given):
            pages = self._pages.all(near=[path, *self._recent(day)]).values()
        judged: list[_Given] = []
        for each in given:
            line, trust = each.line, each.line.trust
            trust = lower_trust(line, pages) if trust == "agent" else trust
            line = replace(line, trust=trust, observed=line.observed or day)
            judged.append(replace(each, line=line))
        return judged

    def _recent(self, day: date) -> list[str]:
        """The files of this day and the days before, among whose lines may be near-duplicates."""
        return [self._path(Target(), day - timedelta(days=n)) for n in range(_NEAR_DAYS + 1)]

    def _path(self, place: Target, day: date) -> str:
        if place.kind == "memory":
            return self._workspace.memory_path()
        if place.kind == "topic":
            return f"memory/topics/{place.slug}.md"
        return f"memory/{day.isoformat()}.md"

    def _write(
        self, place: Target, path: str, day: date, given: Sequence[_Given]
    ) -> tuple[list[RetainLine], list[Skipped]]:
        if not given:
            return [], []
        run = _Run(notes=self, place=place, path=path, day=day)
        recent = self._recent(day)
        rest = run.skip_known_elsewhere(given, self._others(place, path, recent), recent)
        if rest:
            self._workspace.edit(path, lambda text: run.append(text, rest))
        if run.page is not None:
            self._pages.keep(path, run.page)
        return run.added, run.skipped

    def _others(self, place: Target, path: str, recent: Sequence[str]) -> dict[str, Page]:
        """The pages to look for repeats on, beside the target's own.

        Only the daily log is asked not to repeat other files: what somebody puts into a topic
        or ``MEMORY.md`` belongs there, wherever else it stands.
        """
        if place.kind != "daily":
            return {}
        pages = self._pages.all(near=recent)
        return {other: page for other, page in pages.items() if other != path}

    def _new_text(self, place: Target, day: date, given: Sequence[_Given]) -> str:
        sample = " ".join(each.line.text for each in given)
        chinese = is_chinese(self._language, sample)
        title = day.isoformat() if place.kind == "daily" else place.slug
        return new_file(place.kind, title, chinese=chinese)

    def _new_id(self) -> str:
        return self._workspace.ids.new(self._workspace.clock.now())


# ── one write ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """A line as it may be written, and what stands below it."""

    line: RetainLine
    body: str = ""


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of one write to one file. ``append`` may be called again: it starts afresh."""

    notes: Notes
    place: Target
    path: str
    day: date
    added: list[RetainLine] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    elsewhere: list[Skipped] = field(default_factory=list)
    page: Page | None = None

    def skip_known_elsewhere(
        self, given: Sequence[_Given], others: Mapping[str, Page], recent: Sequence[str]
    ) -> list[_Given]:
        """What no other file knows; the lines that know the rest get its sources."""
        rest: list[_Given] = []
        for each in given:
            found = None if each.body else find(each.line, others, recent)
            if found is not None and self._cite_elsewhere(found, each.line, others[found.path]):
                self.elsewhere.append(_skipped(each.line, found, found.line))
            else:
                rest.append(each)
        self.skipped = list(self.elsewhere)
        return rest

    def _cite_elsewhere(self, found: Repeat, line: RetainLine, page: Page) -> bool:
        """Add the source to a line of another file; whether that line is still there."""
        cited = _with_source(found.line, line, found.why)
        if cited == found.line:
            return True
        is_there = False

        def change(text: str | None) -> str | None:
            nonlocal is_there
            done = with_line(text or "", found.raw, cited)
            is_there = done is not None
            return text if done is None else done[0]

        page.seen = None  # until it is on disk
        self.notes._workspace.edit(found.path, change)
        if is_there:
            page.rewrite(found.line, found.raw, rewritten(found.raw, cited))
            page.stamp = (-1, 0)
            self.notes._pages.keep(found.path, page)
        return is_there

    def append(self, text: str | None, given: Sequence[_Given]) -> str | None:
        self.added, self.skipped = [], list(self.elsewhere)
        before = text or self.notes._new_text(self.place, self.day, given)
        page = self.page = self.notes._pages.known(self.path, before)
        page.seen = None  # from here on it knows lines that are not yet on disk
        cited: dict[str, RetainLine] = {}
        new: dict[str, _Given] = {}
        for each in given:
            found = find(each.line, {self.path: page}, [self.path])
            if found is None or (each.body and not _has_body(before, found.raw, each.body)):
                line = self._finished(each.line)
                new[render(line)] = replace(each, line=line)
                page.add(line, render(line))
                continue
            known = cited.get(found.raw, found.line)
            self.skipped.append(_skipped(each.line, found, known))
            if (better := _with_source(known, each.line, found.why)) != known:
                cited[found.raw] = better
        for raw, line in cited.items():
            if raw in new:  # said twice in this very write
                new[raw] = replace(new[raw], line=line)
                page.rewrite(line, raw, render(line))
            else:
                before = _cited(before, page, raw, line)
        self.added = [each.line for each in new.values()]
        after = _appended(before, page, list(new.values()))
        page.stamp = stamp_of(after)
        return after

    def _finished(self, line: RetainLine) -> RetainLine:
        return replace(line, id=line.id or self.notes._new_id())


def _skipped(line: RetainLine, found: Repeat, known: RetainLine) -> Skipped:
    fresh = tuple(each for each in line.sources if each not in known.sources)
    return Skipped(
        line=line,
        kept=found.line.text,
        why=found.why,
        path=found.path,
        id=line_id(found.line),
        evidence=fresh if line.sources else None,
    )


def _with_source(known: RetainLine, new: RetainLine, why: str) -> RetainLine:
    """The known line with the sources of the new; what a user says too is trusted as a user's.

    Only to the letter: what is merely near has words that the user did not say.
    """
    sources = tuple(dict.fromkeys((*known.sources, *new.sources)))
    if len(known.sources) >= _MOST_SOURCES:
        sources = known.sources
    is_said = why == "repeat" and new.trust == "user" and not known.had_hidden
    extra = dict(known.extra)
    if known.confidence is not None:  # evidence will move it, and it will be said again
        extra.setdefault(STATED, known.confidence)
    return replace(
        known,
        sources=sources[:_MOST_SOURCES],
        trust="user" if is_said else known.trust,
        extra=extra,
    )


def _cited(text: str, page: Page, raw: str, line: RetainLine) -> str:
    """The text in which the line ``raw`` has the sources that ``line`` has."""
    done = with_line(text, raw, line)
    if done is None:
        return text
    after, at = done
    page.rewrite(line, raw, rewritten(raw, line))
    if at < page.end:
        page.end += len(after) - len(text)
    return after


def _appended(text: str, page: Page, new: Sequence[_Given]) -> str:
    """The text with the new items at the end of their section."""
    if not new:
        return text
    rendered = [render(each.line) for each in new]
    newline = "\n"
    if 0 < page.end <= len(text) and text[page.end - 1] == "\n" and text[page.end - 2] != "\r":
        block = "".join(f"{line}\n" for line in rendered)
        after, start = text[: page.end] + block + text[page.end :], page.end
    else:
        after = append_to_section(text, HEADING, *rendered)
        start = after.rindex(rendered[0])
        newline = "\r\n" if after.find("\r\n", start) == start + len(rendered[0]) else newline
    for line, each in zip(rendered, new, strict=True):
        if each.body:
            at = after.index(line, start) + len(line)
            body = newline.join(("", *_indented(each.body)))
            after = after[:at] + body + after[at:]
    page.end = _end_of_section(after, rendered[-1], start, new[-1].body)
    return after


def _end_of_section(text: str, last: str, start: int, body: str) -> int:
    """Where the next line may go without looking at the whole text again; -1 if that is unsure."""
    end = text.index(last, start) + len(last) + 1
    if body or end > len(text) or text[end - 1] != "\n":
        return -1
    return end if text[end : end + 1] in ("", "\n") else -1


def _indented(body: str) -> list[str]:
    """The lines of a body as part of a list item; a table needs a blank line above it."""
    lines = [f"  {line}".rstrip() for line in (raw.rstrip("\r\n") for raw in split_lines(body))]
    return lines if lines[0].startswith("  `") else ["", *lines]


def _has_body(text: str, raw: str, body: str) -> bool:
    block = "\n".join((raw, *_indented(body)))
    return block in text.replace("\r\n", "\n")


# ── what may be written ─────────────────────────────────────────────────────────────────────


def _cleaned(given: RetainLine | Note) -> _Given:
    """The line without secrets and hidden characters, and with the trust that is left to it."""
    text, hid_text = _shown(given.text)
    entity, hid_entity = _shown(given.entity or "")
    body, hid_body = strip_hidden(given.body if isinstance(given, Note) else "")
    if not text:
        raise UsageError("A memory without a text cannot be written.", hint="Write what it is.")
    line = given if isinstance(given, RetainLine) else _as_line(given)
    hid = given.had_hidden or hid_text or hid_entity or hid_body
    trust = "agent" if hid and given.trust == "user" else given.trust
    line = replace(line, text=text, entity=entity or None, trust=trust, had_hidden=hid)
    return _Given(line=line, body=redact(body).strip("\r\n"))


def _shown(text: str) -> tuple[str, bool]:
    """The text on one line and without secrets, also such as hidden characters had split."""
    return visible_line(redact(visible_line(redact(text)))), strip_hidden(text)[1]


def _as_line(note: Note) -> RetainLine:
    return RetainLine(
        kind=note.kind,
        text="x",
        confidence=note.confidence,
        sources=note.sources,
        observed=note.observed,
        since=note.since,
        until=note.until,
        user=note.user,
        chat=note.chat,
    )


_MAY_STAND: Final[dict[str, frozenset[Trust]]] = {
    "model": frozenset({"user"}),
    "person": frozenset({"user", "agent"}),
    "anywhere": frozenset({"user", "agent", "tool", "import"}),
}
"""The trust of what may stand in ``MEMORY.md``, by who asks for it."""


def _redirected(aside: Sequence[_Given], path: str) -> str:
    count = len(aside)
    what = "One memory stands" if count == 1 else f"{count} memories stand"
    if any(each.line.trust == "agent" for each in aside):
        why = "on more than what the user said"
    else:
        why = "on what a tool or an import said"
    return (
        f"{what} {why}, which does not go into MEMORY.md before a person confirms it: "
        f"written to {path} instead."
    )
