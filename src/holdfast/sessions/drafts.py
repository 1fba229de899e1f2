"""An entry on its way into a transcript.

Promise: whatever passes ``check`` can stand in the envelope of a record as it is
(``tests/sessions/test_shapes.py``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, get_args

from holdfast.errors import UsageError
from holdfast.types import EntryType, Json

__all__ = ["Draft"]

_OWN_TYPES: Final = frozenset(get_args(EntryType))
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SAFE_TYPE: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An entry that has no place yet. Given an id or a time, it keeps it."""

    type: str
    data: Mapping[str, Json]
    id: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)
    at: datetime | None = None
    """When it was said, if that was not now: with a zone."""

    def check(self) -> None:
        """Refuse names that cannot stand in an envelope. Ours can."""
        if self.type not in _OWN_TYPES and not _SAFE_TYPE.fullmatch(self.type):
            raise UsageError(f"{self.type!r} is not an entry type: use a-z, 0-9, '_', '.', '-'.")
        if self.id is not None and not _SAFE_ID.fullmatch(self.id):
            raise UsageError(f"{self.id!r} is not an entry id: use A-Z, a-z, 0-9, '_', '.', '-'.")
