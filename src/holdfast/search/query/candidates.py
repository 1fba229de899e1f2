"""One passage on its way through a search: what is stored of it, and what each stage gave it.

Promise: a stage returns new candidates and leaves those it was given as they were; every score
a stage changes stays in ``stages`` under its name, in the order the stages ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime

import numpy as np

from holdfast.retain import RetainKind, Trust
from holdfast.scope import Place
from holdfast.search.documents import ChunkKind, SourceKind
from holdfast.search.ranking.rows import Floats
from holdfast.types import Citation, Json, LineSpan

__all__ = ["Candidate", "moved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A stored chunk with its score so far."""

    id: str
    key: str
    """Of its document."""
    source: SourceKind
    place: Place
    kind: ChunkKind
    text: str
    score: float
    position: int = -1
    context: str = ""
    span: LineSpan | None = None
    entry: str | None = None
    part: int = 0
    speaker: str | None = None
    at: datetime | None = None
    fact_kind: RetainKind | None = None
    entities: tuple[str, ...] = ()
    since: date | datetime | None = None
    until: date | datetime | None = None
    trust: Trust = "user"
    importance: float = 0.5
    alone: bool = False
    """It was said where only one person speaks: a note to oneself."""
    exact: bool = False
    """It holds the whole query, every term of it, or an identifier the query names."""
    terms: frozenset[int] = frozenset()
    """Hashes of its distinct terms."""
    vectors: tuple[Floats, ...] = ()
    """One for each encoder that has one of it, of length 1."""
    channels: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, float] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    """Citations of passages that say the same."""

    @property
    def citation(self) -> Citation:
        return Citation(source=self.key, span=self.span, entry=self.entry)

    def trace(self) -> dict[str, Json]:
        """What ``explain`` shows of it."""
        shown: dict[str, Json] = {name: _rounded(value) for name, value in self.channels.items()}
        shown["stages"] = {name: _rounded(value) for name, value in self.stages.items()}
        shown["exact"] = self.exact
        if self.also:
            shown["also"] = list(self.also)
        return shown


def moved(candidate: Candidate, stage: str, score: float) -> Candidate:
    """The candidate with the score a stage gave it."""
    return replace(candidate, score=score, stages={**candidate.stages, stage: score})


def _rounded(value: float) -> float | None:
    return round(float(value), 4) if np.isfinite(value) else None
