"""The index of one agent: documents in, snapshots out.

    with Index.open(folder, reading) as index:
        index.put(document, chunks, stamp)
        with index.snapshot() as snapshot:
            snapshot.postings(terms)

Promise: it is derived. Whatever happens to it, putting the documents again makes it what it was
(``tests/search/test_index_edits.py``, ``test_index_damage.py``), and what was committed is seen
by the next snapshot of every process.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError, Locked
from holdfast.search.documents import Chunk, Document
from holdfast.search.index.catalogue import Catalogue
from holdfast.search.index.coding import told
from holdfast.search.index.drafting import Draft, drafts, signs_of_document, uids_there
from holdfast.search.index.embedding import Embeddings
from holdfast.search.index.lease import Lease
from holdfast.search.index.patience import Deadline
from holdfast.search.index.planning import Plan, slice_of
from holdfast.search.index.snapshot import Moment, Snapshot, moment_of
from holdfast.search.index.state import pack
from holdfast.search.index.stored import (
    ANYTHING,
    UNFINISHED,
    Anything,
    Coverage,
    IndexStatus,
    Pending,
    Problem,
    Put,
    Reading,
    Stamp,
    Vector,
)
from holdfast.search.index.verifying import verify
from holdfast.search.index.writing import Writing, erasures_of
from holdfast.types import Erased

if TYPE_CHECKING:
    from holdfast.matching import Match

__all__ = ["Index"]

_PACKED_EVERY: Final = 2_000
_SCHEMES: Final = "2"
"""Of our own: how terms become postings."""


class Index:
    """One index, for all threads of a process. Others may have it open at the same time."""

    def __init__(self, catalogue: Catalogue, reading: Reading) -> None:
        self._catalogue = catalogue
        self._reading = reading
        self._lock = Lock()
        self._moment: Moment | None = None
        self._known: tuple[str, int, dict[str, Stamp]] | None = None
        self._unpacked = 0
        self._is_rebuilding = False
        self._embeddings = Embeddings(catalogue, reading)
        self.lease = Lease(catalogue.folder)

    @classmethod
    def open(cls, folder: Directory, reading: Reading, *, read_only: bool = False) -> Index:
        """The index in this folder, empty if there is none that can be used.

        ``rebuilt_because`` says why one that was there was given up: then everything has to be
        put again, which ``known`` shows by being empty.

        Raises:
            NotFound, StorageError: only if it was to be opened for reading.
        """
        version = f"{_SCHEMES}:{reading.version}"
        return cls(Catalogue(folder, version=version, read_only=read_only), reading)

    def close(self) -> None:
        """Give everything back; what was put is kept. Never raises."""
        failures = (HoldfastError, sqlite3.Error, OSError)
        if self._unpacked and not self._catalogue.read_only:
            with contextlib.suppress(*failures):
                self._pack()
        for step in (self.lease.give_back, self._catalogue.close):
            with contextlib.suppress(*failures):
                step()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def rebuilt_because(self) -> str | None:
        return self._catalogue.rebuilt_because

    @property
    def is_gone(self) -> bool:
        """Whether its folder was removed or replaced under it: then close it, and open another."""
        return self._catalogue.is_gone

    @property
    def outdated(self) -> str | None:
        """Why it is only read any more: another version of the program has built it again."""
        with contextlib.suppress(HoldfastError):
            self._catalogue.follow()
        return self._catalogue.outdated

    @property
    def erasures(self) -> int:
        """How often something was erased: to be read before a text is, and given with it."""
        with self._reading_from() as (connection, _):
            return erasures_of(connection)

    # ── documents ───────────────────────────────────────────────────────────────────────────

    def known(self) -> Mapping[str, Stamp]:
        """The stamp of every document; ``UNFINISHED`` of one that has to be put again."""
        with self._reading_from() as (connection, name):
            change = connection.execute("SELECT value FROM meta WHERE name='change'").fetchone()[0]
            if self._known is None or self._known[:2] != (name, change):
                self._known = (name, change, _stamps(connection))
            return self._known[2]

    def put(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        stamp: Stamp,
        *,
        expecting: Stamp | Anything | None = ANYTHING,
        erasures: int | None = None,
        seconds: float | None = None,
    ) -> Put:
        """Make these the chunks of the document. Those that are known keep number and vectors.

        ``expecting`` is the stamp it had when the caller decided to read it (None: it was not
        there). If it has another by now, somebody else was faster and may have read it later;
        if ``erasures`` are not what they were before it was read, it may hold what was erased:
        nothing is done. After ``seconds`` (and at least as long as it took to begin) the rest is
        left; the document is ``UNFINISHED`` then.

        Raises:
            Locked: others wrote for all of ``seconds``.
        """
        deadline = Deadline(seconds)
        wanted = drafts(self._reading, document, chunks)
        with self._reading_from() as (connection, _):
            known = signs_of_document(connection, document.key)
        coming = [draft for draft in wanted if draft.sign not in known]
        plan: Plan | None = None
        done = Put()
        while True:
            self._count([draft for _, draft in plan.new] if plan else coming)
            try:
                with self._writing(deadline) as writing:
                    if not writing.is_as_expected(document.key, expecting, erasures):
                        return replace(done, overtaken=True)
                    some, plan = writing.put(document, wanted, stamp, plan)
            except Locked:
                if plan is None:
                    raise
                return replace(done, unfinished=True)
            deadline.begun()
            expecting = expecting if isinstance(expecting, Anything) else UNFINISHED
            added = done.added + some.added
            done = Put(added=added, kept=len(wanted) - added, removed=done.removed + some.removed)
            self._wrote(some.added + some.removed, deadline)
            if plan.is_done or deadline.is_over:
                return replace(done, unfinished=not plan.is_done)

    def extend(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        stamp: Stamp,
        *,
        expecting: Stamp | Anything | None = ANYTHING,
        erasures: int | None = None,
        seconds: float | None = None,
    ) -> Put:
        """Append chunks to the document. Those that are there already are left alone.

        As ``put``; but what is left after ``seconds`` leaves the stamp as it was.
        """
        deadline = Deadline(seconds)
        left: Sequence[Draft] = drafts(self._reading, document, chunks)
        with self._reading_from() as (connection, _):
            there = uids_there(connection, document.key, left)
        is_begun = False
        done = Put()
        while True:
            self._count([draft for draft in left if draft.uid not in there])
            try:
                with self._writing(deadline) as writing:
                    if not writing.is_as_expected(document.key, expecting, erasures):
                        return replace(done, overtaken=True)
                    some, left = writing.extend(document, left, stamp)
            except Locked:
                if not is_begun:
                    raise
                return replace(done, unfinished=True)
            is_begun = True
            deadline.begun()
            expecting = UNFINISHED if expecting is None else expecting  # it is there now
            done = Put(added=done.added + some.added, kept=done.kept + some.kept)
            self._wrote(some.added, deadline)
            if not left or deadline.is_over:
                return replace(done, unfinished=bool(left))

    def _count(self, coming: Sequence[Draft]) -> None:
        """Work out the terms of the next slice: no lock is held meanwhile."""
        for _, draft in slice_of(list(enumerate(coming)))[0]:
            draft.counted(self._reading)

    def drop(self, key: str, *, seconds: float | None = None) -> Put:
        """Remove a document; after ``seconds`` the rest of it is left, and it is ``UNFINISHED``."""
        count, gone = self._dropped([key], Deadline(seconds))
        return Put(removed=count, unfinished=not gone)

    def drop_all(self, keys: Iterable[str], *, seconds: float | None = None) -> list[str]:
        """Remove documents, many small ones at once; those that are gone when the time is up."""
        wanted = list(keys)
        _, gone = self._dropped(wanted, Deadline(seconds))
        return wanted[:gone]

    def _dropped(self, keys: Sequence[str], deadline: Deadline) -> tuple[int, int]:
        """How many chunks and how many of the documents went."""
        count = gone = 0
        is_begun = False
        while gone < len(keys) and not (is_begun and deadline.is_over):
            try:
                with self._writing(deadline) as writing:
                    removed, documents = writing.drop(keys[gone:])
            except Locked:
                if not is_begun:
                    raise
                break
            is_begun = True
            count, gone = count + removed, gone + documents
            self._wrote(removed, deadline)
        return count, gone

    def touch(
        self,
        key: str,
        stamp: Stamp,
        *,
        expecting: Stamp | Anything | None = ANYTHING,
        seconds: float | None = None,
    ) -> bool:
        """Give a document whose content is the same another stamp.

        False if it is not known, or not by the stamp that was expected.
        """
        with self._writing(Deadline(seconds)) as writing:
            return writing.is_as_expected(key, expecting, None) and writing.touch(key, stamp)

    # ── searching ───────────────────────────────────────────────────────────────────────────

    def snapshot(self, *, zone_seconds: int = 0) -> Snapshot:
        """The index at this moment, to be closed by the caller."""
        self._catalogue.follow()
        reader = self._catalogue.reader()
        try:
            moment = self._moment_of(reader.connection, reader.name)
        except BaseException:
            self._catalogue.give_back(reader)
            raise
        return Snapshot(self._catalogue, reader, moment, self._reading.term_hash, zone_seconds)

    def _moment_of(self, connection: sqlite3.Connection, name: str) -> Moment:
        before = self._moment
        if before is not None and before.database == name:
            change = connection.execute("SELECT value FROM meta WHERE name='change'").fetchone()[0]
            if before.state.change == change:
                return before
            if before.state.change > change:
                # Another thread is ahead of this transaction: read this moment on its own.
                return moment_of(connection, name, None)
        with self._lock:
            moment = moment_of(connection, name, self._ahead_of(connection, name))
            self._moment = moment
        return moment

    def _ahead_of(self, connection: sqlite3.Connection, name: str) -> Moment | None:
        before = self._moment
        change = connection.execute("SELECT value FROM meta WHERE name='change'").fetchone()[0]
        return before if before is not None and before.state.change <= change else None

    # ── vectors ─────────────────────────────────────────────────────────────────────────────

    def pending(self, embedder: str, limit: int = 256) -> list[Pending]:
        """Chunks that this encoder has made nothing of yet, the oldest first."""
        return self._embeddings.pending(embedder, limit)

    def missing(self, embedder: str) -> int:
        """How many chunks ``pending`` would give in all."""
        return self._embeddings.missing(embedder)

    def put_vectors(
        self,
        embedder: str,
        vectors: Mapping[int, Vector | None],
        *,
        dimensions: int | None = None,
        seconds: float | None = None,
    ) -> int:
        """Keep what an encoder made of chunks; None for those that are not for it.

        By the numbers of ``pending``; a chunk that went meanwhile is left out. How many were kept.

        Raises:
            Locked: others wrote for all of ``seconds``.
        """
        count = self._embeddings.put(embedder, vectors, dimensions=dimensions, seconds=seconds)
        self._wrote(count, Deadline(seconds))
        return count

    def coverage(self) -> list[Coverage]:
        """How far each encoder has come."""
        with self.snapshot() as snapshot:
            return snapshot.coverage()

    def retire(self, embedder: str) -> int:
        """Forget an encoder and everything it made; how many vectors that were."""
        count = self._embeddings.retire(embedder)
        self._pack()
        return count

    def forget_unused(self) -> int:
        """Remove the vectors of texts that are gone; until then they are there if one returns."""
        return self._embeddings.forget_unused()

    # ── care ────────────────────────────────────────────────────────────────────────────────

    def status(self) -> IndexStatus:
        with self._reading_from() as (connection, _):
            documents, unfinished = connection.execute(
                "SELECT count(*), count(*) FILTER (WHERE size=? AND mtime_ns=?) FROM document",
                (UNFINISHED.size, UNFINISHED.mtime_ns),
            ).fetchone()
            chunks = connection.execute("SELECT count(*) FROM chunk").fetchone()[0]
        return IndexStatus(
            documents=documents,
            unfinished=unfinished,
            chunks=chunks,
            coverage=tuple(self.coverage()),
            bytes=self._catalogue.size(),
            version=self._reading.version,
            rebuilt_because=self.rebuilt_because,
        )

    def verify(self, *, sample: int | None = None) -> list[Problem]:
        """What is wrong with it: everything is compared, or the terms of a sample of chunks.

        One with which something is wrong is built again by whoever opens it next.
        """
        if (reason := self.outdated) is not None:
            return [Problem(what=reason)]
        with self._reading_from() as (connection, _):
            problems = verify(connection, self._reading, sample=sample)
        if problems and not self._catalogue.read_only:
            self._catalogue.damaged(f"it was found to be wrong: {problems[0].what}")
        return problems

    def maintain(self) -> None:
        """Tidy up, for the holder of the lease: arrays packed, postings merged, log written."""
        self._pack()
        with self._catalogue.writing() as connection:
            connection.execute("INSERT INTO post(post, rank) VALUES('merge', 200)")
        self._catalogue.maintain(truncate=False)

    @contextlib.contextmanager
    def rebuilding(self) -> Iterator[Index]:
        """A new, empty index beside this one, to be filled; it takes this one's place at the end
        of the block. Searches go on in the old one. What encoders made of texts is carried over.

        Raises:
            Locked: somebody else has the lease.
        """
        was_held = self.lease.is_held
        if not self.lease.take():
            raise Locked(
                "Another process is indexing.",
                hint="Try again when it has finished: holdfast index status",
            )
        try:
            with self._built_beside() as beside:
                yield beside
        finally:
            if not was_held:
                self.lease.give_back()

    @contextlib.contextmanager
    def _built_beside(self) -> Iterator[Index]:
        catalogue = self._catalogue
        with catalogue.alone():
            catalogue.remove_others(catalogue.name)
            name = catalogue.make_beside()
            catalogue.carry_vectors(name, catalogue.name)
        beside = Index(catalogue.beside(name), self._reading)
        self._is_rebuilding = True
        try:
            yield beside
            beside._embeddings.forget_unused()
            beside._pack()
        except BaseException:
            beside._catalogue.close()
            catalogue.remove_others(catalogue.name)
            raise
        finally:
            self._is_rebuilding = False
        beside._catalogue.close()
        with catalogue.alone():
            catalogue.point_to(name)
        self._moment = self._known = None
        catalogue.rebuilt_because = None

    def erase(self, match: Match, *, dry_run: bool = False) -> Erased:
        """Take a text out of everything that was derived from it, at once and for good."""
        lease = None if self._is_rebuilding else self.lease
        erase = import_module("holdfast.search.index.erasing").erase  # rare, and large
        erased: Erased = erase(self._catalogue, self._reading, match, lease=lease, dry_run=dry_run)
        if not dry_run:
            self._moment = self._known = None
            self._unpacked += 1  # nothing is packed any more
            self._embeddings.forget_progress()
        return erased

    # ── inner ───────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _reading_from(self) -> Iterator[tuple[sqlite3.Connection, str]]:
        with self._catalogue.reading() as reader:
            yield reader.connection, reader.name

    @contextlib.contextmanager
    def _writing(self, deadline: Deadline) -> Iterator[Writing]:
        with self._catalogue.writing(seconds=deadline.wait_seconds) as connection:
            yield Writing(connection, self._reading)
            connection.execute("UPDATE meta SET value=value+1 WHERE name='change'")

    def _wrote(self, count: int, deadline: Deadline) -> None:
        self._unpacked += count
        rows = len(self._moment.state.ids) if self._moment is not None else 0
        if self._unpacked >= max(_PACKED_EVERY, rows // 8) and not deadline.is_set:
            self._pack()

    def _pack(self) -> None:
        """Store the arrays of this moment, so that the next process need not make them."""
        self._unpacked = 0
        self._catalogue.follow()
        with self._catalogue.writing() as connection:
            with self._lock:
                name = self._catalogue.name
                moment = moment_of(connection, name, self._ahead_of(connection, name))
                self._moment = moment
            pack(connection, moment.state)
            for meaning in moment.meanings.values():
                connection.executemany(
                    "INSERT INTO packed(name, data) VALUES(?, ?) "
                    "ON CONFLICT DO UPDATE SET data=excluded.data",
                    meaning.packed(moment.state.epoch).items(),
                )


def _stamps(connection: sqlite3.Connection) -> dict[str, Stamp]:
    found = connection.execute(
        "SELECT key, size, mtime_ns, inode, content, entries, extra FROM document"
    )
    return {
        told(key): Stamp(
            size=size,
            mtime_ns=mtime_ns,
            inode=inode,
            content=content,
            entries=entries,
            extra=told(extra),
        )
        for key, size, mtime_ns, inode, content, entries, extra in found
    }
