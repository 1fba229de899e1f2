"""Documents and chunks as they were given, from the tables.

Promise: what was put is restored to the letter (``tests/search/test_index.py``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from holdfast.scope import Place
from holdfast.search.documents import Chunk, Document
from holdfast.search.index.coding import day_of, names_of, told
from holdfast.search.index.drafting import FACTS, KINDS, SOURCES, TRUSTS
from holdfast.types import LineSpan

__all__ = ["Restored", "restored"]

_SELECT: Final = (
    "SELECT c.id, c.sha, d.key, d.source, d.title, d.day, "
    "p.tenant, p.agent, p.user, p.chat, q.tenant, q.agent, q.user, q.chat, "
    "c.uid, c.kind, s.name, c.importance, c.trust, c.fact, b.text, b.context, b.entities, "
    "b.first, b.last, b.entry, b.part, b.at, b.since, b.until "
    "FROM chunk c JOIN body b USING(id) JOIN document d ON d.id=c.document "
    "JOIN place p ON p.id=d.place JOIN place q ON q.id=c.place "
    "LEFT JOIN speaker s ON s.id=c.speaker "
)


class Restored(NamedTuple):
    id: int
    sha: bytes
    document: Document
    chunk: Chunk


def restored(
    connection: sqlite3.Connection, where: str = "", values: Sequence[Any] = ()
) -> Iterator[Restored]:
    """The chunks for which a condition holds; ``c`` is the table of chunks in it."""
    for row in connection.execute(f"{_SELECT} {where}", values):
        key, source, title, day = row[2:6]
        document = Document(
            key=told(key),
            source=SOURCES[source],
            place=_place(row[6:10]),
            title=told(title),
            day=day_of(day),
        )
        yield Restored(row[0], row[1], document, _chunk(row[14:], _place(row[10:14])))


def _place(row: Sequence[Any]) -> Place:
    tenant, agent, user, chat = (None if each is None else told(each) for each in row)
    return Place(tenant=tenant or "", agent=agent or "", user=user, chat=chat)


def _chunk(row: Sequence[Any], place: Place) -> Chunk:
    uid, kind, speaker, importance, trust, fact, text, context, entities, first, last = row[:11]
    entry, part, at, since, until = row[11:]
    moment = day_of(at)
    return Chunk(
        id=uid,
        place=place,
        kind=KINDS[kind],
        text=told(text),
        context=told(context),
        span=None if first is None else LineSpan(start=first, end=last),
        entry=None if entry is None else told(entry),
        part=part,
        speaker=None if speaker is None else told(speaker),
        at=moment,  # type: ignore[arg-type]  # written from a datetime
        fact_kind=None if fact < 0 else FACTS[fact],
        entities=names_of(entities),
        since=day_of(since),
        until=day_of(until),
        trust=TRUSTS[trust],
        importance=importance,
    )
