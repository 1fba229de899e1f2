"""A memory line out of its file and back: where it stood is in its hidden comment.

A line in the archive is the line as it was, with ``archived`` (when) and ``from`` (file and line)
at the end of its comment. Lines are numbered as if everything in the archive were back in its
file: so they come back to their places in any order. An item deep below another one reads as code
when that one is gone: so it leaves with it, and does not come back without it.

Promise: ``unmarked(marked(x)) == x`` for every line; what is taken out and put back gives the
same bytes if nobody edited the file meanwhile, and changes no other byte if somebody did
(``tests/memory/test_archive.py``). Pure.

One exception: where the first line of a file was moved and ``---`` is the first one now, what
follows reads as front matter; lines may then come back to the end of their section.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.errors import UsageError
from holdfast.markdown import append_to_section, parse, split_lines
from holdfast.memory.forgetting.policy import Remembered, remembered_in
from holdfast.memory.notes.wording import is_chinese
from holdfast.retain.documents import lines as memory_lines

__all__ = [
    "COMMENTS",
    "HEADING",
    "Marked",
    "Unit",
    "above",
    "add_to_archive",
    "find_unit",
    "marked",
    "missing_parents",
    "numbered",
    "place_of",
    "put_back",
    "remove_from_archive",
    "task_marked",
    "task_unmarked",
    "unmarked",
    "unread_without",
    "without",
]

HEADING: Final = "Retain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """What the comment of an archived line says: when it was moved, from where, in what form."""

    archived: str
    path: str
    number: int | None = None
    end: str = "\n"
    lines: int = 1
    is_cut: bool = False
    """The last line of the unit had no ending."""
    indent: str = ""
    under: str | None = None
    """Its heading, where that could not be the heading in the archive; empty: it had none."""
    copies: int = 1
    """How many units of this very text the file had."""

    def __str__(self) -> str:
        said: dict[str, object] = {"archived": self.archived}
        said["from"] = self.path if self.number is None else f"{self.path}#L{self.number}"
        said |= {"end": self.end} if self.end != "\n" else {}
        said |= {"lines": self.lines} if self.lines != 1 else {}
        said |= {"cut": True} if self.is_cut else {}
        said |= {"indent": self.indent} if self.indent else {}
        said |= {"under": self.under} if self.under is not None else {}
        said |= {"copies": self.copies} if self.copies != 1 else {}
        written = json.dumps(said, separators=(",", ":"))[1:-1]
        return written.replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A memory line with what belongs to it, as its lines stand in a file."""

    text: str
    heading: str
    mark: Marked


_SAID: Final = (
    r'"archived":"(?P<archived>[^"\\]{0,60})","from":"(?P<from>(?:[^"\\]|\\.){0,400})"'
    r'(?:,"end":"(?P<end>(?:\\[rn]){0,2})")?(?:,"lines":(?P<lines>\d{1,6}))?(?P<cut>,"cut":true)?'
    r'(?:,"indent":"(?P<indent>[^"]{1,200})")?(?:,"under":"(?P<under>(?:[^"\\]|\\.){0,1000})")?'
    r'(?:,"copies":(?P<copies>\d{1,6}))?'
)
_COMMENT: Final = re.compile(r"<!-- hf (\{.*\}) -->([ \t]*)", re.DOTALL)
_INSIDE: Final = re.compile(rf",{_SAID}\}} -->(?P<after>[ \t]*)")
_ALONE: Final = re.compile(rf" <!-- hf \{{{_SAID}\}} -->")


def marked(line: str, mark: Marked) -> str:
    """A line, without its ending, with the mark at the end of its comment."""
    at = line.rfind("<!-- hf ")
    found = _COMMENT.fullmatch(line, at) if at >= 0 else None
    if found is not None and _holds_something(found[1]):
        return f"{line[:at]}<!-- hf {found[1][:-1]},{mark}}} -->{found[2]}"
    return f"{line} <!-- hf {{{mark}}} -->"


def _holds_something(comment: str) -> bool:
    try:
        held = json.loads(comment)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, dict) and bool(held) and "archived" not in held


def unmarked(line: str) -> tuple[str, Marked] | None:
    """The line as it was, and what the mark says; None if it has none."""
    at = line.rfind('"archived":"')
    if at < 0:
        return None
    if found := _INSIDE.fullmatch(line, at - 1):
        return f"{line[: found.start()]}}} -->{found['after']}", _mark(found)
    at = line.rfind(" <!-- hf {")
    if at >= 0 and (found := _ALONE.fullmatch(line, at)):
        return line[:at], _mark(found)
    return None


def _mark(found: re.Match[str]) -> Marked:
    path, number = place_of(_text(found["from"]))
    return Marked(
        archived=found["archived"],
        path=path,
        number=number,
        end="\n" if found["end"] is None else _text(found["end"]),
        lines=int(found["lines"] or 1),
        is_cut=found["cut"] is not None,
        indent=_text(found["indent"] or ""),
        under=None if found["under"] is None else _text(found["under"]),
        copies=int(found["copies"] or 1),
    )


def _text(written: str) -> str:
    return str(json.loads(f'"{written}"'))


_PLACE: Final = re.compile(r"(.*)#L(\d{1,9})", re.DOTALL)


def place_of(source: str) -> tuple[str, int | None]:
    """Path and line of ``memory/2026-03-04.md#L12``."""
    found = _PLACE.fullmatch(source)
    return (found[1], int(found[2])) if found else (source, None)


# ── a whole record ──────────────────────────────────────────────────────────────────────────

_TASK: Final = re.compile(rf"\n<!-- hf \{{{_SAID}\}} -->\n")


def task_marked(text: str, mark: Marked) -> str:
    """A record as it stands in the archive: whole, and a last line that says where it was."""
    return f"{text}\n<!-- hf {{{mark}}} -->\n"


def task_unmarked(text: str) -> tuple[str, Marked] | None:
    at = text.rfind("\n<!-- hf {")
    if at < 0 or (found := _TASK.fullmatch(text, at)) is None:
        return None
    return text[:at], _mark(found)


# ── out of a file ───────────────────────────────────────────────────────────────────────────


def numbered(present: int, away: Iterable[Marked]) -> int:
    """The number of a line if everything that is away were back in the file."""
    number = present
    for mark in sorted(_numbered(away)):
        if mark[0] <= number:
            number += mark[1]
    return number


def _numbered(away: Iterable[Marked]) -> list[tuple[int, int]]:
    return [(mark.number, mark.lines) for mark in away if mark.number is not None]


def without(text: str, units: Sequence[str]) -> tuple[str, list[int]]:
    """The text without these units, and which of them were there.

    Each is given by its lines; the first of equal ones goes first.
    """
    source = split_lines(text)
    gone: list[int] = []
    for place, unit in enumerate(units):
        lines = split_lines(unit)
        at = find_unit(source, lines, 0)
        if at is not None:
            del source[at : at + len(lines)]
            gone.append(place)
    return "".join(source), gone


def find_unit(source: Sequence[str], lines: Sequence[str], near: int) -> int | None:
    """Where these lines stand, the place nearest to line ``near``; from 0."""
    if near > 0 and list(source[near - 1 : near - 1 + len(lines)]) == list(lines):
        return near - 1
    places = [
        at
        for at in range(len(source) - len(lines) + 1)
        if source[at] == lines[0] and list(source[at : at + len(lines)]) == list(lines)
    ]
    return min(places, key=lambda at: (abs(at + 1 - near), at), default=None)


# ── what stands below what ──────────────────────────────────────────────────────────────────


def unread_without(text: str, leaving: Collection[Remembered]) -> list[Remembered]:
    """Which other memory lines of a text would no longer be read if these left it."""
    source = split_lines(text)
    gone = {each.number + line for each in leaving for line in range(len(split_lines(each.text)))}
    kept = [number for number in range(1, len(source) + 1) if number not in gone]
    left = "".join(source[number - 1] for number in kept)
    read = gone.union(kept[each.number - 1] for each in memory_lines(left))
    if all(each.number in read for each in memory_lines(text)):
        return []
    return [each for each in remembered_in("", text) if each.number not in read]


def above(line: Remembered, others: Iterable[Remembered]) -> Remembered | None:
    """The nearest of the others that a line may stand below."""
    before = [each for each in others if each.number < line.number]
    outer = [each for each in before if _indent(each.text) < _indent(line.text)]
    return max(outer or before, key=lambda each: each.number, default=None)


def missing_parents(text: str | None, units: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
    """Which others have to come back with these units, so that these are read at their places."""
    away = [unit.mark for unit in others]
    if text is None or _placed(text, units, away) is not None:
        return []
    upwards = sorted(others, key=_number, reverse=True)
    lines = [_parents(unit, upwards) for unit in units if _indent(unit.text)]
    for depth in range(1, min(_DEEPEST, max(map(len, lines), default=0)) + 1):
        added = list(dict.fromkeys(parent for line in lines for parent in line[:depth]))
        away = [unit.mark for unit in others if unit not in added]
        if _placed(text, [*units, *added], away) is not None:
            return added
    return []


_DEEPEST: Final = 16


def _parents(unit: Unit, upwards: Sequence[Unit]) -> list[Unit]:
    """The units that it may stand below, from the nearest one outwards."""
    found: list[Unit] = []
    number, indent = unit.mark.number or 0, _indent(unit.text)
    for each in upwards:
        if 0 < _number(each) < number and _indent(each.text) < indent:
            found.append(each)
            indent = _indent(each.text)
    return found


def _number(unit: Unit) -> int:
    return unit.mark.number or 0


def _indent(text: str) -> int:
    spread = text[:200].removeprefix("\ufeff").expandtabs(4)
    return len(spread) - len(spread.lstrip(" "))


# ── the file of the archive ─────────────────────────────────────────────────────────────────

_TITLES: Final = {"en": "Archive of {}", "zh": "{} 的归档"}
_ABOUT: Final = {
    "en": (
        "Memories that were forgotten: because somebody asked for it, or by age and importance. "
        "Nothing is lost. Their ids: holdfast archive list. "
        "To have one back: holdfast archive restore ID"
    ),
    "zh": (
        "已忘记的记忆：有人要求忘记，或按时间和重要程度移到这里。内容都在，没有丢失。"
        "查看编号：holdfast archive list。恢复：holdfast archive restore 编号"
    ),
}
COMMENTS: Final = tuple(f"<!-- {about} -->" for about in _ABOUT.values())
"""What a file of the archive says about itself, in each language."""


def _header(path: str, language: str) -> str:
    return f"# {_TITLES[language].format(path)}\n\n<!-- {_ABOUT[language]} -->\n"


def add_to_archive(
    text: str | None, path: str, units: Sequence[Unit], language: str = "auto"
) -> str:
    """The file of the archive with these units under their headings.

    A new file speaks the given language, or that of the units.
    """
    new = text
    if new is None or not new.strip():
        sample = " ".join(unit.text.partition("<!--")[0] for unit in units)
        new = _header(path, "zh" if is_chinese(language, sample) else "en")
    by_heading: dict[str, list[Unit]] = {}
    for unit in units:
        is_heading = _is_heading(unit.heading)
        mark = unit.mark if is_heading else replace(unit.mark, under=unit.heading)
        heading = unit.heading if is_heading else HEADING
        by_heading.setdefault(heading, []).append(replace(unit, mark=mark))
    for heading, mine in by_heading.items():
        firsts = [_archived_line(unit) for unit in mine]
        new = append_to_section(new, heading, *firsts)
        for unit, first in zip(mine, firsts, strict=True):
            new = _with_body(new, first, split_lines(unit.text)[1:])
    return new


def _is_heading(text: str) -> bool:
    """Whether the archive can have a heading that reads so."""
    read = [(block.kind, block.text) for block in parse(f"## {text}").blocks] if text else []
    is_title = text.startswith("Archive of ") or text.endswith(" 的归档")
    return read == [("heading", text)] and not is_title


def _archived_line(unit: Unit) -> str:
    first = split_lines(unit.text)[0].rstrip("\r\n")
    indent = first[: len(first) - len(first.lstrip("\ufeff \t"))]
    return marked(first[len(indent) :], replace(unit.mark, indent=indent))


def _with_body(text: str, first: str, body: Sequence[str]) -> str:
    if not body:
        return text
    source = split_lines(text)
    at = max(place for place, line in enumerate(source) if line.rstrip("\r\n") == first)
    last = body[-1] if body[-1].endswith(("\n", "\r")) else f"{body[-1]}\n"
    source[at + 1 : at + 1] = [*body[:-1], last]
    return "".join(source)


# ── back into a file ────────────────────────────────────────────────────────────────────────


def remove_from_archive(text: str, path: str, firsts: Sequence[str]) -> str | None:
    """The file of the archive without the units that begin so; None if nothing else is left."""
    source = split_lines(text)
    for first in firsts:
        at = next((n for n, line in enumerate(source) if line.rstrip("\r\n") == first), None)
        if at is not None:
            found = unmarked(first)
            del source[at : at + (found[1].lines if found else 1)]
    left = "".join(source)
    return None if _is_bare(left, path) else left


def _is_bare(text: str, path: str) -> bool:
    """Whether only our own words are left: the header, and headings without anything below."""
    rest = text
    for language in _ABOUT:
        rest = rest.removeprefix(_header(path, language))
    return rest != text and all(
        not line.strip() or re.fullmatch(r"#{1,6} .*\s*", line) for line in split_lines(rest)
    )


def put_back(text: str | None, units: Sequence[Unit], away: Sequence[Marked]) -> str:
    """The file with these units where they were; ``away`` is what stays in the archive.

    Where the place is no longer a place for a memory line, it goes to the end of its section.
    """
    units = sorted(units, key=_number)
    if text is not None and (placed := _placed(text, units, away)) is not None:
        return placed
    for unit in units:
        if text is None:
            name = unit.mark.path.rpartition("/")[2].removesuffix(".md")
            text = f"# {name}\n"
        placed = _placed(text, [unit], away)
        if placed is None:  # the others are counted as if it were still away from its place
            away = [*away, unit.mark]
        text = _appended(text, unit) if placed is None else placed
    return text or ""


def _placed(text: str, units: Sequence[Unit], away: Sequence[Marked]) -> str | None:
    """The text with all units at their numbers; None if these are no places for them."""
    source = split_lines(text)
    counted = _numbered(away)
    places: dict[int, Unit] = {}
    for unit in sorted(units, key=_number):
        if unit.mark.number is None:
            return None
        before = sum(lines for number, lines in counted if number < unit.mark.number)
        at = unit.mark.number - before - 1
        if at > len(source):
            return None
        places[at + 1] = unit
        source[at:at] = _joined(source, split_lines(unit.text), at)
    new = "".join(source)
    return new if _reads_well(text, new, places) else None


def _joined(source: Sequence[str], lines: list[str], at: int) -> list[str]:
    """The lines with the endings they need between their neighbours."""
    if at < len(source) and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    if at == len(source) and source and not source[-1].endswith(("\n", "\r")):
        lines[0] = f"\n{lines[0]}"
    return lines


def _reads_well(before: str, after: str, places: Mapping[int, Unit]) -> bool:
    """Whether the units are memory lines there, below their headings, and all others still are."""
    found = {each.number: each.heading for each in remembered_in("", after)}
    if len(found) != sum(1 for _ in memory_lines(before)) + len(places):
        return False
    known = {line.strip("# \t\r\n") for line in split_lines(before) if "#" in line}
    return all(
        number in found and (found[number] == unit.heading or unit.heading not in known)
        for number, unit in places.items()
    )


def _appended(text: str, unit: Unit) -> str:
    first, *body = split_lines(unit.text)
    line = first.strip("\ufeff \t\r\n")
    try:
        new = append_to_section(text, unit.heading or HEADING, line)
    except UsageError:
        new = append_to_section(text, HEADING, line)
    return _with_body(new, line, body)
