"""The two stages of ranking: everything roughly, then the best few hundred closely.

    first_stage   words, meaning, session, speaker and time of every passage, as dense sums
    chosen        the pool: the best of them, or all of a small store
    final         the pool again, word by word, with neighbours, feedback and a second step
    merged        the parts of one query, by best rank

Promise: pure and deterministic; ties go to the earlier passage; every channel that had a say
is returned with what it added (``tests/search/test_ranking_stages.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.search.ranking.asked import Question
from holdfast.search.ranking.derived import derived
from holdfast.search.ranking.distinct import distinct
from holdfast.search.ranking.feedback import feedback
from holdfast.search.ranking.meaning import Heard, Rough, roughly_near, understood
from holdfast.search.ranking.neighbours import Around, Shares, around, spread, sums, windows
from holdfast.search.ranking.occasion import occasions
from holdfast.search.ranking.rows import Details, Flag, Floats, Postings, Rows
from holdfast.search.ranking.scaling import stretched
from holdfast.search.ranking.weights import (
    FIRST_SHARES,
    LIST_SHARES,
    POOL,
    SMALL,
    SUM_SHARES,
    WINDOW,
    Table,
)
from holdfast.search.ranking.words import Keywords, counted, keywords, rarity, saturated
from holdfast.text.tokens import index_terms, term_hash

__all__ = ["First", "Heard", "Ranked", "chosen", "final", "first_stage", "merged"]

Mask = NDArray[np.bool_]
Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """Every passage, roughly."""

    scores: Floats
    words: Keywords
    question: Question
    heard: Mapping[str, Heard] = field(default_factory=dict)
    near: Rough = field(default_factory=Rough)
    occasions: Mapping[str, Floats] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Passages, best first, and what each channel added to each of them."""

    positions: Positions
    scores: Floats
    channels: Mapping[str, Floats]


# ── first stage ─────────────────────────────────────────────────────────────────────────────


def first_stage(
    rows: Rows,
    question: Question,
    postings: Mapping[str, Postings],
    heard: Mapping[str, Heard] | None = None,
    readable: Mask | None = None,
) -> First:
    """A score for every passage; those outside ``readable`` get minus infinity."""
    heard = heard or {}
    found = keywords(rows, question.concepts, postings, readable)
    if not len(rows):
        return First(scores=found.scores, words=found, question=question, heard=heard)
    known = derived(rows)
    table = Table(rows.form, question.shape, heard=bool(heard), seen=known.forms)
    worded = np.float32(table.greatest("words", "words_window"))
    shares = FIRST_SHARES if table.greatest("windows") else Shares()
    share = stretched(spread(rows, found.scores, shares), table.greatest("match") * found.ideal)
    scores = worded * share
    scores += np.float32(table.greatest("session")) * stretched(found.documents)
    near = roughly_near(heard, table, known.foreign(dense=question.dense), share)
    if near.scores is not None:
        scores += near.scores
    told = occasions(rows, question)
    for name, channel in told.items():
        scores += table.of(name) * channel
    if readable is not None and found.passages < len(rows):
        scores[~readable] = -np.inf
    return First(
        scores=scores, words=found, question=question, heard=heard, near=near, occasions=told
    )


def chosen(first: First, *, pool: int = POOL, small: int = SMALL) -> Positions:
    """The positions to look at closely, ascending: the best, or all if they are few."""
    there = np.flatnonzero(first.scores > -np.inf)
    if len(there) <= max(pool, small):
        return there
    scores = first.scores[there]
    sample = scores[::_SAMPLE]
    spare = 2 * pool // _SAMPLE
    if spare < len(sample):  # most of a large store need not be put in order at all
        above = np.flatnonzero(scores >= np.partition(sample, -spare)[-spare])
        if len(above) >= pool:
            there, scores = there[above], scores[above]
    best = np.argsort(-scores, kind="stable")[:pool]
    return np.sort(there[best])


_SAMPLE: Final = 16


# ── the pool ────────────────────────────────────────────────────────────────────────────────


def final(rows: Rows, first: First, details: Details) -> Ranked:
    """The pool of ``details``, in order, with every channel that had a say."""
    positions = details.positions
    if not len(positions):
        empty = np.zeros(0, np.float32)
        return Ranked(positions=positions, scores=empty, channels={})
    question = first.question
    table = Table(rows.form[positions], question.shape, heard=bool(first.heard))
    near = around(rows, positions)
    columns = _columns(first, details)
    least = table.greatest("match") * first.words.ideal
    own = stretched(columns.sum(axis=1), least)
    channels = _worded(near, columns, own, least, table)
    channels |= understood(
        first.heard, first.near, question.content, _rarities(first), details, near, table, own
    )
    documents = first.words.documents
    most = float(documents.max())
    if most > 0:
        channels["session"] = table.of("session") * documents[positions] * np.float32(1 / most)
    for name, channel in first.occasions.items():
        channels[name] = table.of(name) * channel[positions]
    channels |= _by_nature(rows, positions, table)
    scores: Floats = np.stack(list(channels.values())).sum(axis=0, dtype=np.float32)
    if table.greatest("feedback", "hop"):
        told = _fed_back(rows, first, details, columns, scores, table)
        scores += told["feedback"]
        scores += told["hop"]
        channels |= told
    if table.greatest("beside"):
        channels["beside"] = table.of("beside") * _listed(near, scores)
        scores += channels["beside"]
    order = np.lexsort((positions, -scores))
    values = np.stack(list(channels.values()))[:, order]
    spoken = np.flatnonzero(values.any(axis=1)).tolist()
    names = list(channels)
    return Ranked(
        positions=positions[order],
        scores=scores[order],
        channels={names[number]: values[number] for number in spoken},
    )


def _columns(first: First, details: Details) -> Floats:
    """BM25 of each concept in each passage of the pool, one column for each."""
    concepts = first.question.concepts
    counts = counted(details.terms, concepts)
    if not concepts:
        return counts
    pooled = np.count_nonzero(counts, axis=0).tolist()
    worths = [
        concept.weight * rarity(first.words.passages, max(found, seen))
        for concept, found, seen in zip(concepts, first.words.found, pooled, strict=True)
    ]
    words, positions = first.words, details.positions
    table = saturated(counts, words.floors[positions][:, None], np.array(worths, np.float32))
    table *= words.gains[positions][:, None]
    return table


def _worded(
    near: Around, columns: Floats, own: Floats, least: float, table: Table
) -> dict[str, Floats]:
    worded = own
    if table.greatest("sums"):
        worded = own + table.of("sums") * (sums(near, own, SUM_SHARES) - own)
    found = {"words": table.of("words") * worded}
    if table.greatest("words_window"):
        together = stretched(windows(near, columns, WINDOW).sum(axis=1), least)
        found["words_window"] = table.of("words_window") * together
    return found


def _rarities(first: First) -> dict[str, float]:
    found: dict[str, float] = {}
    for concept, count in zip(first.question.concepts, first.words.found, strict=True):
        rare = rarity(first.words.passages, count)
        for term in (concept.term, *concept.forms):
            found[term] = rare
    return found


_ENDS_ASKING: Final = np.uint16(Flag.ENDS_ASKING)
_FIRST_PERSON: Final = np.uint16(Flag.FIRST_PERSON)


def _by_nature(rows: Rows, positions: Positions, table: Table) -> dict[str, Floats]:
    """What speaks for a passage whatever is asked."""
    found: dict[str, Floats] = {}
    flags = rows.flags[positions]
    if table.greatest("length"):
        long = np.log1p(rows.length[positions].astype(np.float32)) * np.float32(0.25)
        found["length"] = table.of("length") * long
    if table.greatest("asking"):
        found["asking"] = -table.of("asking") * ((flags & _ENDS_ASKING) > 0)
    if table.greatest("first_person"):
        found["first_person"] = table.of("first_person") * ((flags & _FIRST_PERSON) > 0)
    return found


def _listed(near: Around, scores: Floats) -> Floats:
    """What the passages beside each one score, at their share."""
    above: Floats = scores - scores.min()
    return sums(near, above, LIST_SHARES) - above


_MOST_NAMES: Final = 64


@lru_cache(maxsize=64)
def _hashes(names: tuple[str, ...]) -> NDArray[np.uint64]:
    """Of the terms of names."""
    found = {term_hash(term) for name in names for term in index_terms(name)}
    return np.array(sorted(found), np.uint64)


def _fed_back(
    rows: Rows, first: First, details: Details, columns: Floats, scores: Floats, table: Table
) -> dict[str, Floats]:
    asked = np.array([term_hash(term) for term in first.question.terms], np.uint64)
    everywhere = _hashes(tuple(rows.speakers[:_MOST_NAMES]))
    said = feedback(
        details.terms,
        scores,
        np.concatenate((asked, everywhere)),
        columns,
        first.words.floors[details.positions],
    )
    return {
        "feedback": table.of("feedback") * said.likeness,
        "hop": table.of("hop") * said.hop,
    }


# ── parts ───────────────────────────────────────────────────────────────────────────────────


def merged(parts: Sequence[Ranked]) -> Ranked:
    """Several rankings as one: by the best rank anywhere, ties by the sum of ranks.

    A score is that of the part which ranks the passage best, and never above the one before
    it: whoever weighs scores afterwards starts from this order.
    """
    if len(parts) == 1:
        return parts[0]
    positions = distinct(np.concatenate([part.positions for part in parts]))
    ranks = np.stack([_ranks(positions, part) for part in parts])
    order = np.lexsort((positions, ranks.sum(axis=0), ranks.min(axis=0)))
    positions, ranks = positions[order], ranks[:, order]
    best = ranks.argmin(axis=0)
    scores = np.zeros(len(positions), np.float32)
    names = dict.fromkeys(name for part in parts for name in part.channels)
    channels = {name: np.zeros(len(positions), np.float32) for name in names}
    for number, part in enumerate(parts):
        mine = np.flatnonzero(best == number)
        scores[mine] = part.scores[ranks[number, mine]]
        for name, values in part.channels.items():
            channels[name][mine] = values[ranks[number, mine]]
    if len(scores):
        scores = np.minimum.accumulate(scores)
    return Ranked(positions=positions, scores=scores, channels=channels)


def _ranks(positions: Positions, part: Ranked) -> Positions:
    """The rank of each position in a part; past every other for those it lacks."""
    ranks = np.full(len(positions), len(positions), np.int64)
    ranks[np.searchsorted(positions, part.positions)] = np.arange(len(part.positions))
    return ranks
