"""The id of an import: what ``--undo`` names.

Promise: it is taken with the first change and not before, and no two imports have the same, also
if they run at once (``tests/engine/test_importing_files.py``).
"""

from __future__ import annotations

from typing import Final

from holdfast.engine.importing.ledger import Ledger
from holdfast.engine.rooms import Rooms

__all__ = ["SINGLE", "RunId"]

SINGLE: Final = "live"
"""The import that conversations belong to which are brought in one by one, while they go on."""


class RunId:
    """The id of one import that may never need one."""

    def __init__(self, rooms: Rooms, ledger: Ledger, *, is_single: bool = False) -> None:
        self._rooms = rooms
        self._ledger = ledger
        self.is_single = is_single
        self.id: str | None = SINGLE if is_single else None
        """None until it is taken."""

    def taken(self) -> str:
        """The id; from now on nobody else gets it."""
        if self.id is None:
            at = self._rooms.clock.now().isoformat()
            self.id = self._ledger.begin_run(self._rooms.today().isoformat(), at)
        return self.id
