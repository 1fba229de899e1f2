"""What encoders still have to do, and what they have done, by the hash of the text.

Promise: a text is embedded once for each encoder, wherever it moves; vectors of two encoders
never meet; what was done survives a crash (``tests/search/test_index_vectors.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from holdfast.errors import UsageError
from holdfast.search.index.catalogue import Catalogue, Reader
from holdfast.search.index.restoring import restored
from holdfast.search.index.stored import Pending, Reading, Vector
from holdfast.search.index.vectors import quantised, words_of

__all__ = ["Embeddings"]

_SLICE: Final = 256
_MANY: Final = 2_000


class Embeddings:
    """The vectors of an index."""

    def __init__(self, catalogue: Catalogue, reading: Reading) -> None:
        self._catalogue = catalogue
        self._reading = reading
        self._done: dict[str, int] = {}
        """By encoder: every chunk up to this one is done."""
        self._done_in: tuple[str, int] = ("", 0)
        """In which database, and in which epoch of it: in the next, vectors may be gone."""

    def pending(self, embedder: str, limit: int) -> list[Pending]:
        with self._catalogue.reading() as reader:
            connection = reader.connection
            progress = self._progress(reader)
            done = progress.get(embedder, 0)
            number = _number(connection, embedder)
            rows = connection.execute(
                "SELECT id, sha FROM chunk c WHERE id>? AND NOT EXISTS "
                "(SELECT 1 FROM link l WHERE l.chunk=c.id AND l.embedder=?) ORDER BY id LIMIT ?",
                (done, number, limit),
            ).fetchall()
            last = connection.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()[0]
            progress[embedder] = rows[0][0] - 1 if rows else last
            wanted = list({sha: chunk for chunk, sha in reversed(rows)}.values())
            return [
                Pending(chunk=each, text=self._reading.embedded_text(found.document, found.chunk))
                for each in reversed(wanted)
                for found in restored(connection, "WHERE c.id=?", (each,))
            ]

    def missing(self, embedder: str) -> int:
        with self._catalogue.reading() as reader:
            number = _number(reader.connection, embedder)
            done = self._progress(reader).get(embedder, 0)
            row = reader.connection.execute(
                "SELECT count(DISTINCT sha) FROM chunk c WHERE id>? AND NOT EXISTS "
                "(SELECT 1 FROM link l WHERE l.chunk=c.id AND l.embedder=?)",
                (done, number),
            ).fetchone()
            return int(row[0])

    def _progress(self, reader: Reader) -> dict[str, int]:
        """How far each encoder is, as far as that is known of this epoch."""
        row = reader.connection.execute("SELECT value FROM meta WHERE name='epoch'").fetchone()
        moment = (reader.name, int(row[0]))
        if moment != self._done_in:
            self._done, self._done_in = {}, moment
        return self._done

    def put(
        self,
        embedder: str,
        vectors: Mapping[int, Vector | None],
        *,
        dimensions: int | None,
        seconds: float | None = None,
    ) -> int:
        size = _dimensions(embedder, vectors, dimensions)
        rows = iter(vectors.items())
        count = 0
        while some := list(islice(rows, _SLICE)):
            ready = [(chunk, _stored(vector, size)) for chunk, vector in some]
            with self._catalogue.writing(seconds=seconds) as connection:
                number = _registered(connection, embedder, size)
                count += sum(_put(connection, number, chunk, row) for chunk, row in ready)
                connection.execute("UPDATE meta SET value=value+1 WHERE name='change'")
        return count

    def retire(self, embedder: str) -> int:
        """Hide them all at once, then remove them slice by slice."""
        with self._catalogue.writing() as connection:
            number = _number(connection, embedder)
            if number is None:
                return 0
            connection.execute("DELETE FROM embedder WHERE id=?", (number,))
            connection.execute("DELETE FROM packed WHERE name GLOB ?", (f"vectors:{number}:*",))
            _next_epoch(connection)
        self.forget_progress()
        return self.forget_unused()

    def forget_unused(self) -> int:
        """Remove vectors of encoders that were retired and of texts that are gone."""
        count = 0
        while True:
            with self._catalogue.writing() as connection:
                connection.execute(
                    "DELETE FROM link WHERE id IN (SELECT id FROM link WHERE embedder NOT IN "
                    "(SELECT id FROM embedder) LIMIT ?)",
                    (_MANY,),
                )
                cursor = connection.execute(
                    "DELETE FROM vector WHERE id IN (SELECT id FROM vector v WHERE NOT EXISTS "
                    "(SELECT 1 FROM chunk c WHERE c.sha=v.sha) OR v.embedder NOT IN "
                    "(SELECT id FROM embedder) LIMIT ?)",
                    (_MANY,),
                )
            count += cursor.rowcount
            if cursor.rowcount < _MANY:
                return count

    def forget_progress(self) -> None:
        self._done = {}


def _next_epoch(connection: sqlite3.Connection) -> None:
    """Let nobody believe in what is kept in memory or packed."""
    connection.execute("UPDATE meta SET value=value+1 WHERE name IN ('change', 'epoch')")


def _number(connection: sqlite3.Connection, embedder: str) -> int | None:
    row = connection.execute("SELECT id FROM embedder WHERE name=?", (embedder,)).fetchone()
    return None if row is None else int(row[0])


def _registered(connection: sqlite3.Connection, embedder: str, dimensions: int) -> int:
    row = connection.execute(
        "SELECT id, dimensions FROM embedder WHERE name=?", (embedder,)
    ).fetchone()
    if row is None:
        cursor = connection.execute(
            "INSERT INTO embedder(name, dimensions) VALUES(?, ?)", (embedder, dimensions)
        )
        return int(cursor.lastrowid or 0)
    if row[1] != dimensions and dimensions:
        raise UsageError(
            f"Encoder {embedder!r} made vectors of {row[1]} values before, now of {dimensions}.",
            hint="Give an encoder another name when its model changes.",
        )
    return int(row[0])


def _dimensions(embedder: str, vectors: Mapping[int, Vector | None], dimensions: int | None) -> int:
    sizes = {len(each.vector) for each in vectors.values() if each is not None}
    sizes |= {dimensions} if dimensions else set()
    if len(sizes) > 1:
        raise UsageError(
            f"Encoder {embedder!r} gave vectors of different lengths: {sorted(sizes)}."
        )
    return sizes.pop() if sizes else 0


_Row = tuple[bytes | None, float | None, bytes | None]


def _stored(vector: Vector | None, dimensions: int) -> _Row:
    if vector is None:
        return None, None, None
    codes, scale = quantised(vector.vector)
    tokens = vector.tokens
    if tokens is not None and tokens.size:
        if tokens.shape[-1] != words_of(dimensions):
            raise UsageError(
                f"Signs of tokens have {words_of(dimensions)} words each, not {tokens.shape[-1]}."
            )
        return codes, scale, np.ascontiguousarray(tokens, dtype="<u8").tobytes()
    return codes, scale, None


def _put(connection: sqlite3.Connection, embedder: int, chunk: int, row: Sequence[object]) -> int:
    found = connection.execute("SELECT sha FROM chunk WHERE id=?", (chunk,)).fetchone()
    if found is None:
        return 0  # removed meanwhile
    sha = found[0]
    connection.execute(
        "INSERT INTO vector(embedder, sha, codes, scale, tokens) VALUES(?,?,?,?,?) "
        "ON CONFLICT DO NOTHING",
        (embedder, sha, *row),
    )
    connection.execute(
        "INSERT INTO link(chunk, embedder, vector) SELECT c.id, v.embedder, v.id "
        "FROM vector v JOIN chunk c USING(sha) WHERE v.embedder=? AND v.sha=? "
        "ON CONFLICT DO NOTHING",
        (embedder, sha),
    )
    return 1
