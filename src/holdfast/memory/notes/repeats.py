"""Which memory stands where: so that what is known is not written again.

Of every memory file the keys of its lines are kept in this process, until the file changes; a
write looks into them instead of reading all files again. Near-duplicates are only looked for
among the newest lines of a few files.

Promise: what is called a repeat says the same as the line it names, to the letter but for blanks
and such case as means nothing; a near-duplicate also lacks or has words that a reader can leave
out. Both agree in kind, entity, time, numbers, dates, identifiers, names and polarity; what was
said of "tomorrow" is only the same on the same day (``tests/memory/test_notes_repeats.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from holdfast.disk import Directory, Seen
from holdfast.errors import HoldfastError
from holdfast.markdown import split_lines
from holdfast.memory.workspace import Workspace
from holdfast.retain import RetainLine, Trust, parse
from holdfast.retain.documents import lines, rewritten
from holdfast.text import normalise
from holdfast.text.likeness import fingerprint, says_no_more, terms, true_within

__all__ = [
    "STATED",
    "Page",
    "Pages",
    "Repeat",
    "find",
    "lower_trust",
    "page_of",
    "stamp_of",
    "with_line",
]

STATED: Final = "stated"
"""In the comment of an opinion: the confidence it was written with, before evidence moved it."""
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
    """What is known of one file: ``keys`` by what a line says, ``near`` by its marks.

    ``others`` says the same as a line of ``keys`` at first sight; ``doubted`` are the lines that
    only a tool or an import said.
    """

    stamp: tuple[int, int] = (-1, 0)
    seen: Seen | None = None
    keys: dict[int, str] = field(default_factory=dict)
    others: dict[int, list[str]] = field(default_factory=dict)
    near: dict[int, list[str]] = field(default_factory=dict)
    doubted: dict[str, _Doubted] = field(default_factory=dict)
    has_near: bool = False
    end: int = -1
    """Where in the text the next line goes, if that is known."""

    def add(self, line: RetainLine, raw: str) -> None:
        if line.trust in ("tool", "import"):
            self.doubted[raw] = _Doubted(line)
        if line.retracted is not None:
            return  # said again, it is news
        if self.keys.setdefault(key := _key(line), raw) != raw:
            self.others.setdefault(key, []).append(raw)
        if self.has_near:
            self.near.setdefault(_near_key(line), []).append(raw)

    def rewrite(self, line: RetainLine, raw: str, new: str) -> None:
        """The line is written otherwise now: with one source more."""
        if self.keys.get(key := _key(line)) == raw:
            self.keys[key] = new
        alike = [self.others.get(key, [])]
        if self.has_near:
            alike.append(self.near.get(_near_key(line), []))
        for each in alike:
            each[:] = [new if one == raw else one for one in each]
        if self.doubted.pop(raw, None) and line.trust in ("tool", "import"):
            self.doubted[new] = _Doubted(line)

    def alike(self, line: RetainLine) -> Iterator[str]:
        """The lines that say the same at first sight."""
        if (first := self.keys.get(key := _key(line))) is not None:
            yield first
            yield from self.others.get(key, [])[-_LOOKED_AT:]


class _Doubted:
    """A line that only a tool or an import said; its words are looked at when somebody asks."""

    __slots__ = ("_words", "line")

    def __init__(self, line: RetainLine) -> None:
        self.line = line
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        if self._words is None:
            self._words = _words(self.line)
        return self._words


_TOO_FEW: Final = 3  # words: a line of less is only known by all of them


def lower_trust(line: RetainLine, pages: Iterable[Page]) -> Trust:
    """The line's trust, or that of a tool or an import whose words it has, or is a part of."""
    words = _words(line)
    is_long = len(words) >= _TOO_FEW
    for page in pages:
        for doubted in page.doubted.values():
            known = doubted.words
            if words <= known if is_long else words and words == known:
                return doubted.line.trust
            if len(known) >= _TOO_FEW and known <= words:
                return doubted.line.trust
    return line.trust


def _words(line: RetainLine) -> frozenset[str]:
    return frozenset(terms(f"{line.entity or ''} {line.text}"))


def find(line: RetainLine, pages: Mapping[str, Page], near: Iterable[str]) -> Repeat | None:
    """The line of these files that stands for this one; near-duplicates only in ``near``."""
    for path, page in pages.items():
        for raw in page.alike(line):
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
    if text.count(raw) == 1:
        for ending in ("\n", "\r\n", "\r"):
            if (at := text.find(f"{ending}{raw}{ending}")) >= 0:
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
        """The files that are read as memory, and no others: what nobody reads knows nothing."""
        folders: dict[str, Directory] = {"": self._workspace.base}
        for path in self._workspace.files():
            if not path.startswith(("MEMORY.md", "memory.md", "memory/")):
                continue
            above, _, name = path.rpartition("/")
            try:
                if seen := _opened(above, folders).glance(name):
                    yield path, seen
            except HoldfastError:
                continue  # gone, or made a link of, in this moment


def _opened(path: str, folders: dict[str, Directory]) -> Directory:
    if path not in folders:
        above, _, name = path.rpartition("/")
        folders[path] = _opened(above, folders).child(name, create=False)
    return folders[path]


# ── what a line says ────────────────────────────────────────────────────────────────────────


def _for_whom_and_when(line: RetainLine) -> tuple[Hashable, ...]:
    """A memory of another time, or for fewer people, does not stand for one that is not."""
    when = (str(line.since or ""), str(line.until or ""))
    return line.kind, normalise(line.entity or ""), *when, line.user, line.chat


def _said_within(line: RetainLine) -> Hashable:
    """The day or year in which these words mean the same; None if they always do."""
    span = true_within(line.text)
    if span is None or line.observed is None:
        return span
    seen = line.observed.date() if isinstance(line.observed, datetime) else line.observed
    return seen if span == "day" else date(seen.year, 1, 1)


def _said(line: RetainLine) -> tuple[Hashable, ...]:
    return *_marked(line), normalise(line.text)


def _marked(line: RetainLine) -> tuple[Hashable, ...]:
    return *_for_whom_and_when(line), _said_within(line), fingerprint(line.text)


def _key(line: RetainLine) -> int:
    """Cheaper than all that ``_said`` compares: every line of every file needs one."""
    return hash((*_for_whom_and_when(line), normalise(line.text)))


def _near_key(line: RetainLine) -> int:
    return hash(_marked(line))


def _stated(line: RetainLine) -> float | None:
    stated = line.extra.get(STATED)
    return stated if isinstance(stated, float) else line.confidence


def _as_sure(new: RetainLine, known: RetainLine) -> bool:
    """Another confidence is another opinion, unless it is the one that evidence has moved."""
    return new.confidence in (None, known.confidence, _stated(known))


def _is_near(new: RetainLine, known: RetainLine) -> bool:
    return (
        _as_sure(new, known)
        and (known.trust == new.trust or new.trust != "user")
        and _marked(new) == _marked(known)
        and says_no_more(new.text, known.text)
    )
