"""The memory of one place, opened and wired together: files, notes, facts, tasks, archive.

Promise: every change of a memory file is told, put on the audit record and, if ``memory.git``
is on, committed; none of the three can undo or break the change
(``tests/engine/test_remembering.py``).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.engine.audit import Audit
from holdfast.errors import HoldfastError
from holdfast.events import MemoryChanged, StorageDegraded
from holdfast.memory.facts import Facts
from holdfast.memory.forgetting.archive import Archive
from holdfast.memory.notes import Notes
from holdfast.memory.notes.wording import README
from holdfast.memory.tasks import Tasks
from holdfast.memory.workspace import Operation, Workspace
from holdfast.memory.workspace.versions import Versions

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = ["Memories"]

log = logging.getLogger("holdfast.engine")


class Memories:
    """What an agent knows in one place: its own folder, a chat's or a user's."""

    def __init__(self, rooms: Rooms) -> None:
        settings = rooms.settings.memory
        self._rooms = rooms
        self.audit = Audit(rooms.home, rooms.clock)
        self._versions = Versions(rooms.base) if settings.git else None
        self.workspace = Workspace(
            rooms.base,
            clock=rooms.clock,
            ids=rooms.ids,
            read_only=settings.mode != "read-write",
            on_change=self._changed,
        )
        self.notes = Notes(self.workspace, today=rooms.today, language=settings.language)
        now = rooms.clock.now
        self.facts = Facts(self.workspace, now=now, zone=rooms.zone, reader=rooms.scope)
        self.tasks = Tasks(
            self.workspace, now=now, zone=rooms.zone, ids=rooms.ids, language=settings.language
        )
        self.archive = Archive(
            self.workspace, now=now, reader=rooms.scope, language=settings.language
        )

    def _changed(self, operation: Operation) -> None:
        """After the files are on disk: what is said here is a report, never a condition."""
        self.workspace.welcome(README)
        paths = [change.path for change in operation.changes]
        self._rooms.tell(
            MemoryChanged, operation=operation.id, what=operation.what, files=len(paths)
        )
        try:
            self.audit.record(
                operation.what,
                agent=self._rooms.scope.agent,
                operation=operation.id,
                changes=operation.changes,
            )
            if self._versions is not None:
                self._versions.commit(f"{operation.what} {operation.id}", paths)
        except HoldfastError as error:
            log.warning("memory change %s: %s", operation.id, error.message)
            self._rooms.tell(
                StorageDegraded, state="failing", operation="record", reason=error.message
            )
