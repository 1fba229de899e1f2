"""The numbers that places and speakers have in the tables.

Promise: a name has one number for as long as anything is stored under it; numbers of places count
from nought without gaps (``tests/search/test_index.py``, ``test_index_edits.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.scope import Place
from holdfast.search.index.coding import stored
from holdfast.search.index.drafting import Draft

__all__ = ["Numbers", "number_of_place", "numbers_of"]


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of the names that some chunks have."""

    places: Mapping[Place, int]
    speakers: Mapping[str, int]


def numbers_of(connection: sqlite3.Connection, wanted: Iterable[Draft]) -> Numbers:
    """The numbers of their names, given out where a name is new."""
    places: dict[Place, int] = {}
    speakers: dict[str, int] = {}
    for draft in wanted:
        if draft.place not in places:
            places[draft.place] = number_of_place(connection, draft.place)
        speaker = draft.chunk.speaker
        if speaker is not None and speaker not in speakers:
            speakers[speaker] = _number_of_speaker(connection, speaker)
    return Numbers(places, speakers)


def number_of_place(connection: sqlite3.Connection, place: Place) -> int:
    said = [
        None if each is None else stored(each)
        for each in (place.tenant, place.agent, place.user, place.chat)
    ]
    row = connection.execute(
        "SELECT id FROM place WHERE tenant IS ? AND agent IS ? AND user IS ? AND chat IS ?",
        said,
    ).fetchone()
    if row is not None:
        return int(row[0])
    # Numbers count from nought without gaps: they are places in a list.
    connection.execute(
        "INSERT INTO place(id, tenant, agent, user, chat) "
        "SELECT coalesce(max(id) + 1, 0), ?, ?, ?, ? FROM place",
        said,
    )
    return number_of_place(connection, place)


def _number_of_speaker(connection: sqlite3.Connection, name: str) -> int:
    row = connection.execute("SELECT id FROM speaker WHERE name=?", (stored(name),)).fetchone()
    if row is not None:
        return int(row[0])
    connection.execute(
        "INSERT INTO speaker(id, name) SELECT coalesce(max(id) + 1, 0), ? FROM speaker",
        (stored(name),),
    )
    return _number_of_speaker(connection, name)
