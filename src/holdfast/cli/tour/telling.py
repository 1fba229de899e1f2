"""The steps of the tour's conversation, for whoever leads it: on a terminal, or in the console.

Promise: nothing but the home that is named is touched, and no model of the person's is asked
(``tests/server/test_places.py``); a message is prepared before its answer is
heard and committed after it, as any host does it (``tests/doors/test_demo.py``,
``tests/server/test_tour_place.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.cli.tour.script import WINDOW, Exchange, Script
from holdfast.config import load_settings
from holdfast.engine.clock import SystemClock, TimeOrderedIds
from holdfast.engine.facade import Engine
from holdfast.engine.rooms import Rooms
from holdfast.engine.session import Session
from holdfast.engine.turn import Prepared
from holdfast.errors import ModelUnavailable
from holdfast.sessions.shapes import message_of
from holdfast.types import Entry, Json, Message, Scope

if TYPE_CHECKING:
    from holdfast.engine.turn.asking import Described
    from holdfast.ports import Model

__all__ = [
    "BY_WORDS",
    "UNREMINDED",
    "Asked",
    "asked",
    "began",
    "followed",
    "message_in",
    "opened",
    "recalled_since",
    "rooms_at",
]

_CONFIG: Final = {
    "notices.log.enabled": False,  # the tour itself says when the window is full
    "recall.timeout_ms": 10_000,  # a busy machine must not cost an answer
    "model.name": "none",  # a key in the environment, or a server nearby, is not for the tour
}
# What is recalled fills the window, so the story turns where it does by what is recalled.
BY_WORDS: Final = {"search.embedder": "none"}
"""Whether or not encoders are installed and loaded."""
UNREMINDED: Final = {"recall.mode": "off"}
"""Also where others keep the index up meanwhile."""


def rooms_at(home: Path, config: Mapping[str, Json] | None = None) -> Rooms:
    """A home with the settings as they come, but for those named: what is in a person's
    environment is for their own home, and so are their models, limits and whoever gets their
    notices."""
    environ = {name: each for name, each in os.environ.items() if not name.startswith("HOLDFAST_")}
    overrides = {**_CONFIG, **(config or {})}
    return Rooms(
        home,
        Scope(agent="main"),
        settings=load_settings(home, environ=environ, overrides=overrides),
        clock=SystemClock(),
        ids=TimeOrderedIds(),
        background=False,  # whatever is done is done where it is shown
        models=_nobody,
    )


def _nobody(name: str) -> Model:
    """No model answers on the tour but one that is handed to it: what is typed there costs
    nothing."""
    raise ModelUnavailable(
        f"No model answers on the tour, and so not {name!r}.",
        hint="Ask it in a home of your own: holdfast start",
    )


def opened(engine: Engine, script: Script) -> Session:
    """The conversation, in its small window."""
    return engine.session(script.session, window=WINDOW)


def began(engine: Engine, script: Script) -> Session:
    """The conversation, with nothing said yet."""
    session = opened(engine, script)
    session.set_goal(script.goal)
    return session


def followed(engine: Engine, script: Script, *, model: Model | None = None) -> Session:
    """The conversation after it, which knows nothing but what memory gives it."""
    # A tenth of the window is for what is restored: twice the window, twice as much to see.
    # A model knows its own.
    about: Described = {} if model is not None else {"window": 2 * WINDOW}
    return engine.session(script.next_session, model=model, **about)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call of the model: what came in before it, what it was sent, what it says."""

    came: tuple[Json, ...]
    prepared: Prepared
    answer: Json


def asked(session: Session, exchange: Exchange) -> Iterator[Asked]:
    """The calls of an exchange; each answer is committed when the next one is asked for."""
    for came, answer in exchange.calls:
        yield Asked(came=came, prepared=session.prepare(*came), answer=answer)
        session.commit(answer)


def recalled_since(session: Session, entries: int) -> str:
    """What memory put behind the last message, after so many entries: quoted, or nothing."""
    found = [each for each in session.entries()[entries:] if each.type == "recall"]
    return message_in(found[-1]).text if found else ""


def message_in(entry: Entry) -> Message:
    """What was said, or what memory put behind it."""
    found = message_of(entry)
    return found if found is not None else Message.of("unknown", "")
