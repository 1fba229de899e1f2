"""Characters that hide, and texts in a form that compares.

Promise: ``strip_hidden`` leaves nothing a reader cannot see, except the joiners and variation
selectors that shape a visible character, one at a time; doing it twice changes nothing more.
``normalise`` is idempotent. Proven over all of Unicode and over random strings by
``tests/foundation/test_text_characters.py``. Not here: what a removal means for trust.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["is_hidden", "normalise", "replace_hidden", "slug", "strip_hidden", "title_slug"]

_ZWNJ, _ZWJ = "\u200c", "\u200d"

# All of Unicode's default-ignorable code points (joiners, bidi controls, fillers, variation
# selectors, the tag block), interlinear annotation, and controls that are not white space.
_HIDDEN: Final = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ONE_HIDDEN: Final = re.compile(f"[{_HIDDEN}]")

# The flags of England, Scotland and Wales are spelled with tag characters: the only three
# sequences of them that Unicode recommends, so the only ones that are not a hiding place.
_TAG_FLAGS: Final = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
_FLAG_OR_HIDDEN: Final = re.compile(f"{_TAG_FLAGS}|[{_HIDDEN}]")

# Ranges are compared, not compiled: a pattern with a large range takes milliseconds to build,
# and these are only asked about the neighbours of a hidden character.
_Ranges: TypeAlias = tuple[tuple[str, str], ...]
_JOINING: Final[_Ranges] = (  # scripts in which a joiner after a letter is spelling
    ("\u0600", "\u109f"),
    ("\u1700", "\u18af"),
    ("\u1900", "\u1cff"),
    ("\ua800", "\uabff"),
    ("\ufb50", "\ufdff"),
    ("\ufe70", "\ufefc"),
    ("\U00010a00", "\U00011fff"),
    ("\U0001e900", "\U0001e95f"),
)
_IDEOGRAPHS: Final[_Ranges] = (
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
)
_MONGOLIAN_LETTERS: Final[_Ranges] = (("\u1820", "\u18aa"),)
_EMOJI_BLOCKS: Final[_Ranges] = (("\U0001f000", "\U0001faff"),)  # also newer than our tables
_ALSO_EMOJI: Final = "0123456789#*ℹ‼⁉〰"  # not symbols by category, yet with an emoji form


def is_hidden(char: str) -> bool:
    """Whether a character has no shape of its own: control, zero-width, bidi, tag, filler.

    Joiners and variation selectors count as hidden too; ``strip_hidden`` knows where they
    belong. White space, also a line break, is not hidden.
    """
    return _ONE_HIDDEN.match(char) is not None


def strip_hidden(text: str) -> tuple[str, bool]:
    """The text without hidden characters, and whether any was removed.

    Kept are joiners in emoji and in scripts that need them, a variation selector after a
    character that can vary, and the three flags that are spelled with tags.
    """
    stripped = replace_hidden(text, lambda _: "")
    return stripped, len(stripped) != len(text)


def replace_hidden(text: str, replacement: Callable[[str], str]) -> str:
    """The text with ``replacement(char)`` for every hidden character that does not belong."""
    if _ONE_HIDDEN.search(text) is None:
        return text
    kept: list[str] = []
    before, done = "", 0
    for found in _FLAG_OR_HIDDEN.finditer(text):
        if found.start() > done:
            kept.append(text[done : found.start()])
            before = text[found.start() - 1]
        done = found.end()
        char = found.group()
        if len(char) == 1 and not _belongs(char, before, text[done : done + 1]):
            char = replacement(char)
        if char:
            kept.append(char)
            before = char[-1]
    kept.append(text[done:])
    return "".join(kept)


def _belongs(char: str, before: str, after: str) -> bool:
    """Whether a hidden character shapes the visible one it stands next to.

    One per place is enough for every writing system; runs of them carry messages.
    """
    if not before:
        return False
    if char in (_ZWJ, _ZWNJ):
        return _joins(before) or (char == _ZWJ and _ends_emoji(before) and _is_symbol(after))
    if "\ufe0e" <= char <= "\ufe0f":
        return before in _ALSO_EMOJI or _is_symbol(before)
    if "\ufe00" <= char <= "\ufe0d":
        return not before.isascii() and unicodedata.category(before)[0] in "LS"
    if "\U000e0100" <= char <= "\U000e01ef":
        return _is_in(_IDEOGRAPHS, before)
    if "\u180b" <= char <= "\u180f":
        return _is_in(_MONGOLIAN_LETTERS, before)
    return False


def _is_in(ranges: _Ranges, char: str) -> bool:
    return any(first <= char <= last for first, last in ranges)


def _joins(char: str) -> bool:
    return _is_in(_JOINING, char) and unicodedata.category(char)[0] in "LM"


def _is_symbol(char: str) -> bool:
    """Whether an emoji may start with it: a symbol, not of ASCII (``+`` is none)."""
    if not char or char.isascii():
        return False
    return unicodedata.category(char) in ("So", "Sm") or _is_in(_EMOJI_BLOCKS, char)


def _ends_emoji(char: str) -> bool:
    return char == "\ufe0f" or _is_symbol(char)


def normalise(text: str) -> str:
    """The text in the form in which two texts that read alike are equal.

    Compatibility forms, case, white space and hidden characters make no difference. To compare
    with, not to keep: ``x²`` becomes ``x2``.
    """
    visible = _ONE_HIDDEN.sub("", text)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold())
    return " ".join(folded.split())


def slug(text: str) -> str:
    """A short name of lower-case ASCII letters, digits and hyphens, never empty.

    Accents are dropped. A text of which nothing is left gets a name made from its checksum, so
    that different texts get different names.
    """
    folded = unicodedata.normalize("NFKD", text).casefold()
    letters = "".join(
        char for char in folded if char not in "'’" and not unicodedata.combining(char)
    )
    name = "-".join(re.findall(r"[a-z0-9]+", letters))[:48].strip("-")
    return name or f"name-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


_LONGEST_IN_SCRIPT = 32
_WORDS: Final = re.compile(r"[^\W_]+")


def title_slug(text: str) -> str:
    """A short name of a title that its readers can read: Chinese stays Chinese.

    Latin letters become those of ``slug``. Never empty, and always the name of a file.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    letters = _WORDS.findall(unicodedata.normalize("NFKC", _ONE_HIDDEN.sub("", folded)))
    if all(
        unicodedata.name(char, "").startswith("LATIN") or not char.isalpha()
        for word in letters
        for char in word
    ):
        return slug(text)
    return "-".join(letters)[:_LONGEST_IN_SCRIPT].strip("-") or slug(text)
