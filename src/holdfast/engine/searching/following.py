"""Bring an index up to date with the files: what changed is read, what is gone is dropped.

Promise: bounded where somebody waits: a search goes on without what there was no time for and
says so; a source that cannot be read, or a folder that cannot be listed, is named and costs no
other; a text that was erased while it was read does not come back
(``tests/engine/test_searching.py``, ``test_searching_faults.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, time_ns
from typing import Final

from holdfast.engine.searching.embedding import Progress
from holdfast.engine.searching.sources import Read, Source, Sources
from holdfast.errors import HoldfastError, Locked
from holdfast.scope import Place
from holdfast.search.index import Index, Put, Stamp
from holdfast.sessions.reading import Mark

__all__ = ["CaughtUp", "Following", "is_same", "stamp_of"]

_TRIES: Final = 3
_RACY_NS: Final = 50_000_000
"""A file saved this shortly before it was read may be saved again with the same time."""
_AHEAD_NS: Final = 1_000_000_000
"""The clock of a file server may be so much ahead; a time further on was set by somebody."""


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
        what = (
            "1 changed document is" if self.behind == 1 else f"{self.behind} changed documents are"
        )
        behind = f"index: {what} not indexed yet"
        return [*self.problems, *([f"{behind} (holdfast index sync)"] if self.behind else [])]


@dataclass(slots=True)
class Following:
    """One look at the files, for at most ``seconds``.

    These begin with the first document that was read, because that one loads what reads it.
    """

    index: Index
    sources: Sources
    seconds: float | None = None
    should_stop: Callable[[], bool] = lambda: False
    progress: Progress | None = None
    can_wait: str | None = None
    """The key of a session whose growth need not be taken in now."""
    _until: float | None = None
    _problems: list[str] = field(default_factory=list)

    def catch_up(self, may_read: Callable[[Place], bool] | None) -> CaughtUp:
        """Take in what changed since the last look, the newest first."""
        erasures = self.index.erasures  # before anything is read
        known = self.index.known()
        listing = self.sources.found(may_read)
        changed = [
            each
            for key, each in listing.sources.items()
            if key != self.can_wait and not is_same(known.get(key), each)
        ]
        changed.sort(key=lambda each: -each.seen.modified_ns)
        self._problems += listing.problems
        if (why := self.index.outdated) is not None:
            self._problems.append(f"index: {why}")
            return self._result(changed, set(), set(), [], [])
        gone = [
            key
            for key in known
            if listing.is_gone(key) and (may_read is None or may_read(self.sources.place_of(key)))
        ]
        removed = self._drop(gone)
        done: set[str] = set()
        failed: set[str] = set()
        for source in changed:
            if self.should_stop() or self._is_over():
                break
            key = source.document.key
            try:
                if self._take_in(source, known.get(key), erasures):
                    done.add(key)
            except Locked as error:
                if self.seconds is not None:
                    break  # somebody else is writing: what there is now is searched
                self._problems.append(f"index: {key} was left out: {error.message}")
                failed.add(key)
            except HoldfastError as error:
                self._problems.append(f"index: {key} was left out: {error.message}")
                failed.add(key)
            self._begin_counting()
            if self.progress is not None:
                self.progress("files", len(done) + len(failed), len(changed))
        return self._result(changed, done, failed, gone, removed)

    def _result(
        self,
        changed: list[Source],
        done: set[str],
        failed: set[str],
        gone: list[str],
        removed: list[str],
    ) -> CaughtUp:
        left = {key for each in changed if (key := each.document.key) not in done}
        kept = set(gone) - set(removed)
        return CaughtUp(
            documents=len(done),
            removed=len(removed),
            behind=len(left - failed) + len(kept),
            problems=tuple(self._problems),
            stale=frozenset(left | kept),
        )

    def _drop(self, gone: list[str]) -> list[str]:
        """Those that are gone from the index too, by now."""
        if not gone:
            return []
        try:
            return self.index.drop_all(gone, seconds=self.seconds)
        except Locked as error:
            if self.seconds is None:
                self._problems.append(f"index: {len(gone)} removed file(s): {error.message}")
        except HoldfastError as error:
            self._problems.append(f"index: {len(gone)} removed file(s): {error.message}")
        return []

    # ── time ────────────────────────────────────────────────────────────────────────────────

    def _begin_counting(self) -> None:
        if self._until is None and self.seconds is not None:
            self._until = monotonic() + self.seconds

    def _is_over(self) -> bool:
        return self._until is not None and monotonic() >= self._until

    def _left(self) -> float | None:
        return self.seconds if self._until is None else max(0.0, self._until - monotonic())

    # ── one document ────────────────────────────────────────────────────────────────────────

    def _take_in(self, source: Source, stamp: Stamp | None, erasures: int) -> bool:
        """Read a source and put it in; if somebody else was faster, look again. Whether the
        index has it as it is."""
        for _ in range(_TRIES):
            put = self._put(source, stamp, erasures)
            if not put.overtaken:
                return not put.unfinished
            erasures = self.index.erasures
            again = self.sources.again(source)
            stamp = self.index.known().get(source.document.key)
            if again is None or is_same(stamp, again):
                return True
            source = again
        return False

    def _put(self, source: Source, stamp: Stamp | None, erasures: int) -> Put:
        started = time_ns()
        read = self.sources.read(source, _mark(stamp, source))
        document = source.document
        if read is None:
            return self.index.drop(document.key, seconds=self._left())
        new = stamp_of(source, read, started)
        if read.is_whole and stamp is not None and read.content and read.content == stamp.content:
            return Put(overtaken=not self.index.touch(document.key, new, seconds=self._left()))
        put = self.index.put if read.is_whole else self.index.extend
        return put(
            document,
            read.chunks,
            new,
            expecting=stamp,
            erasures=erasures,
            seconds=self._left(),
        )


# ── stamps ──────────────────────────────────────────────────────────────────────────────────


def is_same(stamp: Stamp | None, source: Source) -> bool:
    """Whether a source was not saved again since it was indexed.

    Of a file also the moment counts at which the system changed it last, which nobody can set.
    """
    seen = source.seen
    return (
        stamp is not None
        and (stamp.inode, stamp.size, stamp.mtime_ns) == (seen.inode, seen.size, seen.modified_ns)
        and (source.document.source == "session" or stamp.extra == str(seen.changed_ns))
    )


def stamp_of(source: Source, read: Read, started: int) -> Stamp:
    """As the file was listed, before it was read: a later change shows.

    A time as fresh as the reading proves nothing, because the next save may have the same.
    """
    seen = source.seen
    is_session = source.document.source == "session"
    is_racy = not is_session and any(
        -_AHEAD_NS < started - time < _RACY_NS for time in (seen.modified_ns, seen.changed_ns)
    )
    mark = json.dumps(read.mark) if read.mark is not None else ""
    return Stamp(
        size=seen.size,
        mtime_ns=0 if is_racy else seen.modified_ns,
        inode=seen.inode,
        content=read.content,
        extra=mark if is_session else str(seen.changed_ns),
    )


def _mark(stamp: Stamp | None, source: Source) -> Mark | None:
    if stamp is None or not stamp.extra or source.document.source != "session":
        return None
    return Mark(*json.loads(stamp.extra))
