"""The engines that are served: the agent's own, and the tour's if there is one.

A request names its place with the header ``Holdfast-Place``; without one it is the agent's own.
Sessions are opened once and kept, so that a conversation has one handle however many browsers
look at it.

Promise: no request reaches an engine that is not one of the places
(``tests/server/test_places.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Final, Protocol

from fastapi import Depends, Header, Request

from holdfast.engine.facade import Engine
from holdfast.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from holdfast.engine.session import Session
    from holdfast.engine.turn.running import Step
    from holdfast.models.registry import Choice

__all__ = ["OWN", "TOUR", "Here", "Place", "Places", "Player", "here"]

OWN: Final = "own"
TOUR: Final = "tour"


class Player(Protocol):
    """A conversation that is told instead of held: the tour's."""

    def left(self) -> int:
        """How many messages are still to come."""

    def session(self) -> str:
        """The name of the conversation that goes on now."""

    def upcoming(self) -> str | None:
        """What the user says next."""

    def play(self) -> AsyncIterator[Step]:
        """Let the next message be said and answered."""

    def answer(self, session: str, text: str) -> AsyncIterator[Step]:
        """Answer what a person typed, without a model: with what memory finds."""


@dataclass(slots=True, kw_only=True)
class Place:
    """One engine, and the conversations that are open in it."""

    name: str
    engine: Engine
    player: Player | None = None
    _open: dict[str, Session] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _choice: Choice | None = None

    def choice(self, *, again: bool = False) -> Choice:
        """Which model answers when none is named. Looking takes a while, so it is remembered."""
        found = None if again else self._choice
        if found is None:
            found = self._choice = self.engine.choose_model()
        return found

    def session(self, name: str) -> Session:
        """The conversation of that name.

        Raises:
            NotFound: there is none; says what became of it.
        """
        with self._lock:
            found = self._open.get(name)
        if found is not None:
            return found
        opened = self.engine.existing_session(name)
        with self._lock:
            return self._open.setdefault(name, opened)

    def keep(self, session: Session) -> Session:
        """A conversation that was just opened, with its model; the handle from now on."""
        with self._lock:
            self._open[session.name] = session
        return session

    def let_go(self, name: str) -> None:
        """It was renamed, deleted, or ended."""
        with self._lock:
            self._open.pop(name, None)

    def open_sessions(self) -> list[Session]:
        with self._lock:
            return list(self._open.values())


class Places:
    """All of them, by name."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._places = {place.name: place for place in places}

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())

    def get(self, name: str) -> Place:
        """
        Raises:
            NotFound: no such place is served here.
        """
        if name not in self._places:
            raise NotFound(
                f"There is no place {name!r} here.", hint=f"Places: {', '.join(self._places)}"
            )
        return self._places[name]


def here(
    request: Request,
    holdfast_place: Annotated[str, Header(description="Whose memory: own, or tour.")] = OWN,
) -> Place:
    """The place a request is about."""
    places: Places = request.app.state.places
    return places.get(holdfast_place)


Here = Annotated[Place, Depends(here)]
"""Of a route: the place it is asked about."""
