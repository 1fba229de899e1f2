"""What routes know of the server they are part of: since when, where, and who gives out codes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from holdfast.server.tokens import Given, Tokens

__all__ = ["TOKEN", "WHO", "Desk", "Language"]

Language = Literal["en", "zh"]

WHO: Final = "holdfast.who"
"""In the scope of a request: whose token it came with, ``master`` or ``browser``."""
TOKEN: Final = "holdfast.token"
"""In the scope of a request: that token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The server, seen from its routes."""

    tokens: Tokens
    started_at: datetime
    url: str
    language: Language = "en"
    """Of whoever started it."""

    def link(self, given: Given, *, place: str | None = None) -> str:
        """Where a browser signs in with this code: behind the ``#``, which is never sent."""
        return f"{self.url}/#code={given.secret}" + (f"&place={place}" if place else "")
