"""Shorter texts that are still whole: no cut splits a grapheme cluster.

Promise: what ``cut``, ``cut_tail`` and ``cut_bytes`` return begins and ends where a reader
sees one character end and the next begin (``tests/foundation/test_text_cuts.py`` cuts hostile
strings at every offset). Lone surrogates that were in the text stay; none is made. A cut
costs what the neighbourhood of the cut costs, not what the text costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Final

__all__ = ["clusters", "cut", "cut_bytes", "cut_tail", "shorten"]

# Characters that join neither the one before nor the one after them: newline, printable ASCII,
# Latin letters, our own marks, CJK punctuation and ideographs, kana, full-width forms.
_PLAIN: Final = "\\n -~À-ÖØ-öø-ɏ…⏎、。ぁ-ゖァ-ヺ㐀-䶿一-鿿！-～"

# Letters that nevertheless attach to what stands before them: Thai and Lao am, kana marks.
_ATTACHED: Final = "ำຳﾞﾟ"


@cache
def _plain() -> re.Pattern[str]:
    """A text of which every character is a cluster of its own."""
    return re.compile(f"[{_PLAIN}]*")


@cache
def _parting() -> re.Pattern[str]:
    """The last place before the end where two characters certainly part, whatever came before.

    From there on clusters can be counted without reading the text from its beginning.
    """
    return re.compile(rf"(?s:.*)[{_PLAIN}](?=[{_PLAIN}]|(?![{_ATTACHED}])\w)")


@cache
def _cluster() -> re.Pattern[str]:
    """One grapheme cluster; a high and a low surrogate in a row count as one character.

    Flags have a branch of their own: inside a run of them ``\\X`` counts back to its beginning
    for every flag, and 250 000 in a row took more than ten minutes. Loaded at the first need:
    ``regex`` takes 25 ms to import, which most runs of the command line never have to pay.
    """
    pattern: re.Pattern[str] = import_module("regex").compile(
        r"[\U0001F1E6-\U0001F1FF]{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+"
        "|(?:[\ud800-\udbff](?=[\udc00-\udfff]))?\\X"
    )
    return pattern


def clusters(text: str) -> Iterator[str]:
    """The grapheme clusters of a text: what a reader takes for single characters."""
    if _plain().fullmatch(text):
        yield from text
    else:
        for found in _cluster().finditer(text):
            yield found.group()


def cut(text: str, limit: int) -> str:
    """The longest beginning of at most ``limit`` code points that splits no grapheme cluster.

    Empty when already the first cluster is longer than the limit (a letter under a heap of
    combining marks, a long chain of joined emoji): no character rather than a broken one.
    """
    return text[: _boundary_before(text, limit)]


def cut_tail(text: str, limit: int) -> str:
    """The longest end of at most ``limit`` code points that splits no grapheme cluster."""
    return text[_boundary_after(text, len(text) - limit) :]


def cut_bytes(text: str, limit_bytes: int) -> str:
    """The longest beginning of at most ``limit_bytes`` in UTF-8 that splits no cluster.

    A lone surrogate counts three bytes, as ``surrogatepass`` writes it.
    """
    if limit_bytes <= 0:
        return ""
    head = text[:limit_bytes].encode("utf-8", "surrogatepass")
    if len(head) > limit_bytes:
        end = limit_bytes
        while head[end] & 0xC0 == 0x80:  # inside a code point: back to its first byte
            end -= 1
        head = head[:end]
    return cut(text, len(head.decode("utf-8", "surrogatepass")))


def shorten(text: str, head: int, tail: int, note: str) -> str:
    """The beginning and the end of a text with ``note`` between them.

    Unchanged when that would not be shorter: the result is the text or strictly less.
    """
    shorter = cut(text, head) + note + cut_tail(text, tail)
    return shorter if len(shorter) < len(text) else text


def _boundary_before(text: str, index: int) -> int:
    """The last boundary between clusters at or before ``index``."""
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if text.isascii():
        return index - 1 if text[index - 1 : index + 1] == "\r\n" else index
    boundary = _sure_boundary(text, index)
    if boundary < index:
        for found in _cluster().finditer(text, boundary):
            if found.end() > index:
                break
            boundary = found.end()
    return boundary


def _boundary_after(text: str, index: int) -> int:
    """The first boundary between clusters at or after ``index``."""
    before = _boundary_before(text, index)
    if before >= index:
        return before
    if text.isascii():
        return index + 1  # between the two halves of a CRLF
    found = _cluster().match(text, before)
    return found.end() if found else len(text)


def _sure_boundary(text: str, index: int) -> int:
    """A boundary at or before ``index`` that holds whatever stands before it."""
    reach = 64
    while True:
        start = max(0, index - reach)
        if found := _parting().match(text, start, index + 1):
            return found.end()
        if start == 0:
            return 0
        reach *= 4
