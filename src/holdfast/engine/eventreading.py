"""``events.jsonl``, read back: the last of them, or each as it is written.

Promise: a line that is torn or not ours costs only itself; of a large log only the end is read;
whoever follows it sees every event once, also when an erasure or somebody else puts another
file in its place (``tests/doors/test_cli_events.py``). A place in the log has an id, by which
somebody else goes on exactly there, or hears that he cannot: it names the line that ends there,
so no other log is taken for it (``tests/server/test_events.py``). Nothing is made and nothing is
changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from holdfast.types import Json

__all__ = ["START", "EventReader", "Placed", "Told", "offset_of"]

Told = dict[str, Json]

START: Final = "0"
"""The place before the first event."""

_BLOCK: Final = 1 << 16
_FIRST: Final = 20
_DIGITS: Final = 18
_DEEPEST: Final = 20
_BEGINNING: Final = b'{"event":'
"""How each of our lines begins: behind a line torn by a crash the next one can be found."""


class Placed(NamedTuple):
    """An event, and the id of the place behind it."""

    id: str
    told: Told


class EventReader:
    """Reads one log of events. ``unreadable`` counts the lines that are none."""

    def __init__(self, path: Path, wanted: Callable[[Told], bool] = lambda told: True) -> None:
        self._path = path
        self._wanted = wanted
        self._file: BinaryIO | None = None
        self._at = 0
        """Behind the last whole line that was read."""
        self._line: bytes | None = None
        """That line, without its end."""
        self.unreadable = 0
        self.has_more = False
        """Whether reading back ended before the beginning of the log."""

    def last(self, count: int | None) -> list[Told]:
        """The newest events that are wanted, the newest last; all of them if no ``count``.

        ``new`` goes on behind them.
        """
        self._open()
        if self._file is None:
            return []
        return [each.told for each in self._last(self._file, count)]

    def last_placed(self, count: int | None, *, within: int | None = None) -> list[Placed]:
        """The same, each with its place; of the newest ``within`` lines, if that is given."""
        self._open()
        return [] if self._file is None else self._last(self._file, count, within)

    def _last(self, file: BinaryIO, count: int | None, within: int | None = None) -> list[Placed]:
        self._at = end = _end_of_lines(file)
        self._line = None
        self.has_more = False
        found: list[Placed] = []
        back = _lines_back(file, end)
        next(back, None)  # behind the last newline there is nothing: that is no line
        for number, line in enumerate(back):
            if number == within or len(found) == count:
                self.has_more = True
                break
            behind, end = end, end - len(line) - 1
            self._line = self._line if self._line is not None else line
            if (told := self._parsed(line)) is not None and self._wanted(told):
                found.append(Placed(_id_of(line, behind), told))
        return found[::-1]

    @property
    def place(self) -> str:
        """The id of where reading goes on."""
        return START if self._line is None else _id_of(self._line, self._at)

    def resume(self, place: str) -> bool:
        """Go on behind that place; whether it is one of this log."""
        self.close()
        self._open()
        if place == START or self._file is None:
            return place == START
        at = offset_of(place)
        if not 0 < at <= os.fstat(self._file.fileno()).st_size:
            return False
        self._file.seek(at - 1)
        if self._file.read(1) != b"\n":
            return False
        back = _lines_back(self._file, at)
        line = next(islice(back, 1, None), b"")
        if _id_of(line, at) != place:
            return False
        self._at, self._line = at, line
        return True

    def new(self) -> Iterator[Told]:
        """The events that were written since; whoever follows asks again and again."""
        return (each.told for each in self.new_placed())

    def new_placed(self) -> Iterator[Placed]:
        """The same, each with its place."""
        if self._file is not None and self._is_replaced(self._file):
            yield from self._read_on()  # nobody writes to the old one any more
            self._move()
        elif self._file is None:
            self._open()
        yield from self._read_on()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        with suppress(FileNotFoundError):
            self._file = self._path.open("rb")
            self._at, self._line = 0, None

    def _is_replaced(self, file: BinaryIO) -> bool:
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False  # removed: what comes next has a file of its own
        known = os.fstat(file.fileno())
        return (now.st_ino, now.st_dev) != (known.st_ino, known.st_dev)

    def _move(self) -> None:
        """Go on in the file that has taken the place of ours.

        An erasure leaves every line in its place, changed or empty: there we go on behind as
        many lines as we had. Any other file is a new log, and read from its beginning.
        """
        old, at = self._file, self._at
        self._file = None
        self._open()
        if old is None or self._file is None:
            return
        with old:
            if _first_of(self._file) & _first_of(old):
                self._at, self._line = _behind(self._file, _count_lines(old, at))

    def _read_on(self) -> Iterator[Placed]:
        if self._file is None:
            return
        size = os.fstat(self._file.fileno()).st_size
        if size < self._at:  # cut short by somebody: it begins anew
            self._at, self._line = 0, None
        self._file.seek(self._at)
        while line := self._file.readline():
            if not line.endswith(b"\n"):
                break  # still being written
            self._at, self._line = self._at + len(line), line[:-1]
            if (told := self._parsed(line)) is not None and self._wanted(told):
                yield Placed(_id_of(self._line, self._at), told)

    def _parsed(self, line: bytes) -> Told | None:
        if not line.strip():
            return None
        told = _event_in(line)
        self.unreadable += told is None or line.rfind(_BEGINNING) > 0
        return told


def _end_of_lines(file: BinaryIO) -> int:
    """Behind the last newline: what follows it is still being written."""
    end = os.fstat(file.fileno()).st_size
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _lines_back(file: BinaryIO, end: int) -> Iterator[bytes]:
    """The lines before ``end``, the last first; reads no more than is taken."""
    parts: list[bytes] = []  # of the line whose beginning was not found yet, the last part first
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block = file.read(end - start)
        end = start
        *others, last = block.split(b"\n")
        if not others:
            parts.append(last)
            continue
        yield last + b"".join(reversed(parts))
        yield from reversed(others[1:])
        parts = [others[0]]
    yield b"".join(reversed(parts))


def _first_of(file: BinaryIO) -> set[tuple[Json, Json]]:
    """By what a log is known again: what happened first, and when; erasures leave that."""
    file.seek(0)
    found = (_event_in(line) for line in islice(file, _FIRST))
    return {(told["event"], told.get("at")) for told in found if told is not None}


def _event_in(line: bytes) -> Told | None:
    """The event of a line, also if a torn one stands before it."""
    for start in (0, line.rfind(_BEGINNING)):
        with suppress(ValueError, RecursionError):
            told = json.loads(line[max(0, start) :], parse_float=_finite, parse_constant=_finite)
            if isinstance(told, dict) and _is_event(told):
                return told
    return None


def _is_event(told: Told) -> bool:
    """Others write that file as well: what is none of ours must not stop those who read it."""
    return (
        isinstance(told.get("event"), str)
        and all(isinstance(told.get(name, ""), str | None) for name in ("at", "session"))
        and _is_flat(told, _DEEPEST)
    )


def _is_flat(told: Json, depth: int) -> bool:
    """Whether it is nested no deeper: whoever passes it on does that by recursion."""
    if not isinstance(told, dict | list):
        return True
    within = told.values() if isinstance(told, dict) else told
    return depth > 0 and all(_is_flat(each, depth - 1) for each in within)


def _finite(number: str) -> float:
    if not isfinite(read := float(number)):
        raise ValueError("JSON has no such number, and nobody could be sent it")
    return read


def _count_lines(file: BinaryIO, end: int) -> int:
    file.seek(0)
    count = 0
    while end and (block := file.read(min(_BLOCK, end))):
        count += block.count(b"\n")
        end -= len(block)
    return count


def _behind(file: BinaryIO, lines: int) -> tuple[int, bytes | None]:
    """Where the line after that many begins, and the line in front of it."""
    file.seek(0)
    before: bytes | None = None
    for _ in range(lines):
        if not (line := file.readline()):
            break
        before = line.removesuffix(b"\n")
    return file.tell(), before


def offset_of(place: str) -> int:
    """How far into the log a place is; 0 if this is none."""
    number = place.rpartition("-")[2]
    is_number = number.isascii() and number.isdecimal() and len(number) < _DIGITS
    return int(number) if is_number else 0


def _id_of(line: bytes, behind: int) -> str:
    return f"{sha256(line).hexdigest()[:12]}-{behind}"
