"""What a person's terminal can show: whether colours are wanted, and lines that fit.

Promise: no line is wider than asked for, wide characters counted as two; no mark that ends a
clause begins a line, and none that opens a bracket ends one; nothing but blanks at breaks is lost
(``tests/doors/test_chat_shown.py``). Linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.text import clusters, columns

__all__ = ["folded", "has_colour"]

_ENDS: Final = frozenset("，。；：、！？）”》」』】…,.;:!?)")
"""Marks that do not begin a line."""
_OPENS: Final = frozenset("（“《「『【(")
"""Marks that do not end one."""


def has_colour(environ: Mapping[str, str]) -> bool:
    """Whether a terminal may be coloured: https://no-color.org"""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("", "dumb")


def folded(text: str, width: int, *, indent: str = "") -> Iterator[str]:
    """The text in lines of at most ``width`` columns, those after the first indented; broken
    between words or wide characters, or where there is no other way, within a word."""
    width = max(columns(indent) + 2, width)
    row, used = "", 0
    is_first, is_fresh = True, False
    for part in _parts(text, width - columns(indent)):
        if used + columns(part) > width:
            if row.strip():
                yield row.rstrip()
                is_first = False
            row, used, is_fresh = indent, columns(indent), True
        shown = part.lstrip(" ") if is_fresh else part
        row, used = row + shown, used + columns(shown)
        is_fresh = is_fresh and not shown
    if row.strip() or is_first:
        yield row.rstrip()


def _parts(text: str, width: int) -> Iterator[str]:
    """What is not broken: pieces, or where one is longer than a line, as much as fits."""
    for piece in _pieces(text):
        if columns(piece) <= width:
            yield piece
            continue
        part, used = "", 0
        for cluster in clusters(piece):
            size = columns(cluster)
            if used + size > width and part:
                yield part
                part, used = "", 0
            part, used = part + cluster, used + size
        yield part


def _pieces(text: str) -> Iterator[str]:
    """Where a line may break: before a blank, around a wide character."""
    piece: list[str] = []
    for cluster in clusters(text):
        if piece and _may_break(piece[-1], cluster):
            yield "".join(piece)
            piece = []
        piece.append(cluster)
    if piece:
        yield "".join(piece)


def _may_break(before: str, after: str) -> bool:
    if after in _ENDS or before in _OPENS:
        return False
    return after == " " or columns(after) > 1 or columns(before) > 1
