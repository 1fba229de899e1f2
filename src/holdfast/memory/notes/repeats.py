"""Which memory stands where: so that what is known is not written again.

Of every memory file the keys of its lines are kept in this process, until the file changes; a
write looks into them instead of reading all files again. Near-duplicates are only looked for
among the newest lines of a few files.

Promise: what is called a repeat says the same as the line it names, to the letter but for case
and blanks; what is called a near-duplicate agrees with it in kind, entity, numbers, dates,
identifiers, names and polarity, and says nothing more (``tests/memory/test_notes_repeats.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.disk import Directory, Seen
from holdfast.errors import HoldfastError
from holdfast.markdown import split_lines
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, parse
from holdfast.retain.documents import lines, rewritten
from holdfast.text import normalise
from holdfast.text.likeness import fingerprint, says_no_more, similarity

__all__ = ["Page", "Pages", "Repeat", "find", "page_of", "stamp_of", "with_line"]

NEAR: Final = 0.85
_NEWEST: Final = 2_000  # lines of a file among which near-duplicates are looked for
_LOOKED_AT: Final = 100  # lines with the same marks that are compared word by word


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A line that stands there already: ``raw`` is its line in the file of that path."""

    path: str
    raw: str
    line: RetainLine
    why: str


@dataclass(slots=True, kw_only=True)
class Page:
    """What is known of one file: ``keys`` by what a line says, ``near`` by its marks."""

    stamp: tuple[int, int] = (-1, 0)
    seen: Seen | None = None
    keys: dict[int, str] = field(default_factory=dict)
    near: dict[int, list[str]] = field(default_factory=dict)
    has_near: bool = False
    end: int = -1
    """Where in the text the next line goes, if that is known."""

    def add(self, line: RetainLine, raw: str) -> None:
        if line.retracted is not None:
            return  # said again, it is news
        self.keys.setdefault(_key(line), raw)
        if self.has_near:
            self.near.setdefault(_near_key(line), []).append(raw)

    def rewrite(self, line: RetainLine, raw: str, new: str) -> None:
        """The line is written otherwise now: with one source more."""
        if self.keys.get(key := _key(line)) == raw:
            self.keys[key] = new
        if self.has_near:
            alike = self.near.get(_near_key(line), [])
            alike[:] = [new if each == raw else each for each in alike]


def find(line: RetainLine, pages: Mapping[str, Page], near: Iterable[str]) -> Repeat | None:
    """The line of these files that stands for this one; near-duplicates only in ``near``."""
    key = _key(line)
    for path, page in pages.items():
        if (raw := page.keys.get(key)) is not None:
            known = parse(raw)
            if known is not None and _said(known) == _said(line) and _as_sure(line, known):
                return Repeat(path=path, raw=raw, line=known, why="repeat")
    key = _near_key(line)
    for path in near:
        for raw in pages[path].near.get(key, [])[-_LOOKED_AT:] if path in pages else ():
            known = parse(raw)
            if known is not None and _is_near(line, known):
                return Repeat(path=path, raw=raw, line=known, why="near-duplicate")
    return None


def page_of(text: str, *, near: bool) -> Page:
    """Everything of the text that a write asks for: about 100 µs for each line of it."""
    page = Page(stamp=stamp_of(text))
    source = split_lines(text)
    found = list(lines(text))
    for left, each in zip(range(len(found), 0, -1), found, strict=True):
        page.has_near = near and left <= _NEWEST
        page.add(each.line, source[each.number - 1].rstrip("\r\n"))
    page.has_near = near
    return page


def stamp_of(text: str) -> tuple[int, int]:
    return len(text), hash(text)


def with_line(text: str, raw: str, new: RetainLine) -> tuple[str, int] | None:
    """The text with ``new`` in the line ``raw``, and where; None if it is not there any more."""
    for ending in ("\n", "\r\n", "\r"):
        wanted = f"{ending}{raw}{ending}"
        at = text.find(wanted)
        if at >= 0 and text.find(wanted, at + 1) < 0:
            return _exchanged(text, at + len(ending), raw, new)
    # At an end of the file, or an example looks like it.
    source = split_lines(text)
    for found in lines(text):
        if source[found.number - 1].rstrip("\r\n") == raw:
            return _exchanged(text, sum(map(len, source[: found.number - 1])), raw, new)
    return None


def _exchanged(text: str, at: int, raw: str, new: RetainLine) -> tuple[str, int]:
    return text[:at] + rewritten(raw, new) + text[at + len(raw) :], at


# ── the files of a place ────────────────────────────────────────────────────────────────────


class Pages:
    """The pages of all memory files of a place, read when they have changed. For one process."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pages: dict[str, Page] = {}

    def known(self, path: str, text: str) -> Page:
        """The page of a file whose text is at hand."""
        page = self._pages.get(path)
        if page is None or not page.has_near or page.stamp != stamp_of(text):
            page = self._pages[path] = page_of(text, near=True)
        return page

    def all(self, *, near: Iterable[str]) -> dict[str, Page]:
        """Every file's page, by path. Near-duplicates can be asked of the paths in ``near``."""
        wanted = frozenset(near)
        found: dict[str, Page] = {}
        for path, seen in self._seen():
            page = self._pages.get(path)
            if page is None or page.seen != seen or (path in wanted and not page.has_near):
                page = self._read(path, seen, near=path in wanted)
            if page is not None:
                found[path] = page
        self._pages = dict(found)
        return found

    def keep(self, path: str, page: Page) -> None:
        """Remember the page of a file that was written this moment."""
        self._pages[path] = page
        *folders, name = path.split("/")
        folder = self._workspace.base
        for each in folders:
            folder = folder.child(each, create=False)
        page.seen = folder.glance(name)

    def _read(self, path: str, seen: Seen, *, near: bool) -> Page | None:
        try:
            text = self._workspace.read(path)
        except HoldfastError:
            return None  # a link, or gone: ``Workspace.problems`` names it
        if text is None:
            return None
        page = self._pages[path] = page_of(text, near=near)
        page.seen = seen
        return page

    def _seen(self) -> Iterator[tuple[str, Seen]]:
        base = self._workspace.base
        for name in ("MEMORY.md", "memory.md"):
            if seen := base.glance(name):
                yield name, seen
        if "memory" in base.names():
            yield from _files_below(base, "memory", 0)


def _files_below(parent: Directory, path: str, depth: int) -> Iterator[tuple[str, Seen]]:
    try:
        folder = parent.child(path.rpartition("/")[2], create=False)
    except HoldfastError:
        return
    for name in folder.names():
        if name.endswith(".md"):
            if seen := folder.glance(name):
                yield f"{path}/{name}", seen
        elif depth < 2 and not name.startswith("."):
            yield from _files_below(folder, f"{path}/{name}", depth + 1)


# ── what a line says ────────────────────────────────────────────────────────────────────────


def _for_whom_and_when(line: RetainLine) -> tuple[Hashable, ...]:
    """A memory that has ended, or is for fewer people, does not stand for one that is not."""
    return line.kind, normalise(line.entity or ""), str(line.until or ""), line.user, line.chat


def _said(line: RetainLine) -> tuple[Hashable, ...]:
    return *_for_whom_and_when(line), normalise(line.text)


def _key(line: RetainLine) -> int:
    return hash(_said(line))


def _near_key(line: RetainLine) -> int:
    return hash((*_for_whom_and_when(line), fingerprint(line.text)))


def _as_sure(new: RetainLine, known: RetainLine) -> bool:
    """Another confidence is another opinion."""
    return new.confidence is None or new.confidence == known.confidence


def _is_near(new: RetainLine, known: RetainLine) -> bool:
    return (
        _as_sure(new, known)
        and _for_whom_and_when(new) == _for_whom_and_when(known)
        and fingerprint(new.text) == fingerprint(known.text)
        and similarity(new.text, known.text) >= NEAR
        and says_no_more(new.text, known.text)
    )
