"""What there is to be found: the memory files and conversations of an agent, place by place.

Promise: a listing touches no file that is not a memory file or a transcript, follows no link,
and reads nothing but names and times; what grew is read on from where it was left
(``tests/engine/test_searching.py``).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from holdfast.context.accounting import ingest_cap
from holdfast.disk import Directory, Seen
from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.listing import seen_in
from holdfast.scope import Place
from holdfast.search import chunking
from holdfast.search.chunking.sources import classify
from holdfast.search.documents import Chunk, Document
from holdfast.sessions.reading import Mark
from holdfast.sessions.store import Store
from holdfast.sessions.transcript import Transcript
from holdfast.types import Entry

__all__ = ["EXTRA", "Read", "Source", "Sources"]

EXTRA: Final = "extra:"
"""What the key of a file outside of the home begins with."""
_LARGEST_FILE: Final = 16 << 20
_ENDING: Final = ".jsonl"


class Source(NamedTuple):
    """One file as it is now: what it is, and how to notice that it was saved again."""

    document: Document
    seen: Seen
    name: str
    """Its path inside its place; of a conversation its name; of an extra file where it is."""


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


class Sources:
    """Everything of one agent that can be searched."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._agent = rooms.home.child("agents").child(rooms.scope.agent)
        self._bases: dict[str, Directory] = {"": self._agent}
        self._stores: dict[str, Store] = {}
        self._workspaces: dict[str, Workspace] = {}
        self._documents: dict[str, Document] = {}

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

    def found(self, may_read: Callable[[Place], bool] | None = None) -> dict[str, Source]:
        """Every source of the places asked for, by its key."""
        sources: dict[str, Source] = {}
        settings = self._rooms.settings.index
        for here in self._places():
            if may_read is not None and not may_read(here.place):
                continue
            if settings.include_default_memory and self._rooms.settings.memory.mode != "off":
                sources |= self._memory_files(here)
            if settings.sessions:
                sources |= self._sessions(here)
            if not here.prefix:
                sources |= self._extra_files(here.place)
        return sources

    def _places(self) -> Iterator[_Here]:
        tenant, agent = self._rooms.scope.tenant, self._rooms.scope.agent
        yield _Here(place=Place(tenant=tenant, agent=agent), prefix="", base=self._agent)
        for kind in ("users", "chats"):
            for name in self._folders_in(kind):
                prefix = f"{kind}/{name}/"
                user, chat = (name, None) if kind == "users" else (None, name)
                place = Place(tenant=tenant, agent=agent, user=user, chat=chat)
                yield _Here(place=place, prefix=prefix, base=self._base(prefix))

    def _folders_in(self, kind: str) -> list[str]:
        if self._agent.identify(kind) is None:
            return []
        inside = self._agent.child(kind, create=False)
        return [each.name for each in inside.found() if each.kind == "folder" and each.is_mine]

    def _base(self, prefix: str) -> Directory:
        known = self._bases.get(prefix)
        if known is None:
            known = self._agent
            for name in prefix.strip("/").split("/"):
                known = known.child(name, create=False)
            self._bases[prefix] = known
        return known

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
        sources = {}
        names = [name for name in folder.names() if name.endswith(_ENDING)]
        for file_name, seen in folder.glances(names).items():
            if oldest is not None and seen.modified_ns < oldest:
                continue
            name = file_name.removesuffix(_ENDING)
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

    def _extra_files(self, place: Place) -> dict[str, Source]:
        sources = {}
        for path in _markdown_below(self._rooms.settings.index.extra_paths):
            try:
                found = path.lstat()
            except OSError:
                continue
            if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST_FILE:
                continue
            key = f"{EXTRA}{path}"
            document = Document(key=key, source="extra", place=place, title=path.name)
            seen = Seen(found.st_ino, found.st_size, found.st_mtime_ns)
            sources[key] = Source(document, seen, str(path))
        return sources

    def again(self, source: Source) -> Source | None:
        """The same source as it is at this moment; None if it is gone."""
        key = source.document.key
        return self.found(lambda place: place == source.document.place).get(key)

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
        entries = [
            store.whole(entry, strict=False) if "artifacts" in entry.data else entry
            for entry in continued.entries
        ]
        chunks = chunking.chunk_entries(source.document, entries)
        return Read(chunks=chunks, is_whole=continued.from_start, mark=continued.mark)

    def text_of(self, key: str) -> str | None:
        """A memory file or an extra file as it is now; None if it is gone."""
        if key.startswith(EXTRA):
            return _outside_text(Path(key.removeprefix(EXTRA)))
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
        name = path.removeprefix("sessions/")
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
        """One entry of a conversation, with every payload in place."""
        transcript, store = self._transcript(key)
        return store.whole(transcript.find(entry_id))

    # ── citations ───────────────────────────────────────────────────────────────────────────

    @staticmethod
    def extra_key(path: str) -> str:
        return f"{EXTRA}{Path(path).expanduser()}"

    def cited_as(self, key: str) -> str:
        """What a citation of this document begins with, for this reader."""
        if key.startswith(EXTRA):
            return key.removeprefix(EXTRA)
        prefix, path = _split(key)
        name = path.removeprefix("sessions/")
        return name if prefix == self.own_prefix else prefix + name


def _prefix(path: str) -> str:
    return "" if path == "." else f"{path}/"


def _split(key: str) -> tuple[str, str]:
    """The prefix of a key's place, and the path inside of it."""
    parts = key.split("/", 2)
    if len(parts) == 3 and parts[0] in ("users", "chats"):
        return f"{parts[0]}/{parts[1]}/", parts[2]
    return "", key


def _markdown_below(paths: tuple[str, ...]) -> Iterator[Path]:
    for named in paths:
        path = Path(named).expanduser()
        if path.is_file():
            yield path
        elif path.is_dir():
            for folder, names, files in os.walk(path):
                names[:] = sorted(name for name in names if not name.startswith("."))
                yield from (Path(folder, name) for name in sorted(files) if name.endswith(".md"))


def _outside_text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None
