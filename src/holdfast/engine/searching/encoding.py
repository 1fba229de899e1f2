"""One batch of texts through one encoder, whose answer is checked before anybody believes it.

Promise: an answer of another form than asked for, or without numbers in it, is an error here and
nowhere else; a text that an encoder cannot take is found by halving, if the encoder answers at
all, and costs the others nothing (``tests/engine/test_searching_faults.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelUnavailable
from holdfast.ports import Embedded, Embedder
from holdfast.search.index import Pending, Vector
from holdfast.search.ranking.late import signs_of
from holdfast.text import one_line

__all__ = ["Vectors", "encoded"]

_PROBE: Final = "A text that every encoder can take."
_FEW: Final = 4
"""So many texts in a row may be impossible; if more are, the encoder is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """By number of the passage; None if it could not be encoded."""

    vectors: Mapping[int, Vector | None] = field(default_factory=dict)
    failed: int = 0
    why: str = ""

    def only(self, chunks: Collection[int]) -> Vectors:
        """Those of these passages."""
        kept = {chunk: vector for chunk, vector in self.vectors.items() if chunk in chunks}
        failed = sum(vector is None for vector in kept.values())
        return Vectors(vectors=kept, failed=failed, why=self.why)


def encoded(embedder: Embedder, waiting: Sequence[Pending]) -> Vectors:
    """The vectors of all, or of all that it can take.

    Raises:
        ModelUnavailable: it cannot be loaded or reached.
        Exception: whatever it raises, if it fails at any text.
    """
    chunks = [each.chunk for each in waiting]
    texts = [each.text for each in waiting]
    try:
        return Vectors(vectors=dict(zip(chunks, _asked(embedder, texts), strict=True)))
    except ModelUnavailable:
        raise
    except Exception as error:  # an encoder is other people's code
        if not _answers(embedder):
            raise
        halved = _halved(embedder, texts)
        failed = halved.count(None)
        if failed == len(texts) > _FEW:
            raise
        why = one_line(str(error) or repr(error), 200)
        return Vectors(
            vectors=dict(zip(chunks, halved, strict=True)), failed=failed, why=why if failed else ""
        )


def _answers(embedder: Embedder) -> bool:
    try:
        _asked(embedder, [_PROBE])
    except Exception:  # noqa: BLE001 - whatever it is: the first error is told
        return False
    return True


def _halved(embedder: Embedder, texts: Sequence[str]) -> list[Vector | None]:
    try:
        return list(_asked(embedder, texts))
    except ModelUnavailable:
        raise
    except Exception:  # noqa: BLE001 - the one that cannot be taken is among them
        if len(texts) == 1:
            return [None]
    middle = len(texts) // 2
    return _halved(embedder, texts[:middle]) + _halved(embedder, texts[middle:])


def _asked(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    if not texts:
        return []
    made = embedder.embed(texts, tokens=embedder.has_tokens)
    rows = _checked(embedder, made, len(texts))
    if made.tokens is None:
        return [Vector(vector=row) for row in rows]
    return [
        Vector(vector=row, tokens=signs_of(text, tokens))
        for row, text, tokens in zip(rows, texts, made.tokens, strict=True)
    ]


def _checked(embedder: Embedder, made: Embedded, count: int) -> NDArray[np.float32]:
    """The vectors, if they are what was asked for."""
    rows = np.asarray(made.vectors, dtype=np.float32)
    wanted = (count, embedder.dimensions)
    if rows.shape != wanted:
        raise ValueError(f"it gave vectors of the form {rows.shape}, not {wanted}")
    if not np.isfinite(rows).all():
        raise ValueError("it gave vectors with values that are no numbers")
    for tokens in made.tokens or ():
        if len(tokens.vectors) != len(tokens.spans) or not np.isfinite(tokens.vectors).all():
            raise ValueError("it gave vectors of words that do not fit their words")
    return rows
