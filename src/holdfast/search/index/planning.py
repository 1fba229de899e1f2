"""What has to be done so that a document holds other chunks, worked out once for all slices.

A large document comes in over many transactions. The rows it has are read for the first of them;
the others go on from there, unless somebody else changed the document in between.

Promise: a plan that is followed to its end leaves what a single transaction would have
(``tests/search/test_index_edits.py``, ``test_index_bounded.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.search.index.coding import packed_names, seconds, stored, written
from holdfast.search.index.drafting import FACTS, TRUSTS, Draft
from holdfast.search.index.naming import Numbers, numbers_of

__all__ = [
    "OF_BODY",
    "OF_CHUNK",
    "SLICE_TERMS",
    "Moved",
    "Plan",
    "Seal",
    "is_full",
    "planned",
    "sealed",
    "slice_of",
    "values_of",
    "weight_of",
]

SLICE_TERMS: Final = 12_000
"""Terms in one transaction: some forty milliseconds."""

OF_CHUNK: Final = "ordinal, speaker, at, importance, trust, fact, since, until"
OF_BODY: Final = "entities, first, last, entry, part, at, since, until"
_EXISTING: Final = (
    "SELECT c.uid, c.id, c.sign, c.place, "  # noqa: S608
    + ", ".join(f"c.{each}" for each in OF_CHUNK.split(", "))
    + ", "
    + ", ".join(f"b.{each}" for each in OF_BODY.split(", "))
    + " FROM chunk c JOIN body b USING(id) WHERE c.document=?"
)
_WIDTH: Final = len(OF_CHUNK.split(", "))

Seal = tuple[object, ...]
"""By what is seen that nobody else changed a document."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A chunk of the document as it is in the tables."""

    id: int
    sign: bytes
    place: int
    of_chunk: tuple[Any, ...]
    of_body: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A chunk whose words are the same, but not where it stands or what is said of it."""

    id: int
    draft: Draft
    of_chunk: tuple[Any, ...]
    of_body: tuple[Any, ...]
    entities: bytes | None
    """Those it had."""


@dataclass(slots=True)
class Plan:
    """What is left to do; the caller takes from the front of each list."""

    number: int
    numbers: Numbers
    replaced: Mapping[str, int]
    """The rows that go when the chunk of that name is added."""
    new: Sequence[tuple[int, Draft]]
    moved: Sequence[Moved]
    leaving: Sequence[int]
    kept: int
    seal: Seal = ()

    @property
    def is_done(self) -> bool:
        return not (self.new or self.moved or self.leaving)


def planned(connection: sqlite3.Connection, number: int, wanted: Sequence[Draft]) -> Plan:
    """Compare what the document is to hold with what it holds."""
    existing = _existing(connection, number)
    numbers = numbers_of(connection, wanted)
    new: list[tuple[int, Draft]] = []
    moved: list[Moved] = []
    for ordinal, draft in enumerate(wanted):
        known = existing.get(draft.uid)
        if known is None or (known.sign, known.place) != (draft.sign, numbers.places[draft.place]):
            new.append((ordinal, draft))
            continue
        of_chunk, of_body = values_of(ordinal, draft, numbers)
        if (known.of_chunk, known.of_body) != (of_chunk, of_body):
            moved.append(Moved(known.id, draft, of_chunk, of_body, known.of_body[0]))
    names = {draft.uid for draft in wanted}
    return Plan(
        number=number,
        numbers=numbers,
        replaced={draft.uid: existing[draft.uid].id for _, draft in new if draft.uid in existing},
        new=new,
        moved=moved,
        leaving=[known.id for uid, known in existing.items() if uid not in names],
        kept=len(wanted) - len(new),
    )


def sealed(connection: sqlite3.Connection, number: int) -> Seal:
    """Of the document as it is at this moment of a transaction.

    Which chunks there are and in which order: numbers of chunks are never given twice. The
    number of erasures is another in every database.
    """
    counted = connection.execute(
        "SELECT count(*), max(id), total(id), total(id * 1.0 * ordinal) FROM chunk "
        "WHERE document=?",
        (number,),
    ).fetchone()
    erasures = connection.execute("SELECT value FROM meta WHERE name='erasures'").fetchone()
    return (number, *counted, erasures)


def slice_of(
    new: Sequence[tuple[int, Draft]],
) -> tuple[Sequence[tuple[int, Draft]], Sequence[tuple[int, Draft]]]:
    """As many as one transaction may take, and the others."""
    size = 0
    for count, (_, draft) in enumerate(new):
        if is_full(size):
            return new[:count], new[count:]
        size += weight_of(draft)
    return new, ()


def weight_of(draft: Draft) -> int:
    """Some number of terms, from the length of the text: counting them is what takes time."""
    return 20 + len(draft.searched) // 6


def is_full(weight: int) -> bool:
    """Whether a transaction that holds so much should take no more."""
    return weight > SLICE_TERMS


def values_of(
    ordinal: int, draft: Draft, numbers: Numbers
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The columns of ``OF_CHUNK`` and ``OF_BODY``."""
    chunk = draft.chunk
    of_chunk = (
        ordinal,
        -1 if chunk.speaker is None else numbers.speakers[chunk.speaker],
        seconds(chunk.at),
        float(chunk.importance),
        TRUSTS.index(chunk.trust),
        -1 if chunk.fact_kind is None else FACTS.index(chunk.fact_kind),
        seconds(chunk.since),
        seconds(chunk.until),
    )
    of_body = (
        packed_names(chunk.entities) if chunk.entities else None,
        None if chunk.span is None else chunk.span.start,
        None if chunk.span is None else chunk.span.end,
        None if chunk.entry is None else stored(chunk.entry),
        chunk.part,
        written(chunk.at),
        written(chunk.since),
        written(chunk.until),
    )
    return of_chunk, of_body


def _existing(connection: sqlite3.Connection, number: int) -> dict[str, _Known]:
    return {
        row[0]: _Known(row[1], row[2], row[3], row[4 : 4 + _WIDTH], row[4 + _WIDTH :])
        for row in connection.execute(_EXISTING, (number,))
    }
