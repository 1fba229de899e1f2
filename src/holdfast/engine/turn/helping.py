"""Who can help a flush, and with what: the model, the live request, a look into memory.

Promise: the live request is repeated only where repeating is cheap, and what it shows shortened is
said (``tests/engine/test_ladder.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from holdfast.context.flush.found import Prefix
from holdfast.engine.flush.ladder import Help
from holdfast.engine.rooms import Rooms
from holdfast.engine.tools import call_tool, definitions
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.measuring import Measured, Measurer
from holdfast.errors import HoldfastError
from holdfast.models.windows import window_of
from holdfast.ports import Model, traits_of
from holdfast.sessions.private import said_in_private
from holdfast.sessions.transcript import Transcript
from holdfast.types import Json

__all__ = ["help_of"]

_ALLOWED: Final = frozenset({"memory_write", "memory_retain", "memory_search"})


def help_of(
    rooms: Rooms, transcript: Transcript, ask: Ask, measured: Measured, measurer: Measurer
) -> Help:
    """What the flush of this session may use."""
    model = ask.flusher
    if model is None:
        return Help()
    known = traits_of(model).window or window_of(model.name)
    return Help(
        model=model,
        window=known or measured.budget.window,
        price=measurer.estimator.price,
        tools=[each for each in definitions() if _is_allowed(each)],
        reading=measured.projected,
        prefix=_prefix(model, ask, measured),
        unseen=frozenset(
            id for item in measured.look.view.items if item.shortened for id in item.stands_for
        ),
        search=partial(_search, rooms, transcript.name),
        session=None if rooms.is_scratch else transcript.name,
    )


def _is_allowed(definition: Mapping[str, Json]) -> bool:
    return definition["function"]["name"] in _ALLOWED


def _prefix(model: Model, ask: Ask, measured: Measured) -> Prefix | None:
    """The live request, if this model was just given it and keeps what it has read."""
    if not traits_of(model).caches_prefix or model.name != ask.model:
        return None
    if said_in_private(measured.look.entries, "read-write"):
        return None  # it holds what is not to be read for memory
    return Prefix(
        system=ask.whole_system,
        tools=tuple(ask.tools),
        messages=tuple(item.message for item in measured.look.view.items),
    )


def _search(rooms: Rooms, session: str, query: str) -> str:
    """What memory says, as a model reads it; a search that fails is said to have failed."""
    try:
        found = call_tool(rooms, "memory_search", {"query": query}, session=session)
    except HoldfastError as error:
        return f"The search failed: {error.message}"
    return str(found.get("text", "")) if isinstance(found, dict) else str(found)
