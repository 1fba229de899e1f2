"""The encoders that are known by name, with the checksums of the weights they stand for.

A name is what stored vectors are kept under, so it changes with the weights. Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BGE_SMALL_ZH", "BGE_SMALL_ZH_FOLDER", "MINILM", "UNIVERSAL", "Pinned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    name: str
    dimensions: int
    sha256: str
    """Of the file of the weights."""
    tokenizer_sha256: str = ""
    """Of the file of the word pieces, where that comes from elsewhere."""


MINILM: Final = Pinned(
    name="all-MiniLM-L6-v2-int8/8199be6f",
    dimensions=384,
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
BGE_SMALL_ZH: Final = Pinned(
    name="bge-small-zh-v1.5-int8/277740d2",
    dimensions=512,
    sha256="277740d23747fa6dbe5b3afa74fca21d818fb89556ce5c819ce1d3896e6e4c25",
    tokenizer_sha256="3d09c84ebd10306706a79a8276b3ab736a40d8ec03251c7639f4e52c3a1a4f8e",
)
UNIVERSAL: Final = Pinned(
    name="use-multilingual-v3/0db566fd",
    dimensions=512,
    sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    tokenizer_sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)
BGE_SMALL_ZH_FOLDER: Final = "bge-small-zh-v1.5"
