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
_SHORTEST_FORM: Final = 6
"""Bytes: what eight characters of base64 can hold. Shorter ones stand anywhere by chance."""
_WRAPPED: Final = re.compile(
    rb"(?<=[A-Za-z0-9+/_-]{16})(?:\\r\\n|\\n|\r\n|\n)[ \t]{0,8}(?=[A-Za-z0-9+/_-])"
)
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_BETWEEN: Final = b"AAAA"
"""Three bytes of zero, which are in no text."""


def encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


class ByteForms:
    """Byte strings that spell one of the texts where no decoder would look for them.

    Latin letters in any mixture of case; else the usual ways to write it: as given, composed,
    decomposed, in small letters, in capitals.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        written = dict.fromkeys(form for text in texts for form in _written_forms(text))
        wide = _distinct(
            form.encode(f"utf-16-{order}", "surrogatepass")
            for form in written
            for order in ("le", "be")
        )
        self._wide = [form for form in wide if b"\0" not in form]
        self._wide_latin = _distinct(form.lower() for form in wide if b"\0" in form)
        narrow = _distinct(encoded(form).lower() for form in written)
        packed = _distinct((*narrow, *(form.lower() for form in wide)))
        self._packed = [form for form in packed if len(form) >= _SHORTEST_FORM]
        self._beginnings = frozenset(form[:_SHORTEST_FORM] for form in self._packed)
        shortest = max(SHORTEST_BASE64, min(map(len, self._packed), default=0) * 4 // 3)
        self._runs = re.compile(rb"[A-Za-z0-9+/_-]{%d,}" % shortest)
        longest = max(map(len, (*narrow, *wide)), default=0)
        # As base64, in lines, with the rest of a group at both ends.
        self.held_back = longest * 4 // 3 + longest // 8 + 32

    def is_in(self, data: bytes) -> bool:
        if b"\0" in data:
            lowered = data.lower()
            if any(form in lowered for form in self._wide_latin):
                return True
        return any(form in data for form in self._wide) or self.is_in_base64(data)

    def is_in_base64(self, data: bytes) -> bool:
        runs = self._runs.findall(_WRAPPED.sub(b"", data)) if self._packed else []
        if not runs:
            return False
        said = _decoded(runs)
        if 2 * len(said) < len(self._packed):
            # Little to look at, and many texts: is the beginning of any of them there?
            windows = (said[at : at + _SHORTEST_FORM] for at in range(len(said)))
            if self._beginnings.isdisjoint(windows):
                return False
        return any(form in said for form in self._packed)


def _distinct(forms: Iterable[bytes]) -> list[bytes]:
    return list(dict.fromkeys(forms))


def _written_forms(text: str) -> Iterator[str]:
    text = text.strip()
    for form in (text, text.lower(), text.upper(), text.title(), normalise(text)):
        yield form
        yield unicodedata.normalize("NFC", form)
        yield unicodedata.normalize("NFD", form)


def _decoded(runs: Sequence[bytes]) -> bytes:
    """What the runs say in small letters, for each of the four ways their groups may lie."""
    runs = [run.translate(_URL_SAFE) for run in runs]
    groups = (
        run[skipped:] + b"A" * ((skipped - len(run)) % 4) for skipped in range(4) for run in runs
    )
    return base64.b64decode(_BETWEEN.join(groups)).lower()
