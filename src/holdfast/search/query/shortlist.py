"""The best of the pool, weighed, and read as late and as little as possible.

Scores, age, importance and trust are columns of the index: only the few passages that may be
shown are read with their texts. What matches exactly is among them wherever it stands.

Promise: one statement reads the passages of a search; the others are read only if those do not
suffice (``tests/search/test_pipeline_reading.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from holdfast.search.index.snapshot import Snapshot
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.decay import Numbers, Passages, weighed
from holdfast.search.query.exactness import Exactness
from holdfast.search.query.legs import Found
from holdfast.search.ranking.rows import Form

__all__ = ["Shortlist"]

_TIMES: Final = 2
_MORE: Final = 12
"""Passages that are weighed: so many times those wanted, and so many more."""
_SPARE: Final = 4
"""Passages that are read beside half as many again as are wanted: some repeat others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    place: int
    """In what was found."""
    score: float
    stages: dict[str, float]
    terms: frozenset[int]
    exact: bool
    """By its terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Passages of one search, best first."""

    snapshot: Snapshot
    found: Found
    exact: Exactness
    explain: bool
    listed: list[_Listed]

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        found: Found,
        exact: Exactness,
        *,
        wanted: int,
        now: datetime,
        half_life_days: float | None,
        names_a_time: bool,
        explain: bool,
    ) -> Shortlist:
        best = min(wanted * _TIMES + _MORE, len(found.positions))
        places = [*range(best), *found.complete(best)[:wanted]]
        terms = found.terms(places)
        scores: Numbers = found.scores[places].astype(np.float64)
        stages = {"ranking": scores}
        if exact.named and places:
            scores = _lifted(scores, np.array([exact.names(one) for one in terms]))
            stages["named"] = scores
        positions = found.positions[places]
        rows = snapshot.rows
        passages = Passages(
            source=rows.source[positions],
            fact=snapshot.fact[positions],
            at=rows.at[positions],
            importance=rows.importance[positions],
            trust=rows.trust[positions],
        )
        result = weighed(
            scores, passages, now=now, half_life_days=half_life_days, names_a_time=names_a_time
        )
        stages |= result.stages
        columns = {name: values.tolist() for name, values in stages.items()}
        listed = [
            _Listed(
                place=places[at],
                score=float(result.scores[at]),
                # What a stage left alone is not a number there.
                stages={name: v[at] for name, v in columns.items() if v[at] == v[at]},
                terms=terms[at],
                exact=exact.holds_all(terms[at]) or exact.names(terms[at]),
            )
            for at in np.lexsort((positions, -result.scores)).tolist()
        ]
        return cls(snapshot=snapshot, found=found, exact=exact, explain=explain, listed=listed)

    def split(self, wanted: int, *, by_text: bool) -> tuple[Shortlist, Shortlist]:
        """What is read first, and what is left. ``by_text``: somebody has to see all texts."""
        if by_text or self.exact.phrase:
            return self, self._with([])
        size = wanted + wanted // 2 + _SPARE
        first, later = self.listed[:size], self.listed[size:]
        if not any(one.exact for one in first):
            match = next((one for one in later if one.exact), None)
            first = [*first, *([match] if match else [])]
            later = [one for one in later if one is not match]
        return self._with(first), self._with(later)

    def _with(self, listed: list[_Listed]) -> Shortlist:
        return Shortlist(
            snapshot=self.snapshot,
            found=self.found,
            exact=self.exact,
            explain=self.explain,
            listed=listed,
        )

    def read(self) -> list[Candidate]:
        """All of them, with their texts."""
        if not self.listed:
            return []
        places = [one.place for one in self.listed]
        positions = self.found.positions[places].tolist()
        forms = self.snapshot.rows.form[positions].tolist()
        stored = self.snapshot.chunks(positions)
        vectors = self.found.vectors(places)
        return [
            Candidate(
                id=chunk.id,
                key=chunk.document.key,
                source=chunk.document.source,
                place=chunk.place,
                kind=chunk.kind,
                text=chunk.text,
                score=one.score,
                position=positions[at],
                context=chunk.context,
                span=chunk.span,
                entry=chunk.entry,
                part=chunk.part,
                speaker=chunk.speaker,
                at=chunk.at,
                fact_kind=chunk.fact_kind,
                entities=chunk.entities,
                since=chunk.since,
                until=chunk.until,
                trust=chunk.trust,
                importance=chunk.importance,
                alone=forms[at] == Form.MESSAGES,
                exact=one.exact or self.exact.holds_phrase(chunk.text),
                terms=one.terms,
                vectors=vectors[at],
                channels=self.found.channels_of(one.place) if self.explain else {},
                stages=one.stages,
            )
            for at, (one, chunk) in enumerate(zip(self.listed, stored, strict=True))
        ]


def _lifted(scores: Numbers, named: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Numbers:
    """What holds an identifier of the query stands before what is only alike."""
    return np.where(named, scores + (scores.max() - scores.min()), scores)
