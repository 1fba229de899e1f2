"""What the options of ``holdfast chat`` ask for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Wish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Everything is optional: then a new session begins with the model that is chosen."""

    session: str | None = None
    go_on: bool = False
    model: str | None = None
    message: str | None = None
    window: int | None = None
    system: str | None = None
    memory: str | None = None
    incognito: bool = False
    as_json: bool = False
