"""What there is to be found: the memory files and conversations of an agent, place by place.

Promise: a listing touches no file that is not a memory file or a transcript, follows no link,
and reads nothing but names and times; a part that cannot be listed is named, costs no other part
and is not taken for gone; what grew is read on from where it was left
(``tests/engine/test_searching.py``); what was said while memory was off is in no chunk
(``tests/engine/test_off_sessions.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from holdfast.context.accounting import ingest_cap
from holdfast.disk import Directory, Seen
from holdfast.engine.admission import disclosed
from holdfast.engine.importing.ledger import imported_sessions
from holdfast.engine.rooms import Rooms
from holdfast.engine.searching.extras import Extras
from holdfast.errors import HoldfastError, NotFound, StorageError
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.listing import seen_in
from holdfast.scope import Place
from holdfast.search import chunking
from holdfast.search.chunking.sources import classify
from holdfast.search.documents import Chunk, Document
from holdfast.sessions.private import OFF, changes_mode, openly_said
from holdfast.sessions.reading import Mark
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry

__all__ = ["EXTRA", "Listing", "Read", "Source", "Sources"]

EXTRA: Final = "extra:"
"""What the key of a file outside of the home begins with."""
_SESSIONS: Final = "sessions/"
_ENDING: Final = ".jsonl"


class Source(NamedTuple):
    """One file as it is now: what it is, and how to notice that it was saved again."""

    document: Document
    seen: Seen
    name: str
    """Its path inside its place; of a conversation its name; of an extra file where it is."""


@dataclass(slots=True)
class Listing:
    """Every source that was seen, by its key, and what could not be looked at."""

    sources: dict[str, Source] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unseen: set[str] = field(default_factory=set)
    """Beginnings of keys: of a kind of place, of the conversations or the files of one place."""

    def is_gone(self, key: str) -> bool:
        """Whether the source is certainly not there any more."""
        if key in self.sources or key.partition("/")[0] in self.unseen:
            return False
        return _part_of(key) not in self.unseen

    @contextmanager
    def trying(self, part: str, what: str) -> Iterator[None]:
        """Go on without a part that cannot be listed."""
        try:
            yield
        except NotFound:
            pass  # gone in this moment
        except (HoldfastError, OSError) as error:
            said = error.message if isinstance(error, HoldfastError) else str(error)
            self.problems.append(f"index: {what} could not be looked at: {said}")
            self.unseen.add(part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The chunks of a source: all, or only those behind the mark."""

    chunks: list[Chunk]
    is_whole: bool
    content: str = ""
    """A hash of the file; empty for conversations, which only grow."""
    mark: Mark | None = None
    seen: Seen | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Here:
    """One place that is there."""

    place: Place
    prefix: str
    base: Directory

    @property
    def name(self) -> str:
        return str(self.base.path)


class Sources:
    """Everything of one agent that can be searched."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._agent = rooms.home.child("agents").child(rooms.scope.agent)
        self._bases: dict[str, tuple[Directory, int]] = {"": (self._agent, self._agent.inode)}
        self._stores: dict[str, Store] = {}
        self._workspaces: dict[str, Workspace] = {}
        self._documents: dict[str, Document] = {}
        self.resting = 0
        """Conversations of the last listing that are not searched: at rest for too long."""
        self._extras = Extras(rooms.settings.index.extra_paths, rooms.home.path)

    @property
    def index_folder(self) -> Directory:
        return self._agent.child(".index")

    @property
    def own_prefix(self) -> str:
        """What the keys of the reader's own place begin with."""
        return _prefix(self._rooms.base.path.relative_to(self._agent.path).as_posix())

    @property
    def folder(self) -> Path:
        return self._agent.path

    def place_of(self, key: str) -> Place:
        """Who may read a document, by where it stands."""
        prefix, _ = _split(key)
        kind, _, name = prefix.rstrip("/").partition("/")
        return Place(
            tenant=self._rooms.scope.tenant,
            agent=self._rooms.scope.agent,
            user=name if kind == "users" else None,
            chat=name if kind == "chats" else None,
        )

    # ── listing ─────────────────────────────────────────────────────────────────────────────

    def found(self, may_read: Callable[[Place], bool] | None = None) -> Listing:
        """Every source of the places asked for."""
        listing = Listing()
        self.resting = 0
        settings = self._rooms.settings
        for here in self._places(listing):
            if may_read is not None and not may_read(here.place):
                continue
            if settings.index.include_default_memory and settings.memory.mode != "off":
                with listing.trying(here.prefix, f"memory in {here.name}"):
                    listing.sources |= self._memory_files(here)
            if settings.index.sessions:
                with listing.trying(here.prefix + _SESSIONS, f"conversations in {here.name}"):
                    listing.sources |= self._sessions(here)
            if not here.prefix:
                listing.sources |= self._extra_files(here.place, listing)
        return listing

    def _places(self, listing: Listing) -> Iterator[_Here]:
        tenant, agent = self._rooms.scope.tenant, self._rooms.scope.agent
        yield _Here(place=Place(tenant=tenant, agent=agent), prefix="", base=self._agent)
        for kind in ("users", "chats"):
            names: dict[str, int] = {}
            with listing.trying(kind, f"{self._agent.path / kind}"):
                names = self._folders_in(kind)
            for name, inode in names.items():
                prefix = f"{kind}/{name}/"
                user, chat = (name, None) if kind == "users" else (None, name)
                here = None
                with listing.trying(kind, f"{self._agent.path / kind / name}"):
                    place = Place(tenant=tenant, agent=agent, user=user, chat=chat)
                    self._forget_replaced(prefix, inode)
                    here = _Here(place=place, prefix=prefix, base=self._base(prefix))
                if here is not None:
                    yield here

    def _folders_in(self, kind: str) -> dict[str, int]:
        """The names of the folders there, and which ones they are."""
        if self._agent.identify(kind) is None:
            return {}
        inside = self._agent.child(kind, create=False)
        return {
            each.name: each.seen.inode
            for each in inside.found()
            if each.kind == "folder" and each.is_mine
        }

    def _forget_replaced(self, prefix: str, inode: int) -> None:
        """Another folder may have the name by now: a backup that was put back, a move."""
        known = self._bases.get(prefix)
        if known is not None and known[1] != inode:
            for cached in (self._bases, self._stores, self._workspaces):
                cached.pop(prefix, None)

    def _base(self, prefix: str) -> Directory:
        known = self._bases.get(prefix)
        if known is None:
            folder = self._agent
            for name in prefix.strip("/").split("/"):
                folder = folder.child(name, create=False)
            known = self._bases[prefix] = folder, folder.inode
        return known[0]

    def _memory_files(self, here: _Here) -> dict[str, Source]:
        sources = {}
        for path, seen in seen_in(here.base).items():
            key = here.prefix + path
            document = self._documents.get(key)
            if document is None:
                kind, day = classify(path)
                document = self._documents[key] = Document(
                    key=key, source=kind, place=here.place, title=path.rpartition("/")[2], day=day
                )
            sources[key] = Source(document, seen, path)
        return sources

    def _sessions(self, here: _Here) -> dict[str, Source]:
        if here.base.identify("sessions") is None:
            return {}
        folder = here.base.child("sessions", create=False)
        oldest = self._oldest_activity()
        # Whoever brought old conversations in wants to find them, however old they are.
        imported = imported_sessions(here.base) if oldest is not None else frozenset()
        sources = {}
        names = [name for name in folder.names() if name.endswith(_ENDING)]
        for file_name, seen in folder.glances(names).items():
            name = file_name.removesuffix(_ENDING)
            if oldest is not None and seen.modified_ns < oldest and name not in imported:
                self.resting += 1
                continue
            key = f"{here.prefix}sessions/{name}"
            document = self._documents.get(key)
            if document is None:
                document = self._documents[key] = Document(
                    key=key, source="session", place=here.place, title=name
                )
            sources[key] = Source(document, seen, name)
        return sources

    def _oldest_activity(self) -> int | None:
        """Conversations that rested since before then are no longer searched."""
        days = self._rooms.settings.index.retention_days
        if not days:
            return None
        since: datetime = self._rooms.clock.now() - timedelta(days=days)
        return int(since.timestamp() * 1e9)

    def _extra_files(self, place: Place, listing: Listing) -> dict[str, Source]:
        sources = {}
        problems: list[str] = []
        for path, seen in self._extras.found(problems):
            key = f"{EXTRA}{path}"
            document = Document(key=key, source="extra", place=place, title=path.name)
            sources[key] = Source(document, seen, str(path))
        if problems:
            listing.problems += [f"index: {each}" for each in problems]
            listing.unseen.add(EXTRA)
        return sources

    def again(self, source: Source) -> Source | None:
        """The same source as it is at this moment; None if it is gone.

        Raises:
            StorageError: its folder cannot be listed.
        """
        key = source.document.key
        listing = self.found(lambda place: place == source.document.place)
        if key not in listing.sources and not listing.is_gone(key):
            raise StorageError(listing.problems[0], hint="Run: holdfast doctor")
        return listing.sources.get(key)

    # ── reading ─────────────────────────────────────────────────────────────────────────────

    def read(self, source: Source, mark: Mark | None = None) -> Read | None:
        """The chunks of a source as it is now; None if it is gone."""
        try:
            if source.document.source == "session":
                return self._read_session(source, mark)
            text = self.text_of(source.document.key)
        except NotFound:
            return None
        if text is None:
            return None
        chunks = chunking.chunk_markdown(source.document, text, zone=self._rooms.zone)
        data = text.encode("utf-8", "surrogateescape")
        return Read(chunks=chunks, is_whole=True, content=hashlib.sha256(data).hexdigest())

    def _read_session(self, source: Source, mark: Mark | None) -> Read:
        transcript, store = self._transcript(source.document.key)
        continued = transcript.read_on(mark)
        if not continued.from_start and any(map(changes_mode, continued.entries)):
            continued = transcript.read_on(None)  # what came before may be hidden now, or not
        if continued.memory_mode == OFF:  # nothing of it is found, not even what was said before
            return Read(chunks=[], is_whole=True, mark=continued.mark)
        entries = [
            store.whole(entry, strict=False) if "artifacts" in entry.data else entry
            for entry in openly_said(continued.entries, continued.memory_mode)
        ]
        chunks = chunking.chunk_entries(source.document, entries)
        return Read(chunks=chunks, is_whole=continued.from_start, mark=continued.mark)

    def text_of(self, key: str) -> str | None:
        """A memory file or an extra file as it is now; None if it is gone."""
        if key.startswith(EXTRA):
            return self._extras.read(Path(key.removeprefix(EXTRA)))
        prefix, path = _split(key)
        workspace = self._workspaces.get(prefix)
        if workspace is None:
            workspace = Workspace(
                self._base(prefix), clock=self._rooms.clock, ids=self._rooms.ids, read_only=True
            )
            self._workspaces[prefix] = workspace
        return workspace.read(path)

    def _transcript(self, key: str) -> tuple[Transcript, Store]:
        prefix, path = _split(key)
        name = path.removeprefix(_SESSIONS)
        if prefix == self.own_prefix:
            return self._rooms.transcript(name), self._rooms.store
        store = self._stores.get(prefix)
        if store is None:
            store = self._stores[prefix] = Store(
                self._base(prefix),
                clock=self._rooms.clock,
                ids=self._rooms.ids,
                events=self._rooms.events,
                cap_chars=ingest_cap(self._rooms.settings),
            )
        return store.open(name), store

    def entry(self, key: str, entry_id: str) -> Entry:
        """One entry of a conversation, with every payload in place; if others may read it."""
        transcript, store = self._transcript(key)
        return store.whole(disclosed(transcript, entry_id))

    # ── citations ───────────────────────────────────────────────────────────────────────────

    def extra_key(self, path: str) -> str | None:
        """The key of a file of ``index.extra_paths``; None if it is not among them."""
        absolute = self._extras.absolute(path)
        return f"{EXTRA}{absolute}" if self._extras.holds(absolute) else None

    def cited_as(self, key: str) -> str:
        """What a citation of this document begins with, for this reader."""
        if key.startswith(EXTRA):
            return key.removeprefix(EXTRA)
        prefix, path = _split(key)
        name = path.removeprefix(_SESSIONS)
        return name if prefix == self.own_prefix else prefix + name


def _prefix(path: str) -> str:
    return "" if path == "." else f"{path}/"


def _split(key: str) -> tuple[str, str]:
    """The prefix of a key's place, and the path inside of it."""
    parts = key.split("/", 2)
    if len(parts) == 3 and parts[0] in ("users", "chats"):
        return f"{parts[0]}/{parts[1]}/", parts[2]
    return "", key


def _part_of(key: str) -> str:
    """Which part of a place a source is in, as ``Listing.unseen`` names it."""
    if key.startswith(EXTRA):
        return EXTRA
    prefix, path = _split(key)
    return prefix + _SESSIONS if path.startswith(_SESSIONS) else prefix
