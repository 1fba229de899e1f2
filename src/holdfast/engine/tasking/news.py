"""What is new in a conversation for its task records, without reading it again.

A record changes when tools are used, when the turn that used them goes on or ends, and when the
user says that the work is over; talk changes nothing. ``News`` reads each entry once, so asking
after every message costs what that message costs.

Promise: records kept with it are those kept without it, and a conversation in which no tool is
used looks at no file (``tests/engine/test_turn_work.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock

from holdfast.context.blocks import Block, is_system, is_user
from holdfast.engine.tasking.notes import (
    Mark,
    closes,
    first_sentence,
    moment_of,
    tools_called,
    works,
)
from holdfast.sessions.shapes import message_of
from holdfast.types import Entry, ViewItem

__all__ = ["News", "marks_of"]


class News:
    """One conversation as records care about it. To be used while holding ``lock``."""

    __slots__ = (
        "_calls",
        "_count",
        "_ends",
        "_is_open",
        "_turn",
        "_works",
        "is_due",
        "lock",
        "marks",
        "until",
    )

    def __init__(self) -> None:
        self.lock = RLock()
        self._start_over()

    def _start_over(self) -> None:
        self.marks: list[Mark] = []
        self.is_due = True
        """Whether something happened since the records were last brought up to date."""
        self.until = ""
        """The entry up to which they were."""
        self._ends: tuple[Entry, Entry] | None = None
        self._count = 0
        self._turn = ""
        self._calls = 0
        self._works = False  # has a tool been called since the user last spoke
        self._is_open = False  # … and since the assistant last answered

    def read(self, entries: Sequence[Entry]) -> None:
        """Take in what was not seen yet; all of it, if these are not the entries of before."""
        if not self._goes_on_in(entries):
            self._start_over()
            self._turn = entries[0].id if entries else ""
        for entry in entries[self._count :]:
            self._take(entry)
        self._count = len(entries)
        self._ends = (entries[0], entries[-1]) if entries else None

    def moment(self) -> str:
        """How far the conversation has come (``notes.moment``)."""
        return moment_of(self._turn, self._calls)

    def settle(self) -> None:
        """The records are up to date."""
        self.is_due = False
        self.until = self.marks[-1].entry if self.marks else ""

    def _goes_on_in(self, entries: Sequence[Entry]) -> bool:
        if self._ends is None or len(entries) < self._count:
            return False
        return entries[0] is self._ends[0] and entries[self._count - 1] is self._ends[1]

    def _take(self, entry: Entry) -> None:
        called = tools_called(entry)
        mark = _mark_of(entry)
        is_user = mark is not None and mark.is_user
        if called is None:
            self._turn, self._calls = entry.id, 0
            # An answer belongs to the work it follows; what the user says only ends a turn.
            self.is_due |= self._is_open or (self._works and not is_user)
            self._is_open = False
        elif called:
            self._calls += any(map(works, called))
            self._works = self._is_open = self.is_due = True
        if mark is not None:
            self.marks.append(mark)
        if mark is not None and is_user:
            self._works = False
            self.is_due = self.is_due or _may_close(mark.text)


def _may_close(text: str) -> bool:
    return bool(closes(text) or closes(first_sentence(text), whole=False))


def marks_of(entries: Sequence[Entry]) -> list[Mark]:
    """The messages of the conversation with their entries, in order; what was recalled is not."""
    return [mark for entry in entries if (mark := _mark_of(entry)) is not None]


def _mark_of(entry: Entry) -> Mark | None:
    message = message_of(entry) if entry.type == "message" else None
    if message is None or is_system(message):
        return None
    item = ViewItem(message=message, stands_for=(entry.id,))
    return Mark(
        entry=entry.id,
        at=entry.at,
        block=Block(item=item, tokens=0),
        is_user=is_user(message),
        is_work=any(works(call.name) for call in message.tool_calls),
    )
