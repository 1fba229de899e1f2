"""Where a session that was brought in is now: people rename and delete what they have.

Promise: a session is followed through its renames, and one that is gone is told as gone
(``tests/engine/test_importing.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry, Json

__all__ = ["found_session", "is_of_talk"]


def found_session(rooms: Rooms, name: str) -> Transcript | None:
    """The session of that name, or of the one it was given since; None if it is gone."""
    store = rooms.store
    passed: set[str] = set()
    while not store.has(name):
        passed.add(name)
        stone = store.tombstone(name)
        if stone is None or stone.what != "renamed" or not stone.to or stone.to in passed:
            return None
        name = stone.to
    try:
        transcript = store.open(name)
        return transcript if transcript.state().entries else None
    except NotFound:
        return None  # gone in this moment


def is_of_talk(entries: Sequence[Entry], talk: str) -> bool:
    """Whether these are the entries of that conversation: names are given anew."""
    header = entries[0].data.get("import") if entries else None
    known: Mapping[str, Json] = header if isinstance(header, Mapping) else {}
    return known.get("id") == talk
