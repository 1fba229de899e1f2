"""A text goes from the memory files of a place, their archive, preimages and names.

    erasing    which files, in which order
    blanking   a text without it                      pure
    own        what our files say by themselves       pure
    replacing  one page in place of another

Promise: see ``erasing``.
"""

from __future__ import annotations

from holdfast.memory.erasure.erasing import (
    FOLDERS,
    Derive,
    Line,
    MemoryErasure,
    memory_files,
    slugs_of,
)
from holdfast.memory.erasure.own import others_words

__all__ = [
    "FOLDERS",
    "Derive",
    "Line",
    "MemoryErasure",
    "memory_files",
    "others_words",
    "slugs_of",
]
