"""A Markdown file as chunks: by its structure, each with its lines and the headings above it.

    list item          one chunk, with the items inside it if they are short
    paragraphs         of one section together, up to a size; longer ones end at a sentence
    code, tables       whole, or in parts; every part of a table knows the header
    memory line        a fact (``facts``)
    task record        by section: its fields and steps belong together

Promise, for any text (``tests/search/test_chunking.py``): every line that says something is in
exactly one chunk's lines, or is a heading named in the context of what stands below it; the text
of a chunk that is no fact is word for word what stands in its lines; only pieces of one very
long line share it. Left out are rules and HTML comments, which no reader sees. What is narrowed
to a user or a chat (``retain.narrowing``) shares no chunk and no context with what is not. Linear
in the text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo
from typing import Final, cast, get_args

from holdfast.markdown import Block, parse
from holdfast.retain import RetainLine, Trust, line_id
from holdfast.retain import parse as parse_line
from holdfast.retain.narrowing import narrowed_blocks
from holdfast.scope import Place
from holdfast.search.chunking.facts import begins, said_of, validity, weight
from holdfast.search.chunking.sizes import (
    CODE,
    FACT,
    ITEM,
    PROSE,
    TABLE,
    TITLE,
    WITH_INNER,
    Run,
    pieces,
    runs,
    storable,
)
from holdfast.search.chunking.sources import day_in, is_import
from holdfast.search.documents import Chunk, ChunkKind, Document, identified
from holdfast.text import cut, normalise, strip_hidden
from holdfast.types import LineSpan

__all__ = ["chunk_markdown"]

_BOM: Final = "\ufeff"
_PROSE: Final = frozenset({"paragraph", "quote", "html"})
_BETWEEN: Final = " › "
_OWN_TITLES: Final = frozenset({"retain"})
"""Headings of the format itself, which say nothing about what stands below them."""
_OWN_FIRST: Final = frozenset({"memory", "记忆"})
_DEEPEST: Final = 3
"""How many of the items around an item are in its context."""
_HEADING_WEIGHT: Final = 0.2
_BULLET: Final = re.compile(r"[ \t>]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,8}){0,8}(?:\[[ xX]\] )?")
_TRUST: Final = re.compile(r"[-*+] {1,4}(?:trust|出自|可信度) {0,4}[:：] {0,4}([a-z]{4,6})\s*")
_OF_TOOL: Final = "[tool] "
_FIELD: Final = re.compile(r"[-*+] {1,4}[^\s:：]{1,20} {0,4}[:：]")
_UNDER: Final = " › "


def chunk_markdown(document: Document, text: str, *, zone: tzinfo) -> list[Chunk]:
    """The chunks of a file, in the order of its lines.

    ``at`` is the first moment of the day that the section's heading or else the file names, in
    the user's ``zone``; of a memory line it is when it was said, if it tells.
    """
    cutter = _Cutter(document, storable(text), zone)
    chunks = sorted(map(cutter.titled, cutter.run()), key=_order)
    ids = identified(document, chunks)
    return [replace(chunk, id=id) for chunk, id in zip(chunks, ids, strict=True)]


def _order(chunk: Chunk) -> tuple[int, int]:
    return (chunk.span.start if chunk.span is not None else 0, chunk.part)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outer:
    """A list item whose inner items are chunks of their own."""

    level: int
    title: str


class _Cutter:
    """Goes through the blocks of one file. ``open`` are the headings above, with whether
    anything below them has named them yet; ``place`` is who may read what is being cut."""

    def __init__(self, document: Document, text: str, zone: tzinfo) -> None:
        parsed = parse(text)
        self.document = document
        self.zone = zone
        self.blocks = parsed.blocks
        self.lines = [line.rstrip("\r\n") for line in parsed.source]
        if self.lines:
            self.lines[0] = self.lines[0].removeprefix(_BOM)
        self.front = parsed.front_matter.end if parsed.front_matter is not None else 0
        self.is_task = document.source == "task"
        self.trust = self._trust()
        self.narrowed = narrowed_blocks(parsed, document.place)
        self.place: Place | None = self._place_at(1)
        self.chunks: list[Chunk] = []
        self.facts: list[tuple[range, RetainLine]] = []
        self.open: list[tuple[Block, bool]] = []
        self.outer: list[_Outer] = []
        self.intro = ""

    def run(self) -> list[Chunk]:
        self._put("text", runs(self.lines, 0, self.front, PROSE))
        at = 0
        while at < len(self.blocks):
            at = self._take(at)
        self.outer.clear()
        self._close(0)
        self._end_replaced()
        return self.chunks

    def _place_at(self, number: int) -> Place | None:
        """Who may read a line; None if nobody may."""
        return self.narrowed.get(number, self.document.place)

    def _place_of(self, block: Block) -> Place | None:
        return self._place_at(block.span.start)

    def _take(self, at: int) -> int:
        """Make chunks of the block and those that belong to it; where to go on."""
        block = self.blocks[at]
        self.place = self._place_of(block)
        if block.kind == "list_item" and (line := self._line_at(block)) is not None:
            return self._fact(at, line)
        if self._is_prose(block):
            return self._prose(at)
        if block.kind == "list_item":
            return self._item(at)
        self._leave_list(block)
        self.intro = ""
        if block.kind == "heading":
            self._heading(block)
        elif block.kind == "table":
            self._table(block)
        elif block.kind in ("fence", "code"):
            self._put("code", runs(self.lines, *_bounds(block), CODE))
        return at + 1

    # ── headings ────────────────────────────────────────────────────────────────────────────

    def _heading(self, block: Block) -> None:
        self._close(block.level)
        is_long = len(block.text) > TITLE
        if is_long:
            self._put_heading(block)
        says_nothing = not block.text.strip() or self._is_own(block.text, len(self.open))
        self.open.append((block, is_long or says_nothing))

    def _close(self, level: int) -> None:
        """Sections of this level and below end here. One in which nothing stands is a chunk."""
        while self.open and (level == 0 or self.open[-1][0].level >= level):
            block, named = self.open.pop()
            if not named:
                self._put_heading(block)

    def _put_heading(self, block: Block) -> None:
        below, self.place = self.place, self._place_of(block)
        self._put("text", runs(self.lines, *_bounds(block), PROSE), weight=_HEADING_WEIGHT)
        self.place = below

    def _context(self, *more: str) -> str:
        titles = [
            _short(block.text)
            for depth, (block, _) in enumerate(self.open)
            if not self._is_own(block.text, depth)
        ]
        inner = (outer.title for outer in self.outer[-_DEEPEST:])
        return _BETWEEN.join(filter(None, (*titles, *inner, *more)))

    def _is_own(self, title: str, depth: int) -> bool:
        plain = normalise(title)
        return plain in _OWN_TITLES or (depth == 0 and plain in _OWN_FIRST)

    def _day(self) -> date | None:
        for block, _ in reversed(self.open):
            if (day := day_in(block.text)) is not None:
                return day
        return self.document.day

    # ── text ────────────────────────────────────────────────────────────────────────────────

    def _is_prose(self, block: Block) -> bool:
        return block.kind in _PROSE or (self.is_task and block.kind == "list_item")

    def _prose(self, at: int) -> int:
        """Paragraphs, quotes and HTML that follow each other; in a task record also its items."""
        first = self.blocks[at]
        self._leave_list(first)
        start, end = _bounds(first)
        place = at + 1
        if first.kind == "html" and _is_comment(first.text):
            return place
        size = self._size(start, end)
        while place < len(self.blocks) and self._goes_on(self.blocks[place]):
            stop = self.blocks[place].span.end
            size += self._size(end, stop)
            if size > PROSE:
                break
            end = stop
            place += 1
        self._put("text", runs(self.lines, start, end, PROSE))
        last = self.blocks[place - 1]
        written = last.text.rstrip()
        is_intro = last.kind == "paragraph" and written.endswith((":", "："))
        is_intro = is_intro and self.place == self.document.place
        self.intro = _short(written) if is_intro and len(written) <= TITLE else ""
        return place

    def _goes_on(self, block: Block) -> bool:
        if self.outer or not self._is_prose(block):
            return False  # what is inside an item ends with it
        if self._place_of(block) != self.place:
            return False
        if block.kind == "html" and _is_comment(block.text):
            return False
        return block.kind != "list_item" or self._line_at(block) is None

    def _size(self, start: int, end: int) -> int:
        return sum(len(self.lines[number]) + 1 for number in range(start, end))

    def _table(self, block: Block) -> None:
        start, end = _bounds(block)
        cells = (cell.strip() for cell in self.lines[start].strip(" \t|").split("|"))
        header = _short(", ".join(filter(None, cells)))
        for run in runs(self.lines, start, end, TABLE):
            self._put("table", [run], *([header] if run.start > start else ()))

    # ── lists ───────────────────────────────────────────────────────────────────────────────

    def _item(self, at: int) -> int:
        block = self.blocks[at]
        self._leave_list(block)
        start, end = _bounds(block)
        inside = self._inside(at)
        if inside is not None:
            end = _bounds(self.blocks[inside - 1])[1]
        self._put("item", runs(self.lines, start, end, ITEM), "" if self.outer else self.intro)
        if inside is not None:
            return inside
        self.outer.append(_Outer(level=block.level, title=_title_of(self.lines[start])))
        return at + 1

    def _inside(self, at: int) -> int | None:
        """Where the items inside this one end, if they are short and no facts; else None."""
        start, end = _bounds(self.blocks[at])
        size = self._size(start, end)
        place = at + 1
        while place < len(self.blocks):
            inner = self.blocks[place]
            if inner.kind != "list_item" or inner.level <= self.blocks[at].level:
                return place
            begin, stop = _bounds(inner)
            size += self._size(begin, stop)
            if size > WITH_INNER or self._line_at(inner) is not None:
                return None
            if self._place_of(inner) != self.place:
                return None
            place += 1
        return place

    def _leave_list(self, block: Block) -> None:
        """Forget the items that this block is not inside of. What is indented below an item that
        not everybody may read counts as inside."""
        if block.kind == "list_item":
            while self.outer and self.outer[-1].level >= block.level:
                self.outer.pop()
        elif block.kind == "heading" or not (self._is_narrowed() and self._is_indented(block)):
            self.outer.clear()

    def _is_indented(self, block: Block) -> bool:
        return self.lines[block.span.start - 1][:1] in (" ", "\t")

    def _is_narrowed(self) -> bool:
        return self.place != self.document.place

    # ── memory lines ────────────────────────────────────────────────────────────────────────

    def _line_at(self, block: Block) -> RetainLine | None:
        return parse_line(self.lines[block.span.start - 1])

    def _fact(self, at: int, line: RetainLine) -> int:
        """A memory line, with what stands below it in the same item."""
        block = self.blocks[at]
        self._leave_list(block)
        self.intro = ""
        start, end = _bounds(block)
        place = self.place
        said = said_of(line)
        below = "\n".join(self.lines[start + 1 : end]).rstrip()
        is_long = len(said) + len(below) > ITEM
        first = len(self.chunks)
        if place is not None:
            text = said if is_long or not below else f"{said}\n{below}"
            span = LineSpan(start=start + 1, end=start + 1 if is_long else end)
            self._put_fact(line, text, place, span)
        self.outer.append(_Outer(level=block.level, title=_short(said)))
        if place is not None and is_long and below:
            self._put_below(start + 1, end)
        if place is not None:
            self.facts.append((range(first, len(self.chunks)), line))
        return at + 1

    def _put_fact(self, line: RetainLine, text: str, place: Place, span: LineSpan) -> None:
        when = validity(line, self._day(), self.zone)
        context, importance = self._context(), weight(line)
        for part, piece in enumerate(pieces(text, FACT)):
            self.chunks.append(
                Chunk(
                    kind="fact",
                    text=piece.strip(),
                    context=context,
                    span=span,
                    part=part,
                    at=when.at,
                    fact_kind=line.kind,
                    entities=(line.entity,) if line.entity is not None else (),
                    since=when.since,
                    until=when.until,
                    trust="import" if self.trust == "import" else line.trust,
                    importance=importance,
                    place=place if place != self.document.place else None,
                )
            )
        self._named()

    def _put_below(self, start: int, end: int) -> None:
        """What is too long to stand in the fact itself is true as long as the fact is."""
        first = len(self.chunks)
        fact = self.chunks[first - 1]
        self._put("item", runs(self.lines, start, end, ITEM))
        for at in range(first, len(self.chunks)):
            self.chunks[at] = replace(
                self.chunks[at], at=fact.at, since=fact.since, until=fact.until, trust=fact.trust
            )

    def _end_replaced(self) -> None:
        """A line that another one replaces ends where that begins, if it does not say itself."""
        begun: dict[str, datetime] = {}
        for numbers, line in self.facts:
            fact = self.chunks[numbers[0]]
            if (start := fact.since or fact.at) is not None:
                begun |= dict.fromkeys(line.supersedes, begins(start, self.zone))
        for numbers, line in self.facts if begun else ():
            end = begun.get(line_id(line))
            for at in numbers:
                if end is not None and self.chunks[at].until is None:
                    self.chunks[at] = replace(self.chunks[at], until=end)

    # ── making chunks ───────────────────────────────────────────────────────────────────────

    def _put(
        self, kind: ChunkKind, found: Iterable[Run], *more: str, weight: float | None = None
    ) -> None:
        place = self.place
        if place is None:
            return  # inside an item that nobody may read
        context = self._context(*more)
        day = self._day()
        at = begins(day, self.zone) if day is not None else None
        for run in found:
            if not strip_hidden(run.text)[0].strip():
                continue
            self.chunks.append(
                Chunk(
                    kind=kind,
                    text=run.text.rstrip() if kind == "code" else run.text.strip(),
                    context=context,
                    span=LineSpan(start=run.start + 1, end=run.end),
                    part=run.part,
                    at=at,
                    trust=self._trust_of(run.text),
                    importance=weight if weight is not None else 0.5,
                    place=place if place != self.document.place else None,
                )
            )
            self._named()

    def _named(self) -> None:
        """The headings above are in the context of a chunk now."""
        if not all(named for _, named in self.open):
            self.open = [(block, True) for block, _ in self.open]

    def titled(self, chunk: Chunk) -> Chunk:
        """The fields at the top of a task record say nothing to a reader: its title does."""
        if not self.is_task or chunk.span is None or not chunk.context or _UNDER in chunk.context:
            return chunk
        if not all(_FIELD.match(line) for line in chunk.text.splitlines()):
            return chunk
        span = LineSpan(start=1, end=chunk.span.end)
        return replace(chunk, text=chunk.context, context="", span=span)

    def _trust(self) -> Trust:
        """Of all that is no memory line: the owner's files are the owner's words."""
        if is_import(self.document.key):
            return "import"
        if self.is_task:
            for line in self.lines[:40]:
                if (found := _TRUST.fullmatch(line)) and found[1] in get_args(Trust):
                    return cast(Trust, found[1])
        return "user"

    def _trust_of(self, text: str) -> Trust:
        return "tool" if self.is_task and _OF_TOOL in text else self.trust


def _bounds(block: Block) -> tuple[int, int]:
    """The lines of a block, counted from 0, the end not included."""
    return block.span.start - 1, block.span.end


def _short(title: str) -> str:
    line = " ".join(cut(title, 4 * TITLE).split())
    return line if len(line) <= TITLE else cut(line, TITLE - 1).rstrip() + "…"


def _title_of(line: str) -> str:
    found = _BULLET.match(line)
    return _short(line[found.end() :] if found is not None else line)


def _is_comment(text: str) -> bool:
    """Whether there is nothing but HTML comments; one that is never closed is text."""
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        if text[done:start].strip():
            return False
        end = text.find("-->", start + 4)
        if end < 0:
            return False
        done = end + 3
    return done > 0 and not text[done:].strip()
