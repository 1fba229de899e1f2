"""Logs of one conversation whose lines name the one before them, gathered for a replay.

Promise: of a tree of messages it is the path to the last one
(``tests/foundation/test_logs_sources.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.formats.logs.recorded import Recorded
from holdfast.formats.logs.said import LineReader, Said, recorded_of
from holdfast.formats.wire import Wire

__all__ = ["Telling"]


class Telling:
    """What one reader has read so far; ``finish`` tells it and begins anew."""

    def __init__(self, make: Callable[[], LineReader]) -> None:
        self._make = make
        self._begin()

    def _begin(self) -> None:
        self._reader = self._make()
        self._said: list[tuple[int, Said]] = []
        self._parents: dict[str, str | None] = {}

    def add(self, line: int, value: Wire) -> None:
        own, parent = value.get("id"), value.get("parentId")
        if isinstance(own, str) and "parentId" in value:
            # Also of lines that say nothing: the way back leads through them.
            self._parents[own] = parent if isinstance(parent, str) else None
        self._said += [(line, each) for each in self._reader.add(value)]

    def finish(self) -> Iterator[Recorded]:
        if self._said:
            reader = self._reader
            said = self._path()
            if left := len(self._said) - len(said):
                reader.left.add("messages of branches that were abandoned", left)
            about = reader.about
            yield recorded_of(said, id=about.id, format=reader.format, left=reader.left)
        self._begin()

    def _path(self) -> list[tuple[int, Said]]:
        if not self._parents:
            return self._said
        on_path: set[str] = set()
        current: str | None = self._said[-1][1].id
        while current is not None and current not in on_path:
            on_path.add(current)
            current = self._parents.get(current)
        return [(line, each) for line, each in self._said if not each.id or each.id in on_path]
