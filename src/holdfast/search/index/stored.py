"""What goes into an index and what comes out of it, as plain records.

Promise: what was put in comes out again, to the letter (``tests/search/test_index.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.retain import RetainKind, Trust
from holdfast.scope import Place
from holdfast.search.documents import Chunk, ChunkKind, Document, SourceKind
from holdfast.search.ranking.rows import Floats, Form
from holdfast.types import LineSpan

__all__ = [
    "ANYTHING",
    "UNFINISHED",
    "Anything",
    "Coverage",
    "DocumentRow",
    "IndexStatus",
    "Pending",
    "Problem",
    "Put",
    "Reading",
    "Stamp",
    "StoredChunk",
    "Vector",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """By what a document is recognised as unchanged."""

    size: int
    mtime_ns: int = 0
    inode: int = 0
    content: str = ""
    """Hash of the content, in whatever way the caller makes it."""
    entries: int = 0
    """Of a conversation: how many entries are indexed."""
    extra: str = ""


UNFINISHED = Stamp(size=-1, mtime_ns=-1, inode=-1)
"""Of a document that is only partly there: it equals no real one, so it is put again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """What became of the chunks of a document."""

    added: int = 0
    kept: int = 0
    removed: int = 0
    overtaken: bool = False
    """Nothing more was done: the document is not what the caller took it for any more, or
    something was erased since."""
    unfinished: bool = False
    """The time was up, and the rest is to be done: by the same call, which goes on from there."""


class Anything:
    """Whatever the stamp of a document is."""


ANYTHING = Anything()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How text is read: given by the caller, so that the index knows no language."""

    searched_text: Callable[[Document, Chunk], str]
    """The words a chunk is found by."""
    index_terms: Callable[[str], Sequence[str]]
    """The terms of such a text, with repeats."""
    term_hash: Callable[[str], int]
    """A stable number of 64 bits for a term."""
    flags_of: Callable[[str], int]
    embedded_text: Callable[[Document, Chunk], str]
    """What an encoder gets."""
    version: str
    """Changes whenever one of these gives something else for the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A document as a search sees it."""

    key: str
    source: SourceKind
    title: str
    day: date | None
    form: Form
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A chunk as it was put in, with the document it is from."""

    id: str
    document: DocumentRow
    place: Place
    kind: ChunkKind
    text: str
    context: str
    span: LineSpan | None
    entry: str | None
    part: int
    speaker: str | None
    at: datetime | None
    fact_kind: RetainKind | None
    entities: tuple[str, ...]
    since: date | datetime | None
    until: date | datetime | None
    trust: Trust
    importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A chunk that an encoder has not seen yet."""

    chunk: int
    text: str
    """What the encoder gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """What an encoder made of one text."""

    vector: Floats
    tokens: NDArray[np.uint64] | None = None
    """The signs of its token vectors, packed by the caller: one row of 64-bit words for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far an encoder has come."""

    embedder: str
    dimensions: int
    embedded: int
    """Chunks with a vector."""
    passed_over: int
    """Chunks that are not for this encoder."""
    missing: int

    @property
    def is_complete(self) -> bool:
        return not self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    documents: int
    unfinished: int
    """Documents that are only partly indexed."""
    chunks: int
    coverage: tuple[Coverage, ...]
    bytes: int
    version: str
    rebuilt_because: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something in an index that should not be; the cure is always to build it again."""

    what: str
    document: str | None = None
