"""A text goes from what we know: memory files, archive, preimages, the journal, names of files.

List items that hold the text go whole, memory lines among them; elsewhere a mark stands in its
place. Memory lines that were made of entries which held it go too, unless they can be made of
what is left of these entries (``derive``). The journal is changed in the same way: what ``undo``
brings back is the old file without the text, and the hashes in it fit.

Promise: afterwards no file of memory holds the text, all else in them stays to the byte, and
``undo`` cannot bring it back; a crash leaves each file old or new, and doing it again finishes it
(``tests/memory/test_erasure.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from holdfast.disk import Directory, FileLock
from holdfast.errors import NotFound
from holdfast.markdown import split_lines
from holdfast.matching import Match
from holdfast.memory.erasure.blanking import Derive, Editing, Line, Page, Tells
from holdfast.memory.erasure.own import is_task
from holdfast.memory.erasure.replacing import drop_left_aside, put_in_place
from holdfast.memory.tasks.record import parse as parse_task
from holdfast.memory.workspace import merging
from holdfast.text import one_line, slug, title_slug
from holdfast.types import Erased, Json, Remaining

__all__ = ["FOLDERS", "Derive", "Line", "MemoryErasure", "memory_files", "slugs_of"]

FOLDERS: Final = ("memory", "bank", "tasks", "archive")
_JOURNAL: Final = ".journal"
_NOT_OURS: Final = frozenset({"locks", "quarantine", "receipts", "tombstones.jsonl"})
_PREIMAGES: Final = "preimages"
_AS_IT_IS: Final = ("utf-8", "surrogateescape")
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}-?")
_LONGEST_STEM: Final = 64
_JOURNAL_KEYS: Final = frozenset(
    {"id", "at", "what", "changes", "path", "before", "after", "preimage", "inode", "about"}
    | {"undoes", "session", "source", "sources", "file", "lines"}
)
_SHORTEST_SLUG: Final = 3
_SHORTEST_TELLING_SLUG: Final = 6


@dataclass(slots=True)
class _Done:
    files: list[str] = field(default_factory=list)
    spans: int = 0
    hashes: dict[str, str] = field(default_factory=dict)
    """Of each content that was changed: before → after."""
    paths: dict[str, str] = field(default_factory=dict)
    """Of each file that was renamed: before → after."""
    remaining: list[Remaining] = field(default_factory=list)


class MemoryErasure:
    """The memory files of one place, and the way back to what they were. ``Erasable``.

    ``sources`` are entries that hold the text, cited; ``names`` the sessions that get another
    name because theirs holds it.
    """

    def __init__(
        self,
        base: Directory,
        *,
        sources: frozenset[str] = frozenset(),
        names: Mapping[str, str] | None = None,
        derive: Derive | None = None,
        tells: Tells | None = None,
    ) -> None:
        self._base = base
        self._sources = sources
        self._names = dict(names or {})
        self._derive = derive or (lambda line: ())
        self._tells = tells or (lambda text, sources: False)
        self.moved: dict[str, str] = {}
        """The files that got another name, and those that are gone: how reports call them now."""
        self.lines: list[Line] = []
        """What would go, or went, from the memory files: to be shown, never to be kept."""

    def erase(self, match: Match, *, dry_run: bool = False) -> Erased:
        """Take the text out of everything; of ``match.ids`` the whole line or task."""
        done = _Done()
        self.lines = []
        self.moved = done.paths
        with self._held(dry_run=dry_run) as journal:
            for folder, _ in () if dry_run else _folders(self._base, ""):
                drop_left_aside(folder)
            for folder, path in _files(self._base):
                self._erase_file(match, folder, path, done, dry_run=dry_run)
            if journal is not None:
                for folder, path in _journal_files(journal):
                    self._erase_journal_file(match, folder, path, done, dry_run=dry_run)
                for name in ("pending.jsonl", "operations.jsonl"):
                    self._erase_log(match, journal, name, done, dry_run=dry_run)
        return Erased(
            store="memory",
            spans=done.spans,
            files=tuple(dict.fromkeys(done.files)),
            remaining=tuple(done.remaining),
        )

    @contextmanager
    def _held(self, *, dry_run: bool) -> Iterator[Directory | None]:
        """The journal, while nobody else changes the files; who only looks leaves no lock."""
        if dry_run:
            has_one = any(found.name == _JOURNAL for found in self._base.found())
            yield self._base.child(_JOURNAL, create=False) if has_one else None
            return
        journal = self._base.child(_JOURNAL)
        with FileLock(journal.child("locks"), "memory").hold():
            yield journal

    # ── memory files ────────────────────────────────────────────────────────────────────────

    def _erase_file(
        self, match: Match, folder: Directory, path: str, done: _Done, *, dry_run: bool
    ) -> None:
        # The name first: after a crash its title still tells that it has to go.
        path = self._rename(match, folder, path, done, dry_run=dry_run)
        name = path.rpartition("/")[2]
        data = folder.read(name)
        page = None if data is None else self._page(match, data, path)
        if data is None or page is None:
            return
        if page.after is None:
            done.paths[path] = _gone(match, path, done)
            if not dry_run:
                folder.remove(name)
                folder.sync()
        elif not dry_run:
            put_in_place(folder, name, data, page.after, partial(self._without, match, path))
        done.files.append(done.paths.get(path, path))
        done.spans += page.count
        done.hashes[_digest(data)] = _digest(page.after or b"")
        self.lines += page.lines

    def _without(self, match: Match, path: str, data: bytes) -> bytes:
        page = self._page(match, data, path)
        return data if page is None else page.after or b""

    def _page(self, match: Match, data: bytes, path: str) -> Page | None:
        """The file without the text; None if nothing has to be done about it."""
        text = data.decode(*_AS_IT_IS)
        may_be_task = path.startswith(("tasks/", "archive/tasks/", _JOURNAL)) or not path
        if match.ids and may_be_task and parse_task(text, path).id in match.ids:
            title = Line(path=path, number=1, text=one_line(text, 120), goes=True)
            return Page(after=None, count=1, lines=[title])
        editing = Editing(match, self._sources, self._names, self._derive, path, self._tells)
        page = editing.edit(text)
        if page.after == data:
            return None
        return page

    def _rename(
        self, match: Match, folder: Directory, path: str, done: _Done, *, dry_run: bool
    ) -> str:
        """Where the file is now: a name that tells the text is changed, by its letters or as the
        slug of a title that held it."""
        parent, _, name = path.rpartition("/")
        if not parent:
            return path
        data = folder.read(name) or b""
        new = _stem_without(match, name.removesuffix(".md"), data, also=self._is_told(path, data))
        if new is None:
            return path
        taken = set(folder.names())
        number, target = 1, f"{new}.md"
        while target in taken:
            number += 1
            target = f"{new[: _LONGEST_STEM - 4]}-{number}.md"
        done.spans += 1
        done.files.append(f"{parent}/{target}")
        done.paths[path] = f"{parent}/{target}"
        if dry_run:
            return path
        folder.rename(name, target)
        return f"{parent}/{target}"

    def _is_told(self, path: str, data: bytes) -> bool:
        """Whether a task has its name from a title that is a piece of what is erased."""
        text = data.decode(*_AS_IT_IS)
        if not self._sources or not is_task(text, path):
            return False
        task = parse_task(text, path)
        return self._tells(task.title, task.sources)

    # ── the journal ─────────────────────────────────────────────────────────────────────────

    def _erase_journal_file(
        self, match: Match, folder: Directory, path: str, done: _Done, *, dry_run: bool
    ) -> None:
        """A preimage, and what its operation made of it, which stands beside it."""
        name = path.rpartition("/")[2]
        data = folder.read(name)  # none where the operation made the file
        page = None if data is None else self._page(match, data, path)
        after = data if page is None else page.after or b""
        diff = folder.read(f"{name}.diff")
        new_diff = diff
        if diff is not None:
            new_diff = self._diff_without(match, data or b"", diff, after or b"", done)
        if page is None and new_diff == diff:
            return
        done.files.append(path)
        done.spans += page.count if page is not None else 1
        if data is not None and after is not None:
            done.hashes[_digest(data)] = _digest(after)
        if not dry_run:
            # The diff first: with the old preimage it does not fit, which `undo` notices.
            if new_diff is not None and new_diff != diff:
                folder.replace(f"{name}.diff", new_diff)
            if after is not None and after != data:
                folder.replace(name, after)

    def _diff_without(
        self, match: Match, before: bytes, diff: bytes, new: bytes, done: _Done
    ) -> bytes:
        """What the operation made of the file, as a difference between the erased texts."""
        hunks = merging.parsed(diff.decode(*_AS_IT_IS))
        left = None if hunks is None else merging.applied(before.decode(*_AS_IT_IS), hunks)
        if left is None:  # torn, or of another version: it cannot be followed, so nothing stays
            return b"" if match.is_in_bytes(diff) else diff
        page = self._page(match, left.encode(*_AS_IT_IS), "")
        if page is None and new == before:
            return diff
        after = left.encode(*_AS_IT_IS) if page is None else page.after or b""
        done.hashes[_digest(left.encode(*_AS_IT_IS))] = _digest(after)
        hunks = merging.differences(new.decode(*_AS_IT_IS), after.decode(*_AS_IT_IS))
        return merging.written(hunks).encode(*_AS_IT_IS)

    def _erase_log(
        self, match: Match, journal: Directory, name: str, done: _Done, *, dry_run: bool
    ) -> None:
        """The log of operations has no text of memory, but names of files, and hashes."""
        data = journal.read(name)
        if not data:
            return
        lines: list[bytes] = []
        count = 0
        for line in data.split(b"\n"):
            new = _log_line_without(match, line, done)
            count += new != line
            lines.append(new)
        if count:
            done.files.append(f"{_JOURNAL}/{name}")
            done.spans += count
            if not dry_run:
                journal.replace(name, b"\n".join(lines))


# ── names ───────────────────────────────────────────────────────────────────────────────────


def _gone(match: Match, path: str, done: _Done) -> str:
    """How a file that was removed is called from now on."""
    parent = path.rpartition("/")[0]
    number, name = 1, f"{parent}/{match.name_mark}.md"
    while name in done.paths.values():
        number += 1
        name = f"{parent}/{match.name_mark}-{number}.md"
    return name


def _stem_without(match: Match, stem: str, data: bytes, *, also: bool = False) -> str | None:
    """Another name for a file whose own tells the text; None if it does not."""
    date = found[0] if (found := _DATED.match(stem)) else ""
    rest = stem[len(date) :]
    if not rest:
        return None
    new, count = match.erased_name(rest)
    if not count and (also or _is_slug_of(match, rest) or _titled(match, data, rest)):
        new, count = match.name_mark, 1
    if not count or new == rest:
        return None
    return (date + new)[:_LONGEST_STEM] or None


def slugs_of(text: str) -> set[str]:
    """The names that a file or session may have from the text, and that stand for nothing else:
    several words, not a date."""
    made = {slug(text), title_slug(text)} - {text}
    return {
        each
        for each in made
        if "-" in each and len(each) >= _SHORTEST_TELLING_SLUG and any(map(str.isalpha, each))
    }


def memory_files(base: Directory) -> list[str]:
    """The paths of all memory files of a place, the archive included."""
    return [path for _, path in _files(base)]


def _is_slug_of(match: Match, stem: str) -> bool:
    slugs = (made for text in match.normal for made in (slug(text), title_slug(text)))
    folded = stem.casefold()
    return any(
        each == folded or (len(each) >= _SHORTEST_SLUG and f"-{each}-" in f"-{folded}-")
        for each in slugs
    )


def _titled(match: Match, data: bytes, stem: str) -> bool:
    """Whether it is named after a title that held the text: the name may be cut, or a checksum."""
    title = next((line for line in split_lines(data.decode(*_AS_IT_IS)) if line[:2] == "# "), "")
    title = title[2:].strip()
    made = (slug(title), title_slug(title))
    return bool(title) and match.is_in(title) and stem.casefold() in made


# ── files ───────────────────────────────────────────────────────────────────────────────────


def _files(base: Directory) -> Iterator[tuple[Directory, str]]:
    """The Markdown files of the place, and the folder each is in."""
    for folder, path in _folders(base, ""):
        for found in folder.found():
            if found.kind == "file" and found.name.endswith(".md") and found.is_mine:
                yield folder, path + found.name


def _folders(base: Directory, path: str) -> Iterator[tuple[Directory, str]]:
    """The folders with files of memory, and the way to each."""
    yield base, path
    for found in base.found():
        if found.kind == "folder" and (path or found.name in FOLDERS):
            try:
                inner = base.child(found.name, create=False)
            except NotFound:
                continue
            yield from _folders(inner, f"{path}{found.name}/")


def _journal_files(journal: Directory) -> Iterator[tuple[Directory, str]]:
    """What the journal keeps of memory files: preimages, and what was rescued."""
    for found in journal.found():
        if found.kind == "folder" and found.name not in _NOT_OURS:
            folder = journal.child(found.name, create=False)
            names = (each.name for each in folder.found() if each.kind == "file")
            for name in dict.fromkeys(each.removesuffix(".diff") for each in names):
                yield folder, f"{_JOURNAL}/{found.name}/{name}"


def _log_line_without(match: Match, line: bytes, done: _Done) -> bytes:
    try:
        record = json.loads(line) if line else None
    except ValueError:
        return b"" if match.is_in_bytes(line) else line
    if not isinstance(record, dict):
        return line
    changed, _ = match.erased_json(_mapped(record, done), keeps=_keeps)
    if changed == record:
        return line
    return json.dumps(changed, ensure_ascii=True, separators=(",", ":")).encode()


def _mapped(value: Json, done: _Done) -> Json:
    if isinstance(value, dict):
        return {key: _mapped(inner, done) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, done) for inner in value]
    if isinstance(value, str):
        return done.hashes.get(value) or done.paths.get(value) or value
    return value


def _keeps(key: str | None, value: Json) -> bool:
    if not isinstance(value, str):
        return True
    if key is None:
        return value in _JOURNAL_KEYS
    return key in {"id", "at", "preimage", "undoes", "before", "after"}


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
