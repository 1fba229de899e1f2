"""What kind of source a file is, and which day it is about: from its path alone.

Promise: every path has a kind; a date counts only if there is such a day
(``tests/search/test_chunking.py``). Pure.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from holdfast.search.documents import SourceKind

__all__ = ["classify", "day_in", "is_import"]

_LONG_TERM: Final = frozenset({"memory.md", "user.md", "soul.md", "identity.md", "agents.md"})
_DATED: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)", re.ASCII)
_WRITTEN: Final = re.compile(
    r"(?<!\d)(\d{4})(?:-(\d{2})-(\d{2})(?!\d)|\s?年\s?(\d{1,2})\s?月\s?(\d{1,2})\s?[日号])",
    re.ASCII,
)


def classify(path: str) -> tuple[SourceKind, date | None]:
    """The kind of a file and the day of its name.

    The path is from the folder of an agent, a user or a chat: ``memory/2026-03-04.md`` and
    ``chats/team/memory/2026-03-04.md`` are alike. A note in ``memory`` without a date in its
    name is one about a topic.
    """
    parts = _inside(path)
    day = _day(_DATED.match(parts[-1]))
    match parts:
        case [name]:
            return ("memory", None) if name.lower() in _LONG_TERM else ("extra", day)
        case ["memory", "topics", *_]:
            return "topic", day
        case ["memory", *_]:
            return ("topic" if day is None else "daily"), day
        case ["bank", *_]:
            return "bank", None
        case ["tasks", *_]:
            return "task", day
        case ["sessions", *_]:
            return "session", None
        case _:
            return "extra", day


def is_import(path: str) -> bool:
    """Whether the file was brought in from elsewhere: nobody here has said what it says."""
    return _inside(path)[:2] == ["memory", "imports"]


def day_in(title: str) -> date | None:
    """The day that a heading names: ``2026-03-04``, ``2026年3月4日``; the first of several."""
    found = _WRITTEN.search(title, 0, 200)
    if found is None:
        return None
    year, month, day = (found[1], found[2] or found[4], found[3] or found[5])
    return _date(year, month, day)


def _inside(path: str) -> list[str]:
    """The path from the folder of its place, in or out of the archive."""
    parts = path.split("/")
    if len(parts) > 2 and parts[0] in ("chats", "users"):
        parts = parts[2:]
    return parts[1:] if len(parts) > 1 and parts[0] == "archive" else parts


def _day(found: re.Match[str] | None) -> date | None:
    return _date(found[1], found[2], found[3]) if found is not None else None


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
