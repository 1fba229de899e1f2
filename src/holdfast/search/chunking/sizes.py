"""How long a passage may be, and where a longer one is cut.

Promise: the pieces of a text, joined, are the text; none is longer than its limit; a cut is made
at the end of a paragraph, a sentence or a line where there is one in reach, in English and
Chinese alike, and never inside what a reader takes for one character. Linear in the text
(``tests/search/test_chunking_sizes.py``). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.text import cut

__all__ = [
    "CALLS",
    "CODE",
    "FACT",
    "ITEM",
    "PROSE",
    "TABLE",
    "TITLE",
    "TOOL",
    "TURN",
    "WITH_INNER",
    "Run",
    "pieces",
    "runs",
    "storable",
    "tool_limit",
]

PROSE: Final = 800
"""Paragraphs of one section are put together up to this."""
ITEM: Final = 1_000
WITH_INNER: Final = 500
"""A list item and the items inside it are one passage up to this."""
FACT: Final = 2_000
"""As much as a memory line that we write may hold."""
TABLE: Final = 800
CODE: Final = 1_500
TURN: Final = 1_200
TOOL: Final = 2_000
CALLS: Final = 500
"""What is kept of the arguments of a message's tool calls."""
TITLE: Final = 120
"""Of one heading, in the context of what stands below it."""

_MANY: Final = 300
"""Passages of one tool's result, some more with cuts at good places; beyond, they grow longer."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_PARAGRAPH: Final = re.compile(r"\n[ \t]{0,80}\n\s{0,80}")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"[.!?…][\"'”’)\]]{0,3}\s{1,80}|[。！？；][”’」』）\"']{0,3}\s{0,80}")
_CLAUSE: Final = re.compile(r"[,;:]\s{1,80}|[，、；：]|\s{1,80}")
_ENDS_SENTENCE: Final = re.compile(r"[.!?…。！？；:：][\"'”’」』）)\]]{0,3}\s{0,80}$")
_BEYOND: Final = 64
"""Characters behind a cut that are looked at to see where one ends."""


def storable(text: str) -> str:
    """The text with U+FFFD for what is no character: bytes that were not UTF-8, half pairs."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def tool_limit(text: str) -> int:
    """How long the passages of a tool's result are: longer where there would be too many.

    A tool may answer with megabytes. All of it stays searchable, in a bounded number of rows.
    """
    return max(TOOL, -(-len(text) // _MANY))


def pieces(text: str, limit: int, *, by_line: bool = False) -> Iterator[str]:
    """The text in pieces of at most ``limit`` characters; ``by_line``: lines before sentences."""
    order = (
        (_PARAGRAPH, _LINE, _SENTENCE, _CLAUSE)
        if by_line
        else (_PARAGRAPH, _SENTENCE, _LINE, _CLAUSE)
    )
    done = 0
    while (left := len(text) - done) > limit:
        # Two pieces of one kind read better than a full one and a rest of three words.
        most = min(limit, left * 2 // 3)
        end = done + _end(text[done : done + most + _BEYOND], most, order)
        yield text[done:end]
        done = end
    if done < len(text):
        yield text[done:]


def _end(window: str, most: int, order: Sequence[re.Pattern[str]]) -> int:
    """Where a piece ends that begins with the window: at most ``most`` characters, at least one."""
    least = max(1, most // 2)
    for pattern in order:
        ends = [
            found.end()
            for found in pattern.finditer(window, least - 1, most)
            if found.end() >= least
        ]
        if ends and (end := len(cut(window, ends[-1]))) >= least:
            return end
    return len(cut(window, most)) or most  # a heap of marks on one letter is cut all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Some lines of a file, or a piece of one long line: then ``part`` counts them.

    ``start`` counts from 0, ``end`` is not included.
    """

    start: int
    end: int
    text: str
    part: int = 0


def runs(lines: Sequence[str], start: int, end: int, limit: int) -> Iterator[Run]:
    """The lines from ``start`` to ``end`` in runs of at most ``limit`` characters.

    A run ends at a blank line, else at a line that ends a sentence, else at any line. A line
    that is too long by itself is cut. Blank lines at the edges of a run are left out.
    """
    first, size, at = start, 0, start
    while at < end:
        length = len(lines[at]) + 1
        if size and size + length > limit + 1:
            stop = _stop(lines, first, at, limit)
            yield from _run(lines, first, stop)
            first, at, size = stop, stop, 0
        elif length > limit + 1:
            yield from _parts(lines[at], at, limit)
            first = at = at + 1
        else:
            size, at = size + length, at + 1
    yield from _run(lines, first, end)


def _stop(lines: Sequence[str], first: int, end: int, limit: int) -> int:
    """Where a run that is full ends best; not in its first half."""
    kept = 0
    sentence = 0
    for at in range(end, first, -1):
        if kept > limit // 2:
            break
        if at < end and not lines[at].strip():
            return at
        if not sentence and _ENDS_SENTENCE.search(lines[at - 1][-90:]):
            sentence = at
        kept += len(lines[at - 1]) + 1
    return sentence or end


def _run(lines: Sequence[str], first: int, end: int) -> Iterator[Run]:
    while first < end and not lines[first].strip():
        first += 1
    while first < end and not lines[end - 1].strip():
        end -= 1
    if first < end:
        yield Run(start=first, end=end, text="\n".join(lines[first:end]))


def _parts(line: str, at: int, limit: int) -> Iterator[Run]:
    for part, piece in enumerate(pieces(line, limit)):
        if piece.strip():
            yield Run(start=at, end=at + 1, text=piece, part=part)
