"""Where in a record its title, fields, sections and list items stand: lines of the file.

Promise: every line belongs to at most one of them; what is none of them is foreign and has no
place here, so nobody can change it by accident (``tests/memory/test_tasks_editing.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from holdfast.markdown import Block, Document, parse
from holdfast.memory.tasks.wording import field_named, section_named

__all__ = ["Layout", "Section", "Span", "lay_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Lines ``start`` to ``end``, counted from 0, ``end`` not included, and what they say."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of the record: its heading ends before ``start``, it ends before ``end``."""

    name: str
    start: int
    end: int
    quotes: tuple[Span, ...] = ()
    items: tuple[Span, ...] = ()
    body: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A record by its lines."""

    source: tuple[str, ...]
    title: str
    title_at: Span | None
    fields: dict[str, Span] = field(default_factory=dict)
    front_matter: bool = False
    plain_fields: bool = False
    """The last field stands in a line of its own, not in a list."""
    front_end: int = 0
    """Where the front matter ends, which must stay the first thing in the file."""
    head_end: int = 0
    """Where the next field goes."""
    sections: tuple[Section, ...] = ()
    headings: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, str]:
        return {name: span.text for name, span in self.fields.items()}

    def first(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def prose(self, name: str) -> str:
        """What a section says: its last quote, where we write; else all of it."""
        found = [section for section in self.sections if section.name == name]
        quotes = [quote for section in found for quote in section.quotes]
        if quotes:
            return quotes[-1].text
        return next((section.body for section in found if section.body), "")

    def items(self, name: str) -> tuple[str, ...]:
        return tuple(span.text for span in self.spans(name))

    def spans(self, name: str) -> tuple[Span, ...]:
        """The list items of a section, in the order of the file."""
        return tuple(
            item for section in self.sections if section.name == name for item in section.items
        )


def lay_out(text: str) -> Layout:
    """The lines of a record by what they are."""
    document = parse(text)
    headings = [block for block in document.blocks if block.kind == "heading"]
    title = _title_block(document, headings)
    sections = tuple(_sections(document, headings, title))
    head = _head(document, headings, title)
    fields, in_front = _fields(document, head, title)
    last = max((span.end for span in fields.values()), default=None)
    plain = set(_plain_fields(document, head, title))
    title_end = title.span.end if title is not None else 0
    return Layout(
        source=document.source,
        title=_title_text(title),
        title_at=_span_of(title),
        fields=fields,
        front_matter=in_front,
        plain_fields=last is not None and last - 1 in plain,
        front_end=_front_end(document),
        head_end=last if last is not None else max(title_end, _front_end(document)),
        sections=sections,
        headings=tuple(block.text for block in headings),
    )


def _head(document: Document, headings: list[Block], title: Block | None) -> range:
    """The lines where fields may stand: around the title, up to the next heading."""
    at = title.span.start if title is not None else 0
    before = [block for block in headings if block.span.start < at]
    after = [block for block in headings if block.span.start > at]
    end = after[0].span.start - 1 if after else len(document.source)
    return range(at if before else 0, end)


def _front_end(document: Document) -> int:
    return document.front_matter.end if document.front_matter is not None else 0


def _title_block(document: Document, headings: list[Block]) -> Block | None:
    """The heading that names the task; where there is none, the first line that says something."""
    named = [block for block in headings if block.level == 1] or [
        block for block in headings if section_named(block.text) is None
    ]
    if named:
        return named[0]
    for block in document.blocks:
        if block.kind == "paragraph" and not _is_plain_field(block.text.split("\n")[0]):
            return block
        if block.kind == "heading":
            break
    return None


def _title_text(title: Block | None) -> str:
    return " ".join(title.text.split("\n")[0].split()) if title is not None else ""


def _span_of(title: Block | None) -> Span | None:
    if title is None or title.kind != "heading":
        return None  # a line of prose that serves as title is not ours to change
    return Span(start=title.span.start - 1, end=title.span.end, text=title.text)


# ── fields ──────────────────────────────────────────────────────────────────────────────────

_FIELD: Final = re.compile(
    r" {0,3}[-*+][ \t]+(?:\*\*|__)?(?P<name>[^:：*\n]{1,24}?)(?:\*\*|__)?[ \t]*[:：][ \t]*"
    r"(?:\*\*|__)?(?P<value>.*)"
)
_LONGEST_PLAIN: Final = 200
_FRONT: Final = re.compile(r"(?P<name>[^\s:：#][^:：\n]{0,23})[ \t]*[:：][ \t]*(?P<value>.*)")


def _fields(document: Document, head: range, title: Block | None) -> tuple[dict[str, Span], bool]:
    front = _front_end(document)
    found: dict[str, Span] = {}
    for number in range(1, front - 1):
        _take_field(found, _FRONT.fullmatch(_bare(document, number)), number, quoted=True)
    in_front = bool(found)
    for block in document.blocks:
        number = block.span.start - 1
        if block.kind == "list_item" and number in head:
            _take_field(found, _FIELD.fullmatch(_bare(document, number)), number)
    for number in _plain_fields(document, head, title):
        _take_field(found, _FRONT.fullmatch(_bare(document, number)), number)
    return found, in_front


def _plain_fields(document: Document, head: range, title: Block | None) -> Iterator[int]:
    """Lines such as ``status: done`` that are in no list: those of paragraphs made only of such.

    A line among others is a sentence, which nobody may take for ours.
    """
    for block in document.blocks:
        if block.kind != "paragraph" or block.span.start - 1 not in head:
            continue
        first = block.span.start - 1 + (block is title)
        numbers = range(first, block.span.end)
        if all(_is_plain_field(_bare(document, number)) for number in numbers):
            yield from numbers


def _is_plain_field(line: str) -> bool:
    written = _FRONT.fullmatch(line)
    return (
        written is not None
        and len(written["value"]) <= _LONGEST_PLAIN
        and field_named(written["name"]) is not None
    )


def _take_field(
    found: dict[str, Span], written: re.Match[str] | None, number: int, *, quoted: bool = False
) -> None:
    if written is None or (name := field_named(written["name"])) is None or name in found:
        return
    value = written["value"].strip()
    if quoted and len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if quoted and value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    found[name] = Span(start=number, end=number + 1, text=value)


def _bare(document: Document, number: int) -> str:
    return document.source[number].rstrip("\r\n")


# ── sections ────────────────────────────────────────────────────────────────────────────────


def _sections(document: Document, headings: list[Block], title: Block | None) -> Iterator[Section]:
    for place, heading in enumerate(headings):
        name = section_named(heading.text)
        if heading is title or name is None:
            continue
        start = heading.span.end
        following = headings[place + 1 : place + 2]
        end = following[0].span.start - 1 if following else len(document.source)
        inside = [block for block in document.blocks if start < block.span.start <= end]
        yield Section(
            name=name,
            start=start,
            end=end,
            quotes=tuple(_quotes(document, inside)),
            items=tuple(_items(document, inside, start, end)),
            body="".join(document.source[start:end]).replace("\r\n", "\n").strip(),
        )


_QUOTE_MARK: Final = re.compile(r" {0,3}> ?")


def _quotes(document: Document, inside: list[Block]) -> Iterator[Span]:
    for block in inside:
        if block.kind == "quote":
            start, end = block.span.start - 1, block.span.end
            lines = (_bare(document, number) for number in range(start, end))
            text = "\n".join(_QUOTE_MARK.sub("", line, count=1) for line in lines)
            yield Span(start=start, end=end, text=text)


_ITEM: Final = re.compile(r" {0,3}[-*+](?:[ \t]+(?P<text>.*))?")
_INDENTED: Final = re.compile(r"(?: {2,}|\t)\S")


def _items(document: Document, inside: list[Block], start: int, end: int) -> Iterator[Span]:
    """The outermost list items between two lines, each with all that belongs to it."""
    closed = _not_lists(inside)
    number = start
    while number < end:
        found = None if number in closed else _ITEM.fullmatch(_bare(document, number))
        if found is None:
            number += 1
            continue
        first, number = number, number + 1
        while number < end and number not in closed and _goes_on(document, number, end):
            number += 1
        lines = [found["text"] or "", *(_bare(document, each) for each in range(first + 1, number))]
        text = " ".join(" ".join(lines).split())
        if text:
            yield Span(start=first, end=number, text=text)


def _not_lists(inside: list[Block]) -> frozenset[int]:
    """Lines of code, quotes, tables, HTML and rules: what looks like an item there is none."""
    return frozenset(
        number
        for block in inside
        if block.kind in ("fence", "code", "quote", "html", "table", "rule")
        for number in range(block.span.start - 1, block.span.end)
    )


def _goes_on(document: Document, number: int, end: int) -> bool:
    """Whether this line belongs to the item above it."""
    line = _bare(document, number)
    if line.strip():
        return _ITEM.fullmatch(line) is None
    following = number + 1
    while following < end and not _bare(document, following).strip():
        following += 1
    return following < end and _INDENTED.match(_bare(document, following)) is not None
