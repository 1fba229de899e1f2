"""The catalogue's narrow tables as arrays in memory, of one moment, and how they follow it.

Promise: arrays that followed the log step by step equal arrays read afresh; nothing that was
handed out is ever written to (``tests/search/test_index_edits.py``). Opening reads the packed
arrays and only what changed since.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.scope import Place
from holdfast.search.index.coding import day_of, told
from holdfast.search.index.drafting import SOURCES
from holdfast.search.index.stored import DocumentRow
from holdfast.search.ranking.rows import Form, Ints, Rows

__all__ = ["COLUMNS", "Columns", "State", "follow", "load", "pack"]

Columns: TypeAlias = dict[str, NDArray[Any]]

COLUMNS: Final[Mapping[str, str]] = {
    "id": "i8",
    "document": "i4",
    "ordinal": "i4",
    "kind": "u1",
    "place": "i4",
    "speaker": "i4",
    "flags": "u2",
    "at": "f8",
    "length": "i4",
    "importance": "f4",
    "trust": "u1",
    "fact": "i1",
    "since": "f8",
    "until": "f8",
}
_NAMES: Final = ", ".join(COLUMNS)
_SELECT: Final = f"SELECT {_NAMES} FROM chunk"  # noqa: S608
_HEAD: Final = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that is kept in memory of the tables, except postings and vectors."""

    change: int
    epoch: int
    columns: Columns
    """By ascending chunk id. ``document`` holds numbers of the table, which have gaps."""
    where: Ints
    """Position of each chunk id; -1 where there is none."""
    rows: Rows
    documents: Sequence[DocumentRow]
    numbers: Mapping[int, DocumentRow]
    """By number in the table."""
    places: Sequence[Place]
    is_appended: bool = False
    """Whether the positions of the state before it stayed as they were."""

    @property
    def ids(self) -> NDArray[np.int64]:
        return self.columns["id"]

    def positions_of(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where chunks are; those that are not there at this moment are left out."""
        ids = ids[ids < len(self.where)]
        found = self.where[ids].astype(np.int64)
        return found if not len(found) or found.min() >= 0 else found[found >= 0]


# ── reading ─────────────────────────────────────────────────────────────────────────────────


def load(connection: sqlite3.Connection) -> State:
    """The state of the moment that the connection sees, from the packed arrays if there are."""
    change, epoch, log_from = _heads(connection)
    packed = _unpack(connection, epoch, log_from)
    if packed is None:
        columns = _read(connection.execute(f"{_SELECT} ORDER BY id"))
        return _state(connection, change, epoch, columns, _documents(connection))
    since, columns = packed
    columns, _ = _followed(connection, columns, since)
    return _state(connection, change, epoch, columns, _documents(connection))


def follow(connection: sqlite3.Connection, state: State) -> State:
    """The state of the moment that the connection sees, from an earlier one."""
    change, epoch, log_from = _heads(connection)
    if change == state.change and epoch == state.epoch:
        return state
    if epoch != state.epoch or state.change < log_from:
        return load(connection)
    touched = connection.execute("SELECT 1 FROM log WHERE change>? LIMIT 1", (state.change,))
    if touched.fetchone() is None:
        return replace(state, change=change, is_appended=True)  # only stamps or vectors
    columns, is_appended = _followed(connection, state.columns, state.change)
    numbers = _documents_since(connection, state)
    return _state(connection, change, epoch, columns, numbers, is_appended=is_appended)


def _heads(connection: sqlite3.Connection) -> tuple[int, int, int]:
    found = dict(connection.execute("SELECT name, value FROM meta"))
    return int(found["change"]), int(found["epoch"]), int(found.get("log_from", 0))


def _read(rows: sqlite3.Cursor) -> Columns:
    values = list(zip(*rows.fetchall(), strict=True)) or [()] * len(COLUMNS)
    return {
        name: np.array(column, dtype=kind)
        if kind != "f8"
        else np.array([np.nan if each is None else each for each in column], dtype=kind)
        for (name, kind), column in zip(COLUMNS.items(), values, strict=True)
    }


def _followed(connection: sqlite3.Connection, columns: Columns, since: int) -> tuple[Columns, bool]:
    """The columns after the changes since; whether rows were only appended."""
    touched = connection.execute(
        "SELECT DISTINCT document FROM log WHERE change>? AND NOT appended", (since,)
    )
    changed = [row[0] for row in touched]
    last = int(columns["id"][-1]) if len(columns["id"]) else 0
    new = _read(connection.execute(f"{_SELECT} WHERE id>? ORDER BY id", (last,)))
    if not changed:
        return _joined(columns, new), True
    stays = ~np.isin(columns["document"], changed)
    parts = [{name: column[stays] for name, column in columns.items()}]
    for number in changed:
        parts.append(
            _read(connection.execute(f"{_SELECT} WHERE document=? AND id<=?", (number, last)))
        )
    merged = _joined(*parts)
    order = np.argsort(merged["id"], kind="stable")
    merged = {name: column[order] for name, column in merged.items()}
    is_appended = np.array_equal(merged["id"], columns["id"])
    return _joined(merged, new), is_appended


def _joined(*parts: Columns) -> Columns:
    full = [part for part in parts if len(part["id"])] or [parts[0]]
    if len(full) == 1:
        return full[0]
    return {name: np.concatenate([part[name] for part in full]) for name in COLUMNS}


def _documents(connection: sqlite3.Connection) -> dict[int, DocumentRow]:
    places = _places(connection)
    found = connection.execute(f"{_DOCUMENT} ORDER BY id")
    return {row[0]: _document(row, places) for row in found}


_DOCUMENT: Final = "SELECT id, key, source, title, day, form, place FROM document"


def _documents_since(connection: sqlite3.Connection, state: State) -> dict[int, DocumentRow]:
    places = _places(connection)
    numbers = dict(state.numbers)
    touched = connection.execute(
        "SELECT DISTINCT document FROM log WHERE change>?", (state.change,)
    ).fetchall()
    for (number,) in touched:
        row = connection.execute(f"{_DOCUMENT} WHERE id=?", (number,)).fetchone()
        if row is None:
            numbers.pop(number, None)
        else:
            numbers[number] = _document(row, places)
    return numbers


def _document(row: Sequence[Any], places: Sequence[Place]) -> DocumentRow:
    _, key, source, title, day, form, place = row
    return DocumentRow(
        key=told(key),
        source=SOURCES[source],
        title=told(title),
        day=day_of(day),
        form=Form(form),
        place=places[place],
    )


def _places(connection: sqlite3.Connection) -> list[Place]:
    places: list[Place] = []
    found = connection.execute("SELECT id, tenant, agent, user, chat FROM place ORDER BY id")
    for number, tenant, agent, user, chat in found:
        places += [_NOWHERE] * (number - len(places))
        place = Place(
            tenant=told(tenant),
            agent=told(agent),
            user=None if user is None else told(user),
            chat=None if chat is None else told(chat),
        )
        places.append(place)
    return places


_NOWHERE: Final = Place(tenant="", agent="", user="@owner", chat="@nobody")
"""In the list in place of one that was erased; no row is there, and nobody may read it."""


def _speakers(connection: sqlite3.Connection) -> list[str]:
    names: list[str] = []
    for number, name in connection.execute("SELECT id, name FROM speaker ORDER BY id"):
        names += [""] * (number - len(names))
        names.append(told(name))
    return names


# ── arrays ──────────────────────────────────────────────────────────────────────────────────


def _state(
    connection: sqlite3.Connection,
    change: int,
    epoch: int,
    columns: Columns,
    numbers: dict[int, DocumentRow],
    *,
    is_appended: bool = False,
) -> State:
    order = sorted(numbers)
    documents = [numbers[number] for number in order]
    dense = np.full((order[-1] if order else 0) + 1, -1, dtype=np.int32)
    dense[order] = np.arange(len(order), dtype=np.int32)
    of = dense[columns["document"]]
    ids = columns["id"]
    where = np.full((int(ids[-1]) if len(ids) else 0) + 1, -1, dtype=np.int32)
    where[ids] = np.arange(len(ids), dtype=np.int32)
    before, after = _neighbours(of, columns["ordinal"])
    forms = np.array([each.form for each in documents], dtype=np.uint8)
    sources = np.array([SOURCES.index(each.source) for each in documents], dtype=np.uint8)
    rows = Rows(
        document=of,
        before=before,
        after=after,
        place=columns["place"],
        source=sources[of],
        kind=columns["kind"],
        form=forms[of],
        flags=columns["flags"],
        speaker=columns["speaker"],
        at=columns["at"],
        length=columns["length"],
        importance=columns["importance"],
        trust=columns["trust"],
        speakers=_speakers(connection),
    )
    return State(
        change=change,
        epoch=epoch,
        columns=columns,
        where=where,
        rows=rows,
        documents=documents,
        numbers=numbers,
        places=_places(connection),
        is_appended=is_appended,
    )


def _neighbours(document: Ints, ordinal: Ints) -> tuple[Ints, Ints]:
    """The position before and behind each in its document; -1 at its ends.

    Ties are in the order of the positions: the sort is stable, and nearly linear here, because
    most chunks were stored in order.
    """
    before = np.full(len(document), -1, dtype=np.int32)
    after = before.copy()
    if len(document) > 1:
        key = document.astype(np.int64) << 32 | ordinal.astype(np.int64)
        order = np.argsort(key, kind="stable").astype(np.int32)
        same = document[order[1:]] == document[order[:-1]]
        ahead, behind = order[:-1][same], order[1:][same]
        before[behind] = ahead
        after[ahead] = behind
    return before, after


# ── packed arrays ───────────────────────────────────────────────────────────────────────────


def pack(connection: sqlite3.Connection, state: State) -> None:
    """Store the arrays, in the transaction that the state was read in, and forget the log."""
    head = json.dumps({"change": state.change, "epoch": state.epoch, "rows": len(state.ids)})
    put = "INSERT INTO packed(name, data) VALUES(?, ?) ON CONFLICT DO UPDATE SET data=excluded.data"
    connection.execute(put, (_HEAD, head.encode()))
    for name, kind in COLUMNS.items():
        connection.execute(put, (name, state.columns[name].astype(f"<{kind}").tobytes()))
    connection.execute("DELETE FROM log WHERE change<=?", (state.change,))
    connection.execute(
        "INSERT INTO meta(name, value) VALUES('log_from', ?) "
        "ON CONFLICT DO UPDATE SET value=excluded.value",
        (state.change,),
    )


def _unpack(
    connection: sqlite3.Connection, epoch: int, log_from: int
) -> tuple[int, Columns] | None:
    row = connection.execute("SELECT data FROM packed WHERE name=?", (_HEAD,)).fetchone()
    if row is None:
        return None
    head = json.loads(row[0])
    if head["epoch"] != epoch or head["change"] < log_from:
        return None
    columns: Columns = {}
    for name, kind in COLUMNS.items():
        data = connection.execute("SELECT data FROM packed WHERE name=?", (name,)).fetchone()
        columns[name] = np.frombuffer(data[0], dtype=f"<{kind}")
        if len(columns[name]) != head["rows"]:
            return None
    return int(head["change"]), columns
