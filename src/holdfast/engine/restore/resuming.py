"""What is restored for a program that keeps its conversation itself, as one text of so many
characters.

Promise: as ``restoring``: quoted, sourced, nothing that a tool or an import brought; at most
``most`` characters; with ``own``, where *that* conversation stopped, however many others of its
place went on since (``tests/doors/test_hooks.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from time import perf_counter

from holdfast.context.restoring import Material, plan_restore, spoken_in
from holdfast.engine.admission import refusal
from holdfast.engine.remembering import said_in
from holdfast.engine.restore.gathering import gather, has_memory
from holdfast.engine.restore.packet import Last, last_session, resume
from holdfast.engine.restore.restoring import NotRestored, Restored
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.sessions.private import openly_said

__all__ = ["resumed"]

_RECENT = 300


def resumed(
    rooms: Rooms, *, most: int, besides: str = "", own: str | None = None
) -> Restored | NotRestored:
    """What is remembered here, with where a conversation stopped: ``own``, else the last one
    that is not ``besides``; or why there is nothing."""
    began = perf_counter()
    if rooms.settings.memory.mode == "off":
        return NotRestored(reason="memory is switched off")
    if (refused := refusal(rooms, rooms.scope)) is not None:
        return NotRestored(reason=refused.message)
    try:
        last = _stopped(rooms, own) if own is not None else last_session(rooms, besides)
        if last is None and not has_memory(rooms):
            return NotRestored(reason="nothing is remembered yet")
        language = _language(rooms, last)
        gathered = gather(rooms, language)
        shown = [*(each.source for each in gathered.materials), besides]
        materials = [*gathered.materials, *resume(rooms, last, language, shown=shown)]
    except HoldfastError as error:
        return NotRestored(reason=f"memory could not be read: {error.message}")
    nonce = _nonce(materials)
    plan = plan_restore(materials, budget=most, price=len, nonce=nonce, language=language)
    if plan is None:
        return NotRestored(reason="nothing is remembered yet")
    return Restored(
        text=plan.text,
        tokens=rooms.estimator(None).text(plan.text),
        sources=plan.sources,
        cut=(*plan.cut, *gathered.unread),
        took_ms=(perf_counter() - began) * 1000,
    )


def _stopped(rooms: Rooms, name: str) -> Last | None:
    transcript = rooms.transcript(name)
    state = transcript.state()
    if not state.messages or state.memory_mode == "off":
        return None
    entries = openly_said(transcript.entries(last=_RECENT), state.memory_mode)
    return Last(name=name, state=state, entries=tuple(entries), said=said_in(rooms, name))


def _language(rooms: Rooms, last: Last | None) -> str:
    named = rooms.settings.memory.language
    if named.casefold().startswith(("zh", "en")):
        return named.casefold()[:2]
    return "en" if last is None else spoken_in([each.text for each in last.said[-20:]])


def _nonce(materials: Sequence[Material]) -> str:
    """Of everything that is quoted: it cannot be written into what it is made of."""
    held = hashlib.sha256()
    for each in materials:
        for line in each.lines:
            held.update(b"\x1f" + line.text.encode("utf-8", "replace"))
    return held.hexdigest()[:16]
