"""One question as ranking sees it: what it asks for, of whom, and of when.

Promise: nothing here is looked up or decided; ``query.analysis`` fills it in, and
``ranking.stages`` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Concept", "ContentWord", "Question", "Shape", "When"]


class Shape(IntEnum):
    """How the question is put, which decides what single words in it are worth."""

    QUESTION = 0
    """A sentence or two that ask for something."""
    ASSOCIATIVE = 1
    """Several sentences, none of which is the question: what do they bring to mind?"""
    LIST = 2
    """A question with several answers: how many, which of them, all the."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """One term of the question, and the terms that may stand in its place."""

    term: str
    weight: float = 1.0
    forms: tuple[str, ...] = ()
    """Other forms of the same word, which no stemmer finds: buy, bought."""
    kin: tuple[str, ...] = ()
    """Words of nearly the same meaning, or of its kind: instrument, guitar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentWord:
    """A word of the question that says what is sought, and where it stands in its text."""

    start: int
    end: int
    term: str


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A time the question names, in seconds since 1970 UTC."""

    start: float
    end: float
    month: int | None = None
    """Set if the year was not named: that month of any year, and ``day`` if one was named."""
    day: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One part of a query, ready to be ranked by."""

    text: str
    """What is encoded."""
    concepts: tuple[Concept, ...] = ()
    content: tuple[ContentWord, ...] = ()
    speakers: frozenset[str] = frozenset()
    """Those of the store's speakers that it names, as the store spells them."""
    times: tuple[When, ...] = ()
    asks_when: bool = False
    shape: Shape = Shape.QUESTION
    dense: bool = False
    """It is written mostly in a script without spaces."""

    @property
    def terms(self) -> tuple[str, ...]:
        """Every term whose postings the first stage reads, each once."""
        return tuple(
            dict.fromkeys(
                term for concept in self.concepts for term in (concept.term, *concept.forms)
            )
        )
