"""What a conversation was told at its start, or what a new one would be told now.

Promise: nothing is changed; what is shown is what the model reads, byte for byte
(``tests/engine/test_chronicle.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.engine.chronicle.timeline import timeline_of
from holdfast.engine.restore import NotRestored, restore
from holdfast.engine.session import next_name

if TYPE_CHECKING:
    from holdfast.engine.session import Session

__all__ = ["Beginning", "beginning_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    text: str
    tokens: int
    sources: tuple[str, ...]
    is_preview: bool
    reason: str | None = None
    """Why there is nothing, if there is nothing."""


def beginning_of(session: Session) -> Beginning:
    """What this one began with; if it began with nothing, what the next one would begin with."""
    rooms, state = session._rooms, session._transcript.state()
    price = rooms.estimator(state.model).text
    if state.restored is not None:
        return Beginning(
            text=state.restored,
            tokens=price(state.restored),
            sources=_sources(session),
            is_preview=False,
        )
    mode = rooms.memory_mode(session.name)
    chosen = rooms.settings.memory.language
    found = restore(
        rooms,
        next_name(session.name, rooms.store.names()),
        window=session.explain_context().budget.window,
        model=state.model,
        price=price,
        language=None if chosen == "auto" else chosen,
        mode=mode,
    )
    if isinstance(found, NotRestored):
        return Beginning(text="", tokens=0, sources=(), is_preview=True, reason=found.reason)
    return Beginning(text=found.text, tokens=found.tokens, sources=found.sources, is_preview=True)


def _sources(session: Session) -> tuple[str, ...]:
    """The files and conversations that were quoted."""
    told = [each for each in timeline_of(session).happenings if each.kind == "restore"]
    return told[-1].sources if told else ()
