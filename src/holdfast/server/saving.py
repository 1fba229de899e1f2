"""The end of a server: what was said in its conversations is saved, in one stretch of time.

Several are saved at once, the newest first. A model is asked for as long as one flush may keep
somebody waiting (``flush.inline_seconds``); what is not begun by then is saved by rules, which
take no time worth telling. Conversations that were only looked at wait for nobody.

Promise: a model that does not answer costs its time once, not once for each conversation
(``tests/server/test_running.py``).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final

from holdfast.engine.turn.fit import save_view
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.engine.session import Session
    from holdfast.server.places import Place

__all__ = ["save_all"]

log = logging.getLogger("holdfast.server")

_AT_ONCE: Final = 8
_REASON: Final = "shutdown"
_EVER: Final = datetime.min.replace(tzinfo=UTC)


def save_all(places: Iterable[Place], since: Mapping[str, datetime]) -> None:
    """Save what was said since then, by the name of the place; what the tour says is nobody's."""
    threads: list[tuple[_Saving, list[Thread]]] = []
    for place in places:
        if place.player is None:
            saving = _Saving(place, since[place.name])
            threads.append((saving, saving.begin()))
    for saving, begun in threads:
        for each in begun:
            each.join(saving.left)
        saving.tell_what_is_left()


class _Saving:
    def __init__(self, place: Place, since: datetime) -> None:
        settings = place.engine.settings.flush
        self._name = place.name
        self._most = settings.total_seconds
        self._queue: SimpleQueue[Session] = SimpleQueue()
        found = _spoken_in(place, since)
        self._open = {each.name for each in found}
        for each in found:
            self._queue.put(each)
        now = time.monotonic()
        self._ask_until, self._end = now + settings.inline_seconds, now + settings.total_seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def begin(self) -> list[Thread]:
        # Daemons: a disk that never answers must not keep the process alive.
        threads = [
            Thread(target=self._work, name="holdfast-saving", daemon=True)
            for _ in range(min(_AT_ONCE, self._queue.qsize()))
        ]
        for each in threads:
            each.start()
        return threads

    def tell_what_is_left(self) -> None:
        if self._open:
            names = ", ".join(sorted(self._open))
            log.error("%s: not saved within %.0f seconds: %s", self._name, self._most, names)

    def _work(self) -> None:
        while True:
            try:
                session = self._queue.get_nowait()
            except Empty:
                return
            try:
                self._save(session)
            except HoldfastError as error:
                log.error("session %s: not all was saved: %s", session.name, error.message)
            except Exception:  # the border: one conversation must not keep another from it
                log.exception("session %s: not all was saved", session.name)
            self._open.discard(session.name)

    def _save(self, session: Session) -> None:
        if time.monotonic() < self._ask_until:
            session.flush(_REASON)
        else:
            save_view(session._rooms, session._transcript, _REASON)


def _spoken_in(place: Place, since: datetime) -> list[Session]:
    """The conversations in which something was said since then, the newest first."""
    found = [(_last(each), each) for each in place.open_sessions() if not each.is_incognito]
    found.sort(key=lambda each: each[0] or since, reverse=True)
    return [session for at, session in found if at is None or at >= since]


def _last(session: Session) -> datetime | None:
    """When it was written to; None if that cannot be said: whoever saves it says why."""
    try:
        at = session.state()["last_at"]
    except HoldfastError:
        return None
    return datetime.fromisoformat(str(at)) if at else _EVER
