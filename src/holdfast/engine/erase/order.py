"""The order in which a text goes from everywhere, the proof that it is gone, and the receipt.

    find        which entries hold it: nothing is changed yet, so a crash loses no way to it
    memory      files, archive, preimages, journal
    sessions    transcripts with what was made of them, artifacts, quarantine, tombstones, names
    reports     events, earlier receipts
    derived     whatever below ``.index/`` holds it, other stores that were registered
    history     of git, if a place has one
    outside     files of the user's that are searched too: named, never changed
    scan        every byte and name below the home; what was written meanwhile goes once more
    receipt     without the text

Promise: what is not named as remaining is gone; a crash anywhere leaves every file old or new,
and erasing again finishes it (``tests/engine/test_erase.py``, ``test_erase_crashes.py``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Final

from holdfast.context.accounting import ingest_cap
from holdfast.disk import Directory
from holdfast.engine.erase.bytescan import Scanned, scan_bytes
from holdfast.engine.erase.outside import held_outside
from holdfast.engine.erase.receipts import EVENTS, erase_events, erase_receipts, may_be_format
from holdfast.engine.erase.rederiving import LineDerivation, rederived
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, NotFound, StorageError
from holdfast.matching import Match
from holdfast.memory.erasure import (
    FOLDERS,
    Line,
    MemoryErasure,
    memory_files,
    others_words,
    slugs_of,
)
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.paths import TOP_FILES
from holdfast.memory.workspace.versions import Versions
from holdfast.ports import Erasable
from holdfast.sessions.erasure import SessionErasure
from holdfast.sessions.store import Store
from holdfast.types import Entry, Erased, Remaining

__all__ = ["Erasing", "Found", "Place", "places_of"]

ROUNDS: Final = 3
"""How often it is tried to be faster than somebody who writes the text again."""

_BEGUN: Final = "erasing"
_STALE_SECONDS: Final = 60.0
_HOME_FILES: Final = frozenset(
    {EVENTS, "audit.jsonl", ".audit.key", ".receipts.key", "server.token"}
)
_CATALOGUE: Final = "catalogue-"
_CURRENT: Final = "current"
_IN_JOURNAL: Final = ("preimages", "rescued", "quarantine")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with memory and conversations of its own."""

    path: str
    """From the home."""
    base: Directory
    store: Store | None

    @property
    def has_journal(self) -> bool:
        return ".journal" in self.base.names()


def places_of(rooms: Rooms) -> list[Place]:
    """Where this speaker may erase: the owner everywhere, everybody else in their own place."""
    if rooms.scope.user is not None or rooms.scope.chat is not None:
        path = rooms.base.path.relative_to(rooms.home.path).as_posix()
        return [Place(path=path, base=rooms.base, store=rooms.store)]
    return [_place(rooms, path, base) for path, base in _bases(rooms.home)]


def _bases(home: Directory) -> Iterator[tuple[str, Directory]]:
    agents = home.child("agents")
    for agent in _folders(agents):
        base = agents.child(agent, create=False)
        yield f"agents/{agent}", base
        for kind in ("users", "chats"):
            if kind in _folders(base):
                inside = base.child(kind, create=False)
                for name in _folders(inside):
                    yield f"agents/{agent}/{kind}/{name}", inside.child(name, create=False)


def _folders(folder: Directory) -> list[str]:
    return [found.name for found in folder.found() if found.kind == "folder" and found.is_mine]


def _place(rooms: Rooms, path: str, base: Directory) -> Place:
    store: Store | None = None
    if base.path == rooms.base.path:
        store = rooms.store
    elif {"sessions", "artifacts"} & set(base.names()):
        store = Store(
            base,
            clock=rooms.clock,
            ids=rooms.ids,
            events=rooms.events,
            cap_chars=ingest_cap(rooms.settings),
        )
    return Place(path=path, base=base, store=store)


@dataclass(slots=True)
class Found:
    """What was found so far, in all places and rounds."""

    stores: dict[tuple[str, str], Erased] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    """``place/sessions/name#entry``"""
    remaining: list[Remaining] = field(default_factory=list)
    scanned: Scanned = field(default_factory=Scanned)

    @property
    def spans(self) -> int:
        return sum(each.spans for each in self.stores.values())

    def add(self, place: str, erased: Erased) -> None:
        if not (erased.spans or erased.remaining):
            return
        known = self.stores.get((place, erased.store), Erased(store=erased.store))
        self.stores[place, erased.store] = Erased(
            store=erased.store,
            spans=known.spans + erased.spans,
            files=tuple(dict.fromkeys((*known.files, *erased.files))),
            entries=tuple(dict.fromkeys((*known.entries, *erased.entries))),
        )
        self.remaining += [
            replace(each, path=f"{place}/{each.path}" if place else each.path)
            for each in erased.remaining
        ]


class Erasing:
    """One erasure, from finding to the receipt."""

    def __init__(
        self, rooms: Rooms, match: Match, places: Sequence[Place], extra: Sequence[Erasable] = ()
    ) -> None:
        self._rooms = rooms
        self._match = _with_names(match, places)
        self._places = places
        self._extra = extra
        self._is_owner = rooms.scope.user is None and rooms.scope.chat is None
        self._root = rooms.home if self._is_owner else rooms.base
        self._prefix = "" if self._is_owner else f"{places[0].path}/"
        self._old_history: set[str] = set()
        """Places whose git history has to go."""
        self._new_names: dict[str, str] = {}
        self._moved: dict[str, str] = {}
        """Files of memory that have another name now, or none."""

    # ── the order ───────────────────────────────────────────────────────────────────────────

    def find(self) -> Found:
        """What would go, and what would remain. Nothing is changed."""
        found = Found()
        self._round(found, dry_run=True)
        found.scanned = scan_bytes(self._root, self._match)
        found.remaining += self._foreign(found.scanned)
        found.remaining += self._outside()
        return found

    def run(self) -> Found:
        """Erase, and look whether it is gone."""
        found = Found()
        self._rooms.release_all()
        self._rooms.close_search()
        for place in self._places:
            self._begin(place)
        again: list[str] = []
        for _ in range(ROUNDS):
            self._round(found, dry_run=False)
            found.scanned = scan_bytes(self._root, self._match)
            again = self._left(found)
            if not again:
                break
        found.remaining = self._remaining(found, again)
        self._rooms.release_all()
        if not found.remaining:
            for place in self._places:
                self._end(place)
        if found.spans:
            self._rooms.memory.audit.record(
                "erase",
                agent=self._rooms.scope.agent,
                operation=self._match.receipt,
                spans=found.spans,
                remaining=len(found.remaining),
            )
        return found

    def _round(self, found: Found, *, dry_run: bool) -> None:
        found.remaining = []
        for place in self._places:
            held, room = self._in_sessions(place)
            found.entries += [f"{place.path}/sessions/{each}" for each in held.entries]
            derive = LineDerivation(
                self._match.mark,
                partial(self._blanked, room),
                partial(self._before_and_after, place, room),
            )
            memory = MemoryErasure(
                place.base,
                sources=frozenset(held.entries),
                names=room.renamed if room is not None else {},
                derive=derive,
                tells=derive.tells,
            )
            found.add(place.path, memory.erase(self._match, dry_run=dry_run))
            found.lines += [_under(place, line) for line in memory.lines]
            self._moved |= memory.moved
            if not dry_run and room is not None:
                held = room.erase(self._match)
                self._new_names |= room.renamed
                self._tell_new_names(place, room)
            found.add(place.path, held)
        self._reports(found, dry_run=dry_run)
        for path, base in self._agents():
            found.add(path, self._in_index(base, dry_run=dry_run))
        for place in self._places:
            found.add(place.path, self._drop_index(place, dry_run=dry_run))
            if not dry_run:
                self._forget_history(place, found)
        for each in self._extra:
            found.add("", each.erase(self._match, dry_run=dry_run))

    # ── memory and sessions ─────────────────────────────────────────────────────────────────

    def _in_sessions(self, place: Place) -> tuple[Erased, SessionErasure | None]:
        if place.store is None:
            return Erased(store="sessions"), None
        room = SessionErasure(
            place.base,
            place.store,
            cap_chars=ingest_cap(self._rooms.settings),
            rederive=partial(rederived, self._match.mark),
        )
        return room.erase(self._match, dry_run=True), room

    def _blanked(
        self, room: SessionErasure | None, session: str, ids: Collection[str]
    ) -> list[Entry] | None:
        if room is None:
            return None
        with suppress(HoldfastError):
            entries = [entry for entry in room.entries(session) if entry.id in ids]
            return room.blanked(self._match, session, entries)
        return None

    def _before_and_after(
        self, place: Place, room: SessionErasure | None, session: str
    ) -> list[tuple[Entry, Entry]]:
        if room is None or place.store is None:
            return []
        with suppress(HoldfastError):
            entries = room.entries(session)
            before = [place.store.whole(entry, strict=False) for entry in entries]
            return list(zip(before, room.blanked(self._match, session, entries), strict=True))
        return []

    def _tell_new_names(self, place: Place, room: SessionErasure) -> None:
        if place.base.path == self._rooms.base.path:
            for old, new in room.renamed.items():
                self._rooms.renamed(old, new)

    # ── beginning and end ───────────────────────────────────────────────────────────────────

    def _begin(self, place: Place) -> None:
        """Leave a note: whoever erases after a crash knows that the git history has to go."""
        if not place.has_journal:
            return
        workspace = Workspace(place.base, clock=self._rooms.clock, ids=self._rooms.ids)
        with workspace.operation("erase"):  # takes back what a crash left half done
            pass
        journal = place.base.child(".journal")
        if journal.read(_BEGUN) is not None:
            self._old_history.add(place.path)
        journal.replace(_BEGUN, self._match.receipt.encode() + b"\n")

    def _end(self, place: Place) -> None:
        if place.has_journal:
            journal = place.base.child(".journal")
            journal.remove(_BEGUN)
            journal.sync()

    # ── reports ─────────────────────────────────────────────────────────────────────────────

    def _reports(self, found: Found, *, dry_run: bool) -> None:
        """Events tell names of sessions; those of others are not this speaker's to change."""
        whose = None if self._is_owner else self._new_names
        count = erase_events(
            self._rooms.home, self._match, whose, dry_run=dry_run, moved=self._moved
        )
        if count:
            found.add("", Erased(store="events", spans=count, files=(EVENTS,)))
        for place in self._places:
            if place.has_journal:
                journal = place.base.child(".journal")
                found.add(place.path, erase_receipts(journal, self._match, dry_run=dry_run))

    # ── what is derived ─────────────────────────────────────────────────────────────────────

    def _agents(self) -> Iterator[tuple[str, Directory]]:
        """The folders that can have a search index: one index covers all places of an agent."""
        agents = self._rooms.home.child("agents")
        for agent in _folders(agents) if self._is_owner else (self._rooms.scope.agent,):
            yield f"agents/{agent}", agents.child(agent, create=False)

    def _in_index(self, base: Directory, *, dry_run: bool) -> Erased:
        """Out of a search index. What else there is of the text stays, and is indexed again."""
        if ".index" not in _folders(base):
            return Erased(store="index")
        folder = base.child(".index", create=False)
        try:
            index = import_module("holdfast.engine.searching").open_index(folder)
        except HoldfastError:
            return Erased(store="index")  # not one that can be opened: its files go below
        with index:
            erased: Erased = index.erase(self._match, dry_run=dry_run)
        return erased

    def _drop_index(self, place: Place, *, dry_run: bool) -> Erased:
        """Whatever else below ``.index`` holds the text: it can be made again.

        A catalogue was asked to erase it; one that still holds it goes as a whole, its name first.
        """
        if ".index" not in _folders(place.base):
            return Erased(store="index")
        index = place.base.child(".index", create=False)
        held = scan_bytes(index, self._match)
        paths = dict.fromkeys((*held.held, *held.named))
        is_catalogued = any(path.startswith(_CATALOGUE) for path in paths)
        if dry_run:
            paths = {path: None for path in paths if not path.startswith(_CATALOGUE)}
        elif is_catalogued:
            rest = (name for name in index.names() if name.startswith(_CATALOGUE))
            paths = dict.fromkeys((_CURRENT, *rest, *paths))
        for path in () if dry_run else paths:
            _remove(index, path)
        files = tuple(f".index/{path}" for path in paths)
        return Erased(store="index", spans=len(files), files=files)

    def _forget_history(self, place: Place, found: Found) -> None:
        versions = Versions(place.base)
        has_changed = (place.path, "memory") in found.stores
        is_done = (place.path, "history") in found.stores
        if not (has_changed and not is_done) and place.path not in self._old_history:
            return
        if not versions.exists():
            return
        try:
            versions.forget_history()
        except StorageError as error:
            found.remaining.append(
                Remaining(
                    path=f"{place.path}/.git",
                    why=error.message,
                    hint=error.hint or "Remove the folder .git: the files do not need it.",
                )
            )
        else:
            self._old_history.discard(place.path)
            found.add(place.path, Erased(store="history", spans=1, files=(".git",)))

    # ── what is left ────────────────────────────────────────────────────────────────────────

    def _left(self, found: Found) -> list[str]:
        """Files that still hold the text although they can be erased.

        A store knows which words are its format's and not the text. For a text that cannot be
        such a word the store is not believed: the bytes are.
        """
        scanned = found.scanned
        if not scanned.held and not scanned.named:
            return []
        real = self._still_held()
        if strict := [text for text in self._match.normal if not may_be_format(text)]:
            mine = Match(strict, self._match.receipt)
            certain = scan_bytes(self._root, mine)
            told = {each.path for each in found.remaining}
            real |= {
                path
                for path in self._paths(certain)
                if path not in told and not self._is_only_ours(path, mine)
            }
        left = []
        for path in self._paths(scanned):
            place, inner = self._place_of(path)
            if place is not None and inner.startswith(".git/"):
                self._old_history.add(place.path)
                left.append(path)
            elif _is_temporary(path):
                left += [path] if self._drop_temporary(path) else []
            elif path in real and self._reason(path, is_named=path in scanned.named) is None:
                left.append(path)
        return left

    def _is_only_ours(self, path: str, match: Match) -> bool:
        """Whether the text stands in a page of memory only where the page speaks of itself."""
        place, inner = self._place_of(path)
        if place is None or not inner.endswith((".md", ".md.diff")):
            return False
        name = inner.rpartition("/")[2]
        if match.is_in(name):
            return False
        try:
            data = (self._rooms.home.path / path).read_bytes()
        except OSError:
            return False
        said = others_words(data, is_diff=inner.endswith(".diff"))
        return not match.is_in_bytes(said.encode("utf-8", "surrogateescape"))

    def _paths(self, scanned: Scanned) -> list[str]:
        return [self._prefix + each for each in dict.fromkeys((*scanned.held, *scanned.named))]

    def _still_held(self) -> set[str]:
        """What the stores would change: a word of their format or an id is none of it."""
        found = Found()
        self._round(found, dry_run=True)
        return {
            f"{place}/{file}" if place else file
            for (place, _), erased in found.stores.items()
            for file in erased.files
        }

    def _drop_temporary(self, path: str) -> bool:
        """Remove what a crash left; not what somebody is writing this moment."""
        file = self._rooms.home.path / path
        with suppress(OSError):
            if time.time() - file.stat().st_mtime < _STALE_SECONDS and _is_alive(file.name):
                return False
        return _remove(self._rooms.home, path)

    def _remaining(self, found: Found, again: Sequence[str]) -> list[Remaining]:
        written = [
            Remaining(
                path=path,
                why="It still holds the text, or does again.",
                hint="Stop the program that writes it, and erase again; or remove the file.",
            )
            for path in again
        ]
        foreign = self._foreign(found.scanned, besides=again)
        return [*written, *found.remaining, *foreign, *self._outside()]

    def _outside(self) -> list[Remaining]:
        """The user's own files that are searched and hold the text; others' are not told of."""
        return held_outside(self._rooms, self._match) if self._is_owner else []

    def _foreign(self, scanned: Scanned, *, besides: Sequence[str] = ()) -> list[Remaining]:
        """What holds the text and is not ours to change, and what could not be looked into."""
        named = {self._prefix + each for each in scanned.named}
        found = [
            Remaining(path=path, why=why, hint=hint)
            for path in self._paths(scanned)
            if path not in besides
            and (said := self._reason(path, is_named=path in named)) is not None
            for why, hint in [said]
        ]
        return found + [
            Remaining(path=self._prefix + each.path, why=each.why, hint=each.hint)
            for each in scanned.unseen
        ]

    def _reason(self, path: str, *, is_named: bool) -> tuple[str, str] | None:
        """Why it stays, and what to do; None if a store sees to it, or it says nothing."""
        place, inner = self._place_of(path)
        if place is not None and not inner:
            return _NAMED
        if path == "config.toml":
            return _CONFIG
        if path in _HOME_FILES or inner.startswith((".index/", ".git/")):
            return None
        if _is_temporary(path):
            return _BEING_WRITTEN
        if place is None:
            return _NAMED if is_named and "/" not in path.removeprefix("agents/") else _NOT_OURS
        top, _, rest = inner.partition("/")
        if top in {"sessions", "artifacts"}:
            return None
        if top == ".journal":
            second = rest.partition("/")[0]
            return None if second in (*_IN_JOURNAL, "receipts") or "/" not in rest else _NOT_OURS
        is_page = inner.endswith(".md") and (top in FOLDERS or inner in TOP_FILES or top == inner)
        return None if is_page else _NOT_OURS

    def _place_of(self, path: str) -> tuple[Place | None, str]:
        """The innermost place that a path is in, and the path from there."""
        inside = [
            place
            for place in self._places
            if path == place.path or path.startswith(f"{place.path}/")
        ]
        if not inside:
            return None, path
        place = max(inside, key=lambda each: len(each.path))
        return place, path[len(place.path) + 1 :]


_NAMED: Final = (
    "An agent, a user or a chat is named so.",
    "Rename the folder, and whoever opens it by that name.",
)
_CONFIG: Final = ("It is your configuration.", "Edit it: holdfast config path")
_BEING_WRITTEN: Final = (
    "Somebody is writing it this moment, or has died while writing it.",
    "Wait a minute, and erase again.",
)
_NOT_OURS: Final = ("It is no file of Holdfast.", "Look at it, and change or remove it yourself.")


def _with_names(match: Match, places: Sequence[Place]) -> Match:
    """The texts, and the names that files and sessions have from them: they are told elsewhere.

    Where an earlier erasure did not come to its end, the names may have been changed already.
    """
    if not match.normal:
        return match
    made = {slug for text in match.normal for slug in slugs_of(text)}
    found = {slug for place in places for slug in made if _BEGUN in _in_journal(place)}
    for place in places:
        names = [path.rpartition("/")[2].removesuffix(".md") for path in memory_files(place.base)]
        names += place.store.names() if place.store is not None else []
        found |= {slug for slug in made for name in names if f"-{slug}-" in f"-{name.casefold()}-"}
    return match.also(sorted(found)) if found else match


def _in_journal(place: Place) -> list[str]:
    has_journal = place.has_journal
    return place.base.child(".journal", create=False).names() if has_journal else []


def _under(place: Place, line: Line) -> Line:
    return replace(line, path=f"{place.path}/{line.path}")


def _remove(folder: Directory, path: str) -> bool:
    *folders, name = path.split("/")
    try:
        for each in folders:
            folder = folder.child(each, create=False)
        return folder.remove(name)
    except NotFound:
        return False
    except StorageError:
        return folder.remove_folder(name)


def _is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(".tmp-")


def _is_alive(temporary: str) -> bool:
    """Whether the process whose number is in the name of a temporary file is running."""
    try:
        os.kill(int(temporary.split("-")[1]), 0)
    except (ValueError, IndexError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True
