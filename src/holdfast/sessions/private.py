"""What was said while a conversation had its memory switched off.

A ``memory`` marker says from where on, and what held before it, so the last entries of a
transcript tell as much about themselves as all of them.

Promise: an entry counts as said in private exactly if memory was off when it was appended, also
if it is on again now (``tests/sessions/test_private.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.types import Entry

__all__ = ["OFF", "changes_mode", "openly_said", "said_in_private"]

OFF: Final = "off"


def changes_mode(entry: Entry) -> bool:
    """Whether from here on the conversation may do something else with memory."""
    data = entry.data
    return (
        entry.type == "marker"
        and data.get("kind") == "memory"
        and isinstance(data.get("mode"), str)
    )


def said_in_private(entries: Sequence[Entry], mode: str | None) -> frozenset[str]:
    """Those of the entries, given in order, that were appended while memory was off.

    ``mode`` is what holds behind the last of them; None if memory was never restricted.
    """
    if mode is None:
        return frozenset()
    private: set[str] = set()
    markers = [entry for entry in entries if changes_mode(entry)]
    for entry in reversed(entries):
        if markers and entry is markers[-1]:
            markers.pop()
            before = markers[-1].data["mode"] if markers else None
            mode = entry.data.get("before", before)
        elif mode == OFF:
            private.add(entry.id)
    return frozenset(private)


def openly_said(entries: Sequence[Entry], mode: str | None) -> Sequence[Entry]:
    """The entries without those."""
    private = said_in_private(entries, mode)
    return [entry for entry in entries if entry.id not in private] if private else entries
