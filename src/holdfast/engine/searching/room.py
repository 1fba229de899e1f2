"""The search index of an agent, kept up with its files: what ``engine.index`` is.

Promise: a search sees every memory and message that was acknowledged before it began, or says
what it does not see yet; the index is brought up to date by whoever searches and embedded by
whoever holds the lease, and what is deleted is built again from the files
(``tests/engine/test_searching.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import RLock
from time import time_ns
from typing import TYPE_CHECKING, Final

from holdfast.disk import Directory
from holdfast.engine.searching.embedding import Embedding, Progress
from holdfast.engine.searching.following import CaughtUp, Following, is_same, stamp_of
from holdfast.engine.searching.sources import Source, Sources
from holdfast.engine.searching.upkeep import Upkeep
from holdfast.errors import HoldfastError, StorageError
from holdfast.events import IndexChanged
from holdfast.ports import Embedder
from holdfast.scope import Place
from holdfast.search import chunking
from holdfast.search.index import Index, Reading, Stamp
from holdfast.search.index.lease import Lease
from holdfast.search.ranking.flags import flags_of
from holdfast.text.tokens import TOKENS_VERSION, index_terms, term_hash
from holdfast.types import Citation, Json

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms

__all__ = [
    "READING",
    "CaughtUp",
    "EncoderStatus",
    "IndexState",
    "SearchRoom",
    "Synced",
    "open_index",
]

log = logging.getLogger("holdfast.engine")

_A_LITTLE_SECONDS: Final = 0.25
"""What a search spends on encoding where nobody else does it."""
_CLOSE_SECONDS: Final = 2.0
_CHUNKS_VERSION: Final = 3
"""Raised when the same file is cut into other chunks."""

READING: Final = Reading(
    searched_text=lambda document, chunk: chunking.searched_text(document, chunk),
    index_terms=index_terms,
    term_hash=term_hash,
    flags_of=flags_of,
    embedded_text=lambda document, chunk: chunking.embedded_text(document, chunk),
    version=f"{TOKENS_VERSION}.{_CHUNKS_VERSION}",
)
"""How the index reads text. Chunking is loaded by the first text that has to be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    documents: int = 0
    removed: int = 0
    embedded: int = 0
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderStatus:
    name: str
    embedded: int
    wanted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """How the index stands against the files."""

    documents: int
    conversations: int
    chunks: int
    changed: int
    """Documents that are not indexed as they are now."""
    bytes: int
    resting: int = 0
    """Conversations that are not searched, because nobody used them for long."""
    encoders: tuple[EncoderStatus, ...] = ()
    problems: tuple[str, ...] = ()
    path: str = ""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


def open_index(folder: Directory) -> Index:
    """The index in an ``.index`` folder, read as we read text."""
    return Index.open(folder, READING)


class SearchRoom:
    """One agent's index, for every engine that is opened on it."""

    def __init__(self, rooms: Rooms, embedders: Sequence[Embedder] | None = None) -> None:
        self._rooms = rooms
        self._lock = RLock()
        self._index: Index | None = None
        self._is_closed = False
        self._leased: Lease | None = None
        self._upkeep: Upkeep | None = None
        self.sources = Sources(rooms)
        self.embedding = Embedding(rooms, embedders)

    @property
    def index(self) -> Index:
        """The open index; opened anew if it was removed or replaced under us."""
        with self._lock:
            if self._index is not None and self._index.is_gone:
                self._let_go()
            if self._index is None:
                if self._is_closed:
                    raise StorageError("The search index was closed.", hint="Ask engine.index.")
                self._index = open_index(self.sources.index_folder)
                if self._index.rebuilt_because is not None:
                    reason = self._index.rebuilt_because
                    self._rooms.tell(IndexChanged, what="given up", reason=reason)
            return self._index

    def close(self) -> None:
        """Stop what runs in the background, and let go of the files. Never raises."""
        with self._lock:
            self._is_closed = True
            upkeep, self._upkeep = self._upkeep, None
        if upkeep is None or upkeep.stop(_CLOSE_SECONDS):
            self._let_go()
        self.embedding.close(_CLOSE_SECONDS)

    def ended(self) -> None:
        """The thread of the background is at its end: it closes what nobody waited for."""
        if self._is_closed:
            self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            index, self._index = self._index, None
        if index is not None:
            try:
                index.close()
            except (HoldfastError, OSError) as error:
                log.warning("the index was not closed as it should be: %s", error)

    # ── following the files ─────────────────────────────────────────────────────────────────

    def catch_up(
        self,
        *,
        may_read: Callable[[Place], bool] | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        in_view: str | None = None,
    ) -> CaughtUp:
        """Take in what changed since the last look, the newest first, for about ``seconds``.

        What is new in the session ``in_view`` can wait: whoever asks sees it anyway.
        """
        can_wait = None if in_view is None else f"{self.sources.own_prefix}sessions/{in_view}"
        return Following(
            index=self.index,
            sources=self.sources,
            seconds=seconds,
            should_stop=should_stop,
            progress=progress,
            can_wait=can_wait,
        ).catch_up(may_read)

    def sync(
        self,
        progress: Progress | None = None,
        *,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Synced:
        """Index whatever changed and encode what waits. Can be stopped and goes on next time."""
        caught = self.catch_up(progress=progress, should_stop=should_stop)
        with self._embedding_alone() as is_ours:
            if not is_ours:
                busy = "meaning: another process is embedding, and goes on with it"
                return Synced(
                    documents=caught.documents,
                    removed=caught.removed,
                    problems=(*caught.problems, busy),
                )
            return self._encoded(caught, progress, should_stop)

    def _encoded(
        self, caught: CaughtUp, progress: Progress | None, should_stop: Callable[[], bool]
    ) -> Synced:
        encoded = self.embedding.run(self.index, progress=progress, should_stop=should_stop)
        self._retire_others()
        if not self._rooms.settings.index.embedding_cache:
            self.index.forget_unused()
        if caught.documents or caught.removed or encoded.embedded:
            self.index.maintain()
            self._rooms.tell(
                IndexChanged,
                what="synced",
                documents=caught.documents,
                embedded=encoded.embedded,
            )
        return Synced(
            documents=caught.documents,
            removed=caught.removed,
            embedded=encoded.embedded,
            problems=(*caught.problems, *encoded.problems),
        )

    def _retire_others(self) -> None:
        """Drop what former encoders made, once those in use have seen everything."""
        used = {embedder.name for embedder in self.embedding.embedders}
        coverage = {each.embedder: each for each in self.index.coverage()}
        if used and all(name in coverage and coverage[name].is_complete for name in used):
            for name in coverage.keys() - used:
                self.index.retire(name)

    def rebuild(self, progress: Progress | None = None) -> Synced:
        """Build the index anew beside the old one; searches go on meanwhile."""
        documents = 0
        problems: list[str] = []
        with self.index.rebuilding() as beside:
            listing = self.sources.found()
            problems += listing.problems
            found = listing.sources
            for source in found.values():
                started = time_ns()
                try:
                    read = self.sources.read(source)
                except HoldfastError as error:
                    problems.append(f"{source.document.key} was left out: {error.message}")
                    continue
                if read is not None:
                    beside.put(source.document, read.chunks, stamp_of(source, read, started))
                    documents += 1
                if progress is not None:
                    progress("files", documents, len(found))
            encoded = self.embedding.run(beside, progress=progress)
        self._rooms.tell(
            IndexChanged, what="rebuilt", documents=documents, embedded=encoded.embedded
        )
        return Synced(
            documents=documents,
            embedded=encoded.embedded,
            problems=(*problems, *encoded.problems),
        )

    # ── meaning ─────────────────────────────────────────────────────────────────────────────

    @property
    def embedders(self) -> tuple[Embedder, ...]:
        return self.embedding.embedders

    def embed_a_little(self, seconds: float) -> tuple[str, ...]:
        """Encode some of what waits, where nothing runs in the background, and wait for it at
        most ``seconds``. What went wrong."""
        begin = min(seconds, _A_LITTLE_SECONDS)
        with self._embedding_alone() as is_ours:
            if not is_ours:
                return ()  # somebody does it already
            return self.embedding.run(self.index, seconds=begin, wait=seconds).problems

    @contextmanager
    def _embedding_alone(self) -> Iterator[bool]:
        """Of several processes one embeds; whether that is this one."""
        if self._leased is not None:
            yield True
            return
        lease = self.index.lease
        is_ours = lease.take()
        try:
            yield is_ours
        finally:
            if is_ours:
                lease.give_back()

    # ── in the background ───────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Follow the files in the background until the engine is closed."""
        with self._lock:
            if self._upkeep is None and not self._is_closed:
                settings = self._rooms.settings.index
                self._upkeep = Upkeep(
                    self,
                    debounce_ms=settings.debounce_ms,
                    every_seconds=settings.update_interval.total_seconds(),
                )
                self._upkeep.start()

    def wake(self) -> None:
        """Something of our own was written."""
        if self._upkeep is not None:
            self._upkeep.wake()

    @contextmanager
    def lease(self) -> Iterator[bool]:
        """Whether this process is the one that indexes, for as long as the block lasts."""
        lease = self.index.lease
        is_ours = lease.take()
        self._leased = lease if is_ours else None
        try:
            yield is_ours
        finally:
            self._leased = None
            if is_ours:
                lease.give_back()

    @property
    def is_leased(self) -> bool:
        """Whether the lease is one of the index as it is now, and not of one that was removed."""
        return self._leased is not None and self.index.lease is self._leased

    @property
    def watched_folder(self) -> Path:
        return self.sources.folder

    # ── how it stands ───────────────────────────────────────────────────────────────────────

    def status(self) -> IndexState:
        """How the index stands against the files; nothing is changed."""
        index = self.index.status()
        known = self.index.known()
        listing = self.sources.found()
        changed = sum(
            not self._is_current(known.get(key), each) for key, each in listing.sources.items()
        )
        changed += sum(map(listing.is_gone, known))
        problems = [] if self.embedders else [f"meaning: {self.embedding.missing or 'no encoder'}"]
        problems += [f"meaning: {each}" for each in self.embedding.problems]
        problems += listing.problems
        if self.index.outdated:
            problems.append(self.index.outdated)
        if index.rebuilt_because:
            problems.append(f"the index was given up: {index.rebuilt_because}")
        return IndexState(
            documents=index.documents,
            conversations=sum(_is_session(key) for key in known),
            chunks=index.chunks,
            changed=changed,
            bytes=index.bytes,
            resting=self.sources.resting,
            encoders=tuple(
                EncoderStatus(
                    name=embedder.name,
                    embedded=index.chunks - missing,
                    wanted=index.chunks,
                )
                for embedder in self.embedders
                for missing in (self.index.missing(embedder.name),)
            ),
            problems=tuple(problems),
            path=str(self.sources.index_folder.path),
        )

    def verify(self) -> list[str]:
        """Where the index is not what the files say, in words."""
        problems = [
            each.what if each.document is None else f"{each.document}: {each.what}"
            for each in self.index.verify()
        ]
        known = self.index.known()
        listing = self.sources.found()
        problems += listing.problems
        for key, source in listing.sources.items():
            stamp = known.get(key)
            if stamp is None:
                problems.append(f"{key}: not indexed")
            elif not self._holds(stamp, source):
                problems.append(f"{key}: changed since it was indexed")
        return problems + [
            f"{key}: gone, but still indexed" for key in known if listing.is_gone(key)
        ]

    def _is_current(self, stamp: Stamp | None, source: Source) -> bool:
        """Whether a source is indexed as it is. If its time cannot tell, its content does."""
        return is_same(stamp, source) or (stamp is not None and self._has_content(stamp, source))

    def _holds(self, stamp: Stamp, source: Source) -> bool:
        """The same, whatever its time says; a conversation only grows."""
        return self._has_content(stamp, source) if stamp.content else is_same(stamp, source)

    def _has_content(self, stamp: Stamp, source: Source) -> bool:
        if not stamp.content:
            return False
        try:
            read = self.sources.read(source)
        except HoldfastError:
            return False
        return read is not None and read.content == stamp.content

    def content(self, citation: Citation) -> str | None:
        """What stands at a source now: a whole file, or what an entry said."""
        try:
            if citation.entry is not None:
                return chunking.entry_text(self.sources.entry(citation.source, citation.entry))
            text = self.sources.text_of(citation.source)
        except HoldfastError:
            return None
        return None if text is None else chunking.storable(text)


def _is_session(key: str) -> bool:
    return "sessions/" in key and not key.endswith(".md")
