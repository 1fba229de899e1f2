"""What is to be stored of chunks, worked out before any lock is taken.

Promise: a draft says by its signature whether what was derived from a chunk's words may be kept;
the same words give the same signature (``tests/search/test_index_edits.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, get_args

from holdfast.retain import RetainKind, Trust
from holdfast.scope import Place
from holdfast.search.documents import Chunk, ChunkKind, Document, SourceKind, identified
from holdfast.search.index.coding import counted, stored
from holdfast.search.index.stored import Reading

__all__ = [
    "FACTS",
    "KINDS",
    "SOURCES",
    "TRUSTS",
    "Draft",
    "drafts",
    "signs_of_document",
    "uids_there",
]

KINDS: Final[tuple[ChunkKind, ...]] = get_args(ChunkKind)
SOURCES: Final[tuple[SourceKind, ...]] = get_args(SourceKind)
TRUSTS: Final[tuple[Trust, ...]] = get_args(Trust)
FACTS: Final[tuple[RetainKind, ...]] = get_args(RetainKind)


@dataclass(slots=True)
class Draft:
    """A chunk as it is to be stored; what costs time is only worked out if it is new."""

    chunk: Chunk
    uid: str
    place: Place
    searched: str
    embedded: str
    sign: bytes
    """Of everything that must be the same for the terms and vectors to be kept."""
    terms: tuple[bytes, bytes, int] | None = None

    def counted(self, reading: Reading) -> tuple[bytes, bytes, int]:
        """Its terms; worked out before the transaction, except where somebody was faster."""
        if self.terms is None:
            words = reading.index_terms(self.searched)
            self.terms = counted(map(reading.term_hash, words))
        return self.terms


def drafts(reading: Reading, document: Document, chunks: Sequence[Chunk]) -> list[Draft]:
    """What is stored of the chunks."""
    ids = [chunk.id for chunk in chunks]
    if not all(ids):
        ids = [one or two for one, two in zip(ids, identified(document, chunks), strict=True)]
    result: dict[str, Draft] = {}
    for chunk, uid in zip(chunks, ids, strict=True):
        searched = reading.searched_text(document, chunk)
        embedded = reading.embedded_text(document, chunk)
        parts = (searched, embedded, chunk.text, chunk.context, chunk.kind)
        sign = blake2b(digest_size=16)
        for part in map(stored, parts):
            sign.update(len(part).to_bytes(8, "big"))
            sign.update(part)
        result.setdefault(
            uid,
            Draft(chunk, uid, chunk.place or document.place, searched, embedded, sign.digest()),
        )
    return list(result.values())


def signs_of_document(connection: sqlite3.Connection, key: str) -> set[bytes]:
    """By what the chunks of a document are recognised."""
    rows = connection.execute(
        "SELECT c.sign FROM chunk c JOIN document d ON d.id=c.document WHERE d.key=?",
        (stored(key),),
    )
    return {row[0] for row in rows}


def uids_there(connection: sqlite3.Connection, key: str, wanted: Sequence[Draft]) -> set[str]:
    """Which of them a document has: asked one by one, since it may have very many others."""
    row = connection.execute("SELECT id FROM document WHERE key=?", (stored(key),)).fetchone()
    if row is None:
        return set()
    found = (
        connection.execute("SELECT uid FROM chunk WHERE uid=? AND document=?", (each.uid, row[0]))
        for each in wanted
    )
    return {uid for cursor in found for (uid,) in cursor}
