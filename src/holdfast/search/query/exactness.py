"""Exact matches: passages no threshold and no wish for variety may take away.

A passage matches exactly when it holds the whole query, every term of it, or an identifier the
query names: a ticket, a path, an error code, an address. Words like ``2nd`` or ``e-mail`` and
dates are no identifiers.

Promise: linear in query and passage (``tests/search/test_pipeline.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.text import normalise
from holdfast.text.late import late
from holdfast.text.tokens import index_terms, term_hash

__all__ = ["Exactness", "exactness", "identifiers"]

_EDGES: Final = "\"'`“”‘’「」《》()[]{}<>（）【】,;:.!?，。；：！？、"
_SHAPE: Final = late(
    r"(?=[\w.@:/\\#+~-]{4,200}\Z)(?:"
    r".*_.*"
    r"|[^@]+@[^@]+"
    r"|.*::.*"
    r"|(?=.*[A-Za-z])(?=.*\d).*"
    r"|.*[a-z][A-Z].*"
    r"|.*[/\\].*[./\\].*"
    r")",
    re.ASCII,
)
_NO_IDENTIFIER: Final = late(r"\d+[A-Za-z]{1,2}|[\d.:/T+-]+Z?|(?:19|20)\d\d-?[A-Za-z]+")
_MOST: Final = 8
_READ: Final = 2_000
_FEW: Final = 2


def identifiers(query: str) -> tuple[str, ...]:
    """The terms of a query that name one thing and nothing else."""
    found: dict[str, None] = {}
    for written in query[:_READ].split():
        word = written.strip(_EDGES)
        if _SHAPE.match(word) and not _NO_IDENTIFIER.fullmatch(word):
            found.update(dict.fromkeys(index_terms(word)[:1]))
        if len(found) >= _MOST:
            break
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """What makes a passage an exact match of one query."""

    phrase: str
    """The query without case and extra blanks; empty when its terms say as much."""
    terms: frozenset[int]
    identifiers: tuple[str, ...]
    named: frozenset[int]
    """Their hashes."""

    def names(self, terms: frozenset[int]) -> bool:
        return not self.named.isdisjoint(terms)

    def holds_all(self, terms: frozenset[int]) -> bool:
        return bool(self.terms) and self.terms <= terms

    def matches(self, text: str, terms: frozenset[int]) -> bool:
        return self.holds_all(terms) or self.names(terms) or self.holds_phrase(text)

    def holds_phrase(self, text: str) -> bool:
        return bool(self.phrase) and self.phrase in normalise(text)


def exactness(query: str, terms: Sequence[str]) -> Exactness:
    # A text that holds a longer query holds all of its terms; only a short one may be a part of
    # a word, and one of common words has no terms.
    phrase = normalise(query) if len(terms) <= _FEW and len(query) <= _READ else ""
    named = identifiers(query)
    return Exactness(
        phrase=phrase if len(phrase) > 1 else "",
        terms=frozenset(map(term_hash, terms)),
        identifiers=named,
        named=frozenset(map(term_hash, named)),
    )
