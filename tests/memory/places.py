"""A place to keep memories in, for the tests of this room."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

from holdfast.disk import Directory
from holdfast.memory.notes import Notes
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine
from holdfast.retain.documents import lines
from holdfast.testing import FixedClock, SequentialIds

__all__ = ["DAILY", "DAY", "a_line", "notes_at", "read_lines", "workspace_at"]

DAY = date(2026, 3, 4)
DAILY = "memory/2026-03-04.md"


def workspace_at(home: Path, *, prefix: str = "m") -> Workspace:
    return Workspace(Directory.open(home), clock=FixedClock(), ids=SequentialIds(prefix))


def notes_at(
    home: Path,
    *,
    today: Callable[[], date] = lambda: DAY,
    language: str = "en",
    prefix: str = "m",
) -> Notes:
    return Notes(workspace_at(home, prefix=prefix), today=today, language=language)


def a_line(text: str, **fields: object) -> RetainLine:
    return RetainLine(**{"kind": "W", "text": text, **fields})  # type: ignore[arg-type]


def read_lines(home: Path, path: str = DAILY) -> list[RetainLine]:
    text = (home / path).read_bytes().decode("utf-8", "surrogateescape")
    return [found.line for found in lines(text)]
