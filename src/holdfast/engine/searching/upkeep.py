"""Indexing in the background: while a program runs, its index follows its files by itself.

One thread per engine, started by the first search. It works only while it holds the lease of
the index; of several processes one does the work, and when that one ends another takes over.
Promise: it never makes a search or an append wait, an error costs one round and is told, and
``stop`` returns within its time whatever the thread is doing (``tests/engine/test_upkeep.py``).
"""

from __future__ import annotations

import atexit
import logging
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.engine.searching.room import SearchRoom

__all__ = ["Upkeep"]

log = logging.getLogger("holdfast.engine")

_TICK_MS: Final = 200
_EXIT_SECONDS: Final = 30.0
_ASK_AGAIN_SECONDS: Final = 5.0
"""How often a process without the lease asks for it: whoever had it may have died."""


class Upkeep:
    """The thread that keeps one index."""

    def __init__(self, room: SearchRoom, *, debounce_ms: int, every_seconds: float) -> None:
        self._room = room
        self._debounce_ms = debounce_ms
        self._every = every_seconds
        self._woken = Event()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="holdfast-index", daemon=True)
        self._watcher: Thread | None = None
        self.rounds = 0
        self.is_watching = False
        self._lost = False
        self._told: tuple[str, ...] = ()

    def start(self) -> None:
        # A program may end without closing. A thread that is inside an encoder at that moment
        # would take the process down with it: it is waited for.
        atexit.register(self._at_exit)
        self._thread.start()

    def _at_exit(self) -> None:
        self.stop(_EXIT_SECONDS)

    def wake(self) -> None:
        """Something of our own changed: look at once."""
        self._woken.set()

    def stop(self, seconds: float) -> bool:
        """Ask it to end, and wait for that; whether it did."""
        self._stopping.set()
        self._woken.set()
        until = monotonic() + seconds
        for thread in (self._thread, self._watcher):
            if thread is not None and thread.ident is not None:
                thread.join(max(0.0, until - monotonic()))
        if self._thread.is_alive():
            return False
        atexit.unregister(self._at_exit)
        return True

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._lead()
                self._stopping.wait(_ASK_AGAIN_SECONDS if not self._lost else 0)
        finally:
            self._room.ended()

    def _lead(self) -> None:
        """Get the lease, and follow the files for as long as it is ours."""
        self._lost = False
        try:
            with self._room.lease() as is_ours:
                if is_ours:
                    self._watch()
                    self._keep()
        except HoldfastError as error:
            log.warning("the index could not be opened: %s", error.message)
        except Exception:  # the border: a thread that dies in silence is worse
            log.exception("the index could not be opened")

    def _keep(self) -> None:
        while not self._stopping.is_set():
            self._woken.clear()
            self._round()
            self.rounds += 1
            self._woken.wait(self._every or None)
            if not self._stopping.is_set() and not self._room.is_leased:
                self._lost = True  # the index was removed: there is a new one, with its own lease
                return

    def _round(self) -> None:
        try:
            done = self._room.sync(should_stop=self._stopping.is_set)
        except HoldfastError as error:
            if not self._stopping.is_set():  # else it was closed under our hands, as it should be
                log.warning("the index was not brought up to date: %s", error.message)
        except Exception:  # the border: a thread that dies in silence is worse
            log.exception("the index was not brought up to date")
        else:
            self._tell(done.problems)

    def _tell(self, problems: tuple[str, ...]) -> None:
        """Once, until they are others."""
        for each in problems if problems != self._told else ():
            log.warning("the index was not brought up to date: %s", each)
        self._told = problems

    def _watch(self) -> None:
        """Notice what others save, where the library for it is installed."""
        if self._watcher is not None:
            return
        with suppress(ImportError):
            watchfiles = import_module("watchfiles")
            folder = self._room.watched_folder
            self._watcher = Thread(
                target=self._follow, args=(watchfiles, folder), name="holdfast-watch", daemon=True
            )
            self._watcher.start()

    def _follow(self, watchfiles: Any, folder: Path) -> None:
        """Until it is time to stop. A tick without changes shows that watching has begun."""
        try:
            for changes in watchfiles.watch(
                folder,
                watch_filter=_is_memory,
                debounce=max(self._debounce_ms, 1),
                step=min(max(self._debounce_ms, 1), 1_000),
                stop_event=self._stopping,
                rust_timeout=_TICK_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            ):
                self.is_watching = True
                if changes:
                    self._woken.set()
        except OSError as error:  # no handles left to watch with: the interval remains
            log.info("files are not watched: %s", error)


def _is_memory(change: object, path: str) -> bool:
    """Whether a changed file can matter to the index."""
    del change
    return path.endswith((".md", ".jsonl")) and "/.index/" not in path and "/.journal/" not in path
