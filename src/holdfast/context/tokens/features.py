"""What a text is made of, in the terms that decide how a tokenizer splits it.

A byte-pair tokenizer first cuts a text where the kind of character changes and then merges
inside each piece. So we write the text as a string of character classes, one byte each, and
count short patterns in it: words and their lengths, capitals, digits, runs of punctuation,
indentation, and one class per script or kind of symbol.

Promise: a feature is a count that does not fall when the text grows at its end (but for long
rulers like ``-----``, which fold), so with weights that are not negative an estimate is
monotone too; and no loop of ours walks over the characters of a text. Proved by
``tests/context/test_tokens.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits, punctuation
from typing import Final

from holdfast.context.tokens.characters import CLASSES, class_codes

__all__ = ["FEATURES", "features"]


def _view(**groups: Iterable[str | int]) -> bytes:
    """A translation table: every group becomes one mark, everything else a full stop."""
    table = bytearray(b"." * 256)
    for name, members in groups.items():
        for member in members:
            table[member if isinstance(member, int) else ord(member)] = ord(_MARKS[name])
    return bytes(table)


_MARKS: Final = {
    "control": "^",
    "digit": "0",
    "hard": "c",
    "letter": "a",
    "line": "\n",
    "lower": "b",
    "seldom": "q",
    "sign": "!",
    "space": " ",
    "tab": "\t",
    "upper": "A",
    "vowel": "e",
}
# Accented letters continue a word of ASCII letters.
_ACCENTED: Final = tuple(0x80 + CLASSES.index(name) for name in ("accent", "viet"))
_LETTERS: Final = (*ascii_letters, *_ACCENTED)
_VOWELS: Final = "aeiouy"
_SELDOM: Final = "jqxz"

# Each view shows one side of the text and blots out the rest.
_VIEWS: Final[Mapping[str, bytes]] = {
    "word": _view(letter=_LETTERS),
    "case": _view(upper=ascii_uppercase, lower=(*ascii_lowercase, *_ACCENTED), digit=digits),
    "sound": _view(
        hard=sorted(set(ascii_lowercase) - set(_VOWELS + _SELDOM)), vowel=_VOWELS, seldom=_SELDOM
    ),
    "ending": _view(letter=_LETTERS, vowel="aiou"),
    "line": _view(line="\n\r"),
    "between": _view(
        letter=_LETTERS,
        digit=digits,
        sign=punctuation,
        space=" ",
        line="\n\r",
        tab="\t\v\f",
        control=(*range(9), *range(14, 32), 127),
    ),
}

# name: (view, pattern). ``bytes.count`` does not overlap, so a pattern of k equal marks counts
# floor(length / k) for every run of them: that is how the length of a word weighs.
_PATTERNS: Final[Mapping[str, tuple[str, bytes]]] = {
    "word": ("word", b".a"),
    **{f"word{size}": ("word", b"a" * size) for size in (5, 8, 12)},
    "lower11": ("case", b"b" * 11),
    "capital": ("case", b"A"),
    "camel": ("case", b"bA"),
    "digit_capital": ("case", b"0A"),
    "digit": ("case", b"0"),
    "space_digit": ("between", b" 0"),
    "sign_digit": ("between", b"!0"),
    "word_digit": ("between", b"a0"),
    "hard4": ("sound", b"cccc"),  # consonants in a row and seldom letters: no English word
    "seldom": ("sound", b"q"),
    "ending": ("ending", b"ae."),  # rare in English, so a hint of another Latin language
    "sign": ("between", b"!"),
    "signs2": ("between", b"!!"),
    "space_sign": ("between", b" !"),
    "line": ("line", b"\n"),
    "lines": ("line", b".\n"),
    "spaces2": ("between", b"  "),
    "tab": ("between", b"\t"),
    "control": ("between", b"^"),
}
# Scripts whose words weigh by where they begin, too, not only by their letters.
_WORDED: Final = (
    *("arabic", "armenian", "cyrillic", "devanagari", "georgian"),
    *("greek", "hebrew", "hiragana", "katakana", "thai"),
)

FEATURES: Final = (
    *_PATTERNS,
    *(f"@{name}" for name in CLASSES),
    *(f"@{name}+" for name in _WORDED),
)
"""All names: patterns, ``@class`` for its characters, ``@class+`` for where a run begins."""

_ALL: Final = frozenset(FEATURES)
# A ruler of sixteen marks is one token nearly everywhere.
_RULERS: Final = tuple((bytes([mark]) * 16, bytes([mark])) for mark in b"-=*#_.~")


def features(text: str, wanted: frozenset[str] = _ALL) -> dict[str, int]:
    """How often each wanted feature occurs in the text; classes that do not occur are left out."""
    plain = text.isascii()
    codes = b"." + (text.encode("ascii") if plain else class_codes(text))
    for ruler, mark in _RULERS:
        if ruler in codes:
            codes = codes.replace(ruler, mark)
    views = {name: codes.translate(table) for name, table in _VIEWS.items()}
    found = {
        name: views[view].count(pattern)
        for name, (view, pattern) in _PATTERNS.items()
        if name in wanted
    }
    return found if plain else found | _classes(codes, wanted)


def _classes(codes: bytes, wanted: frozenset[str]) -> dict[str, int]:
    found = {}
    for code in sorted(set(codes)):
        if code < 0x80:
            continue
        name = f"@{CLASSES[code - 0x80]}"
        found[name] = codes.count(code)
        if f"{name}+" in wanted:
            found[f"{name}+"] = codes.translate(_only(code)).count(b".a")
    return found


def _only(code: int) -> bytes:
    return b"." * code + b"a" + b"." * (255 - code)
