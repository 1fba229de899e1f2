"""Whose words a memory stands on: the user's, a tool's, or only the assistant's own.

A memory is trusted as its weakest support: what a tool said stays a tool's, also if the assistant
repeated it, and one figure from a tool in a sentence of the user makes it a tool's.

Promise: no text that came out of a tool gets the trust of a user's words because somebody repeated
or wrapped it (``tests/memory/test_provenance.py``). Pure. When in doubt the trust is lower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from holdfast.retain import Trust
from holdfast.text import normalise
from holdfast.text.likeness import marks, terms

__all__ = ["Said", "Support", "trust_of"]

_ENOUGH: Final = 0.6
"""The share of a memory's words that one message must hold to be its support."""
_MOST_SOURCES: Final = 8
_WHO: Final = frozenset(
    {"user", "assistant", "agent", "用户", "助手", "remember", "rememb", "note"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message: ``role`` is user, assistant or tool; ``source`` is how to cite it."""

    role: str
    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """What a memory stands on. Without sources nothing in the conversation says it."""

    trust: Trust
    sources: tuple[str, ...] = ()


def trust_of(text: str, said: Sequence[Said]) -> Support:
    """The trust and the sources of a memory, by where in the conversation its words stand."""
    claim = _Claim.of(text)
    tools = [each for each in said if each.role == "tool"]
    spoken = [each for each in said if each.role == "user" and claim.is_said_in(each.text)]
    unsaid = claim.beyond([each.text for each in said if each.role == "user"])
    if spoken:
        taken = [each for each in tools if claim.is_taken_from(each.text, unsaid)]
        if taken:
            return _support("tool", [*spoken, *taken])
        return _support("agent" if unsaid & claim.exact else "user", spoken)
    taken = [each for each in tools if claim.stands_in(each.text)]
    if taken := taken or claim.pieced_together(tools, unsaid):
        return _support("tool", taken)
    others = [each for each in said if each.role not in ("user", "tool")]
    return _support("agent", [each for each in others if claim.is_said_in(each.text)])


def _support(trust: Trust, messages: Sequence[Said]) -> Support:
    sources = dict.fromkeys(each.source for each in messages if each.source)
    return Support(trust=trust, sources=tuple(sources)[-_MOST_SOURCES:])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A memory as it is looked for: its words, and what of it must be found to the letter."""

    words: frozenset[str]
    exact: frozenset[str]
    denies: bool

    @classmethod
    def of(cls, text: str) -> _Claim:
        found = marks(text)
        exact = {normalise(mark) for mark in found.numbers | found.identifiers | found.names}
        words = frozenset(terms(text)) - _WHO
        return cls(words=words, exact=frozenset(exact - _WHO), denies=found.negations % 2 == 1)

    def is_said_in(self, text: str) -> bool:
        """Whether a message says this, and not its opposite."""
        if not self._enough(len(self.words & _words_of(text))):
            return False
        best = max(
            _sentences_of(text), key=lambda one: len(self.words & _words_of(one)), default=""
        )
        return (marks(best).negations % 2 == 1) == self.denies

    def stands_in(self, text: str) -> bool:
        """Whether it could come from the output of a tool: word by word, or by its figures."""
        folded = _folded(text)
        if self._enough(sum(word in folded for word in self.words)):
            return True
        return bool(self.exact) and 2 * sum(mark in folded for mark in self.exact) > len(self.exact)

    def beyond(self, texts: Sequence[str]) -> frozenset[str]:
        """The words and the exact parts of it that none of the texts holds."""
        heard = frozenset().union(*map(_words_of, texts))
        exact = {mark for mark in self.exact if not any(mark in _folded(text) for text in texts)}
        return (self.words - heard) | exact

    def is_taken_from(self, text: str, unsaid: frozenset[str]) -> bool:
        """Whether the output of a tool gave what the users did not say."""
        given = {part for part in unsaid if part in _folded(text)}
        return bool(given & self.exact) or (bool(given) and self.stands_in(text))

    def pieced_together(self, tools: Sequence[Said], unsaid: frozenset[str]) -> list[Said]:
        """The tools that gave what the users did not say, if only together they say it all."""
        giving = [each for each in tools if any(part in _folded(each.text) for part in unsaid)]
        given = {part for part in unsaid if any(part in _folded(each.text) for each in giving)}
        if not given & self.exact and 5 * len(given) < len(self.words):
            return []
        return giving if self._enough(len(self.words - (unsaid - given))) else []

    def _enough(self, count: int) -> bool:
        return bool(self.words) and count >= _ENOUGH * len(self.words)


_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")


@lru_cache(maxsize=1_024)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))


@lru_cache(maxsize=1_024)
def _folded(text: str) -> str:
    return normalise(text)


@lru_cache(maxsize=1_024)
def _sentences_of(text: str) -> tuple[str, ...]:
    return tuple(part for part in _SENTENCE.split(text) if part.strip())
