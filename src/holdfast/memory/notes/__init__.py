"""Memories are added: ``memory_write``, ``holdfast remember`` and every flush end here.

    writing     to the day, to MEMORY.md or to a topic, and never over anything
    free_text   what a text becomes: one line per statement
    repeats     what is known already
    wording     what new files say about themselves

Promise: see ``writing``.
"""

from __future__ import annotations

from holdfast.memory.notes.writing import (
    Asking,
    Note,
    Notes,
    Skipped,
    Target,
    Written,
    lines_of,
    parse_target,
)

__all__ = ["Asking", "Note", "Notes", "Skipped", "Target", "Written", "lines_of", "parse_target"]
