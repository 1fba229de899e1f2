"""One page of memory without a text: list items go whole, elsewhere a mark stands.

What the hidden comment of a memory line says by itself is not touched: its keys, ids, dates and
sources; nor is what a file of ours says by itself (``own``). In a field of a task record a mark
stands, so that the record keeps the field.

Promise: lines that do not hold the text stay to the byte (``tests/memory/test_erasure.py``). Pure.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias, get_args

from holdfast import markdown
from holdfast.markdown import split_lines
from holdfast.matching import Match, Span
from holdfast.memory.erasure.own import Own, is_task, own_parts
from holdfast.memory.tasks.layout import Section, lay_out
from holdfast.retain import RetainLine, Trust, line_id, parse, render
from holdfast.text import normalise, one_line
from holdfast.types import Json

__all__ = ["Derive", "Editing", "Line", "Page", "Tells"]

Derive: TypeAlias = Callable[[RetainLine], Sequence[RetainLine]]
"""A line whose sources held the text → the lines that what is left of them still gives. The line
itself, if it is among them."""

Tells: TypeAlias = Callable[[str, Sequence[str]], bool]
"""Whether a text has a word, or a piece of one, that was said only in what is erased from the
sessions of these sources."""

_JOURNAL: Final = ".journal"
_AS_IT_IS: Final = ("utf-8", "surrogateescape")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_COMMENT: Final = "<!-- hf "
_COMMENTS: Final = re.compile(r"<!-- hf [^\r\n]{0,65536}?-->")
_COMMENT_IDS: Final = frozenset({"id", "sources", "supersedes", "agrees"})
_COMMENT_TIMES: Final = frozenset(
    {"observed", "since", "until", "verified", "retracted", "archived"}
)
_COMMENT_KEYS: Final = (
    _COMMENT_IDS | _COMMENT_TIMES | {"trust", "user", "chat", "had_hidden", "from"}
)
_SOURCE: Final = re.compile(r"[^\s,，、;；\"'\[\]]{1,300}")
_CITED: Final = re.compile(r'"([^"#\s]{1,200}#[^"\s]{1,80})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that goes, or in which a mark takes the place of the text."""

    path: str
    number: int
    text: str
    goes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    after: bytes | None
    count: int
    lines: list[Line]


class Editing:
    """One document → the document without the text."""

    def __init__(
        self,
        match: Match,
        sources: frozenset[str],
        names: Mapping[str, str],
        derive: Derive,
        path: str,
        tells: Tells = lambda text, sources: False,
    ) -> None:
        self._match = match
        self._sources = sources
        self._names = names
        self._derive = derive
        self._path = path
        self._tells = tells
        self._is_task = False
        self._lines: list[Line] = []
        self._count = 0

    def edit(self, text: str) -> Page:
        before = text
        self._is_task = is_task(text, self._path)
        sources = _sources_of(text) if self._is_task and self._sources else []
        if self._match.ids or not self._sources.isdisjoint(_CITED.findall(text)):
            text = self._without_lines(text)
        text = self._with_new_names(text)
        for _ in range(3):  # lines that come together may spell the text once more
            spans, own = self._spans_in(text)
            if not spans:
                break
            text = self._without_spans(text, spans, own)
        else:
            if self._spans_in(text)[0]:
                text, _ = self._match.erased(text)
        if not _sessions(sources).isdisjoint(_sessions(self._sources)):
            text = self._without_pieces(text, sources)
        if text != before:
            self._count = max(1, self._count)
        return Page(after=text.encode(*_AS_IT_IS), count=self._count, lines=self._lines)

    def _with_new_names(self, text: str) -> str:
        for old, new in self._names.items():
            for spelling in {old, json.dumps(old)[1:-1]}:
                text = text.replace(f'"{spelling}#', f'"{new}#')
        return self._with_new_sources(text) if self._is_task else text

    def _with_new_sources(self, text: str) -> str:
        """The sources of a task, which stand in one field, with the names of their sessions."""
        layout = lay_out(text)
        if (field := layout.fields.get("sources")) is None:
            return text
        line = layout.source[field.start]
        head, _, tail = line.rpartition(field.text)
        new = _SOURCE.sub(lambda found: self._source(found[0]), field.text)
        return "".join(
            [*layout.source[: field.start], head + new + tail, *layout.source[field.end :]]
        )

    def _source(self, cited: str) -> str:
        session, sign, entry = cited.partition("#")
        return (self._names.get(session) or self._match.erased_name(session)[0]) + sign + entry

    def _without_pieces(self, text: str, sources: Sequence[str]) -> str:
        """A record is made of cut pieces of what was said: those that tell something erased go."""
        layout = lay_out(text)
        lines = list(layout.source)
        title = layout.title_at
        if title is not None and self._tells(title.text, sources):
            self._tell(title.start + 1, lines[title.start], goes=False)
            lines[title.start] = f"# {self._match.mark}{_ending(lines[title.start])}"
        for section in layout.sections:
            self._mark_quotes(section, sources, lines)
            for item in section.items:
                if self._tells(item.text, sources):
                    self._tell(item.start + 1, lines[item.start], goes=True)
                    lines[item.start : item.end] = [""] * (item.end - item.start)
        return "".join(lines)

    def _mark_quotes(self, section: Section, sources: Sequence[str], lines: list[str]) -> None:
        quoted = [number for quote in section.quotes for number in range(quote.start, quote.end)]
        for number in quoted:
            if self._tells(lines[number], sources):
                self._tell(number + 1, lines[number], goes=False)
                lines[number] = f"> {self._match.mark}{_ending(lines[number])}"

    def _without_lines(self, text: str) -> str:
        """The text without the lines that were asked for by id, or whose sources held it."""
        source = split_lines(text)
        kept: list[str] = []
        there = {normalise(line.text) for raw in source if (line := parse(raw)) is not None}
        for number, raw in enumerate(source, start=1):
            line = parse(raw) if _may_be_asked_for(raw, self._match.ids) else None
            if line is None or not self._goes(line):
                kept.append(raw)
                continue
            instead = [] if line_id(line) in self._match.ids else self._derive(line)
            if line in instead:
                kept.append(raw)
                continue
            self._tell(number, raw, goes=True)
            ending = _ending(raw)
            indent = raw[: len(raw) - len(raw.lstrip())]
            for each in instead:
                if normalise(each.text) not in there:  # two lines may have the same sources
                    there.add(normalise(each.text))
                    kept.append(indent + render(each) + ending)
        return "".join(kept)

    def _goes(self, line: RetainLine) -> bool:
        return line_id(line) in self._match.ids or not self._sources.isdisjoint(line.sources)

    def _spans_in(self, text: str) -> tuple[list[Span], Own]:
        """Where the text stands, beside what nobody said."""
        spans = _spans_in(self._match, text)
        if not spans:
            return [], Own()
        own = own_parts(text, of_task=self._is_task)
        return [span for span in spans if not _is_inside(span, own.spans)], own

    def _without_spans(self, text: str, spans: Sequence[Span], own: Own) -> str:
        """List items that hold a span go whole; a mark stands for the other spans."""
        source = split_lines(text)
        starts = list(accumulate(map(len, source), initial=0))
        gone: list[Span] = []
        for first, last in _items(text):
            item = Span(starts[first - 1], starts[last])
            if first - 1 not in own.fields and _overlapping(item, spans):
                gone.append(item)
                self._tell(first, source[first - 1], goes=True)
        self._count += len(spans)
        marked = [span for span in spans if not _overlapping(span, gone)]
        cuts = [(item, "") for item in gone]
        for span in marked:
            in_field = bisect_right(starts, span.start) - 1 in own.fields
            cuts.append((span, self._match.name_mark if in_field else self._match.mark))
        pieces: list[str] = []
        at = 0
        for (start, end), mark in sorted(cuts):
            pieces += [text[at:start], mark]
            if mark:
                number = bisect_right(starts, start)
                self._tell(number, source[number - 1], goes=False)
            at = max(at, end)
        return "".join([*pieces, text[at:]])

    def _tell(self, number: int, raw: str, *, goes: bool) -> None:
        self._count += goes
        if not self._path.startswith(_JOURNAL) and self._path:
            shown = one_line(raw.partition(_COMMENT)[0].strip(), 160)
            self._lines.append(Line(path=self._path, number=number, text=shown, goes=goes))


def _sources_of(task: str) -> list[str]:
    return _SOURCE.findall(lay_out(task).values.get("sources", ""))


def _sessions(sources: Iterable[str]) -> set[str]:
    return {each.partition("#")[0] for each in sources}


def _ending(raw: str) -> str:
    return raw[len(raw.rstrip("\r\n")) :]


def _spans_in(match: Match, text: str) -> list[Span]:
    """Where the text stands; what the hidden comment of a memory line says by itself does not
    count: its keys, ids, dates and sources would be found in every line there is."""
    spans = list(match.spans(text))
    if spans and _COMMENT in text:
        ours = [Span(*found.span()) for found in _COMMENTS.finditer(text)]
        ours = [comment for comment in ours if not _comment_holds(match, text[slice(*comment)])]
        spans = [span for span in spans if not _is_inside(span, ours)]
    return spans


def _comment_holds(match: Match, comment: str) -> bool:
    try:
        held = json.loads(comment[len(_COMMENT) : -len("-->")])
    except ValueError:
        return True
    return match.is_in_json(held, keeps=_keeps_in_comment)


def _keeps_in_comment(key: str | None, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    if key is None:
        return value in _COMMENT_KEYS
    if key in _COMMENT_IDS:
        return True
    if key == "trust":
        return value in get_args(Trust)
    return key in _COMMENT_TIMES and _DATED.match(value) is not None


def _overlapping(span: Span, others: Sequence[Span]) -> bool:
    """Whether any of the others, which are in order and apart, shares a character with it."""
    at = bisect_right(others, span.start, key=lambda each: each.end)
    return at < len(others) and others[at].start < span.end


def _is_inside(span: Span, others: Sequence[Span]) -> bool:
    at = bisect_right(others, span.start, key=lambda each: each.start) - 1
    return at >= 0 and span.end <= others[at].end


def _may_be_asked_for(raw: str, ids: frozenset[str]) -> bool:
    return _COMMENT in raw or any(each.startswith("h-") for each in ids)


def _items(text: str) -> Iterator[tuple[int, int]]:
    """First and last line of each list item that can go without taking another out of its list."""
    blocks = markdown.parse(text).blocks
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind != "list_item":
            continue
        has_inner = (
            following is not None
            and following.kind == "list_item"
            and following.level > block.level
        )
        if not has_inner:
            yield block.span.start, block.span.end
