"""Documents into tables: what is new is added, what is known is kept, what is gone is removed.

Promise: whatever sequence of puts, extensions and drops led here, the tables hold what one put
of each present document would have made (``tests/search/test_index_edits.py``). No transaction
takes long: a large document comes in slices, and is ``UNFINISHED`` until its last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from holdfast.search.documents import Chunk, Document
from holdfast.search.index.coding import names_of, stored, tokens_of, written
from holdfast.search.index.drafting import KINDS, SOURCES, Draft
from holdfast.search.index.naming import Numbers, number_of_place, numbers_of
from holdfast.search.index.planning import (
    OF_BODY,
    OF_CHUNK,
    Moved,
    Plan,
    is_full,
    planned,
    sealed,
    slice_of,
    values_of,
    weight_of,
)
from holdfast.search.index.stored import UNFINISHED, Anything, Put, Reading, Stamp
from holdfast.search.ranking.rows import Flag, Form
from holdfast.text import normalise

__all__ = ["TRACES", "Writing", "erasures_of"]

_MOST_MOVED: Final = 1_000
_MOST_REMOVED: Final = 250
"""Rows in one transaction."""
TRACES: Final = "traces"
"""Set while postings may hold traces of what was removed."""

_CHUNK: Final = (
    "document, uid, sign, sha, ordinal, kind, place, speaker, flags, at, length, importance, "
    "trust, fact, since, until"
)
_BODY: Final = "text, context, entities, first, last, entry, part, at, since, until"


def _assigned(columns: str) -> str:
    return ", ".join(f"{each}=?" for each in columns.split(", "))


def _marks(columns: str) -> str:
    return ", ".join("?" for _ in columns.split(", "))


_ADD_CHUNK: Final = f"INSERT INTO chunk({_CHUNK}) VALUES({_marks(_CHUNK)})"
_ADD_BODY: Final = f"INSERT INTO body(id, {_BODY}) VALUES(?, {_marks(_BODY)})"
_CHANGE_CHUNK: Final = f"UPDATE chunk SET {_assigned(OF_CHUNK)} WHERE id=?"  # noqa: S608
_CHANGE_BODY: Final = f"UPDATE body SET {_assigned(OF_BODY)} WHERE id=?"  # noqa: S608


@dataclass(slots=True)
class Writing:
    """One write transaction. ``changed`` is told which documents were touched, and how."""

    connection: sqlite3.Connection
    reading: Reading

    # ── documents ───────────────────────────────────────────────────────────────────────────

    def is_as_expected(
        self, key: str, expecting: Stamp | Anything | None, erasures: int | None
    ) -> bool:
        """Whether the document has the stamp the caller saw, or there is none as the caller saw;
        and nothing was erased since the caller began to read."""
        if erasures is not None and erasures != erasures_of(self.connection):
            return False
        if isinstance(expecting, Anything):
            return True
        row = self.connection.execute(
            "SELECT size, mtime_ns, inode, content, entries, extra FROM document WHERE key=?",
            (stored(key),),
        ).fetchone()
        return bool(row == (None if expecting is None else _stamped(expecting)))

    def put(
        self, document: Document, wanted: Sequence[Draft], stamp: Stamp, plan: Plan | None = None
    ) -> tuple[Put, Plan]:
        """Make the document hold these chunks, or do a slice of that; what is left to do.

        ``plan`` is what the slice before gave. It is made again if it is not true any more.
        """
        number, is_changed = self._document(document)
        if plan is None or plan.seal != sealed(self.connection, number):
            plan = planned(self.connection, number, wanted)
        now, plan.new = slice_of(plan.new)
        gone = [plan.replaced[draft.uid] for _, draft in now if draft.uid in plan.replaced]
        self._remove(gone)
        self._add(number, now, plan.numbers)
        if not plan.new:
            some, plan.moved = plan.moved[:_MOST_MOVED], plan.moved[_MOST_MOVED:]
            is_changed |= self._move(some)
        if not plan.new and not plan.moved:
            last, plan.leaving = plan.leaving[:_MOST_REMOVED], plan.leaving[_MOST_REMOVED:]
            self._remove(last)
            gone += last
        if plan.is_done:
            form, speaker = _form(document, wanted, plan.numbers, (Form.MESSAGES, None))
            self._stamp(number, stamp, form, speaker)
        else:
            self._stamp(number, UNFINISHED)
            plan.seal = sealed(self.connection, number)
        if is_changed or now or gone:
            self._log(number, appended=False)
        return Put(added=len(now), kept=plan.kept, removed=len(gone)), plan

    def extend(
        self, document: Document, wanted: Sequence[Draft], stamp: Stamp
    ) -> tuple[Put, Sequence[Draft]]:
        """Append chunks, or a slice of them; those that are there already are left as they are.

        Until all are there the document keeps the stamp it had: then the same is wanted again.
        What is left to append.
        """
        number, is_changed = self._document(document)
        last, form, speaker = self.connection.execute(
            "SELECT (SELECT coalesce(max(ordinal), -1) FROM chunk WHERE document=d.id), "
            "form, speaker FROM document d WHERE id=?",
            (number,),
        ).fetchone()
        now: list[tuple[int, Draft]] = []
        size = looked = 0
        for draft in wanted:
            if is_full(size):
                break
            looked += 1
            if not self._is_there(number, draft.uid):
                now.append((last + 1 + len(now), draft))
                size += weight_of(draft)
        numbers = numbers_of(self.connection, (draft for _, draft in now))
        self._add(number, now, numbers)
        form, speaker = _form(document, [draft for _, draft in now], numbers, (form, speaker))
        self._describe(number, form, speaker)
        if looked == len(wanted):
            self._stamp(number, stamp)
        if is_changed or now:
            self._log(number, appended=not is_changed)
        return Put(added=len(now), kept=looked - len(now)), wanted[looked:]

    def drop(self, keys: Sequence[str]) -> tuple[int, int]:
        """Remove as many documents as one transaction may take, the last perhaps in part.

        How many chunks went, and how many documents did, from the first on.
        """
        count = work = 0
        for done, key in enumerate(keys):
            number = self._number_of(key)
            if number is None:
                continue
            if work >= _MOST_REMOVED:
                return count, done
            room = _MOST_REMOVED - work
            rows = self.connection.execute(
                "SELECT id FROM chunk WHERE document=? LIMIT ?", (number, room + 1)
            )
            ids = [row[0] for row in rows]
            self._remove(ids[:room])
            self._log(number, appended=False)
            if len(ids) > room:
                self._stamp(number, UNFINISHED)
                return count + room, done
            self.connection.execute("DELETE FROM document WHERE id=?", (number,))
            count, work = count + len(ids), work + 1 + len(ids)
        return count, len(keys)

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
        place = number_of_place(self.connection, document.place)
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

    def _stamp(
        self, number: int, stamp: Stamp, form: int | None = None, speaker: int | None = None
    ) -> None:
        self.connection.execute(
            "UPDATE document SET size=?, mtime_ns=?, inode=?, content=?, entries=?, extra=? "
            "WHERE id=?",
            (*_stamped(stamp), number),
        )
        if form is not None:
            self._describe(number, form, speaker)

    def _describe(self, number: int, form: int, speaker: int | None) -> None:
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

    def _is_there(self, number: int, uid: str) -> bool:
        row = self.connection.execute(
            "SELECT 1 FROM chunk WHERE document=? AND uid=?", (number, uid)
        ).fetchone()
        return row is not None

    def _add(self, number: int, new: Sequence[tuple[int, Draft]], numbers: Numbers) -> None:
        embedders = [row[0] for row in self.connection.execute("SELECT id FROM embedder")]
        for ordinal, draft in new:
            self._add_one(number, ordinal, draft, numbers, embedders)

    def _add_one(
        self, number: int, ordinal: int, draft: Draft, numbers: Numbers, embedders: Sequence[int]
    ) -> None:
        execute = self.connection.execute
        terms, often, length = draft.counted(self.reading)
        place = numbers.places[draft.place]
        of_chunk, of_body = values_of(ordinal, draft, numbers)
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

    def _move(self, moved: Sequence[Moved]) -> bool:
        """What may change of a chunk whose words did not; whether anything did."""
        for each in moved:
            self.connection.execute(_CHANGE_CHUNK, (*each.of_chunk, each.id))
            self.connection.execute(_CHANGE_BODY, (*each.of_body, each.id))
            if each.entities != each.of_body[0]:
                self._unname(each.id, each.entities)
                self._name(each.id, each.draft.chunk.entities)
        return bool(moved)

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


def erasures_of(connection: sqlite3.Connection) -> int:
    """How often something was erased, counted from a number that no other database begins with."""
    row = connection.execute("SELECT value FROM meta WHERE name='erasures'").fetchone()
    return 0 if row is None else int(row[0])


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
    document: Document, new: Sequence[Draft], numbers: Numbers, known: tuple[int, int | None]
) -> tuple[int, int | None]:
    """How the document came to be, and who spoke first in it."""
    form, first = known
    if document.source != "session":
        return Form.NOTES, None
    for draft in new:
        if draft.chunk.kind != "turn" or draft.chunk.speaker is None:
            continue
        speaker = numbers.speakers[draft.chunk.speaker]
        if first is None:
            first = speaker
        elif speaker != first:
            form = Form.DIALOGUE
    return form, first
