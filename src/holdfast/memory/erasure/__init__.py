"""A text goes from the memory files of a place, their archive, preimages and names.

    erasing    which files, in which order
    blanking   a text without it                      pure

Promise: see ``erasing``.
"""

from __future__ import annotations

from holdfast.memory.erasure.erasing import FOLDERS, Derive, Line, MemoryErasure

__all__ = ["FOLDERS", "Derive", "Line", "MemoryErasure"]
