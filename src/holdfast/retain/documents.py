"""The memory lines of a Markdown document: where they stand, and the edit of one of them.

A memory line is the first line of a list item, in any section. What stands in code, in a quote
or in an HTML comment only looks like one.

Promise: ``replace_line`` changes the line it is asked for and no other byte; what ``lines`` finds
is what a Markdown parser takes for list items, also in documents that go wrong in every way.
Proven on generated documents and on real ones by ``tests/foundation/test_retain_documents.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast import markdown
from holdfast.markdown import split_lines
from holdfast.retain.grammar import RetainLine, line_id, parse, render
from holdfast.types import LineSpan

__all__ = ["Located", "lines", "replace_line", "rewritten"]

_BOM: Final = "\ufeff"
_PREFIX: Final = re.compile(rf"{_BOM}?[ \t]*[-*+][ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A memory line and its place: ``number`` is its line, ``span`` that of its whole item.

    Below its first line an item may hold code, a table or more text, up to the next item.
    """

    line: RetainLine
    number: int
    span: LineSpan


def lines(text: str) -> Iterator[Located]:
    """The memory lines of a document, from top to bottom."""
    source = split_lines(text)
    spans = _plain_items(source)
    if spans is None:
        spans = [block.span for block in markdown.parse(text).blocks if block.kind == "list_item"]
    for span in spans:
        if line := parse(source[span.start - 1].removeprefix(_BOM)):
            yield Located(line=line, number=span.start, span=span)


def replace_line(text: str, id: str, new: RetainLine) -> str | None:
    """The text with ``new`` in place of the first line of that id; None if there is none.

    Indentation, bullet and line ending stay as they were.
    """
    place = next((found.number for found in lines(text) if line_id(found.line) == id), None)
    if place is None:
        return None
    source = split_lines(text)
    source[place - 1] = rewritten(source[place - 1], new)
    return "".join(source)


def rewritten(raw: str, new: RetainLine) -> str:
    """One line of a document with another memory in it, in the form that it has."""
    prefix = _PREFIX.match(raw)
    ending = raw[len(raw.rstrip("\r\n")) :]
    return (prefix[0] if prefix else "- ") + render(new).removeprefix("- ") + ending


# ── the items of a plain document, without a parser ─────────────────────────────────────────
#
# Our own files hold tens of thousands of items and little else, and a Markdown parser takes
# seconds for them. What follows knows the simple cases and gives up at all others.

_ITEM: Final = re.compile(r"( {0,3}[-*+] {1,4})[^ \t\r\n]")
_MARKER: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_OPENS_INSIDE: Final = re.compile(
    r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){1,64}(?:<|```|~~~|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$))"
)
_FENCE: Final = re.compile(r"( *)(`{3,}|~{3,})(.*)")
_ENDS_ITEM: Final = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|<!--.*-->)")
_HARD: Final = frozenset("-*+<`~0123456789")  # what may open something


class _GivesUp(Exception):
    """The document is not plain."""


def _plain_items(source: Sequence[str]) -> list[LineSpan] | None:
    """The items that begin with a bullet; None if only a parser can tell."""
    try:
        return _Plain().read(source)
    except _GivesUp:
        return None


class _Plain:
    """Reads line by line; ``inner`` is where the text of the open item begins, 0 if none is."""

    __slots__ = ("adjacent", "fence", "fence_indent", "inner", "spans")

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []
        self.inner = 0
        self.adjacent = False  # the line before was not blank: text here would continue it
        self.fence = ""
        self.fence_indent = 0

    def read(self, source: Sequence[str]) -> list[LineSpan]:
        if source and source[0].startswith((_BOM, "---")):
            raise _GivesUp
        for number, raw in enumerate(source, start=1):
            line = raw.rstrip("\r\n")
            if self.fence:
                self._in_fence(line, number)
            elif found := _ITEM.match(line):
                self._item(line, number, len(found[1]))
            elif not line.strip(" \t"):
                self.adjacent = False
            else:
                self._other(line, number)
        return [LineSpan(start=start, end=end) for start, end in self.spans]

    def _item(self, line: str, number: int, inner: int) -> None:
        if line[inner] in _HARD and _OPENS_INSIDE.match(line):
            raise _GivesUp
        self.spans.append((number, number))
        self.inner = inner
        self.adjacent = True

    def _other(self, line: str, number: int) -> None:
        """Text, a heading, a quote, the beginning of code: anything but an item."""
        indent = len(line) - len(line.lstrip(" "))
        first = line[indent]
        if first == "\t" or (first in _HARD and _MARKER.match(line)):
            raise _GivesUp
        if first == "<" and not (line.startswith("<!--", indent) and "-->" in line):
            raise _GivesUp
        is_fence = first in "`~" and self._opens_fence(line)
        if not self.inner:
            return
        if indent >= self.inner:
            self.spans[-1] = (self.spans[-1][0], number)
            self.adjacent = True
        elif self.adjacent and not (is_fence or _ENDS_ITEM.match(line)):
            raise _GivesUp  # text that goes on where an item seemed to end
        else:
            self.inner = 0

    def _opens_fence(self, line: str) -> bool:
        found = _FENCE.match(line)
        if found is None:
            return False
        if len(found[1]) > 3 or "`" in found[3]:
            raise _GivesUp
        self.fence, self.fence_indent = found[2], len(found[1])
        return True

    def _in_fence(self, line: str, number: int) -> None:
        bare = line.strip(" \t")
        indent = len(line) - len(line.lstrip(" "))
        if bare and indent < self.fence_indent:
            raise _GivesUp
        if bare and self.inner and self.fence_indent >= self.inner:
            self.spans[-1] = (self.spans[-1][0], number)
        if bare and bare[0] == self.fence[0] and not bare.strip(bare[0]):
            if len(bare) < len(self.fence):
                return
            if indent != self.fence_indent:
                raise _GivesUp
            self.fence = ""
            self.adjacent = True
