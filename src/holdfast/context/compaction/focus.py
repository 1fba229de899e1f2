"""What the user asked a compaction to keep in mind: ``/compact the booking``.

Promise: sentences that share words with the focus come before everything else of the summary,
quoted as they were said; the focus itself is data, never an instruction
(``tests/context/test_compaction_focus.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.context.blocks import Group
from holdfast.context.compaction.facts import Line
from holdfast.context.compaction.sentences import sentences, spoken
from holdfast.text import cut, index_terms, query_terms

__all__ = ["focus_lines", "in_focus", "share_of"]

_MOST: Final = 8
"""Lines that a focus may add: a summary is still about the rest as well."""
_FIRST: Final = 3.0
"""Above every other line."""
_READ: Final = 200
"""Groups that are read for it, the newest."""


def in_focus(lines: Iterable[Line], focus: str) -> list[Line]:
    """The lines, with those that are about the focus before the others."""
    words = _words(focus)
    return [
        Line(
            kind=line.kind,
            text=line.text,
            sources=line.sources,
            score=line.score + _FIRST * _share(words, line.text),
            order=line.order,
        )
        for line in lines
    ]


def focus_lines(groups: Sequence[Group], focus: str, *, limit: int) -> list[Line]:
    """The sentences of what leaves that are about the focus, at most a few."""
    words = _words(focus)
    if not words:
        return []
    found: list[Line] = []
    seen: set[str] = set()
    for order, group in enumerate(groups[-_READ:]):
        for block in group.blocks:
            for sentence in sentences(spoken(block.message), lambda said: _share(words, said) > 0):
                if sentence not in seen:
                    seen.add(sentence)
                    found.append(
                        Line(
                            kind="finding",
                            text=cut(sentence, limit),
                            sources=(block.entry,),
                            score=_FIRST * _share(words, sentence),
                            order=order,
                        )
                    )
    found.sort(key=lambda line: (-line.score, -line.order))
    return found[:_MOST]


def share_of(focus: str, text: str) -> float:
    """How much of the focus stands in the text, from 0 to 1."""
    return _share(_words(focus), text) if focus else 0.0


def _words(focus: str) -> frozenset[str]:
    return frozenset(term.text for term in query_terms(focus) if term.weight >= 1)


def _share(words: frozenset[str], text: str) -> float:
    """How much of the focus stands in the text."""
    return len(words.intersection(index_terms(text))) / len(words) if words else 0.0
