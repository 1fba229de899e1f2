"""Events for everybody who watches: one thread reads the log of a place, and passes it on.

The log is what is followed, not the engine: so events of other processes are seen as well, and
each has a place in the log by which a stream that broke off goes on exactly. What an incognito
conversation does is in no log; it is passed on from the engine as it happens, without a place.

Promise: a watcher sees every event behind its beginning once and in order, also while an
erasure puts another log in place of this one; one that is too slow, or comes back to a log that
is not the one it left, hears ``reset`` and goes on from now, and so does everybody when the log
cannot be read (``tests/server/test_following.py``); nobody's slowness costs more memory than
``MOST`` events (``tests/server/test_events.py``, ``tests/server/test_load.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event as Bell
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Literal

from holdfast.engine.eventlog import EVENTS
from holdfast.engine.eventreading import EventReader, Told, offset_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from holdfast.engine.facade import Engine
    from holdfast.events import Event
    from holdfast.server.places import Place

__all__ = ["MOST", "Follower", "Followers", "Seen", "Watcher", "follower_of"]

log = logging.getLogger("holdfast.server")

MOST: Final = 1_000
"""Events that wait for one watcher at most, and that are told to one who comes back."""
_LOOKED_AT: Final = 20 * MOST
"""Events that are read for one who comes back, most of which may be about something else."""
_POLL_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a watcher is told: something happened; where it begins; that it missed something."""

    kind: Literal["event", "hello", "reset"]
    id: str | None
    told: Told = field(default_factory=dict)


class Watcher:
    """One who watches. Told by the thread that reads the log; read in an event loop."""

    def __init__(self, session: str | None, most: int = MOST) -> None:
        self._session = session
        self._most = most
        self._waiting: deque[Seen] = deque()
        self._lock = Lock()
        self._loop = asyncio.get_running_loop()
        self._bell = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def wants(self, told: Told) -> bool:
        return self._session is None or told.get("session") == self._session

    def tell(self, seen: Iterable[Seen], *, place: str) -> None:
        """From any thread. Whoever has not read the last ``most`` begins anew."""
        with self._lock:
            self._waiting.extend(seen)
            if len(self._waiting) > self._most:
                self._waiting.clear()
                self._waiting.append(Seen(kind="reset", id=place))
        with suppress(RuntimeError):  # the server is gone: nobody hears it
            self._loop.call_soon_threadsafe(self._bell.set)

    async def next(self) -> Seen:
        while True:
            with self._lock:
                if self._waiting:
                    return self._waiting.popleft()
                self._bell.clear()
            await self._bell.wait()


class Follower:
    """Follows the log of one engine for as long as somebody watches."""

    def __init__(self, engine: Engine, *, poll_seconds: float = _POLL_SECONDS) -> None:
        self._engine = engine
        self._poll_seconds = poll_seconds
        self._lock = Lock()
        self._watchers: list[Watcher] = []
        self._reader: EventReader | None = None
        self._is_failing = False
        self._bell = Bell()
        self._thread: Thread | None = None

    def __len__(self) -> int:
        return len(self._watchers)

    def watch(self, watcher: Watcher, last_id: str | None) -> None:
        """Let somebody watch from that place on, or from now. Blocks: it reads the log."""
        with self._lock:
            if self._reader is None:
                self._reader = self._opened()
            self._pass_on(self._reader)
            place = self._reader.place  # of another one perhaps: it was opened anew
            watcher.tell(self._greeting(last_id, place, watcher), place=place)
            self._watchers.append(watcher)
            if self._thread is None:
                self._thread = Thread(target=self._follow, name="holdfast-following", daemon=True)
                self._thread.start()

    def leave(self, watcher: Watcher) -> None:
        with self._lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)
        self._bell.set()

    def _opened(self) -> EventReader:
        reader = EventReader(self._engine.home / EVENTS)
        try:
            reader.last_placed(1)
        except BaseException:
            reader.close()
            raise
        return reader

    def _greeting(self, last_id: str | None, place: str, watcher: Watcher) -> list[Seen]:
        hello = Seen(kind="hello", id=place)
        if last_id is None or last_id == place:
            return [hello]
        missed = self._missed(last_id, place, watcher)
        if missed is None:
            return [Seen(kind="reset", id=place), hello]
        began = Seen(kind="hello", id=last_id)
        return [began, *missed]

    def _missed(self, last_id: str, place: str, watcher: Watcher) -> list[Seen] | None:
        """What stands between two places; None if that cannot be said, or is too much."""
        reader = EventReader(self._engine.home / EVENTS)
        try:
            if not reader.resume(last_id):
                return None
            missed: list[Seen] = []
            end = offset_of(place)
            for number, each in enumerate(reader.new_placed()):
                if offset_of(each.id) > end:
                    break  # written this moment: that is told with the rest
                if watcher.wants(each.told):
                    missed.append(Seen(kind="event", id=each.id, told=each.told))
                if len(missed) >= MOST or number >= _LOOKED_AT:
                    return None
            return missed
        finally:
            reader.close()

    def _follow(self) -> None:
        stop = self._engine.subscribe(self._hear)
        try:
            while True:
                self._bell.wait(self._poll_seconds)
                self._bell.clear()
                with self._lock:
                    if not self._watchers:
                        self._end()
                        return
                    if self._reader is not None:
                        self._pass_on(self._reader)
        finally:
            stop()

    def _end(self) -> None:
        self._thread = None
        self._is_failing = False
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _pass_on(self, reader: EventReader) -> None:
        """What cannot be read is said once, and watchers begin anew: then, and when it can be
        read again, from the end of what there is."""
        if self._is_failing:
            self._try_again()
            return
        new: list[Seen] = []
        try:
            for each in reader.new_placed():
                new.append(Seen(kind="event", id=each.id, told=each.told))
        except Exception:  # the border: others write that file
            log.warning("events cannot be read; tried again until they can", exc_info=True)
            self._is_failing = True
        if new:
            self._tell(new, reader.place)
        if self._is_failing:
            self._reset(reader.place)

    def _try_again(self) -> None:
        try:
            found = self._opened()
        except Exception:  # noqa: BLE001 - it was said already
            return
        if self._reader is not None:
            self._reader.close()
        self._reader = found
        self._is_failing = False
        log.info("events can be read again")
        self._reset(found.place)

    def _reset(self, place: str) -> None:
        for watcher in tuple(self._watchers):
            watcher.tell([Seen(kind="reset", id=place)], place=place)

    def _tell(self, new: list[Seen], place: str) -> None:
        for watcher in tuple(self._watchers):
            if wanted := [each for each in new if watcher.wants(each.told)]:
                watcher.tell(wanted, place=place)

    def _hear(self, event: Event) -> None:
        """A listener of the engine: the log has something new, or never will have."""
        if not event.is_kept:
            return
        if event.session is not None and self._is_incognito(event.session):
            place = self._reader.place if self._reader is not None else ""
            self._tell([Seen(kind="event", id=None, told=event.to_json())], place)
        else:
            self._bell.set()

    def _is_incognito(self, session: str) -> bool:
        return any(each.name == session for each in self._engine._rooms.incognito)


class Followers:
    """The followers of all places of one app."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of: dict[str, Follower] = {}

    def of(self, place: Place) -> Follower:
        with self._lock:
            return self._of.setdefault(place.name, Follower(place.engine))


def follower_of(app: Starlette, place: Place) -> Follower:
    """Who follows the log of that place."""
    found = getattr(app.state, "followers", None)
    if found is None:
        found = app.state.followers = Followers()
    assert isinstance(found, Followers)
    return found.of(place)
