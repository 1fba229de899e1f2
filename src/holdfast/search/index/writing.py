"""Documents into tables: what is new is added, what is known is kept, what is gone is removed.

Promise: whatever sequence of puts, extensions and drops led here, the tables hold what one put
of each present document would have made (``tests/search/test_index_edits.py``). No transaction
takes long: a large document comes in slices, and is ``UNFINISHED`` until its last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from holdfast.scope import Place
from holdfast.search.documents import Chunk, Document
from holdfast.search.index.coding import (
    names_of,
    packed_names,
    seconds,
    stored,
    tokens_of,
    written,
)
from holdfast.search.index.drafting import FACTS, KINDS, SOURCES, TRUSTS, Draft
from holdfast.search.index.stored import UNFINISHED, Anything, Put, Reading, Stamp
from holdfast.search.ranking.rows import Flag, Form
from holdfast.text import normalise

__all__ = ["SLICE_TERMS", "TRACES", "Writing"]


SLICE_TERMS: Final = 12_000
"""Terms in one transaction: some forty milliseconds."""

_CHUNK: Final = (
    "document, uid, sign, sha, ordinal, kind, place, speaker, flags, at, length, importance, "
    "trust, fact, since, until"
)
_BODY: Final = "text, context, entities, first, last, entry, part, at, since, until"
_OF_CHUNK: Final = "ordinal, speaker, at, importance, trust, fact, since, until"
_OF_BODY: Final = "entities, first, last, entry, part, at, since, until"


def _assigned(columns: str) -> str:
    return ", ".join(f"{each}=?" for each in columns.split(", "))


def _marks(columns: str) -> str:
    return ", ".join("?" for _ in columns.split(", "))


_ADD_CHUNK: Final = f"INSERT INTO chunk({_CHUNK}) VALUES({_marks(_CHUNK)})"
_ADD_BODY: Final = f"INSERT INTO body(id, {_BODY}) VALUES(?, {_marks(_BODY)})"
_CHANGE_CHUNK: Final = f"UPDATE chunk SET {_assigned(_OF_CHUNK)} WHERE id=?"  # noqa: S608
_CHANGE_BODY: Final = f"UPDATE body SET {_assigned(_OF_BODY)} WHERE id=?"  # noqa: S608
_EXISTING: Final = (
    "SELECT c.uid, c.id, c.sign, c.place, "  # noqa: S608
    + ", ".join(f"c.{each}" for each in _OF_CHUNK.split(", "))
    + ", "
    + ", ".join(f"b.{each}" for each in _OF_BODY.split(", "))
    + " FROM chunk c JOIN body b USING(id) WHERE c.document=?"
)
_WIDTH: Final = len(_OF_CHUNK.split(", "))


@dataclass(frozen=True, slots=True)
class _Known:
    """A chunk of the document as it is in the tables."""

    id: int
    sign: bytes
    place: int
    values: tuple[Any, ...]


@dataclass(slots=True)
class Writing:
    """One write transaction. ``changed`` is told which documents were touched, and how."""

    connection: sqlite3.Connection
    reading: Reading

    # ── documents ───────────────────────────────────────────────────────────────────────────

    def is_as_expected(self, key: str, expecting: Stamp | Anything | None) -> bool:
        """Whether the document has the stamp the caller saw, or there is none as the caller saw."""
        if isinstance(expecting, Anything):
            return True
        row = self.connection.execute(
            "SELECT size, mtime_ns, inode, content, entries, extra FROM document WHERE key=?",
            (stored(key),),
        ).fetchone()
        return bool(row == (None if expecting is None else _stamped(expecting)))

    def put(self, document: Document, wanted: Sequence[Draft], stamp: Stamp) -> tuple[Put, bool]:
        """Make the document hold these chunks; whether that is done, or only a slice of it."""
        number, is_changed = self._document(document)
        existing = self._existing(number)
        numbers = self._numbers(wanted)
        new: list[tuple[int, Draft]] = []
        kept: list[tuple[int, Draft]] = []
        for ordinal, draft in enumerate(wanted):
            known = existing.get(draft.uid)
            is_same = (
                known is not None
                and known.sign == draft.sign
                and known.place == numbers.places[draft.place]
            )
            (kept if is_same else new).append((ordinal, draft))
        now, is_all = _slice(new)
        replaced = [existing[draft.uid].id for _, draft in now if draft.uid in existing]
        self._remove(replaced)
        self._add(number, now, numbers)
        gone: list[int] = []
        if is_all:
            is_changed |= self._refresh(existing, kept, numbers)
            names = {draft.uid for draft in wanted}
            leaving = [known.id for uid, known in existing.items() if uid not in names]
            gone, is_all = leaving[:_MOST_REMOVED], len(leaving) <= _MOST_REMOVED
            self._remove(gone)
        self._finish(number, stamp if is_all else UNFINISHED, wanted, numbers)
        if is_changed or now or gone:
            self._log(number, appended=False)
        return Put(added=len(now), kept=len(kept), removed=len(replaced) + len(gone)), is_all

    def extend(self, document: Document, wanted: Sequence[Draft], stamp: Stamp) -> tuple[Put, bool]:
        """Append chunks; those that are there already are left as they are."""
        number, is_changed = self._document(document)
        there = self._there(number, [draft.uid for draft in wanted])
        last = self.connection.execute(
            "SELECT coalesce(max(ordinal), -1) FROM chunk WHERE document=?", (number,)
        ).fetchone()[0]
        new = [draft for draft in wanted if draft.uid not in there]
        numbers = self._numbers(new)
        now, is_all = _slice(list(enumerate(new, last + 1)))
        self._add(number, now, numbers)
        form, speaker = self.connection.execute(
            "SELECT form, speaker FROM document WHERE id=?", (number,)
        ).fetchone()
        form, speaker = _form(document, new, numbers, (form, speaker))
        self._stamp(number, stamp if is_all else UNFINISHED, form, speaker)
        if is_changed or now:
            self._log(number, appended=not is_changed)
        return Put(added=len(now), kept=len(there)), is_all

    def drop(self, key: str) -> tuple[int, bool]:
        """Remove a document, or a slice of it; how many chunks went, and whether all have."""
        number = self._number_of(key)
        if number is None:
            return 0, True
        rows = self.connection.execute(
            "SELECT id FROM chunk WHERE document=? LIMIT ?", (number, _MOST_REMOVED + 1)
        )
        ids = [row[0] for row in rows]
        is_all = len(ids) <= _MOST_REMOVED
        gone = ids[:_MOST_REMOVED]
        self._remove(gone)
        if is_all:
            self.connection.execute("DELETE FROM document WHERE id=?", (number,))
        else:
            self._stamp(number, UNFINISHED)
        self._log(number, appended=False)
        return len(gone), is_all

    def touch(self, key: str, stamp: Stamp) -> bool:
        """Give the document another stamp; nothing that is searched changes."""
        number = self._number_of(key)
        if number is not None:
            self._stamp(number, stamp)
        return number is not None

    def remove_chunks(self, ids: Sequence[int]) -> None:
        """Remove single chunks, and let their documents be put again."""
        documents = {
            self.connection.execute("SELECT document FROM chunk WHERE id=?", (each,)).fetchone()[0]
            for each in ids
        }
        self._remove(ids)
        for number in documents:
            self._stamp(number, UNFINISHED)
            self._log(number, appended=False)

    def _number_of(self, key: str) -> int | None:
        row = self.connection.execute(
            "SELECT id FROM document WHERE key=?", (stored(key),)
        ).fetchone()
        return None if row is None else int(row[0])

    def _document(self, document: Document) -> tuple[int, bool]:
        """The number of the document, which is there from now on; whether it was otherwise."""
        place = self._place(document.place)
        said = (
            SOURCES.index(document.source),
            place,
            stored(document.title),
            written(document.day),
        )
        number = self._number_of(document.key)
        if number is not None:
            cursor = self.connection.execute(
                "UPDATE document SET source=?1, place=?2, title=?3, day=?4 WHERE id=?5 AND "
                "(source, place, title, day) IS NOT (?1, ?2, ?3, ?4)",
                (*said, number),
            )
            return number, cursor.rowcount > 0
        form = Form.MESSAGES if document.source == "session" else Form.NOTES
        cursor = self.connection.execute(
            "INSERT INTO document(key, source, place, title, day, form, size, mtime_ns, inode, "
            "content, entries, extra) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
            (stored(document.key), *said, int(form), *_stamped(UNFINISHED)),
        )
        return int(cursor.lastrowid or 0), True

    def _finish(
        self, number: int, stamp: Stamp, wanted: Sequence[Draft], numbers: _Numbers
    ) -> None:
        source = self.connection.execute(
            "SELECT source FROM document WHERE id=?", (number,)
        ).fetchone()[0]
        is_session = SOURCES[source] == "session"
        form, speaker = _form_of(is_session, wanted, numbers, (Form.MESSAGES, None))
        self._stamp(number, stamp, form, speaker)

    def _stamp(
        self, number: int, stamp: Stamp, form: int | None = None, speaker: int | None = None
    ) -> None:
        self.connection.execute(
            "UPDATE document SET size=?, mtime_ns=?, inode=?, content=?, entries=?, extra=? "
            "WHERE id=?",
            (*_stamped(stamp), number),
        )
        if form is not None:
            self.connection.execute(
                "UPDATE document SET form=?, speaker=? WHERE id=?", (int(form), speaker, number)
            )

    def _log(self, number: int, *, appended: bool) -> None:
        """Note the document under the change this transaction makes."""
        self.connection.execute(
            "INSERT INTO log(change, document, appended) "
            "SELECT value + 1, ?, ? FROM meta WHERE name='change' "
            "ON CONFLICT DO UPDATE SET appended=min(appended, excluded.appended)",
            (number, int(appended)),
        )

    # ── chunks ──────────────────────────────────────────────────────────────────────────────

    def _existing(self, number: int) -> dict[str, _Known]:
        return {
            row[0]: _Known(row[1], row[2], row[3], tuple(row[4:]))
            for row in self.connection.execute(_EXISTING, (number,))
        }

    def _there(self, number: int, uids: Iterable[str]) -> set[str]:
        found = (
            self.connection.execute(
                "SELECT uid FROM chunk WHERE document=? AND uid=?", (number, uid)
            ).fetchone()
            for uid in uids
        )
        return {row[0] for row in found if row is not None}

    def _add(self, number: int, new: Sequence[tuple[int, Draft]], numbers: _Numbers) -> None:
        embedders = [row[0] for row in self.connection.execute("SELECT id FROM embedder")]
        for ordinal, draft in new:
            self._add_one(number, ordinal, draft, numbers, embedders)

    def _add_one(
        self, number: int, ordinal: int, draft: Draft, numbers: _Numbers, embedders: Sequence[int]
    ) -> None:
        execute = self.connection.execute
        terms, often, length = draft.counted(self.reading)
        place = numbers.places[draft.place]
        of_chunk, of_body = self._values(ordinal, draft, numbers)
        ordinal, speaker, at, *others = of_chunk
        sha = sha256(stored(draft.embedded)).digest()[:20]
        kind, flags = KINDS.index(draft.chunk.kind), self._flags(draft.chunk)
        row = (number, draft.uid, draft.sign, sha, ordinal, kind, place, speaker, flags, at)
        cursor = execute(_ADD_CHUNK, (*row, length, *others))
        chunk = cursor.lastrowid
        text = (stored(draft.chunk.text), stored(draft.chunk.context))
        execute(_ADD_BODY, (chunk, *text, *of_body))
        execute("INSERT INTO forward(id, terms, counts) VALUES(?,?,?)", (chunk, terms, often))
        execute(
            "INSERT INTO post(rowid, tokens) VALUES(?,?)", (chunk, tokens_of(terms, often, place))
        )
        self._name(chunk, draft.chunk.entities)
        for embedder in embedders:
            execute(
                "INSERT INTO link(chunk, embedder, vector) "
                "SELECT ?, embedder, id FROM vector WHERE embedder=? AND sha=?",
                (chunk, embedder, sha),
            )

    def _name(self, chunk: int | None, entities: Iterable[str]) -> None:
        names = dict.fromkeys(stored(normalise(each)) for each in entities)
        self.connection.executemany(
            "INSERT INTO entity(name, chunk) VALUES(?, ?)", [(each, chunk) for each in names]
        )

    def _refresh(
        self,
        existing: Mapping[str, _Known],
        kept: Sequence[tuple[int, Draft]],
        numbers: _Numbers,
    ) -> bool:
        """What may change of a chunk whose words did not: where it stands, and its metadata."""
        is_changed = False
        for ordinal, draft in kept:
            known = existing[draft.uid]
            of_chunk, of_body = self._values(ordinal, draft, numbers)
            if known.values[:_WIDTH] != of_chunk:
                is_changed = True
                self.connection.execute(_CHANGE_CHUNK, (*of_chunk, known.id))
            if known.values[_WIDTH:] != of_body:
                self.connection.execute(_CHANGE_BODY, (*of_body, known.id))
                if known.values[_WIDTH] != of_body[0]:
                    self._unname(known.id, known.values[_WIDTH])
                    self._name(known.id, draft.chunk.entities)
        return is_changed

    def _values(
        self, ordinal: int, draft: Draft, numbers: _Numbers
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The columns of ``_OF_CHUNK`` and ``_OF_BODY``."""
        chunk = draft.chunk
        of_chunk = (
            ordinal,
            -1 if chunk.speaker is None else numbers.speakers[chunk.speaker],
            seconds(chunk.at),
            float(chunk.importance),
            TRUSTS.index(chunk.trust),
            -1 if chunk.fact_kind is None else FACTS.index(chunk.fact_kind),
            seconds(chunk.since),
            seconds(chunk.until),
        )
        of_body = (
            packed_names(chunk.entities) if chunk.entities else None,
            None if chunk.span is None else chunk.span.start,
            None if chunk.span is None else chunk.span.end,
            None if chunk.entry is None else stored(chunk.entry),
            chunk.part,
            written(chunk.at),
            written(chunk.since),
            written(chunk.until),
        )
        return of_chunk, of_body

    def _flags(self, chunk: Chunk) -> int:
        flags = int(self.reading.flags_of(chunk.text))
        flags |= Flag.FACT if chunk.kind == "fact" else 0
        return int(flags | (Flag.TOOL if chunk.kind == "tool" else 0))

    def _remove(self, ids: Sequence[int]) -> None:
        execute = self.connection.execute
        if ids:
            execute("INSERT OR REPLACE INTO meta(name, value) VALUES(?, 1)", (TRACES,))
        for chunk in ids:
            place, terms, often, entities = execute(
                "SELECT c.place, f.terms, f.counts, b.entities FROM chunk c "
                "JOIN forward f USING(id) JOIN body b USING(id) WHERE c.id=?",
                (chunk,),
            ).fetchone()
            execute(
                "INSERT INTO post(post, rowid, tokens) VALUES('delete', ?, ?)",
                (chunk, tokens_of(terms, often, place)),
            )
            self._unname(chunk, entities)
            execute("DELETE FROM chunk WHERE id=?", (chunk,))
            execute("DELETE FROM body WHERE id=?", (chunk,))
            execute("DELETE FROM forward WHERE id=?", (chunk,))
            execute("DELETE FROM link WHERE chunk=?", (chunk,))

    def _unname(self, chunk: int, entities: bytes | None) -> None:
        if entities:
            names = {stored(normalise(each)) for each in names_of(entities)}
            self.connection.executemany(
                "DELETE FROM entity WHERE name=? AND chunk=?", [(each, chunk) for each in names]
            )

    # ── names ───────────────────────────────────────────────────────────────────────────────

    def _numbers(self, wanted: Sequence[Draft]) -> _Numbers:
        places = {place: self._place(place) for place in {draft.place for draft in wanted}}
        names = dict.fromkeys(draft.chunk.speaker for draft in wanted)
        return _Numbers(places, {name: self._speaker(name) for name in names if name is not None})

    def _place(self, place: Place) -> int:
        said = [
            None if each is None else stored(each)
            for each in (place.tenant, place.agent, place.user, place.chat)
        ]
        row = self.connection.execute(
            "SELECT id FROM place WHERE tenant IS ? AND agent IS ? AND user IS ? AND chat IS ?",
            said,
        ).fetchone()
        if row is not None:
            return int(row[0])
        # Numbers count from nought without gaps: they are places in a list.
        self.connection.execute(
            "INSERT INTO place(id, tenant, agent, user, chat) "
            "SELECT coalesce(max(id) + 1, 0), ?, ?, ?, ? FROM place",
            said,
        )
        return self._place(place)

    def _speaker(self, name: str) -> int:
        row = self.connection.execute(
            "SELECT id FROM speaker WHERE name=?", (stored(name),)
        ).fetchone()
        if row is not None:
            return int(row[0])
        self.connection.execute(
            "INSERT INTO speaker(id, name) SELECT coalesce(max(id) + 1, 0), ? FROM speaker",
            (stored(name),),
        )
        return self._speaker(name)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of the names that some chunks have."""

    places: Mapping[Place, int]
    speakers: Mapping[str, int]


_MOST_REMOVED: Final = 250
TRACES: Final = "traces"
"""Set while postings may hold traces of what was removed."""


def _slice(new: Sequence[tuple[int, Draft]]) -> tuple[Sequence[tuple[int, Draft]], bool]:
    """As many as one transaction may take, and whether these are all."""
    size = 0
    for count, (_, draft) in enumerate(new):
        if count and size > SLICE_TERMS:
            return new[:count], False
        size += 20 + len(draft.searched) // 6
    return new, True


def _stamped(stamp: Stamp) -> tuple[int, int, int, str, int, bytes]:
    return (
        stamp.size,
        stamp.mtime_ns,
        stamp.inode,
        stamp.content,
        stamp.entries,
        stored(stamp.extra),
    )


def _form(
    document: Document, new: Sequence[Draft], numbers: _Numbers, known: tuple[int, int | None]
) -> tuple[int, int | None]:
    return _form_of(document.source == "session", new, numbers, known)


def _form_of(
    is_session: bool, drafts: Sequence[Draft], numbers: _Numbers, known: tuple[int, int | None]
) -> tuple[int, int | None]:
    """How the document came to be, and who spoke first in it."""
    form, first = known
    if not is_session:
        return Form.NOTES, None
    for draft in drafts:
        if draft.chunk.kind != "turn" or draft.chunk.speaker is None:
            continue
        speaker = numbers.speakers[draft.chunk.speaker]
        if first is None:
            first = speaker
        elif speaker != first:
            form = Form.DIALOGUE
    return form, first
