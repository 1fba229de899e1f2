"""A save that ended after the file had been replaced, and what becomes of it.

A program that had the file open when it was swapped out writes to the old one, which is kept as
the preimage. What it wrote is brought into the present file as if it had been saved in time: both
edits of the text that stood there before, joined line by line.

Promise: no line that was saved so is lost: it is in the present file, or in ``.journal/rescued``
and named, where both made different things of the same lines; a save that was cut off removes
nothing (``tests/memory/test_workspace_late.py``). Writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.memory.workspace.journal import ChangedFile, Journal, LateSave, digest
from holdfast.memory.workspace.merging import Hunk, applied, joined, parsed, reverse

__all__ = ["Unclear", "earlier", "with_late"]

_AS_IT_IS: Final = ("utf-8", "surrogateescape")


class Unclear(Exception):
    """Nobody can say what the file would hold if the save had come in time."""


def with_late(journal: Journal, late: LateSave, present: str | None) -> str:
    """The present text with what was saved into the old file.

    Raises:
        Unclear: the same lines were changed in the present file too, or it was removed.
    """
    before = _known_part(late) if late.taken else earlier(journal, late.change, present)
    if before is None or present is None:
        raise Unclear
    theirs = _text(late.data)
    if before.startswith(theirs):
        return present  # a save that was cut off: nothing in it is new
    both = joined(before, theirs, present)
    if both is None:
        raise Unclear
    return both


def earlier(journal: Journal, change: ChangedFile, present: str | None) -> str | None:
    """What the file held before a change, from what others know; None if that is not known.

    For a preimage that holds something else by now.
    """
    for before in _texts_before(journal, change, present):
        if before is not None and digest(before.encode(*_AS_IT_IS)) == change.before:
            return before
    return None


def _texts_before(
    journal: Journal, change: ChangedFile, present: str | None
) -> Iterator[str | None]:
    back = reverse(_hunks(journal, change) or ())
    if back:
        for after in _texts_after(journal, change, present):
            yield applied(_text(after), back)
    # Or it is what the operation before has left.
    for other in _changes_of(journal, change.path):
        if other.after == change.before and other.preimage != change.preimage:
            kept = journal.preimage_of(other) or b""
            yield applied(_text(kept), _hunks(journal, other) or ())


def _hunks(journal: Journal, change: ChangedFile) -> tuple[Hunk, ...] | None:
    diff = journal.preimages.read(f"{change.preimage}.diff")
    return None if diff is None else parsed(_text(diff))


def _changes_of(journal: Journal, path: str) -> Iterator[ChangedFile]:
    for each in journal.operations():
        yield from (change for change in each.changes if change.path == path)


def _texts_after(journal: Journal, change: ChangedFile, present: str | None) -> Iterator[bytes]:
    """Where the text that the change left may be: still in its place, or replaced by the next."""
    if present is not None and digest(data := present.encode(*_AS_IT_IS)) == change.after:
        yield data
    for other in _changes_of(journal, change.path):
        if other.before is not None and other.before == change.after:
            kept = journal.preimage_of(other)
            if kept is not None and digest(kept) == change.after:
                yield kept


def _known_part(late: LateSave) -> str | None:
    """What of the old file was brought in before; None if that was changed since."""
    assert late.taken is not None
    known, size = late.taken
    return _text(late.data[:size]) if digest(late.data[:size]) == known else None


def _text(data: bytes) -> str:
    return data.decode(*_AS_IT_IS)
