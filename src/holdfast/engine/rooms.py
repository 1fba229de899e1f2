"""The rooms of one agent, opened and wired together: the composition root.

Promise: whatever thread or forked child calls, it finds open rooms of its own process
(``tests/engine/test_threads_and_forks.py``); a disk that refuses is told once when it starts
to and once when it is over (``tests/engine/test_events.py``).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, tzinfo
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal
from zoneinfo import ZoneInfo

from holdfast.config import Settings, day_of
from holdfast.context.accounting import ingest_cap
from holdfast.disk import PROCESS, SYSTEM, Directory, System
from holdfast.engine.background import Background
from holdfast.engine.eventlog import EventLog
from holdfast.engine.spending import Spending
from holdfast.errors import Locked, ModelUnavailable, PolicyRefused, StorageError
from holdfast.events import Event, EventBus, StorageDegraded
from holdfast.ports import Clock, Ids, Model
from holdfast.scope import check_name, folder, place_of
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Transcript
from holdfast.types import Scope

if TYPE_CHECKING:
    from holdfast.context.tokens import Calibration, TokenEstimator
    from holdfast.engine.memories import Memories
    from holdfast.engine.notify import Notices
    from holdfast.engine.searching import SearchRoom
    from holdfast.engine.session import Session
    from holdfast.engine.turn.asking import Ask
    from holdfast.engine.upkeep import Upkeep
    from holdfast.models.registry import Registry

__all__ = ["MemoryMode", "Models", "Phase", "Rooms"]

log = logging.getLogger("holdfast.engine")

Models = Callable[[str], Model]
"""Gives the model of a name such as ``anthropic:claude-…``."""

MemoryMode = Literal["read-write", "read", "off"]
_MODES: Final[tuple[MemoryMode, ...]] = ("off", "read", "read-write")

Phase = Literal["ACTIVE", "FLUSHING", "COMPACTING"]

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
        models: Models | None = None,
        system: System = SYSTEM,
    ) -> None:
        check_name(scope.agent)
        self.home_path = home
        self.scope = scope
        self.memberships = memberships
        self.has_background = background
        self.is_scratch = False
        """Whether these rooms are gone when their one session ends: nobody outside hears of it."""
        self.own_models = models
        """The host's, if it brought any: they stand before those that can be had here."""
        self._registry: Registry | None = None
        self.settings = settings
        self.clock = clock
        self.events = EventBus()
        self.ids = ids
        self._system = system
        self.failing: set[str] = set()
        self.pressure: dict[str, str] = {}
        self.windows: dict[str, int] = {}
        """What models were seen to read at most: a provider said that it was too much."""
        self.wishes: dict[str, str] = {}
        """Sessions that are to be compacted by their next request, and what to keep in mind."""
        self.warned: dict[tuple[str, str], str] = {}
        """In which cycle of a session the user was told something last."""
        self.due: set[str] = set()
        """Sessions whose flush is due as soon as their reply is given."""
        self._phases: dict[str, list[Phase]] = {}
        self._estimators: dict[str, TokenEstimator] = {}
        self._calibrations: dict[str | None, Calibration] = {}
        self._reports: dict[str, str] = {}
        self._open()
        self.event_log = EventLog(self.home)
        self.events.subscribe(self.event_log)

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
        self._notices: Notices | None = None
        self._upkeep: Upkeep | None = None
        self.talks: dict[str, Callable[[], Ask]] = {}
        """The conversations that are being led here, and what would be asked next in each."""
        self.incognito: list[Session] = []
        """Conversations of which nothing is written down, not even that there was one."""
        self.background = Background(is_on=self.has_background)
        self.spending = Spending(self)
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

    def close_files(self) -> None:
        """Save all counters and let go of all files. Whoever is still in a conversation opens its
        file again, and everybody by the same handle: of two in one process each would wait for
        what the other holds."""
        self._mine()
        for name, transcript in list(self._transcripts.items()):
            self._set_aside(name)
            transcript.close()

    def _set_aside(self, name: str) -> None:
        for kept in (self.talks, self.pressure, self.wishes, self._phases):
            kept.pop(name, None)
        self.due.discard(name)
        self.warned = {key: value for key, value in self.warned.items() if key[0] != name}

    def release(self, name: str) -> None:
        """Save the session's counters, let go of its file and of what is known of it."""
        self._mine()
        self._set_aside(name)
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

    @property
    def is_searching(self) -> bool:
        """Whether somebody has searched here already."""
        return self._search is not None

    def close_search(self) -> None:
        """Let go of the index, if it was opened."""
        room, self._search = self._search, None
        if room is not None and self._generation == PROCESS.generation:
            room.close()

    @property
    def notices(self) -> Notices:
        """What tells the user outside of the conversation, opened by the first notice."""
        self._mine()
        if self._notices is None:
            notify = import_module("holdfast.engine.notify")
            with self._lock:
                if self._notices is None:
                    self._notices = notify.Notices(
                        self.settings.notices,
                        clock=self.clock,
                        tell=self.events.emit,
                        language=self.settings.memory.language,
                    )
        return self._notices

    def finish_background(self, *, seconds: float) -> None:
        """Wait for what is being done after replies, but only so long, and say what was not."""
        if self._generation != PROCESS.generation:
            return
        deadline = time.monotonic() + seconds
        if self._upkeep is not None:
            self._upkeep.close()
        if not self.background.close(seconds=seconds):
            log.warning("not all background work was done in %.0f s; a lease runs out", seconds)
        if self._notices is not None:
            self._notices.close(max(1.0, deadline - time.monotonic()))

    def look_after(self, session: str, ask: Callable[[], Ask]) -> None:
        """Let upkeep know of a conversation; its thread begins with the first."""
        self.talks[session] = ask
        if self.has_background and self._upkeep is None:
            upkeep = import_module("holdfast.engine.upkeep")
            with self._lock:
                if self._upkeep is None:
                    self._upkeep = upkeep.Upkeep(self)

    # ── one session ─────────────────────────────────────────────────────────────────────────

    def memory_mode(self, session: str | None) -> MemoryMode:
        """What a session may do with memory: no more than the settings allow."""
        allowed: MemoryMode = self.settings.memory.mode
        if session is None:
            return allowed
        stored = self.transcript(session).state().memory_mode
        wanted: MemoryMode = next((each for each in _MODES if each == stored), "read-write")
        return min(allowed, wanted, key=_MODES.index)

    @contextmanager
    def in_phase(self, session: str, phase: Phase) -> Iterator[None]:
        """Let everybody see what is being done to a session."""
        stack = self._phases.setdefault(session, [])
        stack.append(phase)
        try:
            yield
        finally:
            stack.remove(phase)

    def phase(self, session: str) -> Phase:
        """What this process is doing to a session now."""
        stack = self._phases.get(session)
        return stack[-1] if stack else "ACTIVE"

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

    @property
    def registry(self) -> Registry:
        """The models that can be had on this machine."""
        if self._registry is None:
            folder = import_module("holdfast.models.folder").models_folder(os.environ)
            registry = import_module("holdfast.models.registry")
            self._registry = registry.Registry(
                self.settings.model, environ=os.environ, folder=folder
            )
        return self._registry

    def model(self, name: str | None = None) -> Model:
        """The model of a name, of the host's if it brought any; without one, the chosen."""
        if name is None:
            choice = self.registry.choose()
            if choice.model is None:
                raise ModelUnavailable(
                    f"There is no model: {choice.why}.",
                    hint="Set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY …), start Ollama, or fetch "
                    "one: holdfast model get qwen2.5-coder-1.5b",
                )
            name = choice.model
        return self.registry(name) if self.own_models is None else self.own_models(name)

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
