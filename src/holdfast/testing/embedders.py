"""An encoder without a model: words become fixed directions, a text their sum.

Promise: the same text has the same vectors on every machine, texts that share words are near,
and what means the same can be said with ``same``; it counts what it was asked. Proved by
``tests/models/test_embedders_testing.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.ports import Embedded, Script, Tokens

__all__ = ["HashingEmbedder"]

Floats: TypeAlias = NDArray[np.float32]

# A Latin word or a number is one word, an ideograph, kana or hangul by itself another.
_WORD: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\\W\u3040-\u9fff\uac00-\ud7af]+"
)


class HashingEmbedder:
    """Near is what shares words.

    >>> near = HashingEmbedder(same={"cat": "猫"})
    >>> a, b = near.embed(["cat", "猫"]).vectors
    >>> bool(a @ b > 0.99)
    True
    """

    has_tokens: Final = True

    def __init__(
        self,
        *,
        name: str = "hashing",
        dimensions: int = 64,
        script: Script = "any",
        same: Mapping[str, str] | None = None,
    ) -> None:
        self.name = f"{name}/{dimensions}"
        self.dimensions = dimensions
        self.script: Script = script
        self.texts: list[str] = []
        """Every text it was asked to encode, in order."""
        self.calls = 0
        self._same = dict(same or {})

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        self.calls += 1
        self.texts += texts
        words = [self._tokens(text) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, found in enumerate(words):
            total = found.vectors.sum(axis=0) if len(found.spans) else self._direction("")
            vectors[row] = total / max(float(np.linalg.norm(total)), 1e-12)
        return Embedded(vectors=vectors, tokens=words if tokens else None)

    def _tokens(self, text: str) -> Tokens:
        found = list(_WORD.finditer(text))
        rows = [self._direction(one.group().lower()) for one in found]
        return Tokens(
            vectors=np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32),
            spans=[one.span() for one in found],
        )

    def _direction(self, word: str) -> Floats:
        word = self._same.get(word, word)
        seed = int.from_bytes(
            blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        )
        # Signs of the bits of a generator that is specified: the same numbers on every machine.
        bits = np.random.Generator(np.random.PCG64(seed)).integers(0, 2, self.dimensions)
        return np.asarray((bits * 2 - 1) / np.sqrt(self.dimensions), np.float32)
