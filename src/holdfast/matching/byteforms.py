"""A text as bytes that no decoder would look for: UTF-16 and base64 in the middle of other bytes.

Pure; proven with the rest of ``holdfast.matching`` by ``tests/foundation/test_matching.py``.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from holdfast.text import normalise

__all__ = ["SHORTEST_BASE64", "ByteForms", "encoded"]

SHORTEST_BASE64: Final = 8
_BASE64_RUN: Final = re.compile(rb"[A-Za-z0-9+/_=-]{%d,}" % SHORTEST_BASE64)


def encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class ByteForms:
    """Byte strings that spell one of the texts where no decoder would look for them.

    The usual ways to write it are tried, not every mixture: as given, composed, decomposed,
    in small letters, in capitals.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        written = dict.fromkeys(form for text in texts for form in _written_forms(text))
        self._utf16 = _distinct(
            form.encode(f"utf-16-{order}", "surrogatepass")
            for form in written
            for order in ("le", "be")
        )
        self._base64 = _distinct(
            core for form in written for core in _base64_cores(encoded(form)) if core
        )
        self._by_beginning: dict[bytes, list[bytes]] = {}
        for core in self._base64:
            self._by_beginning.setdefault(core[:SHORTEST_BASE64], []).append(core)
        self.longest = max(map(len, (*self._utf16, *self._base64)), default=0)

    def is_in(self, data: bytes) -> bool:
        has_zero = b"\0" in data
        wide = self._utf16 if has_zero else [form for form in self._utf16 if b"\0" not in form]
        return any(form in data for form in wide) or self.is_in_base64(data)

    def is_in_base64(self, data: bytes) -> bool:
        runs = b" ".join(_BASE64_RUN.findall(data))
        if len(runs) > len(self._base64):
            return any(core in runs for core in self._base64)
        # Little to look at, and many texts: only those are compared whose beginning is there.
        windows = (runs[at : at + SHORTEST_BASE64] for at in range(len(runs)))
        return any(
            core in runs
            for window in windows
            if window in self._by_beginning
            for core in self._by_beginning[window]
        )


def _distinct(forms: Iterable[bytes]) -> list[bytes]:
    return list(dict.fromkeys(forms))


def _written_forms(text: str) -> Iterator[str]:
    text = text.strip()
    for form in (text, text.lower(), text.upper(), text.title(), normalise(text)):
        yield form
        yield unicodedata.normalize("NFC", form)
        yield unicodedata.normalize("NFD", form)


def _base64_cores(data: bytes) -> Iterator[bytes]:
    """What base64 makes of these bytes in the middle of others, for the three ways to lie."""
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + data)
        first = (0, 2, 3)[shift]
        surplus = (shift + len(data)) % 3
        last = len(whole) - (0, 3, 2)[surplus]
        core = whole[first:last]
        if len(core) >= SHORTEST_BASE64:
            yield core
            if b"+" in core or b"/" in core:
                yield core.translate(bytes.maketrans(b"+/", b"-_"))
