"""The index: a SQLite catalogue, postings in FTS5, vectors, and snapshots of them.

Promise: derived from files and conversations, and nothing else; incremental equals rebuilt;
readers never wait for writers; what is erased is gone. Proven by ``tests/search/test_index*.py``.
"""

from __future__ import annotations

from holdfast.search.index.index import Index
from holdfast.search.index.lease import Lease
from holdfast.search.index.snapshot import Snapshot
from holdfast.search.index.stored import (
    UNFINISHED,
    Coverage,
    DocumentRow,
    IndexStatus,
    Pending,
    Problem,
    Put,
    Reading,
    Stamp,
    StoredChunk,
    Vector,
)

__all__ = [
    "UNFINISHED",
    "Coverage",
    "DocumentRow",
    "Index",
    "IndexStatus",
    "Lease",
    "Pending",
    "Problem",
    "Put",
    "Reading",
    "Snapshot",
    "Stamp",
    "StoredChunk",
    "Vector",
]
