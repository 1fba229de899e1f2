"""What a flush wrote, where it stands now; and what a recall quoted.

Promise: a line that was written is told with its file and its number as long as it stands
there; one that was moved, changed or forgotten since is told by its id alone. Nothing that a
passage holds can pass for the head of another (``tests/engine/test_chronicle.py``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from holdfast import fencing
from holdfast.engine.chronicle.looking import Back
from holdfast.engine.remembering import get
from holdfast.errors import NotFound, PolicyRefused, UsageError
from holdfast.retain import line_id
from holdfast.retain.documents import Located, lines
from holdfast.sessions.shapes import message_of
from holdfast.types import Citation, Entry, LineSpan

if TYPE_CHECKING:
    from holdfast.engine.rooms import Rooms
    from holdfast.engine.session import Session

__all__ = ["Files", "Quoted", "SavedLine", "is_flush", "last_flush", "quoted_in", "saved_lines"]

_HEAD: Final = re.compile(r"\[(\d{1,6})\] ([^\n]{1,2000})")
_TRUSTS: Final = ("user", "agent", "tool", "import")
_PART: Final = " · "
_FAILED: Final = 256
_WROTE: Final = 4_096
"""How many entries back a flush that failed, or that wrote something, is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLine:
    """One memory that was written. Without a number it does not stand in its file any more."""

    id: str
    kind: str
    text: str
    trust: str
    path: str
    number: int | None

    @property
    def citation(self) -> str:
        if self.number is None:
            return self.path
        return str(Citation(source=self.path, span=LineSpan(start=self.number, end=self.number)))


class Files:
    """Memory files, each read once while one answer is made."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._read: dict[str, Mapping[str, Located]] = {}

    def lines(self, path: str) -> Mapping[str, Located]:
        """The memory lines of a file by their ids; none, if there is no such file for this chat.

        Raises:
            StorageError: it is there and cannot be read.
        """
        if path not in self._read:
            found: dict[str, Located] = {}
            with suppress(NotFound, PolicyRefused, UsageError):  # gone, not for this chat, no file
                for each in lines(get(self._rooms, path).text):
                    found.setdefault(line_id(each.line), each)
            self._read[path] = found
        return self._read[path]


def saved_lines(files: Files, path: str | None, ids: Iterable[str]) -> tuple[SavedLine, ...]:
    """The lines with these ids that were written to that file."""
    if path is None:
        return ()
    return tuple(_saved(files.lines(path).get(each), each, path) for each in ids)


def _saved(found: Located | None, id: str, path: str) -> SavedLine:
    if found is None:
        return SavedLine(id=id, kind="", text="", trust="", path=path, number=None)
    line = found.line
    return SavedLine(
        id=id, kind=line.kind, text=line.text, trust=line.trust, path=path, number=found.number
    )


def is_flush(entry: Entry) -> bool:
    """Whether a flush ended here: a lease is none."""
    return entry.type == "flush" and entry.data.get("outcome") in {"flushed", "empty", "failed"}


def last_flush(session: Session) -> Entry | None:
    """The last flush that wrote something; else the last that came to an end, also if it failed.

    A conversation that was brought in may be long and never saved: so the search has an end.
    """
    back = Back(session)
    if session._transcript.state().memory_flush_at is None:
        return back.find(is_flush, most=_FAILED)
    return back.find(_wrote, most=_WROTE) or back.find(is_flush)


def _wrote(entry: Entry) -> bool:
    return is_flush(entry) and bool(entry.data.get("saved"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """A passage that was brought back beside a message."""

    citation: str
    text: str
    trust: str | None


def quoted_in(entry: Entry) -> tuple[Quoted, ...]:
    """What a recall brought back, passage by passage."""
    message = message_of(entry)
    if message is None:
        return ()
    named = entry.data.get("passages")
    citations = [str(each) for each in named] if isinstance(named, list) else []
    return tuple(_passages(message.text, citations))


def _passages(text: str, citations: list[str]) -> Iterator[Quoted]:
    head: re.Match[str] | None = None
    said: list[str] = []
    for line in text.splitlines():
        if line.startswith(">"):
            said.append(line.removeprefix(">").removeprefix(" "))
            continue
        if head is not None:
            yield _quoted(head, said, citations)
        head, said = _HEAD.fullmatch(line), []
    if head is not None:
        yield _quoted(head, said, citations)


def _quoted(head: re.Match[str], said: list[str], citations: list[str]) -> Quoted:
    number = int(head[1])
    citation, *labels = head[2].split(_PART)
    if 0 < number <= len(citations):
        citation = citations[number - 1]
    trust = next((found for each in labels if (found := _labels().get(each))), None)
    return Quoted(citation=citation, text="\n".join(said), trust=trust)


@cache
def _labels() -> dict[str, str]:
    """How trust is spelled in a fence, in every language: as ``fence`` spells it."""
    spelled: dict[str, str] = {}
    for language in ("en", "zh"):
        for trust in _TRUSTS:
            quoted = fencing.Quoted(text="x", citation="x", label=trust)
            head = fencing.fence([quoted], nonce="0" * 8, language=language).splitlines()[1]
            spelled[head.partition(_PART)[2]] = trust
    return spelled
