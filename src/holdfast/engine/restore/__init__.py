"""What is brought back: at the start of a session, and before each message of a user.

    restoring   what a new session starts with
    gathering   the memory files of the place that belong there
    packet      where the last session stopped, and what was done in it
    recalling   what is remembered about a message that was just said
    bar         how much a passage must have to do with it

Both return values and change nothing: who asked for them appends the entry and tells of it.
Proved by ``tests/engine/test_restore.py`` and ``tests/engine/test_recall.py``.
"""

from __future__ import annotations

from holdfast.engine.restore.recalling import NotRecalled, Recalled, recall
from holdfast.engine.restore.restoring import Cut, NotRestored, Restored, restore

__all__ = ["Cut", "NotRecalled", "NotRestored", "Recalled", "Restored", "recall", "restore"]
