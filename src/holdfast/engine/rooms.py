"""The rooms of one agent, opened and wired together: the composition root.

Promise: whatever thread or forked child calls, it finds open rooms of its own process
(``tests/engine/test_threads_and_forks.py``); a disk that refuses is told once when it starts
to and once when it is over (``tests/engine/test_events.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, tzinfo
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

from holdfast.config import Settings, day_of
from holdfast.context.accounting import ingest_cap
from holdfast.disk import PROCESS, SYSTEM, Directory, System
from holdfast.engine.eventlog import EventLog
from holdfast.errors import Locked, PolicyRefused, StorageError
from holdfast.events import Event, EventBus, StorageDegraded
from holdfast.ports import Clock, Ids
from holdfast.scope import check_name, folder, place_of
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Transcript
from holdfast.types import Scope

if TYPE_CHECKING:
    from holdfast.context.tokens import Calibration, TokenEstimator
    from holdfast.engine.memories import Memories
    from holdfast.engine.searching import SearchRoom

__all__ = ["Rooms"]

OPEN_TRANSCRIPTS: Final = 64
"""Each holds a file handle; a process usually gets 1024."""


class Rooms:
    """What an engine and its sessions share."""

    def __init__(
        self,
        home: Path,
        scope: Scope,
        *,
        settings: Settings,
        clock: Clock,
        ids: Ids,
        memberships: frozenset[str] = frozenset(),
        background: bool = True,
        system: System = SYSTEM,
    ) -> None:
        check_name(scope.agent)
        self.home_path = home
        self.scope = scope
        self.memberships = memberships
        self.background = background
        self.settings = settings
        self.clock = clock
        self.events = EventBus()
        self.ids = ids
        self._system = system
        self.failing: set[str] = set()
        self.pressure: dict[str, str] = {}
        self._estimators: dict[str, TokenEstimator] = {}
        self._calibrations: dict[str | None, Calibration] = {}
        self._reports: dict[str, str] = {}
        self._open()
        self.events.subscribe(EventLog(self.home))

    def _open(self) -> None:
        self._lock = Lock()
        self._transcripts: dict[str, Transcript] = {}
        self._new_names: dict[str, str] = {}
        self.home = Directory.open(self.home_path, system=self._system)
        self.base = self.home.child("agents").child(self.scope.agent)
        for name in folder(place_of(self.scope)):
            self.base = self.base.child(name)
        self._store = Store(
            self.base,
            clock=self.clock,
            ids=self.ids,
            events=self.events,
            cap_chars=ingest_cap(self.settings),
        )
        self._memory: Memories | None = None
        self._search: SearchRoom | None = None
        self._owner: str | None = None
        self._generation = PROCESS.generation  # last: until here other threads must wait

    def _mine(self) -> None:
        """After a fork nothing of the parent's may be touched: its locks may never be freed."""
        if self._generation != PROCESS.generation:
            with PROCESS.lock:
                if self._generation != PROCESS.generation:
                    self.events.renew()
                    self._open()

    @property
    def store(self) -> Store:
        if self._generation != PROCESS.generation:
            self._mine()
        return self._store

    def transcript(self, name: str) -> Transcript:
        """The one open transcript of that name; all threads share it, and so its syncs."""
        if self._generation != PROCESS.generation:
            self._mine()
        found = self._transcripts.get(name)
        if found is not None and len(self._transcripts) < OPEN_TRANSCRIPTS:
            return found
        name = self._new_names.get(name, name)
        with self._lock:
            transcript = self._transcripts.pop(name, None)
        return self._share(self._store.open(name) if transcript is None else transcript)

    def adopt(self, transcript: Transcript) -> None:
        """Share this transcript, unless another of its name is already shared."""
        self._mine()
        with self._lock:
            self._new_names.pop(transcript.name, None)
            transcript = self._transcripts.pop(transcript.name, transcript)
        self._share(transcript)

    def renamed(self, name: str, to: str) -> None:
        """Let those who have the session open by its old name go on with it."""
        with self._lock:
            for old, new in self._new_names.items():
                self._new_names[old] = to if new == name else new
            self._new_names[name] = to

    def _share(self, transcript: Transcript) -> Transcript:
        """Keep it open as the most recently used; let go of the one unused for longest."""
        idle: Transcript | None = None
        with self._lock:
            transcript = self._transcripts.setdefault(transcript.name, transcript)
            if len(self._transcripts) > OPEN_TRANSCRIPTS:
                idle = self._transcripts.pop(next(iter(self._transcripts)))
        if idle is not None:
            idle.close()  # whoever still uses it opens its file again
        return transcript

    def release(self, name: str) -> None:
        """Save the session's counters and let go of its file."""
        self._mine()
        with self._lock:
            transcript = self._transcripts.pop(name, None)
        if transcript is not None:
            transcript.close()

    def release_all(self) -> None:
        for name in list(self._transcripts):
            self.release(name)

    @property
    def memory(self) -> Memories:
        """The memory files and what is made of them, opened when they are first needed."""
        self._mine()
        if self._memory is None:
            memories = import_module("holdfast.engine.memories")
            with self._lock:
                if self._memory is None:
                    self._memory = memories.Memories(self)
        return self._memory

    @property
    def search(self) -> SearchRoom:
        """The search index of the agent, opened when it is first needed."""
        self._mine()
        if self._search is None:
            searching = import_module("holdfast.engine.searching")
            with self._lock:
                if self._search is None:
                    self._search = searching.SearchRoom(self)
        return self._search

    def close_search(self) -> None:
        """Let go of the index, if it was opened."""
        room, self._search = self._search, None
        if room is not None and self._generation == PROCESS.generation:
            room.close()

    def readable_memory(self) -> Memories:
        """The same, for whoever asks from outside: if memory is switched off, nobody gets it."""
        if self.settings.memory.mode == "off":
            raise PolicyRefused(
                "Memory is switched off.",
                hint='Allow it: memory.mode = "read" or "read-write" in config.toml',
            )
        return self.memory

    @property
    def owner(self) -> str:
        """Who we are in a lease: no other process, and no forked child, has the same name."""
        self._mine()
        if self._owner is None:
            self._owner = self.ids.new(self.clock.now())
        return self._owner

    def estimator(self, model: str | None) -> TokenEstimator:
        """The estimator for a model; a real tokenizer counts where one is installed for it."""
        tokens = import_module("holdfast.context.tokens")
        family = tokens.family_of(model) if model else "default"
        if family not in self._estimators:
            counter = import_module("holdfast.models.tokenizers").find_counter(family)
            self._estimators[family] = tokens.TokenEstimator(family, counter=counter)
        plain = self._estimators[family]
        calibration = self._calibrations.get(model)
        return plain if calibration is None else plain.calibrated(calibration)

    def learn(
        self, model: str | None, session: str, entry: str, *, estimated: int, reported: int
    ) -> None:
        """Take a provider's report on a request into account, once. ``estimated`` is plain."""
        if self._reports.get(session) != entry:
            self._reports[session] = entry
            fresh = import_module("holdfast.context.tokens").Calibration()
            known = self._calibrations.get(model, fresh)
            self._calibrations[model] = known.after(estimated, reported)

    @property
    def zone(self) -> tzinfo:
        return ZoneInfo(self.settings.memory.time_zone)

    def today(self) -> date:
        """The user's day at this moment."""
        return day_of(self.clock.now(), self.settings.memory.time_zone)

    def tell(self, event: type[Event], **told: Any) -> None:
        self.events.emit(event(at=self.clock.now(), **told))

    @contextmanager
    def watching(self, operation: str, session: str) -> Iterator[Store]:
        """Tell when the disk begins to refuse, and when it takes writes again."""
        try:
            yield self.store
        except StorageError as error:
            self.refused(operation, session, error)
            raise
        if self.failing:
            self.took_it(operation, session)

    def refused(self, operation: str, session: str, error: StorageError) -> None:
        """Say that the disk refuses, unless that was said already."""
        if isinstance(error, Locked) or session in self.failing:
            return
        self.failing.add(session)
        self._tell_storage("failing", operation, session, str(error.__cause__ or error.message))

    def took_it(self, operation: str, session: str) -> None:
        """Say that the disk takes writes again, if it had refused them."""
        if session in self.failing:
            self.failing.discard(session)
            self._tell_storage("resumed", operation, session, "the disk takes writes again")

    def _tell_storage(self, state: str, operation: str, session: str, reason: str) -> None:
        self.tell(StorageDegraded, session=session, state=state, operation=operation, reason=reason)
