"""What a new session starts with, read from the files and the last conversation of its place.

Promise: the same files give the same bytes; nothing of another place, nothing a tool or an
import brought, nothing that does not hold any more is in it, and nothing outside of its fences;
where nothing is remembered yet no index is opened (``tests/engine/test_restore.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from holdfast.context.restoring import Cut, Material, plan_restore, restore_budget, spoken_in
from holdfast.engine.admission import refusal
from holdfast.engine.restore.gathering import gather, has_memory
from holdfast.engine.restore.packet import last_session, resume
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError

__all__ = ["Cut", "NotRestored", "Restored", "restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The text that stands in front of a session from its start on."""

    text: str
    tokens: int
    sources: tuple[str, ...]
    cut: tuple[Cut, ...]
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRestored:
    reason: str
    took_ms: float = 0.0


def restore(
    rooms: Rooms,
    session: str,
    *,
    window: int,
    model: str | None,
    price: Callable[[str], int],
    language: str | None,
    mode: Literal["read-write", "read", "off"] = "read-write",
) -> Restored | NotRestored:
    """What is remembered in the place of this session, or why nothing is restored."""
    began = perf_counter()

    def not_restored(reason: str) -> NotRestored:
        return NotRestored(reason=reason, took_ms=_since(began))

    if mode == "off" or rooms.settings.memory.mode == "off":
        return not_restored("memory is switched off")
    if (refused := refusal(rooms, rooms.scope)) is not None:
        return not_restored(refused.message)
    budget = restore_budget(window, configured=rooms.settings.restore.max_tokens, model=model)
    if not budget:
        return not_restored("restore.max_tokens is 0")
    try:
        materials, unread = _materials(rooms, session, language)
    except HoldfastError as error:
        return not_restored(f"memory could not be read: {error.message}")
    if not materials:
        return not_restored(
            f"{unread[0].source}: {unread[0].how_to_read}"
            if unread
            else "nothing is remembered yet"
        )
    plan = plan_restore(
        materials,
        budget=budget,
        price=price,
        nonce=_nonce(session, materials),
        language=_language(rooms, language, materials),
    )
    if plan is None:
        return not_restored(f"nothing of what is remembered fits into {budget} tokens")
    return Restored(
        text=plan.text,
        tokens=plan.tokens,
        sources=plan.sources,
        cut=(*plan.cut, *unread),
        took_ms=_since(began),
    )


def _materials(
    rooms: Rooms, session: str, language: str | None
) -> tuple[list[Material], list[Cut]]:
    last = last_session(rooms, besides=session)
    if last is None and not has_memory(rooms):
        return [], []
    spoken = _language(rooms, language, ())
    if spoken == "auto":
        spoken = spoken_in([each.text for each in last.said[-20:]]) if last is not None else "en"
    gathered = gather(rooms, spoken)
    # What is said here is in the request anyway.
    shown = [*(each.source for each in gathered.materials), session]
    packet = resume(rooms, last, spoken, shown=shown)
    return [*gathered.materials, *packet], gathered.unread


def _language(rooms: Rooms, asked: str | None, materials: Sequence[Material]) -> str:
    """As asked, else as set, else that of what is restored."""
    for named in (asked, rooms.settings.memory.language):
        if named and named.casefold().startswith(("zh", "en")):
            return named.casefold()[:2]
    if not materials:
        return "auto"
    return spoken_in(line.text for each in materials for line in each.lines[:5])


def _nonce(session: str, materials: Sequence[Material]) -> str:
    """Of everything that is quoted: it cannot be written into what it is made of."""
    held = hashlib.sha256(session.encode("utf-8", "replace"))
    for each in materials:
        for line in each.lines:
            held.update(b"\x1f" + line.text.encode("utf-8", "replace"))
    return held.hexdigest()[:16]


def _since(began: float) -> float:
    return (perf_counter() - began) * 1000
