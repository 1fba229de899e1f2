"""How well the words of a question match: BM25 of passages and of whole documents.

Promise: a term counts by how rare it is among the passages that may be read, never among
others; other forms of a word count as the word itself, and no word counts twice
(``tests/search/test_ranking_words.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.asked import Concept
from holdfast.search.ranking.derived import derived
from holdfast.search.ranking.hashes import among
from holdfast.search.ranking.rows import Floats, Postings, Ragged, Rows
from holdfast.text.tokens import term_hash

__all__ = ["Keywords", "counted", "keywords", "rarity", "saturated"]

Positions = NDArray[np.int64]

_ONE: Final = np.float32(1)
_KIN: Final = 0.5
"""What a word of nearly the same meaning counts, as a share of the word itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keywords:
    """What the words of one question say about every passage."""

    scores: Floats
    documents: Floats
    """For each passage: how well its whole document matches."""
    found: tuple[int, ...]
    """For each concept: in how many passages it stands."""
    passages: int
    average: float
    """Of the lengths of passages."""
    floors: Floats
    """For each passage: what a count is held against, which grows with its length."""
    ideal: float
    """What a passage of usual length that has every word once would score."""
    gains: Floats
    """For each passage: the most that a repeated word can count."""


def keywords(
    rows: Rows,
    concepts: Sequence[Concept],
    postings: Mapping[str, Postings],
    readable: NDArray[np.bool_] | None = None,
) -> Keywords:
    """``postings`` by term, of passages that may be read; a term that is missing has none."""
    known = derived(rows)
    passages = len(rows) if readable is None else int(np.count_nonzero(readable))
    total = known.total
    if readable is not None and passages < len(rows):
        total = float(known.lengths @ readable)
    average = max(total / passages, 1.0) if passages else 1.0
    floors = known.floors(average)
    scores = np.zeros(len(rows), np.float32)
    found = []
    ideal = 0.0
    stands: list[tuple[float, Positions, Floats]] = []
    for concept in concepts:
        positions, counts = _merged(concept, postings)
        found.append(len(positions))
        worth = concept.weight * rarity(passages, len(positions))
        ideal += worth
        if len(positions):
            scores[positions] += saturated(counts, floors[positions], np.float32(worth))
            stands.append((concept.weight, positions, counts))
    scores *= known.gains
    return Keywords(
        scores=scores,
        documents=_documents(rows, stands, known.document_floors),
        found=tuple(found),
        passages=passages,
        average=average,
        floors=floors,
        ideal=ideal,
        gains=known.gains,
    )


def rarity(passages: int, found: float) -> float:
    """The idf of BM25, which is never below zero."""
    found = min(found, passages)
    return log1p((passages - found + 0.5) / (found + 0.5))


def saturated(counts: Floats, floors: Floats, worth: Floats | np.float32 = _ONE) -> Floats:
    """A count, worth less with every repetition and in a longer text: 0 to ``worth``."""
    held: Floats = counts + floors
    np.divide(counts, held, out=held)
    held *= worth
    return held


def _merged(concept: Concept, postings: Mapping[str, Postings]) -> tuple[Positions, Floats]:
    lists = [
        postings[term]
        for term in (concept.term, *concept.forms)
        if term in postings and len(postings[term].positions)
    ]
    if not lists:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    if len(lists) == 1:
        return lists[0].positions, lists[0].counts
    positions, where = np.unique(
        np.concatenate([one.positions for one in lists]), return_inverse=True
    )
    counts = np.zeros(len(positions), np.float32)
    np.add.at(counts, where, np.concatenate([one.counts for one in lists]))
    return positions, counts


def _documents(
    rows: Rows, stands: Iterable[tuple[float, Positions, Floats]], floors: Floats
) -> Floats:
    """BM25 of the documents, given to each of their passages."""
    if not len(rows):
        return np.zeros(0, np.float32)
    documents = len(floors)
    there = int(np.count_nonzero(floors)) or 1
    scores = np.zeros(documents, np.float32)
    for weight, positions, counts in stands:
        standing = np.bincount(rows.document[positions], weights=counts, minlength=documents)
        held = np.flatnonzero(standing)
        worth = np.float32(weight * rarity(there, len(held)))
        scores[held] += saturated(standing[held].astype(np.float32), floors[held], worth)
    return scores[rows.document]


def counted(terms: Ragged, concepts: Sequence[Concept]) -> Floats:
    """How often each concept stands in each passage of a pool: one column for each.

    A word's kin count less than the word, and beside it nothing.
    """
    parts = len(terms.starts) - 1
    table = np.zeros((parts, len(concepts)), np.float32)
    if not len(terms.values) or not concepts:
        return table
    hashes, worths, columns = _sought(concepts)
    hit, found = among(hashes, terms.values)
    part = np.searchsorted(terms.starts, hit, side="right") - 1
    cell = part * len(concepts) + columns[found]
    counts = worths[found] if terms.counts is None else worths[found] * terms.counts[hit]
    itself = worths[found] == 1
    flat = table.reshape(-1)
    for mine in (itself, ~itself):
        seen = np.bincount(cell[mine], weights=counts[mine], minlength=len(flat))
        np.maximum(flat, seen, out=flat, casting="same_kind")
    return table


def _sought(concepts: Sequence[Concept]) -> tuple[NDArray[np.uint64], Floats, Positions]:
    """Every hash once, ascending: what it counts, and for which concept.

    A word that is asked for itself is nobody's kin, and a word that is kin to two concepts
    counts for the first.
    """
    sought: dict[int, tuple[float, int]] = {}
    for column, concept in enumerate(concepts):
        for term in (concept.term, *concept.forms):
            sought.setdefault(term_hash(term), (1.0, column))
    for column, concept in enumerate(concepts):
        for term in concept.kin:
            sought.setdefault(term_hash(term), (_KIN, column))
    hashes = np.array(sorted(sought), np.uint64)
    worths = np.array([sought[int(one)][0] for one in hashes], np.float32)
    columns = np.array([sought[int(one)][1] for one in hashes], np.int64)
    return hashes, worths, columns
