"""Taking an operation back: which one, and what the files hold without it.

Promise: a file that is still as the operation left it gets its old bytes back; from one that was
edited since the operation's lines go and its removed lines come back, and every other line stays;
where lines of the operation were changed themselves it is refused, with what is in the way and
where the old text is (``tests/memory/test_undo.py``). Reads the journal, writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.errors import NotFound, UsageError
from holdfast.memory.workspace.journal import LATE, ChangedFile, Journal, Operation, digest
from holdfast.memory.workspace.late import earlier
from holdfast.memory.workspace.merging import InTheWay, applied, parsed, shown, without
from holdfast.text import one_line

__all__ = ["Undone", "choose", "rehearse", "text_before"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What an undo did, or would do."""

    operation: str
    """The one that was undone."""
    what: str
    paths: tuple[str, ...]
    diff: str
    undo: str | None = None
    """The id of the undo, to undo it in turn; None for a dry run."""


def choose(journal: Journal, operation_id: str | None) -> Operation:
    """The operation of that id, or the newest one that stands."""
    operations = journal.operations()[::-1]
    if operation_id is None:
        for each in operations:
            # A late save is the doing of whoever saved: it is undone only by its id.
            if each.undone_by is None and each.undoes is None and each.what != LATE:
                return each
        raise NotFound("There is nothing to undo: no change of memory is kept that still stands.")
    for each in operations:
        if each.id == operation_id:
            break
    else:
        raise NotFound(f"There is no operation {operation_id!r} that could be undone.")
    if each.undone_by is not None:
        raise UsageError(
            f"{operation_id} is undone already, by {each.undone_by}.",
            hint=f"To have it back: holdfast undo {each.undone_by}",
        )
    return each


def rehearse(journal: Journal, operation: Operation, read: Callable[[str], str | None]) -> Undone:
    """What undoing would do, without doing it."""
    present = {path: read(path) for path in operation.paths}
    texts = dict(present)
    for change in reversed(operation.changes):
        texts[change.path] = text_before(journal, operation, change, texts[change.path])
    return Undone(
        operation=operation.id,
        what=operation.what,
        paths=operation.paths,
        diff="".join(shown(path, present[path], texts[path]) for path in operation.paths),
    )


def text_before(
    journal: Journal, operation: Operation, change: ChangedFile, text: str | None
) -> str | None:
    """The text of the file without what the operation made of it.

    Raises:
        UsageError: nobody can tell what that would be.
    """
    present = digest(None if text is None else _bytes(text))
    if present == change.before:
        return text
    before = _before(journal, change, text)
    if change.before is not None and before is None:
        raise UsageError(f"What {change.path} held before {operation.id} is no longer kept.")
    if present == change.after:
        return before
    if text is None or change.after is None:
        if text is None and before is None:
            return None
        what = "was removed since" if text is None else "was written again since"
        raise _in_the_way(journal, operation, change, what)
    diff = journal.preimages.read(f"{change.preimage}.diff")
    hunks = None if diff is None else parsed(_text(diff))
    left = None if hunks is None else applied(before or "", hunks)
    if left is None:
        raise _in_the_way(journal, operation, change, "was changed since")
    try:
        return without(left, text, _frame(change.path, left) if before is None else before)
    except InTheWay as way:
        lines = "; ".join(one_line(line, 80) for line in way.lines[:3])
        what = f"was changed since, in lines of the operation: {lines}"
        raise _in_the_way(journal, operation, change, what) from way


def _frame(path: str, made: str) -> str:
    """What a new memory file begins with: it stays while others have added to the file."""
    head, item, _ = made.partition("\n- ")
    return f"{head}\n" if item and path.casefold().startswith("memory") else ""


def _before(journal: Journal, change: ChangedFile, text: str | None) -> str | None:
    kept = journal.preimage_of(change)
    if change.before is not None and digest(kept) != change.before:  # saved into since
        found = earlier(journal, change, text)
        if found is not None:
            return found
    return None if kept is None else _text(kept)


def _in_the_way(
    journal: Journal, operation: Operation, change: ChangedFile, what: str
) -> UsageError:
    kept = journal.preimages.path / change.preimage
    hint = "Take the lines out by hand."
    if change.before is not None:
        hint = f"Nothing was changed. What it held before is in {kept}"
    return UsageError(f"{operation.id} cannot be undone: {change.path} {what}.", hint=hint)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
