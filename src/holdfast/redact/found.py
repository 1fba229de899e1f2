"""What a search for secrets found, and the words it starts from, in bytes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Found", "encoded"]


class Found(NamedTuple):
    """``shown`` is the public start that may stay."""

    kind: str
    start: int
    end: int
    shown: str = ""


def encoded(words: str, *, between: str | None = None) -> frozenset[bytes]:
    """The words of a list, as the bytes of a text have them."""
    return frozenset(word.encode() for word in words.split(between))
