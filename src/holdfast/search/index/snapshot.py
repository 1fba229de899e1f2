"""An index at one moment: what a search reads, all of it from one read transaction.

Promise: rows, postings, vectors and texts are of the same moment, whatever others write
meanwhile, and nobody waits for anybody (``tests/search/test_index_concurrency.py``).
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.scope import Place
from holdfast.search.index.blobs import Terms, Vectors
from holdfast.search.index.catalogue import Catalogue, Reader, explained
from holdfast.search.index.coding import day_of, names_of, stored, told
from holdfast.search.index.drafting import FACTS, KINDS, TRUSTS
from holdfast.search.index.postings import Words
from holdfast.search.index.state import State, follow, load
from holdfast.search.index.stored import Coverage, DocumentRow, StoredChunk
from holdfast.search.index.vectors import Meaning
from holdfast.search.ranking.rows import Details, Floats, Postings, Rows
from holdfast.text import normalise
from holdfast.types import LineSpan

__all__ = ["Moment", "Snapshot", "moment_of"]


class _Term(Protocol):
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Moment:
    """What is kept in memory of one moment; shared by all searches that see it."""

    database: str
    state: State
    words: Words
    meanings: Mapping[str, Meaning]
    terms: Terms
    vectors: Mapping[str, Vectors]


def moment_of(connection: sqlite3.Connection, database: str, before: Moment | None) -> Moment:
    """The moment that a connection sees, from an earlier one if that is of use."""
    if before is not None and before.database != database:
        before = None
    state = load(connection) if before is None else follow(connection, before.state)
    if before is not None and state is before.state:
        return before
    if before is not None and state.epoch != before.state.epoch:
        before = None
    meanings = _meanings(connection, state, before)
    return Moment(
        database=database,
        state=state,
        words=Words(state, before.words if before is not None else None),
        meanings=meanings,
        terms=before.terms if before is not None else Terms(),
        vectors=_vectors(meanings, before),
    )


def _vectors(meanings: Mapping[str, Meaning], before: Moment | None) -> dict[str, Vectors]:
    """What was kept of the encoders that are still there, by name and number."""
    known = {} if before is None else before.vectors
    return {
        name: known[name]
        if before is not None and name in known and before.meanings[name].number == each.number
        else Vectors(each.dimensions)
        for name, each in meanings.items()
    }


def _meanings(
    connection: sqlite3.Connection, state: State, before: Moment | None
) -> dict[str, Meaning]:
    result = {}
    found = connection.execute("SELECT id, name, dimensions FROM embedder ORDER BY id").fetchall()
    for number, name, dimensions in found:
        known = before.meanings.get(name) if before is not None else None
        if known is None:
            known = Meaning.empty(number, name, dimensions).unpacked(connection, state.epoch)
        result[name] = known.followed(connection, state)
    return result


_BODY: Final = (
    "SELECT c.id, c.uid, c.kind, c.place, c.speaker, c.importance, c.trust, c.fact, c.document, "
    "b.text, b.context, b.entities, b.first, b.last, b.entry, b.part, b.at, b.since, b.until "
    "FROM chunk c JOIN body b USING(id) "
    "WHERE c.id IN (SELECT value FROM json_each(?))"
)


class Snapshot:
    """One moment of an index. Close it, or use it in a ``with``: until then nothing of that
    moment goes, which makes the database longer. For one thread at a time."""

    def __init__(
        self,
        catalogue: Catalogue,
        reader: Reader,
        moment: Moment,
        term_hash: Callable[[str], int],
        zone_seconds: int = 0,
    ) -> None:
        self._catalogue = catalogue
        self._connection = reader.connection
        self._moment = moment
        self._term_hash = term_hash
        self._closer = weakref.finalize(self, catalogue.give_back, reader)
        self._state = moment.state
        rows = moment.state.rows
        self.rows: Rows = replace(rows, zone_seconds=zone_seconds) if zone_seconds else rows

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._closer()

    # ── rows ────────────────────────────────────────────────────────────────────────────────

    @property
    def change(self) -> int:
        """Which moment it is: the same number stands for the same content."""
        return self._state.change

    @property
    def places(self) -> Sequence[Place]:
        """By the numbers in ``rows.place``."""
        return self._state.places

    @property
    def documents(self) -> Sequence[DocumentRow]:
        """By the numbers in ``rows.document``."""
        return self._state.documents

    @property
    def fact(self) -> NDArray[np.int8]:
        """Index into ``RetainKind``'s arguments; -1 for what is no fact."""
        return self._state.columns["fact"]

    @property
    def since(self) -> NDArray[np.float64]:
        """From when it holds, in seconds; a day from its midnight UTC; NaN where none is told."""
        return self._state.columns["since"]

    @property
    def until(self) -> NDArray[np.float64]:
        return self._state.columns["until"]

    def entity_mask(self, names: Iterable[str]) -> NDArray[np.bool_]:
        """Which rows are about one of these, by name without regard to case."""
        mask = np.zeros(len(self.rows), dtype=np.bool_)
        for name in {stored(normalise(each)) for each in names}:
            found = self._all("SELECT chunk FROM entity WHERE name=?", (name,))
            ids = np.array([row[0] for row in found], dtype=np.int64)
            mask[self._state.positions_of(ids)] = True
        return mask

    # ── legs ────────────────────────────────────────────────────────────────────────────────

    def postings(
        self, terms: Sequence[_Term], places: Collection[int] | None = None
    ) -> list[Postings]:
        """Where each term stands in those places, ascending; None stands for every place."""
        words = self._moment.words
        try:
            return [
                words.postings(self._connection, self._term_hash(term.text), places)
                for term in terms
            ]
        except sqlite3.Error as error:
            raise explained(error, self._catalogue) from error

    def similarity(
        self, embedder: str, query: Floats, mask: NDArray[np.bool_] | None = None
    ) -> Floats:
        """The cosine of each row with the query; NaN where there is no vector, or outside the
        mask. The nearest are measured exactly, the others in a large index by their bits."""
        query = np.asarray(query, dtype=np.float32)
        meaning = self._moment.meanings.get(embedder)
        if meaning is None:
            return np.full(len(self.rows), np.nan, dtype=np.float32)

        def measured(numbers: NDArray[np.int64]) -> Floats:
            return self._moment.vectors[embedder].near(self._connection, numbers, query)

        try:
            return meaning.similarity(query, len(self.rows), mask, measured)
        except sqlite3.Error as error:
            raise explained(error, self._catalogue) from error

    def embedders(self) -> list[str]:
        """Names of the encoders that have made vectors of something here."""
        return [name for name, each in self._moment.meanings.items() if len(each.lives)]

    def coverage(self) -> list[Coverage]:
        """How far each encoder has come."""
        result = []
        for name, meaning in self._moment.meanings.items():
            embedded = len(meaning.lives)
            passed = len(self._state.positions_of(meaning.passed_over))
            result.append(
                Coverage(
                    embedder=name,
                    dimensions=meaning.dimensions,
                    embedded=embedded,
                    passed_over=passed,
                    missing=len(self.rows) - embedded - passed,
                )
            )
        return result

    # ── single chunks ───────────────────────────────────────────────────────────────────────

    def details(
        self, positions: NDArray[np.int64], embedders: Sequence[str] | None = None
    ) -> Details:
        """Terms, and for each encoder the vector and the signs of its tokens, of these rows."""
        positions = np.asarray(positions, dtype=np.int64)
        moment, connection = self._moment, self._connection
        names = self.embedders() if embedders is None else embedders
        tokens, vectors = {}, {}
        try:
            terms = moment.terms.of(connection, self._state.ids[positions])
            for name in names:
                if (meaning := moment.meanings.get(name)) is not None:
                    numbers = meaning.numbers[positions]
                    vectors[name], tokens[name] = moment.vectors[name].of(connection, numbers)
        except sqlite3.Error as error:
            raise explained(error, self._catalogue) from error
        return Details(positions=positions, terms=terms, tokens=tokens, vectors=vectors)

    def chunks(self, positions: Iterable[int]) -> list[StoredChunk]:
        """The chunks themselves, in the order asked for."""
        ids = self._state.ids[np.fromiter(positions, dtype=np.int64)].tolist()
        found = {row[0]: row for row in self._all(_BODY, [json.dumps(ids)])} if ids else {}
        return [self._stored(found[number]) for number in ids]

    def chunk(self, uid: str) -> StoredChunk | None:
        """The chunk of that id, if it is there."""
        found = self._all("SELECT id FROM chunk WHERE uid=? LIMIT 1", (uid,))
        return self._stored(self._all(_BODY, [json.dumps(found[0])])[0]) if found else None

    def _stored(self, row: Sequence[Any]) -> StoredChunk:
        _, uid, kind, place, speaker, importance, trust, fact, document, *body = row
        text, context, entities, first, last, entry, part, at, since, until = body
        moment = day_of(at)
        return StoredChunk(
            id=uid,
            document=self._state.numbers[document],
            place=self._state.places[place],
            kind=KINDS[kind],
            text=told(text),
            context=told(context),
            span=None if first is None else LineSpan(start=first, end=last),
            entry=None if entry is None else told(entry),
            part=part,
            speaker=None if speaker < 0 else self.rows.speakers[speaker],
            at=moment,  # type: ignore[arg-type]  # written from a datetime
            fact_kind=None if fact < 0 else FACTS[fact],
            entities=names_of(entities),
            since=day_of(since),
            until=day_of(until),
            trust=TRUSTS[trust],
            importance=importance,
        )

    def _all(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self._catalogue) from error
