"""Read back what flushes say they wrote: a receipt counts when its file holds every line.

Promise: nothing is taken from the receipt but which lines to look for
(``tests/engine/test_replay.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holdfast.context.flush import COVERING, FlushRecord
from holdfast.markdown import split_lines
from holdfast.retain import RetainLine
from holdfast.retain.documents import lines
from holdfast.text import normalise

__all__ = ["Receipts", "read_back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipts:
    """What the memory files hold of what flushes wrote."""

    verified: int = 0
    missing: tuple[str, ...] = ()
    """Lines that a flush names and its file does not hold."""
    duplicates: int = 0
    lines: tuple[str, ...] = ()
    """All lines of the memory files, as they stand there."""


def read_back(folder: Path, records: Iterable[FlushRecord]) -> Receipts:
    """Compare the records of a session with the memory files below ``folder``."""
    held = {path.relative_to(folder).as_posix(): _lines_of(path) for path in _files(folder)}
    verified, missing = 0, []
    for record in records:
        if record.outcome not in COVERING:
            continue
        there = {each.id for _, each in held.get(record.file or "", ())}
        lost = [line for line in record.lines if line not in there]
        verified += not lost
        missing += lost
    said = [(each.entity, normalise(each.text)) for found in held.values() for _, each in found]
    return Receipts(
        verified=verified,
        missing=tuple(missing),
        duplicates=len(said) - len(set(said)),
        lines=tuple(line for found in held.values() for line, _ in found),
    )


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.md"), *folder.glob("memory/**/*.md")])


def _lines_of(path: Path) -> list[tuple[str, RetainLine]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    source = split_lines(text)
    return [(source[each.number - 1].rstrip("\n"), each.line) for each in lines(text)]
