"""The memory lines of a place, read from its files, shown to those who may see them.

Promise: a line counts the moment it stands in a file, whoever wrote it; a file is parsed again
only when its content changed; a line that is narrowed to a user or a chat is shown to nobody
else (``tests/memory/test_facts.py``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from holdfast.markdown import split_lines
from holdfast.memory.facts.identity import told_apart
from holdfast.memory.facts.shapes import Fact
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, line_id
from holdfast.retain.documents import lines, rewritten
from holdfast.scope import may_read_here
from holdfast.types import Scope

__all__ = ["Pages", "edited"]

_DAILY: Final = re.compile(r"(?:archive/)?memory/(\d{4}-\d{2}-\d{2})[^/]{0,60}\.md")
_NOT_OURS: Final = frozenset({"README.md"})  # explains the lines, with examples


@dataclass(frozen=True, slots=True)
class _Page:
    hash: bytes
    facts: tuple[Fact, ...]


class Pages:
    """All lines that a reader may see. Safe to use from several threads."""

    def __init__(
        self,
        workspace: Workspace,
        reader: Scope | None,
        memberships: frozenset[str] = frozenset(),
    ) -> None:
        self._workspace = workspace
        self._reader = reader
        self._memberships = memberships
        self._cache: dict[str, _Page] = {}
        self.parsed = 0
        """How many files were parsed so far."""

    def facts(self, *, archive: bool = False) -> list[Fact]:
        """In the order of the files; what is in the archive comes last."""
        return _told_apart(self._pages(archive=archive))

    def snapshot(self) -> tuple[list[Fact], tuple[bytes, ...]]:
        """The facts outside the archive, and what is the same as long as no file changed."""
        pages = self._pages()
        return _told_apart(pages), tuple(page.hash for page in pages)

    def text(self, path: str) -> str:
        return self._workspace.read(path) or ""

    def _pages(self, *, archive: bool = False) -> list[_Page]:
        paths = [path for path in self._workspace.files(archive=archive) if path not in _NOT_OURS]
        paths.sort(key=lambda path: (path.startswith("archive/"), path))
        return [self._page(path) for path in paths]

    def _page(self, path: str) -> _Page:
        text = self.text(path)
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
        page = self._cache.get(path)
        if page is None or page.hash != digest:
            self.parsed += 1
            page = _Page(digest, tuple(self._facts(path, text)))
            self._cache[path] = page
        return page

    def _facts(self, path: str, text: str) -> Iterator[Fact]:
        daily = _DAILY.fullmatch(path)
        day = _day(daily[1]) if daily else None
        for found in lines(text):
            if self.shows(found.line):
                yield Fact(
                    id=line_id(found.line),
                    line=found.line,
                    path=path,
                    number=found.number,
                    archived=path.startswith("archive/"),
                    day=day,
                )

    def shows(self, line: RetainLine) -> bool:
        """Whether the line is for the reader."""
        return may_read_here(self._reader, line, memberships=self._memberships)


def _told_apart(pages: Sequence[_Page]) -> list[Fact]:
    """The facts of all pages; the id of one that has it from another is made of its words."""
    facts = [fact for page in pages for fact in page.facts]
    if len({fact.id for fact in facts}) == len(facts):
        return facts
    ids = told_apart((fact.id, fact.line) for fact in facts)
    return [
        fact if fact.id == id else replace(fact, id=id) for fact, id in zip(facts, ids, strict=True)
    ]


def _day(written: str) -> date | None:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def edited(text: str, change: Callable[[RetainLine], RetainLine]) -> str:
    """The text with its lines changed; of those that stay as they were, every byte."""
    source = split_lines(text)
    for found in lines(text):
        new = change(found.line)
        if new != found.line:
            source[found.number - 1] = rewritten(source[found.number - 1], new)
    return "".join(source)
