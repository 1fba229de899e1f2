"""The best of the pool, weighed, and read as late and as little as possible.

Scores, age, importance and trust are columns of the index: only the few passages that may be
shown are read with their texts. What matches exactly is among them wherever it stands.

Promise: one statement reads the passages of a search; the others are read only if those do not
suffice (``tests/search/test_pipeline_reading.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from holdfast.search.index.snapshot import Snapshot
from holdfast.search.index.stored import StoredChunk
from holdfast.search.query.candidates import Candidate
from holdfast.search.query.decay import Numbers, Passages, weighed
from holdfast.search.query.exactness import Exactness
from holdfast.search.query.legs import Found
from holdfast.search.ranking.rows import Floats, Form

__all__ = ["Shortlist"]

_TIMES: Final = 2
_MORE: Final = 12
"""Passages that are weighed: so many times those wanted, and so many more."""
_SPARE: Final = 4
"""Passages that are read beside half as many again as are wanted: some repeat others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighed:
    """The best of what was found, as lists of the same length."""

    places: list[int]
    """In what was found."""
    scores: list[float]
    stages: dict[str, list[float]]
    terms: list[frozenset[int]]
    exact: list[bool]
    """By their terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """Passages of one search, best first."""

    snapshot: Snapshot
    found: Found
    exact: Exactness
    explain: bool
    weighed: _Weighed
    order: list[int]
    """Where the passages of this list are among those that were weighed, the best first."""

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
        return cls(
            snapshot=snapshot,
            found=found,
            exact=exact,
            explain=explain,
            weighed=_Weighed(
                places=places,
                scores=result.scores.tolist(),
                stages={name: values.tolist() for name, values in stages.items()},
                terms=terms,
                exact=[exact.holds_all(one) or exact.names(one) for one in terms],
            ),
            order=np.lexsort((positions, -result.scores)).tolist(),
        )

    def split(self, wanted: int, *, by_text: bool) -> tuple[Shortlist, Shortlist]:
        """What is read first, and what is left. ``by_text``: somebody has to see all texts."""
        if by_text or self.exact.phrase:
            return self, replace(self, order=[])
        size = wanted + wanted // 2 + _SPARE
        first, later = self.order[:size], self.order[size:]
        exact = self.weighed.exact
        if not any(exact[at] for at in first):
            match = next((at for at in later if exact[at]), None)
            if match is not None:
                first.append(match)
                later.remove(match)
        return replace(self, order=first), replace(self, order=later)

    def without(self, other: Shortlist) -> Shortlist:
        """This list, without the passages of another one of the same search."""
        known = set(other.weighed.places)
        left = [at for at in self.order if self.weighed.places[at] not in known]
        return replace(self, order=left)

    def slices(self, size: int) -> Iterator[Shortlist]:
        """This list in parts of at most so many."""
        for start in range(0, len(self.order), size):
            yield replace(self, order=self.order[start : start + size])

    def read(self) -> list[Candidate]:
        """All of them, with their texts."""
        if not self.order:
            return []
        places = [self.weighed.places[at] for at in self.order]
        positions = self.found.positions[places].tolist()
        forms = self.snapshot.rows.form[positions].tolist()
        stored = self.snapshot.chunks(positions)
        vectors = self.found.vectors(places)
        return [
            self._candidate(at, chunk, position, form, vector)
            for at, chunk, position, form, vector in zip(
                self.order, stored, positions, forms, vectors, strict=True
            )
        ]

    def _candidate(
        self, at: int, chunk: StoredChunk, position: int, form: int, vectors: tuple[Floats, ...]
    ) -> Candidate:
        known = self.weighed
        return Candidate(
            id=chunk.id,
            key=chunk.document.key,
            source=chunk.document.source,
            place=chunk.place,
            kind=chunk.kind,
            text=chunk.text,
            score=known.scores[at],
            position=position,
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
            alone=form == Form.MESSAGES,
            exact=known.exact[at] or self.exact.holds_phrase(chunk.text),
            terms=known.terms[at],
            vectors=vectors,
            channels=self.found.channels_of(known.places[at]) if self.explain else {},
            # What a stage left alone is not a number there.
            stages={name: v[at] for name, v in known.stages.items() if v[at] == v[at]},
        )


def _lifted(scores: Numbers, named: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Numbers:
    """What holds an identifier of the query stands before what is only alike."""
    return np.where(named, scores + (scores.max() - scores.min()), scores)
