"""Task records, kept up with the conversation: after a reply, and before its words leave.

Promise: a record is never worth a reply: what fails is logged, and nothing else
(``tests/engine/test_recording.py``, ``tests/engine/test_tasking.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module

from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError
from holdfast.sessions.private import openly_said
from holdfast.types import Entry, Json

__all__ = ["keep_tasks"]

log = logging.getLogger("holdfast.engine")


def keep_tasks(rooms: Rooms, name: str, *, final: bool = False) -> None:
    """Bring the task records up to what was said. A record is never worth a reply."""
    try:
        if rooms.memory_mode(name) == "read-write":
            _keep(rooms, name, final=final)
    except HoldfastError as error:
        log.warning("session %s: task records not kept: %s", name, error.message)
    except Exception:  # the border: whatever it is, the reply is worth more
        log.warning("session %s: task records not kept", name, exc_info=True)


def _keep(rooms: Rooms, name: str, *, final: bool) -> None:
    transcript = rooms.transcript(name)
    window = transcript.window()
    entries = openly_said((*window.earlier, *window.tail), transcript.state().memory_mode)
    if not (any(map(_uses_tools, entries)) or rooms.base.identify("tasks")):
        return  # nothing to record; the memory rooms need not be loaded
    tasking = import_module("holdfast.engine.tasking")
    news = window.kept.get(tasking.News)
    tasking.keep_tasks(rooms.memory.tasks, name, entries, final=final, news=news)


def _uses_tools(entry: Entry) -> bool:
    parts: Sequence[Mapping[str, Json]] = (
        entry.data.get("parts", ()) if entry.type == "message" else ()
    )
    return any(part.get("type") == "tool_call" for part in parts)
