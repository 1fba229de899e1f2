"""Retain lines → the daily file: ``memory/YYYY-MM-DD.md``, under its heading ``## Retain``.

Promise: what ``append`` returned is on disk; whatever else stands in the file stays, also what
an editor saved a moment ago; of two processes that write the same day neither loses a line; a
line that is already there is not written again (``tests/memory/test_notes.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from holdfast.disk import Directory, FileLock
from holdfast.errors import StorageError
from holdfast.markdown import append_to_section, split_lines

__all__ = ["Notes", "Written"]

HEADING: Final = "Retain"
_COMMENT: Final = "<!-- hf "
_TRIES: Final = 10
_AS_IT_IS: Final = ("utf-8", "surrogateescape")  # bytes that are not UTF-8 come back the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of the lines that were given."""

    path: str
    """From the agent's folder."""
    added: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """They stood there already."""


class Notes:
    """The memory files of one agent, as far as they are only appended to."""

    def __init__(self, base: Directory) -> None:
        self._folder = base.child("memory")
        self._locks = base.child(".journal").child("locks")

    def append(self, day: date, lines: Sequence[str]) -> Written:
        """Write the lines to that day's file, in order, without those it already holds."""
        name = f"{day.isoformat()}.md"
        path = f"memory/{name}"
        if not lines:
            return Written(path=path)
        with FileLock(self._locks, "memory").hold():
            for _ in range(_TRIES):
                before = self._folder.read(name)
                text = (before or f"# {day.isoformat()}\n".encode()).decode(*_AS_IT_IS)
                added, skipped = _new_ones(text, lines)
                if added:
                    after = append_to_section(text, HEADING, *added)
                    if self._folder.read(name) != before:
                        continue  # an editor, which knows no lock, saved it this moment
                    self._folder.replace(name, after.encode(*_AS_IT_IS))
                    self._folder.sync_way()
                return Written(path=path, added=tuple(added), skipped=tuple(skipped))
        raise StorageError(
            f"{path} changes faster than it can be read: {_TRIES} tries found it changed.",
            hint="Close the program that keeps writing it, and try again.",
        )

    def read(self, day: date) -> str | None:
        """The text of that day's file, if there is one."""
        data = self._folder.read(f"{day.isoformat()}.md")
        return None if data is None else data.decode("utf-8", "replace")


def _new_ones(text: str, lines: Sequence[str]) -> tuple[list[str], list[str]]:
    there = {_visible(line) for line in split_lines(text)}
    added: list[str] = []
    skipped: list[str] = []
    for line in lines:
        shown = _visible(line)
        (skipped if shown in there else added).append(line)
        there.add(shown)
    return added, skipped


def _visible(line: str) -> str:
    """The line as a person reads it: without its hidden comment."""
    line = line.strip()
    start = line.rfind(_COMMENT)
    return line[:start].rstrip() if start >= 0 and line.endswith("-->") else line
