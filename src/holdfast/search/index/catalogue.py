"""The database file of an index: which one it is, connections to it, transactions, damage.

    .index/current              names the file in use; replaced in one step by a rebuild
    .index/catalogue-N.sqlite3  the database, with SQLite's own -wal and -shm beside it
    .index/writer               the lock of writers

A rebuild is a new file under a new name, since SQLite would take an old ``-wal`` for the new
file's. One lock of ours is around every write *and* checkpoint: versions of SQLite before 3.51.3
can lose pages when two connections do both at once.

Promise: readers never wait for writers; "database is locked" reaches nobody, ``Locked`` does,
after a bounded wait; a file that is damaged, foreign or of another version is noticed when it is
opened, and replaced by an empty one that says why (``tests/search/test_index_damage.py``,
``test_index_concurrency.py``).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from copy import copy
from functools import partial
from threading import Lock, RLock
from typing import Final

from holdfast.disk import PROCESS, Directory, FileLock, Seen
from holdfast.errors import HoldfastError, Locked, NotFound, StorageError
from holdfast.search.index.lease import Lease
from holdfast.search.index.patience import WAIT_SECONDS, Deadline, is_busy, is_damage, patient
from holdfast.search.index.schema import BUSY_MS, connected, create, unsound
from holdfast.search.index.telling import REMOVED, failed, missing, outdated

__all__ = ["POINTER", "Catalogue", "Reader", "explained"]

POINTER: Final = "current"
_WRITER: Final = "writer"
_DAMAGED: Final = "damaged"
_READERS_MS: Final = 1000
"""How long an empty log is worth waiting for searches that read from it."""
_WAL_BYTES: Final = 4 << 20
_LOOKS: Final = 20
_MOST_READERS: Final = 8
_SMALL_ENOUGH: Final = 32 << 20
_BESIDE: Final = ("", "-wal", "-shm", "-journal")

_forked: list[object] = []
"""Connections of a parent process: a child must neither use nor close them."""


class Reader:
    """A connection that only reads; one holder at a time."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.generation = PROCESS.generation


class Catalogue:
    """The database in use. Shared by the threads of a process."""

    def __init__(self, folder: Directory, *, version: str, read_only: bool = False) -> None:
        self.folder = folder
        self.version = version
        self.read_only = read_only
        self.rebuilt_because: str | None = None
        self.outdated: str | None = None
        """Why this program may not write any more: another one has replaced the database."""
        self._lock = Lock()
        self._writing = RLock()
        self._writer: sqlite3.Connection | None = None
        self._writer_of = ""
        self._readers: list[Reader] = []
        self._generation = PROCESS.generation
        self._seen: Seen | None = None
        self._is_pinned = False
        self.name = ""
        self._find()

    # ── which file ──────────────────────────────────────────────────────────────────────────

    def _find(self) -> None:
        """Open what the pointer names; make an empty one where there is none that is sound."""
        for _ in range(_LOOKS):
            seen = self.folder.glance(POINTER)
            name, reason = self._looked()
            if name is not None and reason is None:
                self._use(name, seen)
                return
            if seen == self.folder.glance(POINTER):
                break  # else it was replaced while we looked at it
        if self.read_only:
            raise missing(self.folder.path, reason)
        with self._locked():
            seen = self.folder.glance(POINTER)
            name, reason = self._looked()  # nobody replaces it now: this is what counts
            if name is not None and reason is None:
                self._use(name, seen)
                return
            self.rebuilt_because = reason
            self._begin(previous=name)

    def _looked(self) -> tuple[str | None, str | None]:
        """Which database is in use, and why it cannot be used."""
        name = self._named()
        return name, None if name is None else self._unsound(name)

    def _named(self) -> str | None:
        data = self.folder.read(POINTER)
        if data is None:
            return None
        name = data.decode("utf-8", "replace").strip()
        return name if name.startswith("catalogue-") and "/" not in name else None

    def _use(self, name: str, seen: Seen | None) -> None:
        """``seen`` is of before the name was read: if the pointer changed since, we look again."""
        self.name = name
        self._seen = seen

    def _begin(self, *, previous: str | None) -> None:
        """An empty database in place of whatever was there. The lock of writers is held."""
        name = self.make_beside()
        if previous is not None and self.rebuilt_because is not None:
            with contextlib.suppress(sqlite3.Error, StorageError):
                self.carry_vectors(name, previous)
        self.point_to(name)

    def make_beside(self) -> str:
        """A new, empty database under a name nobody has used."""
        known = (*self.folder.names(), self._named() or "")
        taken = [part for each in known if (part := _number(each)) is not None]
        name = f"catalogue-{max(taken, default=0) + 1}.sqlite3"
        self.folder.open_growing(name, create=True).close()  # private from its first moment
        connection = connected(self.folder.path / name, read_only=False)
        try:
            create(connection, version=self.version)
        finally:
            connection.close()
        return name

    def carry_vectors(self, name: str, previous: str) -> None:
        """What encoders made of texts, from one database into another: texts are the key."""
        if self.folder.stat(previous) is None:
            return
        connection = connected(self.folder.path / name, read_only=False)
        try:
            connection.execute("ATTACH ? AS old", (str(self.folder.path / previous),))
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO embedder SELECT * FROM old.embedder")
            connection.execute("INSERT INTO vector SELECT * FROM old.vector")
            connection.execute("COMMIT")
        finally:
            connection.close()

    def point_to(self, name: str) -> None:
        """Let everybody use that database from now on, and remove all others."""
        self._close_all()
        self.folder.replace(POINTER, name.encode() + b"\n")
        self.folder.remove(_DAMAGED)
        self._use(name, self.folder.glance(POINTER))
        self.remove_others(name)

    def others(self, *kept: str) -> list[str]:
        """Files of databases besides these: one that is being built, or was left by a crash."""
        mine = {each + end for each in kept for end in _BESIDE}
        names = self.folder.names()
        return [each for each in names if _number(each) is not None and each not in mine]

    def remove_others(self, *kept: str) -> None:
        for each in self.others(*kept):
            self.folder.remove(each)
        self.folder.sync()

    def _unsound(self, name: str) -> str | None:
        """Why a database cannot be used; None if it can."""
        if (told := self.folder.read(_DAMAGED)) is not None:
            return told.decode("utf-8", "replace").strip() or "it was found to be damaged"
        found = self.folder.stat(name)
        if found is None:
            return "its database was missing"
        try:
            connection = connected(self.folder.path / name, read_only=True)
        except sqlite3.Error as error:
            return f"its database could not be opened ({error})"
        try:
            return unsound(connection, self.version) or self._unclean(connection, name, found.size)
        except sqlite3.OperationalError as error:
            if is_busy(error):
                return None
            return f"its database could not be read ({error})"
        except sqlite3.Error as error:
            return f"its database was damaged ({error})"
        finally:
            connection.close()

    def _unclean(self, connection: sqlite3.Connection, name: str, size: int) -> str | None:
        """Look closer where the last user did not come to its end, if that is quickly done."""
        wal = self.folder.stat(f"{name}-wal")
        if wal is None or not wal.size or size > _SMALL_ENOUGH:
            return None
        lease = Lease(self.folder)
        if not lease.take():
            return None  # somebody is at work: that is why there is a log
        lease.give_back()
        told = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return None if told == "ok" else f"its database was damaged ({told})"

    def damaged(self, why: str) -> None:
        """Leave word for whoever opens it next."""
        with contextlib.suppress(StorageError, OSError):
            self.folder.replace(_DAMAGED, why.encode("utf-8", "replace"))

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def follow(self) -> bool:
        """Whether another database is in use than before, or this is another process."""
        if self._generation != PROCESS.generation:
            self._forget_parent()
            return True
        if self._is_pinned or self.folder.glance(POINTER) == self._seen:
            return False
        with self._lock:
            seen = self.folder.glance(POINTER)
            if (name := self._named()) is None:
                raise missing(self.folder.path, REMOVED)
            self._drop_readers()
            self._use(name, seen)
            self.outdated = self._replaced_by_another(name)
        return True

    def _replaced_by_another(self, name: str) -> str | None:
        """Whether the database that is in use now was made by another version of the program.

        If so, we read from it what we can: built again by us, it would be built again by them.
        """
        try:
            connection = connected(self.folder.path / name, read_only=True)
        except sqlite3.Error:
            return None  # whoever reads from it is told
        try:
            reason = unsound(connection, self.version)
        except sqlite3.Error:
            return None
        finally:
            connection.close()
        return None if reason is None else f"another version of this program made it: {reason}"

    @property
    def is_gone(self) -> bool:
        """Whether the folder is not the one at its path any more, or has been emptied."""
        try:
            is_there = self.folder.path.stat().st_ino == self.folder.inode
        except OSError:
            return True
        return not is_there or self.folder.glance(POINTER) is None

    def reader(self) -> Reader:
        """A connection in a read transaction: everything it reads is of one moment.

        The pointer is looked at once more when the transaction has begun. Files go only after it
        has changed; so if it has not, all of them were there.
        """
        for _ in range(_LOOKS):
            with self._lock:
                name = self.name
                reader = self._readers.pop() if self._readers else None
            try:
                if reader is None or not self._is_mine(reader):
                    reader = Reader(connected(self.folder.path / name, read_only=True), name)
                patient(partial(_begin_reading, reader.connection))
            except BaseException as error:
                if reader is not None:
                    reader.connection.close()
                if not isinstance(error, sqlite3.Error):
                    raise
                if not self.follow() and name == self.name:
                    raise explained(error, self) from error
                continue
            if self._is_pinned or self.folder.glance(POINTER) == self._seen:
                return reader
            reader.connection.close()
            self.follow()
        raise StorageError(
            f"The index in {str(self.folder.path)!r} was replaced again and again.",
            hint="Let only one process rebuild it.",
        )

    def _is_mine(self, reader: Reader) -> bool:
        return reader.name == self.name and reader.generation == PROCESS.generation

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reader]:
        """A read transaction for the time of the block."""
        self.follow()
        reader = self.reader()
        try:
            yield reader
        except sqlite3.Error as error:
            raise explained(error, self) from error
        finally:
            self.give_back(reader)

    def give_back(self, reader: Reader) -> None:
        """End the read transaction of a reader, and keep it for the next."""
        if reader.generation != PROCESS.generation:
            _forked.append(reader)
            return
        with contextlib.suppress(sqlite3.Error):
            if reader.connection.in_transaction:
                reader.connection.execute("COMMIT")
        with self._lock:
            if reader.name == self.name and len(self._readers) < _MOST_READERS:
                self._readers.append(reader)
                return
        reader.connection.close()

    def beside(self, name: str) -> Catalogue:
        """The same folder with another database, which nobody else uses yet."""
        other = copy(self)
        other._lock, other._writing = Lock(), RLock()
        other._writer, other._readers = None, []
        other.name, other.rebuilt_because, other._is_pinned = name, None, True
        other.outdated = None
        return other

    # ── writing ─────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def writing(self, *, seconds: float | None = None) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed at the end of the block, or not at all.

        Raises:
            Locked: others wrote for all of ``seconds``; None: for as long as anybody waits.
        """
        if self.read_only:
            raise StorageError("This index was opened for reading only.")
        with self._alone(seconds):
            connection = self._writer_connection()
            try:
                patient(
                    lambda: connection.execute("BEGIN IMMEDIATE"),
                    seconds=WAIT_SECONDS if seconds is None else seconds,
                )
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                with contextlib.suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise explained(error, self) from error
                raise
            self._checkpoint_if_long(connection)

    @contextlib.contextmanager
    def _alone(self, seconds: float | None = None) -> Iterator[None]:
        """No other thread or process writes, and the database is one that we may write to."""
        with self._locked(seconds):
            self.follow()
            if self.outdated is not None:
                raise outdated(self.folder.path, self.outdated)
            yield

    def maintain(self, *, truncate: bool) -> bool:
        """Write the log back into the database; whether all of it was."""
        with self._locked():
            self.follow()
            mode = "TRUNCATE" if truncate else "PASSIVE"
            connection = self._writer_connection()
            try:
                connection.execute(f"PRAGMA busy_timeout={_READERS_MS}")
                row = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
                connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
            except sqlite3.Error as error:
                if is_busy(error):
                    return False
                raise explained(error, self) from error
            return not row[0] and row[1] == row[2]

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes, without a transaction, under the lock of writers."""
        with self._alone():
            try:
                yield self._writer_connection()
            except sqlite3.Error as error:
                raise explained(error, self) from error

    def _checkpoint_if_long(self, connection: sqlite3.Connection) -> None:
        found = self.folder.identify(f"{self.name}-wal")
        if found is not None and found[1] > _WAL_BYTES:
            with contextlib.suppress(sqlite3.OperationalError):  # the next commit tries again
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _writer_connection(self) -> sqlite3.Connection:
        if self._writer is not None and self._writer_of != self.name:
            self._writer.close()
            self._writer = None
        if self._writer is None:
            path = self.folder.path / self.name
            try:
                self._writer = patient(lambda: connected(path, read_only=False))
            except sqlite3.Error as error:
                raise explained(error, self) from error
            self._writer_of = self.name
        return self._writer

    @contextlib.contextmanager
    def _locked(self, seconds: float | None = None) -> Iterator[None]:
        """Keep the other threads out, then the other processes."""
        if self._generation != PROCESS.generation:
            self._forget_parent()
        deadline = Deadline(WAIT_SECONDS if seconds is None else seconds)
        threads = self._writing
        if not threads.acquire(timeout=deadline.wait_seconds or 0):
            raise Locked(
                f"The index in {str(self.folder.path)!r} is being written to by another thread.",
                hint="Try again when it has finished.",
            )
        wait = round(deadline.wait_seconds or 0, 3)
        with contextlib.ExitStack() as stack:
            stack.callback(threads.release)
            try:
                stack.enter_context(FileLock(self.folder, _WRITER, timeout_seconds=wait).hold())
            except NotFound as error:
                raise missing(self.folder.path, REMOVED) from error
            yield

    # ── the end ─────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        """Close the connections; the last one to go writes the log back, so under the lock."""
        if self._generation != PROCESS.generation:
            self._forget_parent()
        elif self._writer is None:
            self._close_all()
        else:
            try:
                with self._locked():
                    self._close_all()
            except (HoldfastError, OSError):
                self._close_all()

    def size(self) -> int:
        found = (self.folder.identify(self.name + end) for end in _BESIDE)
        return sum(each[1] for each in found if each is not None)

    def _close_all(self) -> None:
        with self._lock:
            self._drop_readers()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _drop_readers(self) -> None:
        for reader in self._readers:
            reader.connection.close()
        self._readers = []

    def _forget_parent(self) -> None:
        with PROCESS.lock:
            if self._generation == PROCESS.generation:
                return
            _forked.extend((self._readers, self._writer))
            self._readers, self._writer = [], None
            self._lock, self._writing = Lock(), RLock()
            self._generation = PROCESS.generation
            seen = self.folder.glance(POINTER)
            if not self._is_pinned and (name := self._named()) is not None:
                self._use(name, seen)
                self.outdated = self._replaced_by_another(name)


def explained(error: sqlite3.Error, catalogue: Catalogue) -> StorageError:
    """The error of ours that stands for one of SQLite's; who opens it next is told of damage."""
    if catalogue.outdated is not None and not is_busy(error):
        return outdated(catalogue.folder.path, catalogue.outdated)
    if is_damage(error):
        catalogue.damaged(f"its database was damaged ({error})")
    return failed(error, catalogue.folder.path)


def _begin_reading(connection: sqlite3.Connection) -> None:
    if not connection.in_transaction:
        connection.execute("BEGIN")
    try:
        connection.execute("SELECT value FROM meta WHERE name='change'").fetchone()
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _number(name: str) -> int | None:
    """The number in the name of a database, or of a file that belongs to one."""
    stem, dot, end = name.removeprefix("catalogue-").partition(".")
    is_ours = name.startswith("catalogue-") and dot and end.startswith("sqlite3")
    return int(stem) if is_ours and stem.isascii() and stem.isdigit() else None
