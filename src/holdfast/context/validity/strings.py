"""Strings every provider takes: valid Unicode, and not longer than the limit.

Promise: a string that was fine comes back as the same object, a shortened one splits no
character, and nested values are copied only where something in them changed
(``tests/context/test_repair.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.text import cut, shorten
from holdfast.types import Json

__all__ = ["is_unicode", "mend_json", "mend_unicode", "within"]


def is_unicode(text: str) -> bool:
    """Whether the text has no lone surrogates, and can be sent as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def mend_unicode(text: str) -> str:
    """The text with U+FFFD for lone surrogates; two halves of one character become it."""
    if is_unicode(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def mend_json(value: Json) -> Json:
    """The value with every string in it mended; the same object if none needed it."""
    if isinstance(value, str):
        return mend_unicode(value)
    if isinstance(value, Mapping):
        pairs = [(key, mend_unicode(key), inner, mend_json(inner)) for key, inner in value.items()]
        if all(key is new_key and inner is new for key, new_key, inner, new in pairs):
            return value
        return {new_key: new for _, new_key, _, new in pairs}
    if isinstance(value, list | tuple):
        mended = [mend_json(inner) for inner in value]
        same = all(new is inner for new, inner in zip(mended, value, strict=True))
        return value if same else mended
    return value


def within(text: str, limit: int | None) -> str:
    """The text, or its beginning and end with a note between them, in ``limit`` characters."""
    if limit is None or len(text) <= limit:
        return text
    note = f"\n[… {len(text) - limit} characters and more left out …]\n"
    room = limit - len(note)
    if room < 2:
        return cut(text, limit)
    return shorten(text, room - room // 3, room // 3, note)
