"""The two legs of a search over one snapshot: words and meaning, roughly, then the pool closely.

What holds every word of the query, or an identifier it names, is in the pool however it was
scored. What has nothing to do with the query (no word of it here or next to it, no vector, not
of the time it names) is no result, however few there are.

Promise: only rows of the mask are read, ranked or returned (``tests/search/test_pipeline.py``,
``test_scope_of_search.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.ports import Embedded, Embedder
from holdfast.search.index.snapshot import Snapshot
from holdfast.search.query.deadline import Deadline
from holdfast.search.query.filters import Mask
from holdfast.search.query.tuning import Tuning
from holdfast.search.ranking.asked import Question
from holdfast.search.ranking.distinct import among, distinct
from holdfast.search.ranking.rows import Details, Floats, Form, Postings
from holdfast.search.ranking.stages import (
    First,
    Heard,
    Ranked,
    chosen,
    final,
    first_stage,
    merged,
)
from holdfast.text.tokens import Term, term_hash
from holdfast.types import Json

__all__ = ["OWN", "Found", "Legs"]

Positions = NDArray[np.int64]

OWN: Final = 0.5
"""What a term of the query itself weighs at least: what was added to it weighs less."""
_FORCED: Final = 64
"""Exact matches that are taken into the pool whatever their score."""
_NONE: Final = np.zeros(0, dtype=np.int64)
_SPOKEN: Final = ("meaning", "late")
_WORDED: Final = ("words", "session", "feedback", "hop")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Passages, best first, with what is known of them."""

    ranked: Ranked
    details: Details | None = None
    """Of the pool, whose positions ascend."""
    full: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Positions that hold every word of a part of the query."""

    @property
    def positions(self) -> Positions:
        return self.ranked.positions

    @property
    def scores(self) -> Floats:
        return self.ranked.scores

    def terms(self, places: Sequence[int]) -> list[frozenset[int]]:
        """The hashes of the terms of each of these passages."""
        if self.details is None:
            return [frozenset() for _ in places]
        terms = self.details.terms
        at = self._where(places)
        bounds = zip(terms.starts[at].tolist(), terms.starts[at + 1].tolist(), strict=True)
        return [frozenset(terms.values[start:end].tolist()) for start, end in bounds]

    def complete(self, start: int) -> list[int]:
        """Places from ``start`` on whose passages hold every word of a part of the query."""
        later = self.positions[start:]
        if not len(later) or not len(self.full):
            return []
        return [start + int(place) for place in np.flatnonzero(among(later, self.full))]

    def vectors(self, places: Sequence[int]) -> list[tuple[Floats, ...]]:
        """One vector of each encoder for each of these passages."""
        if self.details is None or not self.details.vectors:
            return [() for _ in places]
        at = self._where(places)
        return list(zip(*(table[at] for table in self.details.vectors.values()), strict=True))

    def _where(self, places: Sequence[int]) -> Positions:
        assert self.details is not None
        return np.searchsorted(self.details.positions, self.positions[places])

    def channels_of(self, place: int) -> dict[str, float]:
        return {name: float(values[place]) for name, values in self.ranked.channels.items()}


@dataclass(slots=True, kw_only=True)
class Legs:
    """One query over one snapshot."""

    snapshot: Snapshot
    mask: Mask
    places: frozenset[int] | None
    """Those that may be read; None for all."""
    questions: Sequence[Question]
    tuning: Tuning
    _postings: dict[str, Postings] = field(default_factory=dict)
    _heard_by: dict[str, Floats] = field(default_factory=dict)
    _pool: int = 0

    def read_words(self, named: Iterable[str] = ()) -> None:
        """The keyword leg: where every term stands, among the rows of the mask."""
        terms = dict.fromkeys(
            [*(term for question in self.questions for term in question.terms), *named]
        )
        found = self.snapshot.postings([Term(term) for term in terms], self.places)
        all_of_them = bool(self.mask.all())
        for term, postings in zip(terms, found, strict=True):
            self._postings[term] = postings if all_of_them else self._inside(postings)

    @property
    def has_words(self) -> bool:
        """Whether any term of the query stands in the rows of the mask."""
        return any(len(postings.positions) for postings in self._postings.values())

    def _inside(self, postings: Postings) -> Postings:
        kept = self.mask[postings.positions]
        return Postings(positions=postings.positions[kept], counts=postings.counts[kept])

    def ranked(
        self,
        encoded: Mapping[str, Embedded],
        embedders: Sequence[Embedder],
        deadline: Deadline,
        *,
        wanted: int,
        named: Sequence[str] = (),
    ) -> Found:
        """The best passages of all parts of the query."""
        mask = None if self.mask.all() else self.mask
        firsts = [
            first_stage(
                self.snapshot.rows,
                question,
                self._postings,
                self._heard(number, question, encoded, embedders, mask),
                mask,
            )
            for number, question in enumerate(self.questions)
        ]
        size = max(self.tuning.pool, 3 * wanted)
        pools = [chosen(first, pool=size) for first in firsts]
        full = np.concatenate([_NONE, *(self._full(first) for first in firsts)])
        holding = [_best(firsts[0], self._postings[term].positions) for term in named]
        pool = distinct(np.concatenate([*pools, full, *holding]))
        self._pool = len(pool)
        if not deadline.allows("close ranking"):
            return Found(ranked=_roughly(firsts, pool))
        details = self.snapshot.details(pool, list(encoded))
        parts = [self._closely(first, details) for first in firsts]
        result = merged([part for part in parts if len(part.positions)] or parts[:1])
        return Found(ranked=result, details=details, full=full)

    def _heard(
        self,
        number: int,
        question: Question,
        encoded: Mapping[str, Embedded],
        embedders: Sequence[Embedder],
        mask: Mask | None,
    ) -> dict[str, Heard]:
        scripts = {one.name: one.script for one in embedders if one.name in encoded}
        own = "cjk" if question.dense else "latin"
        wanted: str | None = own if own in scripts.values() else "any"
        if wanted not in scripts.values():
            wanted = None
        heard = {}
        for name, made in encoded.items():
            if wanted == "any" != scripts[name]:
                continue  # it cannot read the question, and one is there that reads everything
            vector = made.vectors[number]
            heard[name] = Heard(
                similarity=self.snapshot.similarity(name, vector, mask),
                vector=vector,
                tokens=made.tokens[number] if made.tokens is not None else None,
                native=wanted is None or scripts[name] == wanted,
            )
        self._heard_by.update({name: one.similarity for name, one in heard.items()})
        return heard

    def _full(self, first: First) -> Positions:
        """What holds every word of the question, the best of it as far as there is room."""
        lists = [
            self._postings[concept.term].positions
            for concept in first.question.concepts
            if concept.weight >= OWN
        ]
        if not lists or not all(map(len, lists)):
            return _NONE
        held, *others = sorted(lists, key=len)
        for other in others:  # ascending, all of them
            at = np.minimum(np.searchsorted(other, held), len(other) - 1)
            held = held[other[at] == held]
        return _best(first, held)

    def _closely(self, first: First, details: Details) -> Ranked:
        ranked = self._balanced(final(self.snapshot.rows, first, details))
        kept = self._related(first, ranked, details)
        if kept.all():
            return ranked
        return Ranked(
            positions=ranked.positions[kept],
            scores=ranked.scores[kept],
            channels={name: values[kept] for name, values in ranked.channels.items()},
        )

    def _related(self, first: First, ranked: Ranked, details: Details) -> Mask:
        """Which passages have a word of the question or a neighbour that has one, a vector, or
        the time or the speaker that it names."""
        rows, positions = self.snapshot.rows, ranked.positions
        worded = first.words.scores
        related = worded[positions] > 0
        for heard in first.heard.values():
            if related.all():
                return related
            related |= ~np.isnan(heard.similarity[positions])
        if not related.all():
            talks = rows.form[positions] != Form.NOTES
            for step in (rows.before, rows.after):
                beside = step[positions]
                related |= talks & (beside >= 0) & (worded[beside] > 0)
        # A name alone asks for whatever was said by its bearer; beside other words it does not.
        for name in ("date", *(() if first.question.content else ("speaker",))):
            if name in ranked.channels:
                related |= ranked.channels[name] > 0
        return related if related.all() else related | _akin(first.question, positions, details)

    def _balanced(self, ranked: Ranked) -> Ranked:
        """With the weights of words and meaning that were set, if any were."""
        spoken, worded = self.tuning.vector_weight, self.tuning.text_weight
        if spoken is None and worded is None:
            return ranked
        channels = {
            name: values * _factor(name, spoken, worded) for name, values in ranked.channels.items()
        }
        if not channels:
            return ranked
        scores: Floats = np.stack(list(channels.values())).sum(axis=0)
        order = np.lexsort((ranked.positions, -scores))
        return replace(
            ranked,
            positions=ranked.positions[order],
            scores=scores[order],
            channels={name: values[order] for name, values in channels.items()},
        )

    def counts(self) -> dict[str, Json]:
        """In how many passages each term stands, how many each encoder knows, and the pool."""
        return {
            "words": {term: len(found.positions) for term, found in self._postings.items()},
            "meaning": {
                name: int(np.count_nonzero(~np.isnan(similar)))
                for name, similar in self._heard_by.items()
            },
            "pool": self._pool,
        }


def _akin(question: Question, positions: Positions, details: Details) -> Mask:
    """Which passages have a word that is akin to one of the question's."""
    sought = {term_hash(term) for concept in question.concepts for term in concept.kin}
    if not sought:
        return np.zeros(len(positions), dtype=bool)
    hits = among(details.terms.values, np.array(sorted(sought), dtype=np.uint64))
    owners = np.repeat(details.positions, np.diff(details.terms.starts))[hits]
    return among(positions, owners)


def _factor(name: str, spoken: float | None, worded: float | None) -> np.float32:
    if name.startswith(_SPOKEN):
        return np.float32(1.0 if spoken is None else spoken)
    if name.startswith(_WORDED):
        return np.float32(1.0 if worded is None else worded)
    return np.float32(1.0)


def _best(first: First, positions: Positions) -> Positions:
    if len(positions) <= _FORCED:
        return positions
    kept = np.argpartition(-first.scores[positions], _FORCED)[:_FORCED]
    return positions[kept]


def _roughly(firsts: Sequence[First], pool: Positions) -> Ranked:
    """By the first stage alone: time was over."""
    scores: Floats = np.maximum.reduce([first.scores[pool] for first in firsts])
    hit = np.zeros(len(pool), dtype=bool)
    for first in firsts:
        hit |= first.words.scores[pool] > 0
        for heard in first.heard.values():
            hit |= ~np.isnan(heard.similarity[pool])
    pool, scores = pool[hit], scores[hit]
    order = np.lexsort((pool, -scores))
    return Ranked(positions=pool[order], scores=scores[order], channels={"roughly": scores[order]})
