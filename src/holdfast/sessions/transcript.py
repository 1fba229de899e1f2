"""One conversation on disk: append-only, durable when it returns, shared by processes.

An append joins whatever other threads are appending (``groupcommit``). Under the session's lock
the appender reads only what others appended since, repairs a torn tail, writes its batch and
syncs once; so the cost of an append does not grow with history. Readers take no lock, unless
they meet something that is no record: then they look again while nobody writes.

Promises: an acknowledged entry survives ``kill -9`` and power loss
(``tests/sessions/test_kill.py``, ``test_power_loss.py``); concurrent appenders lose nothing
(``test_concurrent_appends.py``); damage costs only itself (``test_damaged_transcripts.py``);
opening reads the tail, not the file (``test_large_transcripts.py``).
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from threading import RLock, get_ident
from typing import Final, TypeVar

from holdfast.disk import Directory, GrowingFile
from holdfast.errors import HoldfastError, NotFound, SessionGone, StorageError, UsageError
from holdfast.ports import Clock, Ids
from holdfast.sessions.drafts import Draft
from holdfast.sessions.groupcommit import GroupCommit, Ticket
from holdfast.sessions.quarantine import Quarantine
from holdfast.sessions.reading import Continued, Mark, Reading, Window
from holdfast.sessions.records import Damage, Record, encode, record_of, scan
from holdfast.sessions.state import State
from holdfast.types import Entry, Json

__all__ = ["Draft", "Transcript", "Verification"]

T = TypeVar("T")

log = logging.getLogger("holdfast.sessions")

SAVE_STATE_EVERY_BYTES: Final = 1 << 20
_BLOCK: Final = 1 << 20
_ARTIFACT_NAME: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What a check of every byte found."""

    session: str
    entries: int
    bytes: int
    damaged_regions: int
    damaged_bytes: int
    duplicates: int
    missing: int
    """Entries that must have existed (their numbers are skipped) and are not readable."""
    missing_artifacts: tuple[str, ...] = ()
    quarantine: str | None = None

    @property
    def is_intact(self) -> bool:
        return not (self.damaged_regions or self.missing or self.missing_artifacts)


class Transcript:
    """The open transcript of one session. Safe to use from several threads."""

    def __init__(
        self,
        name: str,
        *,
        folder: Directory,
        quarantine: Quarantine,
        clock: Clock,
        ids: Ids,
        on_damage: Callable[[str, int, int, str], None],
    ) -> None:
        self.name = name
        self.file_name = f"{name}.jsonl"
        self._state_name = f"{name}.state.json"
        self._folder = folder
        self._quarantine = quarantine
        self._clock = clock
        self._ids = ids
        self._on_damage = on_damage
        self._commits = GroupCommit(self._commit)
        self._mutex = RLock()
        self._depth = 0
        self._holder: int | None = None  # the thread inside ``exclusive``
        self._file: GrowingFile | None = None
        self._inode = 0
        self._size = 0
        self._state = State()
        self._window: Window | None = None
        self._is_unterminated = False
        self._is_name_durable = False
        self._is_scanned = False
        self._saved_end = 0
        self._highest_seq = -1
        self._unsynced_tail: tuple[int, bytes] | None = None
        self._untold: list[Damage] = []

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def state(self) -> State:
        """The counters now, including what other processes appended."""
        return self._read(lambda reading: copy.deepcopy(self._state))

    def entries(self, *, last: int | None = None) -> list[Entry]:
        """Every intact entry in order, or only the ``last`` few, read from the end."""

        def read(reading: Reading) -> list[Entry]:
            records = (
                reading.records() if last is None else islice(reading.backwards(), max(0, last))
            )
            return sorted((record.entry() for record in records), key=lambda entry: entry.seq)

        return self._read(read)

    def ids(self) -> set[str]:
        """The ids of all intact entries; their data is not parsed."""
        return self._read(lambda reading: {record.id for record in reading.records()})

    def read_on(self, mark: Mark | None) -> Continued:
        """What was appended since somebody read as far as ``mark``; reads no more than that."""
        return self._read(lambda reading: reading.continued(self._inode, mark, self._state))

    def find(self, entry_id: str) -> Entry:
        """The entry of that id; the newest are found first."""
        return self._read(lambda reading: self._found(reading, entry_id).entry())

    def window(self) -> Window:
        """What the view is computed from; reads no more of the file than the view shows."""

        def read(reading: Reading) -> Window:
            if self._window is None:
                known = self._state.earlier_offsets
                self._window = reading.window(self._state)
                if self._state.earlier_offsets != known:
                    self._saved_end = -1  # worth saving: the next to open need not search
            return replace(self._window, tail=list(self._window.tail))

        return self._read(read)

    def lines_of_fork(self, entry_id: str, marker: Mapping[str, Json]) -> bytes:
        """The intact lines up to that entry as they stand in the file, and a marker behind."""

        def read(reading: Reading) -> tuple[Record, list[bytes]]:
            cut = self._found(reading, entry_id)
            return cut, [each.line + b"\n" for each in reading.records() if each.seq <= cut.seq]

        cut, lines = self._read(read)
        draft = Draft(type="marker", data=marker)
        return b"".join([*lines, *map(encode, self._entries_for([draft], cut.id, cut.seq + 1))])

    def artifact_names(self) -> set[str]:
        """Everything in the file that could be the name of an artifact, in damaged lines too."""
        found: set[str] = set()
        with self._mutex:
            self._open()
            for start in range(0, self._size, _BLOCK):
                found.update(
                    _ARTIFACT_NAME.findall(self._opened.read(start, _BLOCK + 64).decode("latin-1"))
                )
        return found

    def verify(self) -> Verification:
        """Check every byte, while nobody writes."""
        with self.exclusive():
            size = self._size
            seqs: set[int] = set()
            ids: set[str] = set()
            damages: list[Damage] = []
            duplicates = 0
            for each in scan(self._opened.read, 0, size):
                if isinstance(each, Damage):
                    damages.append(each)
                elif each.id in ids:
                    duplicates += 1
                else:
                    ids.add(each.id)
                    seqs.add(each.seq)
            self._set_aside(damages)
        self.tell_damage()
        return Verification(
            session=self.name,
            entries=len(ids),
            bytes=size,
            damaged_regions=len(damages),
            damaged_bytes=sum(len(damage.data) for damage in damages),
            duplicates=duplicates,
            missing=max(self._highest_seq, max(seqs, default=-1)) + 1 - len(seqs),
            quarantine=self._quarantine.path if damages else None,
        )

    def _found(self, reading: Reading, entry_id: str) -> Record:
        if (record := reading.find(entry_id)) is None:
            raise NotFound(
                f"Session {self.name!r} has no entry {entry_id!r}.",
                hint=f"Run: holdfast sessions show {self.name}",
            )
        return record

    # ── erasure ─────────────────────────────────────────────────────────────────────────────

    def blocks(self) -> Iterator[bytes]:
        """Every byte of the file, in order."""
        with self._mutex:
            self._open()
            start = 0
            while block := self._opened.read(start, _BLOCK):
                yield block
                start += len(block)

    def rewrite(self, change: Callable[[list[Record | Damage]], Iterable[bytes] | None]) -> bool:
        """Put other lines in place of all of these at once; whether ``change`` wanted to.

        Only for an erasure: the one exception to append-only. The file gets a new inode, so
        whoever has the old one open, or waits for its lock, opens the new one and goes on there.
        """
        with self.exclusive():
            self._catch_up(under_lock=True)
            lines = change(list(scan(self._opened.read, 0, self._state.end)))
            if lines is None:
                return False
            self.drop_counters()
            self._folder.replace(self.file_name, b"".join(lines))
            self._distrust()
            self._folder.remove(self._state_name)  # somebody may have saved his a moment ago
        return True

    # ── opening and closing ─────────────────────────────────────────────────────────────────

    def create(self, drafts: Iterable[Draft]) -> bool:
        """Make the file with its first entries, unless it has some; whether it was made."""
        with self._mutex:
            self._open(create=True)
            with self.exclusive():
                self._catch_up(under_lock=True)
                if self._state.entries:
                    return False
                self._write([Ticket(list(drafts))])
                return True

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else, in this process or another, changes the session meanwhile."""
        with self._mutex:
            before, holder = self._depth, self._holder
            try:
                self._hold()
                self._holder = get_ident()
                yield
            finally:
                self._holder = holder
                self._let_go(before)

    def _hold(self) -> None:
        """Take the lock between processes, once however deep the calls (under the mutex)."""
        self._depth += 1
        if self._depth > 1:
            self._open()
            return
        while True:
            if self._file is None:
                self._open()
            self._opened.lock()
            if self._is_ours():
                return
            self._distrust()  # replaced while we waited: lock what has the name now

    def _is_ours(self) -> bool:
        """Whether what we have open is the file of this session; notes how long it is.

        It is, if our name leads to it; also if our name leads nowhere but the file has another:
        then it was renamed, and is the same conversation.
        """
        found = self._folder.identify(self.file_name)
        if found is not None:
            inode, self._size = found
            return inode == self._inode
        links, self._size = self._opened.look()
        return links > 0

    def _let_go(self, depth: int) -> None:
        """Back to that depth; in a ``finally``, wherever ``_hold`` was interrupted."""
        self._depth = depth
        if depth == 0 and self._file is not None:
            self._file.unlock()

    def close(self) -> None:
        """Save the counters and let go of the file. The next call opens it again."""
        with self._mutex:
            if self._file is not None:
                if self._is_worth_saving():
                    self._save_state()
                self._file.close()
                self._file = None
            self._window = None  # read again by the next; nothing of a session stays in memory

    def _is_worth_saving(self) -> bool:
        # Not what others wrote and may yet take back.
        return self._state.end != self._saved_end and self._unsynced_tail is None

    def drop_counters(self) -> None:
        """Remove what is saved beside a file that is about to be renamed or removed."""
        self._saved_end = self._state.end
        self._folder.remove(self._state_name)

    def _has_its_name(self) -> bool:
        found = self._folder.identify(self.file_name)
        return found is not None and found[0] == self._inode

    def _save_state(self) -> None:
        """Write the counters beside the transcript. Only to save time: they can be derived."""
        self._saved_end = self._state.end
        try:
            if not self._has_its_name():
                return  # renamed or deleted elsewhere: nothing of it may stay under this name
            self._folder.replace(self._state_name, self._state.to_bytes(), durable=False)
        except StorageError as error:
            log.info("session %s: counters not saved: %s", self.name, error.message)

    def _saved_state(self) -> State | None:
        state = State.from_bytes(self._folder.read(self._state_name) or b"")
        if state is None:
            return None
        self._highest_seq = max(self._highest_seq, state.last_seq)
        if not 0 < state.end <= self._size or self._opened.read(state.end - 1, 1) != b"\n":
            return None
        last = Reading(self._opened.read, state.end).at(state.last_offset, state.last_id)
        return state if last is not None else None

    def _open(self, *, create: bool = False) -> None:
        """Open the file, or open it again if it was removed or replaced."""
        if self._file is not None:
            if self._is_ours():
                return
            self._distrust()
        try:
            self._file = self._folder.open_growing(self.file_name, create=create)
        except NotFound:
            raise SessionGone(
                f"Session {self.name!r} is gone: it was deleted or renamed.",
                hint="Run: holdfast sessions list",
            ) from None
        self._inode, self._size = self._file.inode, self._file.size()
        self._is_name_durable = self._is_scanned = False
        self._highest_seq = -1  # another file, other numbers
        self._start_over()

    def _start_over(self, *, believe_saved: bool = True) -> None:
        """Forget what was read; begin with the saved counters if they fit the file."""
        self._window = self._unsynced_tail = None
        self._is_unterminated = False
        self._state = (self._saved_state() if believe_saved else None) or State(
            # Numbers that were given are not given again, even if their entries are gone:
            # so the gap stays visible.
            last_seq=self._highest_seq
        )
        self._saved_end = self._state.end

    def _distrust(self) -> None:
        """After a failure only the disk knows the truth: read it again next time."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._window, self._state = None, State()

    @property
    def _opened(self) -> GrowingFile:
        assert self._file is not None, "call _open() first"
        return self._file

    # ── catching up with other writers, and with damage ─────────────────────────────────────

    def _read(self, read: Callable[[Reading], T]) -> T:
        """What ``read`` finds in everything that was appended until now.

        Waits for writers of this process, and for others only if it caught one halfway. If it
        meets damage that the saved counters do not know of, it looks at all of the file first.
        """
        if self._commits.is_busy_here:
            raise UsageError(
                "A session was read in the middle of an append of the same thread.",
                hint="Signal handlers must not use the session; let them set a flag instead.",
            )
        try:
            with self._mutex:
                self._refresh()
                reading = Reading(self._opened.read, self._state.end)
                found = read(reading)
                if reading.met_damage and not self._is_scanned:
                    self._look_again(believe_saved=False)
                    found = read(Reading(self._opened.read, self._state.end))
                return found
        finally:
            self.tell_damage()

    def _refresh(self) -> None:
        self._open()
        if not (self._is_tail_as_read() and self._catch_up(under_lock=False)):
            self._look_again(believe_saved=True)

    def _look_again(self, *, believe_saved: bool) -> None:
        """Read the file while nobody writes, so that what is no record is damage for certain."""
        with self.exclusive():
            self._start_over(believe_saved=believe_saved)
            self._catch_up(under_lock=True, must_repair=False)

    def _is_tail_as_read(self) -> bool:
        """Whether the last bytes we read are still there.

        Read without the lock, they may not have been synced yet: their writer may have failed
        and taken them back, and others may stand in their place.
        """
        if self._unsynced_tail is None:
            return True
        offset, tail = self._unsynced_tail
        return self._opened.read(offset, len(tail)) == tail

    def _catch_up(self, *, under_lock: bool, must_repair: bool = True) -> bool:
        """Account for every byte of the file; under the lock, also for damage.

        False without the lock if there is anything but new records: a torn line may be one
        that somebody is writing this moment.
        """
        size = self._size
        if size < self._state.end:  # a failed write was taken back, or the file was cut
            self._start_over(believe_saved=False)
        if size == self._state.end:
            return True
        is_whole = self._state.end == 0
        seen: set[str] = set()
        damages: list[Damage] = []
        for each in scan(self._opened.read, self._state.end, size):
            if isinstance(each, Damage):
                damages.append(each)
                if not under_lock:
                    return False
            elif not is_whole and each.seq <= self._state.last_seq:
                # A number that was there before: only a look at the whole file can tell why.
                self._start_over(believe_saved=False)
                return self._catch_up(under_lock=under_lock, must_repair=must_repair)
            elif each.id not in seen:
                seen.add(each.id)
                self._state.advance(each)
                if self._window is not None:
                    self._extend_window(each)
                self._unsynced_tail = None if under_lock else (each.end - 18, each.line[-18:])
        self._is_scanned = self._is_scanned or is_whole
        self._settle(size, damages, must_repair=must_repair)
        return True

    def _settle(self, size: int, damages: list[Damage], *, must_repair: bool) -> None:
        """Quarantine what is damaged, cut a torn tail off, and stand at the end of the file."""
        try:
            self._set_aside(damages)
            if damages and damages[-1].reason == "torn":
                self._opened.truncate(damages[-1].offset)
                size = damages[-1].offset
        except StorageError:
            if must_repair:
                raise
            # A full disk must not keep anybody from reading; the next append will repair.
            if damages[-1].reason == "torn":
                size = damages[-1].offset
        self._state.end = size
        self._is_unterminated = size > 0 and self._opened.read(size - 1, 1) != b"\n"

    def _set_aside(self, damages: list[Damage]) -> None:
        if damages:
            self._untold += self._quarantine.keep(damages, at=self._clock.now().isoformat())

    def tell_damage(self) -> None:
        """Tell what was found, if no lock is held any more: a listener may well want to append."""
        if not self._untold or self._depth:
            return
        with self._mutex:
            told, self._untold = self._untold, []
        lost = sum(len(damage.data) for damage in told)
        log.warning(
            "session %s: %d damaged region(s), %d bytes, kept in %s; "
            "the entries around them are intact",
            self.name,
            len(told),
            lost,
            self._quarantine.path,
        )
        self._on_damage(self.name, len(told), lost, self._quarantine.path)

    def _extend_window(self, record: Record) -> None:
        entry = record.entry()
        if entry.type == "compaction" or entry.data.get("kind") == "reset":
            self._window = None  # the view begins elsewhere now
        elif self._window is not None:
            self._window.tail.append(entry)

    # ── appending ───────────────────────────────────────────────────────────────────────────

    def append(self, drafts: Iterable[Draft]) -> list[Entry]:
        """The entries, in order, on disk. All of them or, if the disk refuses, none."""
        try:
            if self._holder == get_ident():
                return self._append_alone(list(drafts))
            return self._commits.submit(list(drafts))
        finally:
            if self._untold:
                self.tell_damage()

    def _append_alone(self, drafts: list[Draft]) -> list[Entry]:
        """Past the line: those who stand in it wait for us, so we cannot wait for them."""
        ticket: Ticket[Draft, Entry] = Ticket(drafts)
        self._commit([ticket])
        if ticket.error is not None:
            raise ticket.error
        return ticket.results

    def _commit(self, batch: list[Ticket[Draft, Entry]]) -> None:
        with self._mutex:
            before = self._depth
            try:
                self._hold()
                if self._unsynced_tail is not None and not self._is_tail_as_read():
                    self._start_over()
                if self._size != self._state.end:
                    self._catch_up(under_lock=True)
                self._write(batch)
            except BaseException:
                self._distrust()
                raise
            finally:
                self._let_go(before)

    def _write(self, batch: list[Ticket[Draft, Entry]]) -> None:
        """One write and one sync for all; drafts that cannot be encoded fail only their caller."""
        start = self._state.end
        lines = [b""] if self._is_unterminated else []
        offset = start + len(lines)
        parent, seq = self._state.last_id, self._state.last_seq
        records: list[Record] = []
        for ticket in batch:
            taken: list[Record] = []
            try:
                entries = self._entries_for(ticket.drafts, parent, seq + 1)
                for entry in entries:
                    taken.append(record_of(entry, taken[-1].end + 1 if taken else offset))
            except HoldfastError as error:
                ticket.error = error
                continue
            ticket.results = entries
            if taken:
                records += taken
                offset, parent, seq = taken[-1].end + 1, taken[-1].id, taken[-1].seq
        if records:
            lines += [record.line for record in records]
            self._make_name_durable()
            self._opened.append(b"\n".join(lines) + b"\n", at=start)
            self._take_in(records, offset)

    def _entries_for(self, drafts: list[Draft], parent: str | None, seq: int) -> list[Entry]:
        now = self._clock.now()
        entries: list[Entry] = []
        for draft in drafts:
            if draft.type != "message" or draft.id is not None:
                draft.check()
            at = draft.at or now
            entry = Entry(
                id=draft.id or self._ids.new(at),
                parent=parent,
                seq=seq + len(entries),
                at=at,
                type=draft.type,
                data=draft.data,
                extra=draft.extra,
            )
            entries.append(entry)
            parent = entry.id
        return entries

    def _make_name_durable(self) -> None:
        """Whoever made the file or its folders may have died before their names were durable."""
        if not self._is_name_durable:
            self._folder.sync()
            self._folder.sync_way()
            self._is_name_durable = True

    def _take_in(self, records: list[Record], end: int) -> None:
        for record in records:
            self._state.advance(record)
            if self._window is not None:
                self._extend_window(record)
        self._state.end = end
        self._is_unterminated = False
        self._unsynced_tail = None
        if end - self._saved_end >= SAVE_STATE_EVERY_BYTES:
            self._save_state()
