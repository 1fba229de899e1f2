"""Taking a text out of the index: rows, postings, vectors, and the bytes they leave behind.

Deleted rows are overwritten (``secure_delete``), postings are merged so that no old segment
stays, vectors of texts that are gone go, and the write-ahead log is emptied. What was read before
the erasure and is put after it is refused: erasures are counted, and who puts says which it saw.

Promise: afterwards no file below ``.index/`` holds the text; a crash in between is finished by
erasing again; what could not be done is named (``tests/search/test_index_erasing.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from holdfast.matching import Match
from holdfast.search.index.catalogue import Catalogue
from holdfast.search.index.coding import told
from holdfast.search.index.lease import Lease
from holdfast.search.index.restoring import Restored, restored
from holdfast.search.index.stored import Reading
from holdfast.search.index.writing import TRACES, Writing
from holdfast.types import Erased, Remaining

__all__ = ["erase"]

_SLICE: Final = 100


def erase(
    catalogue: Catalogue, reading: Reading, match: Match, *, lease: Lease | None, dry_run: bool
) -> Erased:
    """What was found, or would be; nothing of the text is left unless it is named.

    ``lease`` is for removing what an unfinished rebuild left; None while one is under way.
    """
    if not dry_run:
        _announce(catalogue)
    with catalogue.reading() as reader:
        chunks = [found.id for found in restored(reader.connection) if _holds(match, found)]
        keys = _keys(reader.connection, match)
        names = _names(reader.connection, match)
    spans = len(chunks) + len(keys) + names
    files = (f".index/{catalogue.name}",) if spans else ()
    if dry_run:
        return Erased(store="index", spans=spans, files=files)
    for start in range(0, len(chunks), _SLICE):
        with catalogue.writing() as connection:
            writing = Writing(connection, reading)
            writing.remove_chunks(_still_there(connection, chunks[start : start + _SLICE]))
            _count_up(connection, "change")
    _drop(catalogue, reading, keys)
    remaining = (*_scrub(catalogue, match), *_unfinished(catalogue, lease))
    return Erased(store="index", spans=spans, files=files, remaining=remaining)


def _announce(catalogue: Catalogue) -> None:
    """Let nobody put what it read before: whatever was put until now is looked through below."""
    with catalogue.writing() as connection:
        connection.execute(
            "INSERT INTO meta(name, value) VALUES('erasures', 1) "
            "ON CONFLICT DO UPDATE SET value=value+1"
        )


def _holds(match: Match, found: Restored) -> bool:
    chunk = found.chunk
    if chunk.id in match.ids:
        return True
    session = found.document.key.rpartition("/")[2]
    if chunk.entry is not None and f"{session}#{chunk.entry}" in match.ids:
        return True
    said = (chunk.text, chunk.context, chunk.speaker or "", chunk.entry or "", *chunk.entities)
    return any(match.is_in(each) for each in said if each)


def _keys(connection: sqlite3.Connection, match: Match) -> list[str]:
    """Documents whose name, title or stamp tells it: they go as a whole."""
    rows = connection.execute("SELECT key, title, extra FROM document")
    return [
        told(key)
        for key, title, extra in rows
        if any(match.is_in(told(each)) for each in (key, title, extra))
    ]


def _names(connection: sqlite3.Connection, match: Match) -> int:
    """How many speakers and entities are named so."""
    names = connection.execute("SELECT name FROM speaker UNION SELECT name FROM entity")
    return sum(match.is_in(told(name)) for (name,) in names)


def _still_there(connection: sqlite3.Connection, ids: Sequence[int]) -> list[int]:
    found = (
        connection.execute("SELECT id FROM chunk WHERE id=?", (each,)).fetchone() for each in ids
    )
    return [row[0] for row in found if row is not None]


def _drop(catalogue: Catalogue, reading: Reading, keys: Sequence[str]) -> None:
    while keys:
        with catalogue.writing() as connection:
            _, gone = Writing(connection, reading).drop(keys)
            _count_up(connection, "change")
        keys = keys[gone:]


def _count_up(connection: sqlite3.Connection, *names: str) -> None:
    connection.executemany(
        "UPDATE meta SET value=value+1 WHERE name=?", [(name,) for name in names]
    )


def _scrub(catalogue: Catalogue, match: Match) -> tuple[Remaining, ...]:
    """Leave no bytes of what was removed, now or earlier."""
    with catalogue.writing() as connection:
        connection.execute(
            "DELETE FROM vector WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.sha=vector.sha)"
        )
        connection.execute("DELETE FROM packed")  # the signs of vectors among it
        _forget_names(connection, match)
        if connection.execute("SELECT 1 FROM meta WHERE name=?", (TRACES,)).fetchone():
            connection.execute("INSERT INTO post(post) VALUES('optimize')")
            connection.execute("DELETE FROM meta WHERE name=?", (TRACES,))
        _count_up(connection, "change", "epoch")
    if catalogue.maintain(truncate=True):
        return ()
    return (
        Remaining(
            path=f".index/{catalogue.name}-wal",
            why="A search that is still running reads what was there before.",
            hint="Wait until it has ended, and erase again.",
        ),
    )


def _unfinished(catalogue: Catalogue, lease: Lease | None) -> tuple[Remaining, ...]:
    """Remove a database that a crash left half built; name one that is being built."""
    if not catalogue.others(catalogue.name):
        return ()
    was_held = lease is not None and lease.is_held
    if lease is not None and lease.take():
        catalogue.remove_others(catalogue.name)
        if not was_held:
            lease.give_back()
        return ()
    return (
        Remaining(
            path=f".index/{catalogue.others(catalogue.name)[0]}",
            why="The index is being built again this moment.",
            hint="Wait until that has ended (holdfast index status), and erase again.",
        ),
    )


def _forget_names(connection: sqlite3.Connection, match: Match) -> None:
    """Speakers and places that nothing is left of, if they are named so."""
    speakers = connection.execute(
        "SELECT id, name FROM speaker WHERE id NOT IN (SELECT speaker FROM chunk)"
    ).fetchall()
    gone = [(number,) for number, name in speakers if match.is_in(told(name))]
    connection.executemany("DELETE FROM speaker WHERE id=?", gone)
    places = connection.execute(
        "SELECT id, user, chat FROM place WHERE id NOT IN (SELECT place FROM chunk) "
        "AND id NOT IN (SELECT place FROM document)"
    ).fetchall()
    gone = [
        (number,)
        for number, *names in places
        if any(each is not None and match.is_in(told(each)) for each in names)
    ]
    connection.executemany("DELETE FROM place WHERE id=?", gone)
