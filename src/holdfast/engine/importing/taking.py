"""One file brought in: what it says that is not here yet, and where to read on next time.

Promise: a file that is as it was is not opened; of a log that has grown only what is new is
read (``tests/engine/test_importing.py`` counts the bytes).
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from holdfast.engine.importing.bringing import Bringing, talk_of
from holdfast.engine.importing.files import Opened, digest_before, opened
from holdfast.engine.importing.ledger import FileRecord, Ledger
from holdfast.engine.importing.reading import Reading
from holdfast.engine.importing.runs import RunId
from holdfast.engine.importing.shapes import Done, Imported, Source, SourceFile, Told
from holdfast.engine.importing.whereabouts import found_session
from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound, PolicyRefused, UsageError, did_you_mean
from holdfast.formats.logs.said import About

__all__ = ["Taking", "import_conversation", "listed"]

_SOURCE_OF: Final[dict[str, Source]] = {
    "claude_code": "claude-code",
    "codex": "codex",
    "openclaw": "openclaw",
}

Ended = Callable[[Bringing], None]


class _OfAnother(UsageError):
    """A log of another program than the one that was named."""


@dataclass(slots=True, kw_only=True)
class Taking:
    """Takes in files, one after the other, and adds up what came of it."""

    rooms: Rooms
    ledger: Ledger
    run: RunId
    done: Done
    is_dry: bool = False
    on_end: Ended | None = None
    """Called when a conversation is on disk."""
    only: Source | None = None
    """Whose logs are read; another one's is refused."""
    _last: Bringing | None = field(default=None, init=False)

    def is_unchanged(self, file: SourceFile) -> bool:
        record = self.ledger.files.get(file.key)
        return record is not None and (record.size, record.modified_ns) == (
            file.size,
            file.modified_ns,
        )

    def take(self, file: SourceFile) -> Bringing | None:
        """Bring in what is new in a file; its last conversation. What cannot be read is told."""
        self._last = None
        record = self.ledger.files.get(file.key)
        try:
            for stream in opened(file.path):
                self._take_stream(stream, file, record)
        except _OfAnother:
            raise
        except (NotFound, UsageError, PolicyRefused) as error:
            self.done.trouble.add(error.message)  # of this file; the disk's own errors go on
        return self._last

    def _take_stream(self, stream: Opened, file: SourceFile, record: FileRecord | None) -> None:
        start = _start(stream, file, record)
        before = record.talk if record is not None else ""
        reading = Reading(stream, start=start, size=file.size, talk=before)
        now = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
        talk, last = "", ""
        bringing: Bringing | None = None
        current: About | None = None
        for told in reading.told():
            if told.about is not current:
                self.check(told.source, file)
                current = told.about
                self._end(bringing)
                talk = record.talk if start and record else talk_of(told, file.path.stem)
                follows = record.last if start and record else None
                bringing = self._begin(told, talk, now, follows)
            if bringing is not None:
                bringing.add(told.heard)
        last = self._end(bringing)
        self._tell(reading, file)
        if not self.is_dry:
            self._note(stream, file, reading, start=start, talk=talk, last=last)

    def check(self, source: str, file: SourceFile) -> None:
        """Refuse what is of another program than the one that was named."""
        if self.only is not None and source != self.only:
            raise _OfAnother(
                f"{file.key} is no log of {self.only}: what it holds is of {source}.",
                hint=f"Run: holdfast import {shlex.quote(file.key)}",
            )

    def _begin(self, told: Told, talk: str, now: datetime, follows: str | None) -> Bringing:
        return Bringing(
            self.rooms,
            self.ledger,
            talk,
            source=told.source,
            about=told.about,
            run=self.run,
            now=now,
            is_dry=self.is_dry,
            last=follows,
        )

    def _end(self, bringing: Bringing | None) -> str:
        if bringing is None:
            return ""
        last = bringing.end()
        self._last = bringing
        if bringing.doubles:
            self.done.leave(bringing.source, {"messages that are written twice": bringing.doubles})
        source = bringing.source
        if bringing.is_refused:
            self.done.leave(source, {"conversations that were deleted here": 1})
            return last
        tally = self.done.tally(source)
        tally.conversations += 1
        tally.new_conversations += bringing.is_new
        tally.messages += bringing.messages
        tally.new_messages += bringing.added
        for at in (bringing.first, bringing.last):
            if at is not None:
                tally.saw(at)
        if bringing.added and bringing.session is not None:
            self.done.sessions.append(bringing.session)
        if self.on_end is not None:
            self.on_end(bringing)
        return last

    def _tell(self, reading: Reading, file: SourceFile) -> None:
        for source, counts in reading.left.items():
            self.done.leave(source, counts)
        for problem in reading.trouble.words():
            self.done.trouble.add(problem)
        source = self._last.source if self._last is not None else file.source or "unknown"
        tally = self.done.tally(source)
        tally.files += 1
        tally.bytes += file.size

    def _note(
        self,
        stream: Opened,
        file: SourceFile,
        reading: Reading,
        *,
        start: int,
        talk: str,
        last: str,
    ) -> None:
        can_go_on = stream.can_seek and reading.has_keys
        before = self.ledger.files.get(file.key)
        goes_on = start > 0 and before is not None
        self.ledger.note(
            FileRecord(
                path=file.key,
                size=file.size,
                modified_ns=file.modified_ns,
                offset=reading.offset if can_go_on else 0,
                tail=digest_before(stream.stream, reading.offset) if can_go_on else "",
                talk=talk or (before.talk if goes_on and before else ""),
                last=last or (before.last if goes_on and before else ""),
            )
        )


def _start(stream: Opened, file: SourceFile, record: FileRecord | None) -> int:
    """Where to read on: behind what was read, if that still stands there."""
    if record is None or not record.offset or not stream.can_seek or not record.talk:
        return 0
    if file.size < record.offset or digest_before(stream.stream, record.offset) != record.tail:
        stream.stream.seek(0)
        return 0
    stream.stream.seek(0)
    return record.offset


def listed(path: Path) -> SourceFile:
    """A file that is named, as it is now."""
    absolute = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 - links are not followed
    try:
        found = absolute.lstat()
    except OSError:
        raise NotFound(f"There is no file {str(path)!r}.") from None
    return SourceFile(path=absolute, source=None, size=found.st_size, modified_ns=found.st_mtime_ns)


def import_conversation(rooms: Rooms, path: str | Path, kind: str = "claude_code") -> Imported:
    """Bring in the conversation of one log, or what is new in it since the last time.

    Raises:
        UsageError: there is no such kind, or the log is of another one.
        NotFound: there is no such file.
    """
    source = _SOURCE_OF.get(kind)
    if source is None:
        near = did_you_mean(kind, tuple(_SOURCE_OF)) or f"There are: {', '.join(_SOURCE_OF)}."
        raise UsageError(f"There is no kind of log {kind!r}.", hint=near)
    ledger = Ledger(rooms.base)
    done = Done()
    run = RunId(rooms, ledger, is_single=True)
    taking = Taking(rooms=rooms, ledger=ledger, run=run, done=done, only=source)
    file = listed(Path(path))
    if (before := ledger.files.get(file.key)) is not None and before.talk:
        taking.check(before.talk.partition(":")[0], file)
    bringing = None if taking.is_unchanged(file) else taking.take(file)
    ledger.save()
    record = ledger.files.get(file.key)
    talk = ledger.talks.get(record.talk) if record is not None else None
    session = bringing.session if bringing is not None else None
    session = session or (talk.session if talk is not None else None)
    transcript = found_session(rooms, session) if session is not None else None
    total = transcript.state().messages if transcript is not None else 0
    session = transcript.name if transcript is not None else None
    added = bringing.added if bringing is not None else 0
    problems = tuple(done.trouble.words())
    return Imported(session=session, new=added, total=total, problems=problems)
