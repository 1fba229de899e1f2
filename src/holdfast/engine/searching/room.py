"""The search index of an agent, kept up with its files: what ``engine.index`` is.

Promise: a search sees every memory and message that was acknowledged before it began, or says
what it does not see yet; the index is brought up to date by whoever searches and embedded by
whoever holds the lease, and what is deleted is built again from the files
(``tests/engine/test_searching.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import RLock
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Final

from holdfast.disk import Directory
from holdfast.engine.searching.embedding import Embedding, Progress
from holdfast.engine.searching.sources import Read, Source, Sources
from holdfast.engine.searching.upkeep import Upkeep
from holdfast.errors import HoldfastError
from holdfast.events import IndexChanged
from holdfast.ports import Embedder
from holdfast.scope import Place
from holdfast.search import chunking
from holdfast.search.index import Index, Reading, Stamp
from holdfast.search.ranking.flags import flags_of
from holdfast.sessions.reading import Mark
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

_RACY_NS: Final = 50_000_000
"""A file saved this shortly before it was read may be saved again with the same time."""


_A_LITTLE_SECONDS: Final = 0.25
"""What a search spends on encoding where nobody else does it."""
_CLOSE_SECONDS: Final = 2.0
_TRIES: Final = 3
_CHUNKS_VERSION: Final = 1
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
class CaughtUp:
    """What a look at the files led to."""

    documents: int = 0
    removed: int = 0
    behind: int = 0
    """Documents that changed and could not be read in the time there was."""
    problems: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()
    """Their keys, and those of documents that could not be read."""

    def said(self) -> list[str]:
        """In words, what a search does not see."""
        behind = f"index: {self.behind} changed document(s) are not indexed yet"
        return [*self.problems, *([f"{behind} (holdfast index sync)"] if self.behind else [])]


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
        self._upkeep: Upkeep | None = None
        self.sources = Sources(rooms)
        self.embedding = Embedding(rooms, embedders)

    @property
    def index(self) -> Index:
        with self._lock:
            if self._index is None:
                self._index = open_index(self.sources.index_folder)
                if self._index.rebuilt_because is not None:
                    reason = self._index.rebuilt_because
                    self._rooms.tell(IndexChanged, what="given up", reason=reason)
            return self._index

    def close(self) -> None:
        """Stop what runs in the background, and let go of the files."""
        with self._lock:
            upkeep, self._upkeep = self._upkeep, None
            index, self._index = self._index, None
        stopped = upkeep is None or upkeep.stop(_CLOSE_SECONDS)
        if index is not None and stopped:
            index.close()

    # ── following the files ─────────────────────────────────────────────────────────────────

    def catch_up(
        self,
        *,
        may_read: Callable[[Place], bool] | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> CaughtUp:
        """Take in what changed since the last look, the newest first.

        One document is always read; the others for ``seconds``.
        """
        known = self.index.known()
        found = self.sources.found(may_read)
        changed = [each for key, each in found.items() if not _is_same(known.get(key), each)]
        gone = [
            key
            for key in known
            if key not in found and (may_read is None or may_read(self.sources.place_of(key)))
        ]
        for key in gone:
            self.index.drop(key)
        changed.sort(key=lambda each: -each.seen.modified_ns)
        until = None
        done = 0
        problems = []
        failed = set()
        for source in changed:
            if should_stop() or (until is not None and monotonic() >= until):
                break
            try:
                self._take_in(source, known.get(source.document.key))
            except HoldfastError as error:
                problems.append(f"index: {source.document.key} was left out: {error.message}")
                failed.add(source.document.key)
            done += 1
            if until is None and seconds is not None:
                until = monotonic() + seconds  # not before: the first one loads what reads it
            if progress is not None:
                progress("files", done, len(changed))
        return CaughtUp(
            documents=done,
            removed=len(gone),
            behind=len(changed) - done,
            problems=tuple(problems),
            stale=frozenset(failed | {each.document.key for each in changed[done:]}),
        )

    def _take_in(self, source: Source, stamp: Stamp | None) -> None:
        """Read a source and put it in, unless somebody else was faster: then look again."""
        for _ in range(_TRIES):
            if self._took_in(source, stamp):
                return
            again = self.sources.again(source)
            stamp = self.index.known().get(source.document.key)
            if again is None or _is_same(stamp, again):
                return
            source = again

    def _took_in(self, source: Source, stamp: Stamp | None) -> bool:
        """Whether it could be put in: False if it was changed in the index meanwhile."""
        started = time_ns()
        read = self.sources.read(source, _mark(stamp))
        document = source.document
        if read is None:
            self.index.drop(document.key)
            return True
        new = _stamp(source, read, started)
        if not read.is_whole:
            done = self.index.extend(document, read.chunks, new, expecting=stamp)
        elif stamp is not None and read.content and read.content == stamp.content:
            return self.index.touch(document.key, new)
        else:
            done = self.index.put(document, read.chunks, new, expecting=stamp)
        return not done.overtaken

    def sync(
        self,
        progress: Progress | None = None,
        *,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Synced:
        """Index whatever changed and encode what waits. Can be stopped and goes on next time."""
        caught = self.catch_up(progress=progress, should_stop=should_stop)
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
        coverage = self.index.coverage()
        if used and all(each.is_complete for each in coverage if each.embedder in used):
            for each in coverage:
                if each.embedder not in used:
                    self.index.retire(each.embedder)

    def rebuild(self, progress: Progress | None = None) -> Synced:
        """Build the index anew beside the old one; searches go on meanwhile."""
        documents = 0
        problems: list[str] = []
        with self.index.rebuilding() as beside:
            found = self.sources.found()
            for source in found.values():
                started = time_ns()
                try:
                    read = self.sources.read(source)
                except HoldfastError as error:
                    problems.append(f"{source.document.key} was left out: {error.message}")
                    continue
                if read is not None:
                    beside.put(source.document, read.chunks, _stamp(source, read, started))
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

    def embed_a_little(self) -> tuple[str, ...]:
        """Encode some of what waits, where nothing runs in the background. What went wrong."""
        return self.embedding.run(self.index, seconds=_A_LITTLE_SECONDS).problems

    # ── in the background ───────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Follow the files in the background until the engine is closed."""
        with self._lock:
            if self._upkeep is None:
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
        is_ours = self.index.lease.take()
        try:
            yield is_ours
        finally:
            if is_ours:
                self.index.lease.give_back()

    @property
    def watched_folder(self) -> Path:
        return self.sources.folder

    # ── how it stands ───────────────────────────────────────────────────────────────────────

    def status(self) -> IndexState:
        """How the index stands against the files; nothing is changed."""
        index = self.index.status()
        known = self.index.known()
        found = self.sources.found()
        changed = sum(not self._is_current(known.get(key), each) for key, each in found.items())
        changed += sum(key not in found for key in known)
        problems = [] if self.embedders else [self.embedding.missing or "no encoder"]
        if index.rebuilt_because:
            problems.append(f"the index was given up: {index.rebuilt_because}")
        return IndexState(
            documents=index.documents,
            conversations=sum(_is_session(key) for key in known),
            chunks=index.chunks,
            changed=changed,
            bytes=index.bytes,
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
        found = self.sources.found()
        for key, source in found.items():
            stamp = known.get(key)
            if stamp is None:
                problems.append(f"{key}: not indexed")
            elif not self._is_current(stamp, source):
                problems.append(f"{key}: changed since it was indexed")
        return problems + [f"{key}: gone, but still indexed" for key in known if key not in found]

    def _is_current(self, stamp: Stamp | None, source: Source) -> bool:
        """Whether a source is indexed as it is. If its time cannot tell, its content does."""
        if _is_same(stamp, source):
            return True
        if stamp is None or not stamp.content:
            return False
        read = self.sources.read(source)
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


def _is_same(stamp: Stamp | None, source: Source) -> bool:
    seen = source.seen
    return stamp is not None and (stamp.inode, stamp.size, stamp.mtime_ns) == (
        seen.inode,
        seen.size,
        seen.modified_ns,
    )


def _stamp(source: Source, read: Read, started: int) -> Stamp:
    """As the file was listed, before it was read: a later change shows.

    A time as fresh as the reading proves nothing, because the next save may have the same.
    """
    seen = source.seen
    is_racy = started - seen.modified_ns < _RACY_NS and source.document.source != "session"
    return Stamp(
        size=seen.size,
        mtime_ns=0 if is_racy else seen.modified_ns,
        inode=seen.inode,
        content=read.content,
        extra=json.dumps(read.mark) if read.mark is not None else "",
    )


def _mark(stamp: Stamp | None) -> Mark | None:
    if stamp is None or not stamp.extra:
        return None
    return Mark(*json.loads(stamp.extra))


def _is_session(key: str) -> bool:
    return "sessions/" in key and not key.endswith(".md")
