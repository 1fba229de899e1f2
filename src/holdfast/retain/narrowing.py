"""Which lines of a file are for fewer readers than the file is, and for whom.

A comment of ours that names a user or a chat narrows the block it stands in: an item of any
list, a paragraph, a quote, a table. With an item goes whatever is inside of it or indented below
it, with a heading its whole section. What narrows twice leaves only those who may read both.

Promise: the one rule for whoever shows a file or cuts it up; a line is never for more readers
than the comments around it say (``tests/search/test_chunking_narrowing.py``). Linear. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast import markdown
from holdfast.markdown import Block, split_lines
from holdfast.retain.grammar import parse
from holdfast.scope import Place, narrow

__all__ = ["narrowed_blocks", "narrowed_lines"]

_OPENS: Final = "<!-- hf"
_CLOSES: Final = "-->"

Asked = tuple[str | None, str | None]
"""The user and the chat that a comment names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """An item or a heading that narrows what is inside of it."""

    level: int
    place: Place | None
    is_heading: bool


def narrowed_lines(text: str, place: Place) -> Mapping[int, Place | None]:
    """The lines of a file of ``place`` that not all of its readers may see, by number from 1:
    who may; None if nobody may."""
    if not any(_asked(split_lines(text), text)):
        return {}  # without a parser: almost all files
    return narrowed_blocks(markdown.parse(text), place)


def narrowed_blocks(document: markdown.Document, place: Place) -> Mapping[int, Place | None]:
    """The same of a file that is parsed already."""
    if not any(_asked(document.source, "".join(document.source))):
        return {}
    found: dict[int, Place | None] = {}
    around: list[_Around] = []
    if (front := document.front_matter) is not None:
        _note(found, document, front.start, front.end, place, place)
    for block in document.blocks:
        around = _still_around(around, block, document.source[block.span.start - 1])
        outer = around[-1].place if around else place
        inner = _note(found, document, block.span.start, block.span.end, outer, place)
        if inner != place and block.kind in ("heading", "list_item"):
            is_heading = block.kind == "heading"
            around.append(_Around(level=block.level, place=inner, is_heading=is_heading))
    return found


def _note(
    found: dict[int, Place | None],
    document: markdown.Document,
    start: int,
    end: int,
    outer: Place | None,
    place: Place,
) -> Place | None:
    """Who may read these lines; noted if these are fewer than may read the file."""
    lines = document.source[start - 1 : end]
    inner = outer
    for user, chat in _asked(lines, "".join(lines)):
        inner = narrow(inner, user=user, chat=chat) if inner is not None else None
    if inner != place:
        found |= dict.fromkeys(range(start, end + 1), inner)
    return inner


def _still_around(around: list[_Around], block: Block, first: str) -> list[_Around]:
    """Those that this block is inside of."""
    if block.kind == "heading":
        return [each for each in around if each.is_heading and each.level < block.level]
    if block.kind == "list_item":
        return [each for each in around if each.is_heading or each.level < block.level]
    if first[:1] in (" ", "\t"):
        return around
    return [each for each in around if each.is_heading]


def _asked(lines: Sequence[str], text: str) -> Iterator[Asked]:
    """What the comments in a text ask for, and those of memory lines as their grammar reads them.

    A comment begins where the last one before its end does, so a loose beginning hides none.
    """
    done = 0
    while (end := text.find(_CLOSES, done)) >= 0:
        start = text.rfind(_OPENS, done, end)
        if start >= 0:
            yield from _named(text[start + len(_OPENS) : end])
        done = end + len(_CLOSES)
    for known in (parse(line) for line in lines if _OPENS in line):
        if known is not None and (known.user is not None or known.chat is not None):
            yield known.user, known.chat


def _named(comment: str) -> Iterator[Asked]:
    try:
        held = json.loads(comment)
    except (ValueError, RecursionError):
        return
    if isinstance(held, dict):
        user, chat = (
            value if isinstance(value := held.get(name), str) else None for name in ("user", "chat")
        )
        if user is not None or chat is not None:
            yield user, chat
