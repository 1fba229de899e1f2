"""A conversation that leaves nothing behind: no memory, no transcript, no event.

It has rooms of its own in a folder that is gone with it; while it lasts it can be compacted like
any other. Whoever listens to the engine hears of it all the same.

Promise: no byte of it is in the home, while it lasts or after
(``tests/engine/test_incognito.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.disk.scratch import remove_scratch, scratch_folder
from holdfast.engine.rooms import Rooms
from holdfast.engine.session import Session, start_session
from holdfast.events import Event
from holdfast.ports import Model

if TYPE_CHECKING:
    from holdfast.engine.turn.asking import About

__all__ = ["start"]


def start(rooms: Rooms, name: str, *, about: About, model: Model | None) -> Session:
    """A session in a folder of its own."""
    return _Scratch(rooms, about, model).begin(name)


class _Scratch:
    """The rooms of one incognito session, and what is done when it is over."""

    def __init__(self, outer: Rooms, about: About, model: Model | None) -> None:
        self._outer = outer
        self._about = about
        self._model = model
        self._rooms = Rooms(
            scratch_folder(),
            outer.scope,
            settings=outer.settings,
            clock=outer.clock,
            ids=outer.ids,
            background=outer.has_background,
            models=outer.own_models,
        )
        self._rooms.is_scratch = True
        self._rooms.spending = outer.spending  # a day's limit is a day's limit
        self._rooms.events.subscribe(self._pass_on)
        self._session: Session | None = None

    def _pass_on(self, event: Event) -> None:
        """Let those who listen to the engine hear of it; the log does not."""
        with self._outer.event_log.silent():
            self._outer.events.emit(event)

    def begin(self, name: str) -> Session:
        session = start_session(
            self._rooms,
            name,
            about=self._about,
            model=self._model,
            memory="off",
            incognito=self,
        )
        self._session = session
        self._outer.incognito.append(session)
        return session

    def end(self) -> None:
        self._rooms.finish_background(seconds=self._rooms.settings.flush.inline_seconds)
        self._rooms.close_search()
        self._rooms.release_all()
        if self._session in self._outer.incognito:
            self._outer.incognito.remove(self._session)
        remove_scratch(self._rooms.home_path)

    def follow(self, name: str) -> Session:
        """The conversation after this one; it is incognito as well."""
        return start(self._outer, name, about=self._about, model=self._model)
