"""What ranking knows of every passage: one array per property, all of the same length.

Promise: ``Rows`` is what an index shows of one moment; nothing in it is written to. A position
in these arrays stands for one chunk while a search runs, and for nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bits", "Details", "Flag", "Floats", "Form", "Ints", "Postings", "Ragged", "Rows"]

Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int32]
Bits: TypeAlias = NDArray[np.uint64]


class Form(IntEnum):
    """How a document came to be, which decides what its neighbours are worth."""

    DIALOGUE = 0
    """A conversation in which at least two speak."""
    MESSAGES = 1
    """A conversation in which one person speaks: notes to oneself."""
    NOTES = 2
    """A Markdown file."""


class Flag(IntFlag):
    """What a chunk's words say about it, found when it is indexed (``ranking.flags``)."""

    ASKS = 1
    """There is a question in it."""
    ENDS_ASKING = 2
    TELLS_WHEN = 4
    """There is an expression of time in it."""
    FIRST_PERSON = 8
    FACT = 16
    """A Retain line."""
    TOOL = 32
    DENSE = 64
    """It is written mostly in a script without spaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Every live chunk of an index."""

    document: Ints
    """Number of the document."""
    before: Ints
    """Position of the chunk before it in its document; -1 for the first."""
    after: Ints
    place: Ints
    """Number of the place that decides who may read it."""
    source: NDArray[np.uint8]
    """Index into ``documents.SourceKind``'s arguments."""
    kind: NDArray[np.uint8]
    """Index into ``documents.ChunkKind``'s arguments."""
    form: NDArray[np.uint8]
    flags: NDArray[np.uint16]
    speaker: Ints
    """Number of the speaker's name in ``speakers``; -1 for none."""
    at: NDArray[np.float64]
    """Seconds since 1970 UTC; NaN where no time is known."""
    length: Ints
    """Number of terms, stop words left out."""
    importance: Floats
    trust: NDArray[np.uint8]
    """Index into ``retain.Trust``'s arguments."""
    speakers: Sequence[str]
    zone_seconds: int = 0
    """What to add to ``at`` for the user's own clock."""

    def __len__(self) -> int:
        return len(self.document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Where one term stands: positions in ``Rows`` (ascending) and how often, capped."""

    positions: NDArray[np.int64]
    counts: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Ragged:
    """A list of arrays of different lengths as one: part i is values[starts[i]:starts[i+1]]."""

    starts: NDArray[np.int64]
    values: NDArray[np.uint64]
    """Of terms: one 64-bit hash each. Of token signs: one row of 64-bit words each."""
    counts: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What is only read for the best few hundred."""

    positions: NDArray[np.int64]
    terms: Ragged
    tokens: Mapping[str, Ragged]
    """By embedder: the signs of each token vector, packed; empty parts where there are none."""
    vectors: Mapping[str, Floats]
    """By embedder: rows of length 1, or NaN where a chunk has no vector yet."""
