"""A record as it should read, put into the file somebody may have edited: line by line.

Promise: what the new record says is what ``record.parse`` reads afterwards, and every line that
is no part of the change stays to the byte: foreign sections, notes between the items, the order,
the newline style (``tests/memory/test_tasks_editing.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import TypeAlias

from holdfast.markdown import append_to_section, quote, split_lines
from holdfast.memory.tasks.layout import Layout, Section
from holdfast.memory.tasks.record import Task, field_values, lesson_line, mishap_line, read, render
from holdfast.memory.tasks.wording import HEADINGS, SECTIONS, language_for, language_of
from holdfast.text import normalise

__all__ = ["rewrite"]

_Lists: TypeAlias = dict[str, tuple[Sequence[str], Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    """Lines ``start`` to ``end`` give way to ``lines``, which have no endings yet."""

    start: int
    end: int
    lines: Sequence[str]


def rewrite(
    text: str | None, after: Task, *, zone: tzinfo | None = None, language: str = "auto"
) -> str:
    """The file with what ``after`` says; a new file if there is none.

    ``after`` is what ``record.parse`` made of the text, with what is to be different. A file that
    has headings or fields goes on in their language, whatever ``language`` says.
    """
    if text is None or not text.strip():
        return render(after, language=language)
    before, layout = read(text, after.path, zone=zone)
    language = _language(layout, before, language)
    edits = [*_of_title(layout, before, after), *_of_fields(layout, before, after, language)]
    for name in ("request", "result"):
        if getattr(before, name) != getattr(after, name):
            edits += _of_prose(layout, name, getattr(after, name))
    lists = _lists(before, after, language)
    for name, (old, new) in lists.items():
        edits += _of_items(layout, name, old, new)
    text = _applied(layout.source, edits)
    return _with_new_sections(text, layout, after, lists, language)


def _language(layout: Layout, before: Task, setting: str) -> str:
    """The language of the headings and fields there are, else the one that is set."""
    ours = [layout.source[section.start - 1] for section in layout.sections]
    for key, span in layout.fields.items():
        label = layout.source[span.start][: _colon(layout, key)]
        if key != "id":  # it has the same name in both
            ours.append(label)
    if ours:
        return language_of("".join(ours))
    return language_for(setting, f"{before.title}\n{before.request}")


def _colon(layout: Layout, key: str) -> int:
    """Where in its line the name of a field ends."""
    line = layout.source[layout.fields[key].start]
    return min(at for at in (line.find(":"), line.find("：")) if at >= 0)


def _lists(before: Task, after: Task, language: str) -> _Lists:
    """The items of each list as they were read and as they shall be written."""
    old, new = (_items_of(task, language) for task in (before, after))
    return {name: (old[name], new[name]) for name in old}


def _items_of(task: Task, language: str) -> dict[str, Sequence[str]]:
    return {
        "progress": task.progress,
        "errors": [mishap_line(each) for each in task.errors],
        "patterns": [lesson_line(each, language) for each in task.patterns],
    }


# ── title and fields ────────────────────────────────────────────────────────────────────────


def _of_title(layout: Layout, before: Task, after: Task) -> list[_Edit]:
    if before.title == after.title:
        return []
    line = f"# {after.title}"
    if layout.title_at is None:
        return [_Edit(start=layout.front_end, end=layout.front_end, lines=[line, ""])]
    return [_Edit(start=layout.title_at.start, end=layout.title_at.end, lines=[line])]


def _of_fields(layout: Layout, before: Task, after: Task, language: str) -> list[_Edit]:
    old, new = field_values(before, language), field_values(after, language)
    edits: list[_Edit] = []
    added: list[str] = []
    for key, value in new.items():
        if value == old[key]:
            continue
        if (there := layout.fields.get(key)) is not None:
            lines = [_field(layout, key, value)] if value else []
            edits.append(_Edit(start=there.start, end=there.end, lines=lines))
        elif value:
            name = HEADINGS[language][key][0]
            is_bare = layout.front_matter or layout.plain_fields
            added.append(f"{name}: {value}" if is_bare else f"- {name}: {value}")
    return [*edits, _new_fields(layout, added)] if added else edits


def _field(layout: Layout, key: str, value: str) -> str:
    """The line of a field with another value: its name and bullet stay as they were written."""
    span = layout.fields[key]
    line = layout.source[span.start].rstrip("\r\n")
    return f"{line[: _colon(layout, key) + 1]} {value}".rstrip()


def _new_fields(layout: Layout, added: list[str]) -> _Edit:
    at = layout.head_end
    if not layout.fields:
        above = [""] if at else []
        return _Edit(start=at, end=at, lines=[*above, *added, *_parting(layout, at)])
    if not layout.front_matter and _parting(layout, at):
        at -= 1  # the last field goes on in the next line: nothing may come between
    return _Edit(start=at, end=at, lines=added)


# ── sections ────────────────────────────────────────────────────────────────────────────────


def _of_prose(layout: Layout, name: str, text: str) -> list[_Edit]:
    found = [section for section in layout.sections if section.name == name]
    if not found:
        return []  # made at the end
    lines = split_lines(quote(text)) if text else []
    bare = [line.rstrip("\r\n") for line in lines]
    quotes = [each for section in found for each in section.quotes]
    if quotes:
        start, end = quotes[-1].start, quotes[-1].end
        goes_on = end < len(layout.source) and layout.source[end].strip()  # into the next line
        return [_Edit(start=start, end=end, lines=[*bare, ""] if goes_on else bare)]
    return [_below_heading(layout, found[0], bare)] if bare else []


def _below_heading(layout: Layout, section: Section, lines: Sequence[str]) -> _Edit:
    """Directly below the heading: whatever else the section holds, open code even, comes after."""
    at = section.start
    return _Edit(start=at, end=at, lines=["", *lines, *_parting(layout, at)])


def _parting(layout: Layout, at: int) -> list[str]:
    """What must stand between new lines and line ``at``, so that this stays what it is."""
    rest = (line.rstrip("\r\n") for line in layout.source[at:])
    following = next((line for line in rest if line.strip()), "")
    if following.startswith(("  ", "\t", " \t")):
        return ["", "<!-- -->", ""]  # else a list item would take it in
    is_text = at < len(layout.source) and following and layout.source[at].strip()
    return [""] if is_text and not following.startswith(("- ", "* ", "+ ")) else []


def _of_items(layout: Layout, name: str, old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    spans = layout.spans(name)
    edits = [
        _Edit(start=span.start, end=span.end, lines=_item(layout, span.end, new, place))
        for place, span in enumerate(spans)
        if place >= len(new) or old[place] != new[place]
    ]
    more = [f"- {line}" for line in new[len(spans) :]]
    section = layout.first(name)
    if not more or section is None:
        return edits
    if not spans:
        return [*edits, _below_heading(layout, section, more)]
    end = spans[-1].end
    return [*edits, _Edit(start=end, end=end, lines=[*more, *_parting(layout, end)])]


def _item(layout: Layout, end: int, new: Sequence[str], place: int) -> list[str]:
    """The item in place of the one that ends there; none if there is none any more."""
    if place >= len(new):
        return []
    parting = _parting(layout, end)
    return [f"- {new[place]}", *(parting if len(parting) > 1 else [])]


def _with_new_sections(
    text: str,
    layout: Layout,
    after: Task,
    lists: _Lists,
    language: str,
) -> str:
    taken = {normalise(title) for title in (*layout.headings, after.title)}
    for name in SECTIONS:
        if layout.first(name) is not None:
            continue
        heading = next(each for each in HEADINGS[language][name] if normalise(each) not in taken)
        if name in lists:
            items = [f"- {line}" for line in lists[name][1]]
            text = append_to_section(text, heading, *items) if items else text
        elif said := getattr(after, name):
            text = _with_prose_section(text, heading, said)
    return text


def _with_prose_section(text: str, heading: str, said: str) -> str:
    """A quote of several lines at the end: its first line makes the section."""
    first, *more = [line.rstrip("\r\n") for line in split_lines(quote(said))]
    text = append_to_section(text, heading, first)
    lines = split_lines(text)
    ending = lines[-1][len(lines[-1].rstrip("\r\n")) :]
    return text + "".join(f"{line}{ending}" for line in more)


def _applied(source: Sequence[str], edits: Sequence[_Edit]) -> str:
    """The lines with every edit done; two at one place stay in the order they were given."""
    newline = next((_ending(line) for line in source if _ending(line)), "\n")
    lines = list(source)
    if edits and lines and not _ending(lines[-1]):
        lines[-1] += newline
    order = [(edit.start, edit.end > edit.start, place) for place, edit in enumerate(edits)]
    for _, _, place in sorted(order, reverse=True):  # from the end, so that the places stay
        edit = edits[place]
        lines[edit.start : edit.end] = [f"{line}{newline}" for line in edit.lines]
    return "".join(lines)


def _ending(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
