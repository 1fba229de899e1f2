"""Finding the credentials that name themselves (``shapes``) in the bytes of a text.

Promise: linear. All rows are one regular expression, grouped by first letter, tried only
where a letter starts a word and only in long runs of the characters tokens are made of; a row
that fails has read no more than its own least length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from holdfast.redact.found import Found
from holdfast.redact.shapes import SHAPES

__all__ = ["RUN", "classes_of", "find_tokens"]

TOKEN_RUN: Final = 16
"""Every token has a run of letters and digits this long; in prose almost nothing has."""

_NEAR: Final = 64
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_ALSO: Final = b"./:+=~@%$?,"  # some tokens have these too
_CLASSES: Final = bytes(
    ord("t") if code in _LETTERS else ord("a") if code in _ALSO else 0 for code in range(256)
)

LONGEST_START: Final = 96
"""How far before such a run a token may start: the longest is the address of a webhook."""

RUN: Final = b"t" * TOKEN_RUN
_TO_END: Final = re.compile(rb"[ta]++")


@cache
def _shapes() -> re.Pattern[bytes]:
    """All rows as one expression: groups of first characters, then second characters.

    Two short lists of alternatives cost a third of one long list. The name of the empty group
    tells the row, its place how far the public start goes.
    """
    firsts = sorted({shape.start[0] for shape in SHAPES})
    size = round(len(firsts) ** 0.5)
    groups = [firsts[at : at + size] for at in range(0, len(firsts), size)]
    return re.compile(f"(?<![A-Za-z0-9])(?:{'|'.join(map(_branch, groups))})".encode())


def _branch(firsts: list[str]) -> str:
    seconds: dict[str, dict[str, list[str]]] = {}
    for number, shape in enumerate(SHAPES):
        if shape.start[0] in firsts:
            rows = seconds.setdefault(shape.start[1], {}).setdefault(shape.start[:2], [])
            rows.append(f"{shape.start[2:]}(?P<s{number}>){shape.rest}")
    alternatives = (
        f"{second}(?:{'|'.join(map(_after_pair, pairs, pairs.values()))})"
        for second, pairs in seconds.items()
    )
    return f"[{''.join(firsts)}](?:{'|'.join(alternatives)})"


def _after_pair(pair: str, rows: list[str]) -> str:
    thirds: dict[str, list[str]] = {}
    for row in rows:
        third = row[0] if row[0].isalnum() or row[0] in "-_" else ""
        thirds.setdefault(third, []).append(row[len(third) :])
    alternatives = (f"{third}(?:{'|'.join(rest)})" for third, rest in thirds.items())
    return f"(?<={pair})(?:{'|'.join(alternatives)})"


_REST_OF_TOKEN: Final = re.compile(rb"[A-Za-z0-9_-]*+")


class _Inner(NamedTuple):
    """A credential with its sign in the middle: the search starts there, and looks back.

    ``before`` is how much of it stands before the sign and must go too; an id that stands
    there is public.
    """

    kind: str
    sign: bytes
    pattern: re.Pattern[bytes]
    before: int = 0


_DISCORD_USER: Final = b"|".join(
    rb"(?<=(?<![A-Za-z0-9])[MNO][\w-]{%d}\.)" % length for length in range(22, 28)
)
_INNER: Final = (
    _Inner("telegram bot token", b":AA", re.compile(rb":AA(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{32,}")),
    _Inner("terraform token", b".atlasv1.", re.compile(rb"\.atlasv1\.[\w-]{50,}")),
    _Inner(
        "mailchimp key",
        b"-us",
        re.compile(rb"-us(?<=(?<![0-9A-Za-z])[0-9a-f]{32}-us)[0-9]{1,2}\b"),
        32,
    ),
    _Inner("azure secret", b"8Q~", re.compile(rb"8Q~(?<=[\w~.-]{3}8Q~)[\w~.-]{31,40}"), 3),
    _Inner("google refresh token", b"1//0", re.compile(rb"1//0(?<![A-Za-z0-9/]1//0)[\w-]{24,}")),
    _Inner(
        "discord token",
        b".",
        re.compile(
            rb"\.(?=[\w-]{6}\.[\w-]{27,38}(?![\w-]|\.\w))(?=[a-z_-]{0,5}+[0-9A-Z])"
            rb"(?:" + _DISCORD_USER + rb")[\w-]{6}\.[\w-]{27,}"
        ),
    ),
    _Inner(
        "zhipu key",
        b".",
        re.compile(
            rb"\.(?=[A-Za-z0-9]{16}(?!\w|\.\w))(?=[a-z0-9]{0,15}+[A-Z])"
            rb"(?<=(?<![0-9A-Za-z])[0-9a-f]{32}\.)[A-Za-z0-9]{16}"
        ),
    ),
)


def classes_of(data: bytes) -> bytes:
    """``t`` for each letter, digit, underscore or hyphen: long runs are found at once in it."""
    return data.translate(_CLASSES)


def find_tokens(data: bytes) -> Iterator[Found]:
    """Every credential that names itself, in no particular order."""
    shapes = _shapes()
    inner = [row for row in _INNER if row.sign in data]
    data = _with_word_starts(data)
    for start, end in _regions(data):
        for match in shapes.finditer(data, start, end):
            name = match.lastgroup or ""
            shown = data[match.start() : match.end(name)].decode()
            stop = _REST_OF_TOKEN.match(data, match.end())
            assert stop is not None
            yield Found(SHAPES[int(name[1:])].kind, match.start(), stop.end(), shown)
        for row in inner:
            for match in row.pattern.finditer(data, start, end):
                yield Found(row.kind, match.start() - row.before, match.end())


def _with_word_starts(data: bytes) -> bytes:
    """The same, with no letter before what follows an escape such as ``\\n``."""
    if b"\\" in data:
        for letter in (b"n", b"r", b"t"):
            data = data.replace(b"\\" + letter, b"\\\0")
    return data


def _regions(data: bytes) -> Iterator[tuple[int, int]]:
    """Where tokens may be. Runs that are near each other are one region: fewer to look at."""
    classes = data.translate(_CLASSES)
    end = 0
    at = classes.find(RUN)
    while at >= 0:
        start = max(end, at - LONGEST_START)
        while at >= 0:
            run = _TO_END.match(classes, at)
            assert run is not None
            end = run.end()
            at = classes.find(RUN, end, end + _NEAR)
        yield start, end
        at = classes.find(RUN, end)
