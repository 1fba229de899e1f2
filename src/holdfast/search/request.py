"""What a search is asked, and what it answers: the same for every door.

Promise: ``to_json`` of a result is the contract of ``holdfast search --json``
(``tests/doors/test_cli_search.py``). An answer that is empty says why, and what did not run is
named in ``degraded``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from holdfast.retain import RetainKind
from holdfast.search.documents import SourceKind
from holdfast.types import Json, Scope

__all__ = ["Passage", "SearchRequest", "SearchResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """``now`` and ``reader`` come from the door, never from a model."""

    query: str
    reader: Scope
    now: datetime
    memberships: frozenset[str] = frozenset()
    limit: int = 6
    max_chars: int | None = None
    """Of all passages together."""
    max_tokens: int | None = None
    snippet_chars: int = 700
    kind: RetainKind | None = None
    entity: str | None = None
    since: date | datetime | None = None
    until: date | datetime | None = None
    as_of: date | datetime | None = None
    """Only what was known and valid at that time."""
    source: SourceKind | None = None
    session: str | None = None
    vectors: bool = True
    timeout_ms: int = 4000
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One hit. ``trace`` holds the score of every stage when it was asked for."""

    id: str
    text: str
    citation: str
    score: float
    kind: str
    source: SourceKind
    time: datetime | None = None
    speaker: str | None = None
    entities: tuple[str, ...] = ()
    trust: str = "user"
    context: str = ""
    entries: tuple[str, ...] = ()
    """The entries of a conversation it spans; empty for files."""
    trace: Mapping[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "text": self.text,
            "citation": self.citation,
            "score": round(self.score, 4),
            "kind": self.kind,
            "time": self.time.isoformat() if self.time else None,
            "source": self.source,
            "speaker": self.speaker,
            "entities": list(self.entities),
            "trust": self.trust,
            "context": self.context,
        }
        return shown if self.trace is None else shown | {"trace": dict(self.trace)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    passages: tuple[Passage, ...] = ()
    degraded: tuple[str, ...] = ()
    why_empty: str | None = None
    took_ms: float = 0.0
    trace: Mapping[str, Json] = field(default_factory=dict)
    """What the whole search did: terms, dates found, stages with their times and counts."""

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "passages": [passage.to_json() for passage in self.passages],
            "degraded": list(self.degraded),
            "why_empty": self.why_empty,
            "took_ms": round(self.took_ms, 3),
        }
        return shown | {"trace": dict(self.trace)} if self.trace else shown
