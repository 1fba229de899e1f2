"""One conversation on disk: append-only, durable when it returns, shared by processes.

An append joins whatever other threads are appending (one write, one sync for all of them).
Under the session's lock the appender reads only what others appended since, repairs a torn
tail, writes its batch and syncs once; so the cost of an append does not grow with history.

Promises: an acknowledged entry survives ``kill -9`` and power loss
(``tests/sessions/test_kill.py``, ``test_power_loss.py``); concurrent appenders lose nothing
(``test_concurrent_appends.py``); damage costs only itself (``test_damaged_transcripts.py``);
opening reads the tail, not the file (``test_large_transcripts.py``).
"""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import RLock
from typing import Final, get_args

from holdfast.disk import Directory, FileLock, GrowingFile
from holdfast.errors import HoldfastError, NotFound, SessionGone, StorageError, UsageError
from holdfast.ports import Clock, Ids
from holdfast.sessions.groupcommit import GroupCommit, Ticket
from holdfast.sessions.quarantine import Quarantine
from holdfast.sessions.records import Damage, Record, encode, scan, written
from holdfast.sessions.state import State
from holdfast.sessions.view import needed_before
from holdfast.types import Entry, EntryType, Json

__all__ = ["Draft", "Transcript", "Verification", "Window"]

log = logging.getLogger("holdfast.sessions")

SAVE_STATE_EVERY_BYTES: Final = 1 << 20
_BLOCK: Final = 1 << 20
_OWN_TYPES: Final = frozenset(get_args(EntryType))
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFE_TYPE: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An entry that has no place yet. Given an id, it keeps it."""

    type: str
    data: Mapping[str, Json]
    id: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.type not in _OWN_TYPES and not _SAFE_TYPE.fullmatch(self.type):
            raise UsageError(f"{self.type!r} is not an entry type: use a-z, 0-9, '_', '.', '-'.")
        if self.id is not None and not _SAFE_ID.fullmatch(self.id):
            raise UsageError(f"{self.id!r} is not an entry id: use A-Z, a-z, 0-9, '_', '.', '-'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What a view is computed from: the newest compaction, what it still shows, and the tail."""

    compaction: Entry | None
    earlier: tuple[Entry, ...]
    tail: tuple[Entry, ...]


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
        lock: FileLock,
        quarantine: Quarantine,
        clock: Clock,
        ids: Ids,
        on_damage: Callable[[str, int, int, str], None],
    ) -> None:
        self.name = name
        self._folder = folder
        self._lock = lock
        self._quarantine = quarantine
        self._clock = clock
        self._ids = ids
        self._on_damage = on_damage
        self._commits = GroupCommit(self._commit)
        self._mutex = RLock()
        self._file: GrowingFile | None = None
        self._inode = 0
        self._size = 0
        self._state = State()
        self._is_unterminated = False
        self._depth = 0
        self._saved_end = 0
        self._window: list[Entry] | None = None
        self._compaction: Entry | None = None
        self._earlier: tuple[Entry, ...] = ()

    @property
    def file_name(self) -> str:
        return f"{self.name}.jsonl"

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def state(self) -> State:
        """The counters now, including what other processes appended."""
        with self._mutex:
            self._refresh()
            return copy.copy(self._state)

    def entries(self, *, last: int | None = None) -> list[Entry]:
        """Every intact entry in order, or only the ``last`` few, read from the end."""
        with self._mutex:
            self._refresh()
            if last is not None:
                found = [record.entry() for record in islice(self._backwards(), last)]
            else:
                found = [record.entry() for record in self._records()]
        return sorted(found, key=lambda entry: entry.seq)

    def find(self, entry_id: str) -> Entry:
        """The entry of that id; the newest are found first."""
        with self._mutex:
            self._refresh()
            return self._record(entry_id).entry()

    def window(self) -> Window:
        """What the view is computed from; reads no more of the file than the view shows."""
        with self._mutex:
            self._refresh()
            if self._window is None:
                self._load_window()
            assert self._window is not None
            return Window(
                compaction=self._compaction,
                earlier=self._earlier,
                tail=tuple(self._window),
            )

    def lines_until(self, entry_id: str) -> bytes:
        """The intact lines up to and including that entry, as they stand in the file."""
        with self._mutex:
            self._refresh()
            cut = self._record(entry_id)
            return b"".join(
                record.line + b"\n" for record in self._records() if record.seq <= cut.seq
            )

    def mentions(self, words: set[str]) -> set[str]:
        """Those of the words that stand anywhere in the file, damaged lines included."""
        found: set[str] = set()
        overlap = max(map(len, words), default=0)
        with self._mutex:
            self._open()
            for start in range(0, self._size, _BLOCK):
                block = self._opened.read(start, _BLOCK + overlap)
                found |= {word for word in words - found if word.encode() in block}
        return found

    def verify(self) -> Verification:
        """Check every byte, while nobody writes."""
        with self.exclusive():
            self._open()
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
            self._report(damages)
        return Verification(
            session=self.name,
            entries=len(ids),
            bytes=size,
            damaged_regions=len(damages),
            damaged_bytes=sum(len(damage.data) for damage in damages),
            duplicates=duplicates,
            missing=max(seqs, default=-1) + 1 - len(seqs),
            quarantine=self._quarantine.path if damages else None,
        )

    def _records(self) -> Iterator[Record]:
        seen: set[str] = set()
        for each in scan(self._opened.read, 0, self._state.end):
            if isinstance(each, Record) and each.id not in seen:
                seen.add(each.id)
                yield each

    def _backwards(self) -> Iterator[Record]:
        """Intact records from the newest to the oldest, block by block."""
        position = self._state.end
        rest = b""
        while position > 0:
            start = max(0, position - _BLOCK)
            data = self._opened.read(start, position - start) + rest
            # The first line of a block may begin in the block before it.
            cut = 0 if start == 0 else data.find(b"\n") + 1 or len(data)
            rest, lines = data[:cut], data[cut:]
            position = start
            yield from reversed(
                [each for each in _scan_bytes(lines, start + cut) if isinstance(each, Record)]
            )

    def _record(self, entry_id: str) -> Record:
        for record in self._backwards():
            if record.id == entry_id:
                return record
        raise NotFound(
            f"Session {self.name!r} has no entry {entry_id!r}.",
            hint=f"Run: holdfast sessions show {self.name}",
        )

    # ── the part of the file that the view shows ────────────────────────────────────────────

    def _load_window(self) -> None:
        self._compaction, self._earlier = None, ()
        cycle, reset = self._state.cycle_offset, self._state.reset_offset
        if reset is not None and (cycle is None or reset > cycle):
            start = reset
        elif cycle is not None:
            self._compaction = self._entry_at(cycle)
            start = self._cut_of(self._compaction)
            self._earlier = self._find_all(set(needed_before(self._compaction)))
        else:
            start = 0
        seen: set[str] = set()
        window = []
        for each in scan(self._opened.read, start, self._state.end):
            if isinstance(each, Record) and each.id not in seen:
                seen.add(each.id)
                window.append(each.entry())
        self._window = sorted(window, key=lambda entry: entry.seq)

    def _find_all(self, wanted: set[str]) -> tuple[Entry, ...]:
        """Those of the wanted entries that there are; reads back no further than it must."""
        found: list[Entry] = []
        for record in self._backwards() if wanted else ():
            if record.id in wanted:
                wanted = wanted - {record.id}
                found.append(record.entry())
                if not wanted:
                    break
        return tuple(reversed(found))

    def _entry_at(self, offset: int) -> Entry:
        for each in scan(self._opened.read, offset, self._state.end):
            if isinstance(each, Record):
                return each.entry()
        raise NotFound(f"Session {self.name!r} has no entry at byte {offset}.")

    def _cut_of(self, compaction: Entry) -> int:
        """Where the tail begins: at the first kept entry, else behind the watermark."""
        first_kept = compaction.data.get("first_kept")
        if first_kept is not None:
            return self._record(first_kept).offset
        watermark = compaction.data.get("watermark", compaction.seq)
        start = self._state.end
        for record in self._backwards():
            if record.seq <= watermark:
                break
            start = record.offset
        return start

    # ── opening and catching up ─────────────────────────────────────────────────────────────

    def create(self, drafts: Iterable[Draft]) -> bool:
        """Make the file with its first entries, unless it has some; whether it was made."""
        with self.exclusive():
            self._open(create=True)
            self._catch_up(under_lock=True)
            if self._state.entries:
                return False
            ticket: Ticket[Draft, Entry] = Ticket(list(drafts))
            self._write([ticket])
            self._folder.sync()
            return ticket.error is None

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else, in this process or another, changes the session meanwhile."""
        with self._mutex:
            self._hold()
            try:
                yield
            finally:
                self._let_go()

    def _hold(self) -> None:
        """Take the lock between processes, once however deep the calls (under the mutex)."""
        if self._depth == 0:
            self._lock.acquire()
        self._depth += 1

    def _let_go(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._lock.release()

    def close(self) -> None:
        """Save the counters and let go of the file. The next call opens it again."""
        with self._mutex:
            if self._file is not None:
                if self._state.end != self._saved_end:
                    self._save_state()
                self._file.close()
                self._file = None
            if self._depth == 0:
                self._lock.close()

    def forget_file(self) -> None:
        """Let go of a file that is about to be renamed or removed, and of its counters."""
        self._distrust()
        self._folder.remove(f"{self.name}.state.json")

    def _save_state(self) -> None:
        """Write the counters beside the transcript. Only to save time: they can be derived."""
        self._saved_end = self._state.end
        saved = json.dumps(self._state.to_json(), ensure_ascii=False).encode("utf-8", "replace")
        try:
            self._folder.replace(f"{self.name}.state.json", saved, durable=False)
        except StorageError as error:
            log.info("session %s: counters not saved: %s", self.name, error.message)

    def _open(self, *, create: bool = False) -> None:
        """Open the file, or open it again if another file has taken its name."""
        found = self._folder.stat(self.file_name)
        if self._file is not None and found is not None and found.inode == self._inode:
            self._size = found.size
            return
        if found is None and not create:
            raise SessionGone(
                f"Session {self.name!r} is gone: it was deleted or renamed.",
                hint="Run: holdfast sessions list",
            )
        if self._file is not None:
            self._file.close()
        self._file = self._folder.open_growing(self.file_name, create=create)
        self._inode, self._size = self._file.inode, self._file.size()
        self._start_over()

    def _start_over(self) -> None:
        """Forget what was read; begin with the saved counters if they fit the file."""
        self._window = None
        self._is_unterminated = False
        self._state = self._saved_state() or State()
        self._saved_end = self._state.end

    def _saved_state(self) -> State | None:
        try:
            saved = json.loads(self._folder.read(f"{self.name}.state.json") or b"null")
        except ValueError:
            return None
        state = State.from_json(saved) if isinstance(saved, dict) else None
        if state is None or state.end > self._size:
            return None
        for each in scan(self._opened.read, state.last_offset, state.end):
            return state if isinstance(each, Record) and each.id == state.last_id else None
        return None

    def _refresh(self) -> None:
        """Take in what was appended since. Waits for a writer only if it caught one halfway."""
        self._open()
        if not self._catch_up(under_lock=False):
            with self.exclusive():
                self._open()
                self._start_over()
                self._catch_up(under_lock=True)

    def _catch_up(self, *, under_lock: bool) -> bool:
        """Account for every byte of the file; under the lock, also for damage.

        False without the lock if there is anything but new records: a torn line may be one
        that somebody is writing this moment.
        """
        size = self._size
        if size < self._state.end:  # a failed write was taken back, or the file was cut
            self._window, self._state = None, State()
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
                self._window, self._state = None, State()
                return self._catch_up(under_lock=under_lock)
            elif each.id not in seen:
                seen.add(each.id)
                self._accept(each)
        self._settle(size, damages)
        return True

    def _settle(self, size: int, damages: list[Damage]) -> None:
        """Quarantine what is damaged, cut a torn tail off, and stand at the end of the file."""
        self._report(damages)
        if damages and damages[-1].reason == "torn":
            size = damages[-1].offset
            self._opened.truncate(size)
        self._state.end = size
        self._is_unterminated = size > 0 and self._opened.read(size - 1, 1) != b"\n"

    def _report(self, damages: list[Damage]) -> None:
        new = self._quarantine.keep(damages, at=self._clock.now().isoformat()) if damages else []
        if new:
            lost = sum(len(damage.data) for damage in new)
            log.warning(
                "session %s: %d damaged region(s), %d bytes, kept in %s; "
                "the entries around them are intact",
                self.name,
                len(new),
                lost,
                self._quarantine.path,
            )
            self._on_damage(self.name, len(new), lost, self._quarantine.path)

    def _accept(self, record: Record) -> None:
        self._state.advance(record)
        if self._window is not None:
            entry = record.entry()
            if entry.type == "compaction" or entry.data.get("kind") == "reset":
                self._window = None  # the view begins elsewhere now
            else:
                self._window.append(entry)

    @property
    def _opened(self) -> GrowingFile:
        assert self._file is not None, "call _open() first"
        return self._file

    # ── appending ───────────────────────────────────────────────────────────────────────────

    def append(self, drafts: Iterable[Draft]) -> list[Entry]:
        """The entries, in order, on disk. All of them or, if the disk refuses, none."""
        return self._commits.submit(list(drafts))

    def _commit(self, batch: list[Ticket[Draft, Entry]]) -> None:
        with self._mutex:
            self._hold()
            try:
                self._open()
                self._catch_up(under_lock=True)
                self._write(batch)
            except BaseException:
                self._distrust()
                raise
            finally:
                self._let_go()

    def _write(self, batch: list[Ticket[Draft, Entry]]) -> None:
        """One write and one sync for all; drafts that cannot be encoded fail only their caller."""
        offset = start = self._state.end
        parent, seq = self._state.last_id, self._state.last_seq
        records: list[Record] = []
        lines = []
        if self._is_unterminated:
            lines.append(b"\n")
            offset += 1
        for ticket in batch:
            try:
                entries = self._entries_for(ticket.drafts, parent, seq + 1)
                encoded = [encode(entry) for entry in entries]
            except HoldfastError as error:
                ticket.error = error
                continue
            ticket.results = entries
            for entry, line in zip(entries, encoded, strict=True):
                records.append(written(entry, line, offset))
                lines.append(line)
                offset += len(line)
                parent, seq = entry.id, entry.seq
        if records:
            self._opened.append(b"".join(lines), at=start)
            self._take_in(records, offset)

    def _entries_for(self, drafts: list[Draft], parent: str | None, seq: int) -> list[Entry]:
        at = self._clock.now()
        entries: list[Entry] = []
        for draft in drafts:
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

    def _take_in(self, records: list[Record], end: int) -> None:
        for record in records:
            self._accept(record)
        self._state.end = end
        self._is_unterminated = False
        if end - self._saved_end >= SAVE_STATE_EVERY_BYTES:
            self._save_state()

    def _distrust(self) -> None:
        """After a failure only the disk knows the truth: read it again next time."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._window, self._state = None, State()


def _scan_bytes(data: bytes, start: int) -> Iterator[Record | Damage]:
    return scan(lambda offset, length: data[offset - start :][:length], start, start + len(data))
