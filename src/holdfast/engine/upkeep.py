"""What is done while nobody speaks: save what conversations at rest hold, compact old large ones.

A conversation is at rest when the provider's cache has gone cold. If it was not compacted for
``compaction.max_interval_seconds`` and is large enough to be pruned, it is compacted now, not
before the next answer; if nobody spoke for that long, what it holds is saved by rules, so that
other conversations know of it.

Promise: a conversation in the midst of a turn is left alone; whatever leaves is saved first, for
this goes through ``ensure_fit`` like everything else (``tests/engine/test_upkeep_turns.py``).
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from threading import Event, Thread, current_thread
from typing import Final

from holdfast.context.flush import FlushPlan
from holdfast.engine.flush.saving import FlushDone, Saver
from holdfast.engine.rooms import Rooms
from holdfast.engine.turn.asking import Ask
from holdfast.engine.turn.compacting import CompactionDone, said_in
from holdfast.engine.turn.fit import ensure_fit, explain, save_view
from holdfast.errors import HoldfastError
from holdfast.sessions.store import Look
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry

__all__ = ["Upkeep", "keep_up"]

log = logging.getLogger("holdfast.engine")

_EVERY_SECONDS: Final = 60.0
_LEAVE_SECONDS: Final = 5.0


def keep_up(rooms: Rooms) -> list[str]:
    """Look after every conversation this engine has talked in; what was done, in words."""
    done: list[str] = []
    for name, ask in list(rooms.talks.items()):
        try:
            done += _keep_up(rooms, name, ask())
        except HoldfastError as error:
            log.info("upkeep of %s: %s", name, error.message)
    return done


def _keep_up(rooms: Rooms, name: str, ask: Ask) -> list[str]:
    transcript = rooms.transcript(name)
    look = rooms.store.look(transcript)
    last = _last_answer(look)
    now = rooms.clock.now()
    if last is None or now - last.at <= rooms.settings.prune.ttl:
        return []  # in the midst of a turn, or the cache is warm
    interval = timedelta(seconds=rooms.settings.compaction.max_interval_seconds)
    if not interval:
        return []
    if now - _since(look) > interval and _is_large(rooms, name, ask):
        prepared = ensure_fit(rooms, transcript, ask, why="interval")
        if any(isinstance(each, CompactionDone) for each in prepared.done):
            return [f"{name}: compacted"]
    if now - last.at > interval and _holds_unsaved(rooms, transcript, look):
        saved = save_view(rooms, transcript, "idle", must=False)
        if isinstance(saved, FlushDone):
            return [f"{name}: saved {saved.saved} lines"]
    return []


def _holds_unsaved(rooms: Rooms, transcript: Transcript, look: Look) -> bool:
    shown = [id for item in look.view.items for id in item.stands_for]
    plan = Saver(rooms, transcript).plan(look, said_in(look, shown), reason="idle")
    return isinstance(plan, FlushPlan)


def _is_large(rooms: Rooms, name: str, ask: Ask) -> bool:
    found = explain(rooms, rooms.transcript(name), ask)
    return found.projection.tokens >= found.budget.prune_at


def _last_answer(look: Look) -> Entry | None:
    """The last answer, if nothing came after it: else a turn is under way."""
    for entry in reversed(look.entries):
        if entry.type == "message":
            calls = any(p.get("type") == "tool_call" for p in entry.data.get("parts", ()))
            return entry if entry.data.get("role") == "assistant" and not calls else None
    return None


def _since(look: Look) -> datetime:
    """When it was last compacted, or began."""
    return look.compaction.at if look.compaction is not None else look.entries[0].at


class Upkeep:
    """The thread that looks after conversations from time to time."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._is_over = Event()
        self._thread = Thread(target=self._work, name="holdfast-upkeep", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._is_over.wait(_EVERY_SECONDS):
            try:
                keep_up(self._rooms)
            except Exception:  # the border: a thread that dies keeps nothing up
                log.exception("upkeep failed")

    def close(self) -> None:
        self._is_over.set()
        if current_thread() is not self._thread:
            self._thread.join(_LEAVE_SECONDS)
