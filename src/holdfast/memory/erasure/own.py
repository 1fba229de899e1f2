"""What our files say by themselves: nobody said it, so no erasure takes it away.

The README and the comments at the head of a file, if they are as we wrote them; marks of headings
and memory lines; of a task record its headings, the names of its fields, and what stands in the
fields that has one of our words, an id, a time or sources.

Promise: whatever is erased, a task keeps its id, status, type, times and sources, and its sections
can be read (``tests/memory/test_erasure.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import Final

from holdfast.markdown import split_lines
from holdfast.matching import Span
from holdfast.memory.forgetting.archiving import COMMENTS
from holdfast.memory.notes.wording import README, new_file
from holdfast.memory.tasks.kinds import TYPES, type_name
from holdfast.memory.tasks.layout import Layout, lay_out
from holdfast.memory.tasks.wording import HEADINGS, NOTES, field_named, section_named

__all__ = ["Own", "is_task", "others_words", "own_parts"]

_LINE_MARKS: Final = re.compile(
    r"^(?:#{1,6}[ \t]+(?:Retain[ \t]*$)?|[ \t]*[-*+][ \t]+[WBOS](?:\(c=[0-9.]{1,8}\))?:?(?=\s))",
    re.MULTILINE,
)
_ITEM_MARKS: Final = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?:)?[ \t]*"
    r"(?:\[(?:tool|工具)\])?[ \t]*(?:(?:worked|failed|有效|无效):)?",
    re.MULTILINE,
)
_OUR_ID: Final = re.compile(r"(?:[a-z]-)?[0-9a-z]{12,32}")
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[0-9T:+. -]{0,24}Z?")
_DIFF_MARK: Final = re.compile(r"^[+ -]", re.MULTILINE)
_HEAD: Final = 2_000
_FIELD: Final = re.compile(r"(?:[-*+] )?([^:：]{1,24})[:：] ?(.*)")


@dataclass(slots=True)
class Own:
    """The parts of one document that are ours, in order and apart."""

    spans: list[Span] = field(default_factory=list)
    fields: frozenset[int] = frozenset()
    """Lines, from 0, that hold a field of a record: what is erased there is put in its place."""
    layout: Layout | None = None


def own_parts(text: str, *, of_task: bool) -> Own:
    if text == README:
        return Own(spans=[Span(0, len(text))])
    found = [Span(*mark.span()) for mark in _LINE_MARKS.finditer(text)]
    found += [
        Span(at, at + len(each)) for each in _comments() for at in [text.find(each)] if at >= 0
    ]
    if not of_task:
        return Own(spans=_joined(found))
    layout = lay_out(text)
    starts = list(accumulate(map(len, layout.source), initial=0))
    found += _in_fields(layout, starts)
    found += _in_sections(layout, starts, text)
    fields = frozenset(span.start for span in layout.fields.values())
    return Own(spans=_joined(found), fields=fields, layout=layout)


def is_task(text: str, path: str) -> bool:
    """Whether it is a record of a task, or was one when it was put aside."""
    if path.startswith(("tasks/", "archive/tasks/")):
        return True
    if path and not path.startswith("."):
        return False
    lines = (raw.strip() for raw in split_lines(text[:_HEAD]))
    names = {field_named(found[1]) for line in lines if (found := _FIELD.fullmatch(line))}
    return {"status", "id"} <= names


def others_words(data: bytes, *, is_diff: bool = False) -> str:
    """A file of memory, or a difference of two, without what is ours."""
    text = data.decode("utf-8", "surrogateescape")
    text = _DIFF_MARK.sub("", text) if is_diff else text
    text = "".join(raw for raw in split_lines(text) if not _is_own_line(raw.strip()))
    pieces: list[str] = []
    at = 0
    for start, end in own_parts(text, of_task=True).spans:
        pieces.append(text[at:start])
        at = end
    return "\n".join([*pieces, text[at:]])


def _is_own_line(bare: str) -> bool:
    if bare in _lines():
        return True
    if bare[:1] == "#":
        return section_named(bare.lstrip("# ")) is not None
    if (found := _FIELD.fullmatch(bare)) is None or (name := field_named(found[1])) is None:
        return False
    return name != "sources" and _is_ours(name, found[2])


@cache
def _comments() -> tuple[str, ...]:
    heads = [
        new_file(target, "", chinese=chinese).partition("\n\n")[2].strip()
        for target in ("daily", "memory", "topic")
        for chinese in (False, True)
    ]
    return (*heads, *COMMENTS, *(f"<!-- {note} -->" for note in NOTES.values()))


@cache
def _lines() -> frozenset[str]:
    return frozenset(each.strip() for each in (*README.splitlines(), *_comments())) - {""}


def _in_fields(layout: Layout, starts: list[int]) -> Iterator[Span]:
    for name, span in layout.fields.items():
        line = layout.source[span.start]
        at = line.rfind(span.text) if span.text else len(line)
        end = at + len(span.text) if _is_ours(name, span.text) else at
        yield Span(starts[span.start], starts[span.start] + end)


def _is_ours(name: str, value: str) -> bool:
    match name:
        case "id":
            return _OUR_ID.fullmatch(value) is not None
        case "type":
            return type_name(value) in TYPES
        case "status":
            words = (words[key] for words in HEADINGS.values() for key in words)
            return any(value.casefold() in each for each in words)
        case "opened" | "closed":
            return _TIME.fullmatch(value) is not None
        case "trust":
            return value in {"agent", "tool", "import"}
        case _:
            return name == "sources"  # names in them are changed by themselves


def _in_sections(layout: Layout, starts: list[int], text: str) -> Iterator[Span]:
    for section in layout.sections:
        heading = section.start - 1
        yield Span(starts[heading], starts[heading + 1])
        begin, end = starts[section.start], starts[section.end]
        for mark in _ITEM_MARKS.finditer(text, begin, end):
            yield Span(*mark.span())


def _joined(spans: list[Span]) -> list[Span]:
    """In order; those that touch are one."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        elif span.end > span.start:
            joined.append(span)
    return joined
