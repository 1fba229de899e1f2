"""Escapes of JSON, URLs and HTML, and lines that are quoted, read as what they stand for.

Pure; proven with the rest of ``holdfast.matching`` by ``tests/foundation/test_matching.py``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

__all__ = [
    "LONGEST_BEGINNING",
    "OF_BACKSLASHES",
    "SIGNS",
    "SPELLINGS",
    "Piece",
    "Spelling",
    "is_inside_beginning",
    "letters",
]

SIGNS: Final = "\\%&"
"""With one of these every escape begins."""

LONGEST_BEGINNING: Final = 64
"""Characters of what may stand before a line that is quoted, with the line break."""


class Piece(NamedTuple):
    """What a reader makes of ``text[start:end]``."""

    said: str
    start: int
    end: int


# Several backslashes: JSON inside a string of JSON is escaped again.
_JSON: Final = re.compile(
    r"\\{1,8}(?:u[dD][89abAB][0-9a-fA-F]{2}\\{1,8}u[dD][c-fC-F][0-9a-fA-F]{2}"
    r'|u[0-9a-fA-F]{4}|[nrtbf"/])'
)
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2}){1,4096}")
# Of a form: a plus is a blank. Escaped again, `%20` is `%2520`.
_PLUS: Final = r"(?<!\s)\+(?!\s)"
_FORM: Final = re.compile(_PLUS + r"|(?:%(?:25){0,3}[0-9a-fA-F]{2}){1,1024}")
_IN_FORM: Final = re.compile(_PLUS + "|%25")
_ESCAPED_BYTE: Final = re.compile(r"%(?:25){0,3}[0-9a-fA-F]{2}")
# What a block quote puts before each line, and a difference of files before that; the line
# break may be one of JSON.
_BEGINNING: Final = r"(?:\n|\\{1,8}n)[+-]?[ \t]{0,16}(?:>[ \t]{0,3}){1,8}"
_QUOTED: Final = re.compile(f"{_BEGINNING}|{_JSON.pattern}")
_HAS_QUOTE: Final = re.compile(_BEGINNING)
# Marks that can become one character with the letter before them, which then reads as another.
_MARKS: Final = re.compile("[\u0300-\u036f\u0653-\u0655\u3099\u309a]{1,64}")
_APART: Final = "\uffff"
_HTML: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BREAKS: Final = re.compile(r"\\{1,8}[nrtf]")
_BACKSPACE: Final = re.compile(r"\\{1,8}b")
_QUOTES: Final = re.compile(r'\\{1,8}(["/])')
_UNICODE: Final = "\\u"
_STRICT_JSON: Final = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_BACKSLASHES: Final = re.compile(r"\\{2,4096}")
_PLAIN_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def _of_json(escape: str) -> list[tuple[str, int]]:
    if (at := escape.find("u")) < 0 or len(escape) - at < 5:
        return [(_PLAIN_ESCAPES.get(escape[-1], escape[-1]), len(escape))]
    first = int(escape[at + 1 : at + 5], 16)
    if len(escape) == at + 5:
        return [(chr(first), len(escape))]
    low = int(escape[-4:], 16)
    return [(chr(0x10000 + ((first - 0xD800) << 10) + (low - 0xDC00)), len(escape))]


def _of_backslashes(escape: str) -> list[tuple[str, int]]:
    return [("\\", len(escape))]


def _of_percent(escape: str) -> list[tuple[str, int]]:
    said = unquote_to_bytes(escape).decode("utf-8", "surrogateescape")
    return [(char, 3 * len(char.encode("utf-8", "surrogateescape"))) for char in said]


def _of_form(escape: str) -> list[tuple[str, int]]:
    if escape == "+":
        return [(" ", 1)]
    units = _ESCAPED_BYTE.findall(escape)
    said = bytes(int(unit[-2:], 16) for unit in units).decode("utf-8", "surrogateescape")
    found: list[tuple[str, int]] = []
    at = 0
    for char in said:
        behind = at + len(char.encode("utf-8", "surrogateescape"))
        found.append((char, sum(map(len, units[at:behind]))))
        at = behind
    return found


def _of_quote(escape: str) -> list[tuple[str, int]]:
    return [(" ", len(escape))] if escape.rstrip(" \t").endswith(">") else _of_json(escape)


def _of_marks(escape: str) -> list[tuple[str, int]]:
    return [(_APART + escape, len(escape))]


def _of_html(escape: str) -> list[tuple[str, int]]:
    return [(html.unescape(escape), len(escape))]


class Spelling(NamedTuple):
    name: str
    signs: str
    """Without one of them in a text there is nothing to do; if there are none, in plain ASCII."""
    escapes: re.Pattern[str]
    read: Callable[[str], list[tuple[str, int]]]
    only_with: re.Pattern[str] | None = None
    """Beside a sign this must be there, or there is nothing to do."""
    extends: str = ""
    """The name of another that reads less; the plain text if none."""

    def is_used_in(self, text: str) -> bool:
        has_sign = not text.isascii() if not self.signs else any(map(text.__contains__, self.signs))
        return has_sign and (self.only_with is None or self.only_with.search(text) is not None)

    def unescaped(self, text: str) -> str:
        if self.name == "json":
            # Nearly all escapes of a transcript are these, and here they are read twice as fast.
            text = _QUOTES.sub(r"\1", _BREAKS.sub(" ", text))
            text = _BACKSPACE.sub("", text) if "\\b" in text else text
            if _UNICODE not in text:
                return text
        return self.escapes.sub(lambda it: "".join(said for said, _ in self.read(it[0])), text)

    def pieces(self, text: str) -> Iterator[Piece]:
        at = 0
        for found in self.escapes.finditer(text):
            yield from letters(text, at, found.start())
            at = found.start()
            for said, length in self.read(found[0]):
                yield Piece(said, at, at + length)
                at += length
        yield from letters(text, at, len(text))


SPELLINGS: Final = (
    Spelling("json", "\\", _JSON, _of_json),
    Spelling("percent", "%", _PERCENT, _of_percent),
    Spelling("html", "&", _HTML, _of_html),
    Spelling("form", "+%", _FORM, _of_form, _IN_FORM, "percent"),
    Spelling("quote", ">", _QUOTED, _of_quote, _HAS_QUOTE, "json"),
    Spelling("marks", "", _MARKS, _of_marks, _MARKS),
)
# Only a text with a backslash of its own needs them: `C:\new` is no line break and "ew".
OF_BACKSLASHES: Final = (
    Spelling("strict", "\\", _STRICT_JSON, _of_json),
    Spelling("backslashes", "\\", _BACKSLASHES, _of_backslashes),
)


def letters(text: str, start: int, end: int) -> Iterator[Piece]:
    return (Piece(text[index], index, index + 1) for index in range(start, end))


def is_inside_beginning(text: str, at: int) -> bool:
    """Whether a cut there may part a line break from the marks of a quote that follow it."""
    before = text[max(0, at - LONGEST_BEGINNING) : at].rstrip(" \t>+-")
    return before.endswith(("\n", "\\n"))
