"""Messages one per line, out of a stream of bytes, none larger than the limit.

Promise: however the bytes are cut into chunks, the frames are the same; of a line that is too
long only its beginning, its end and its length are kept, so memory stays bounded; linear
(``tests/doors/test_mcp_frames.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Frames", "Oversized"]

_KEPT: Final = 512
"""Bytes of the beginning and of the end of a line that is too long: enough to see its id."""

_ID: Final = rb'"id"\s{0,8}:\s{0,8}(?P<id>-?\d{1,18}|"[^"\\]{0,128}")'
_OTHER: Final = rb'"(?:jsonrpc|method)"\s{0,8}:\s{0,8}"[^"\\]{0,128}"'
# A message says its version, its method and its id before its parameters, or all behind them.
_AT_START: Final = re.compile(rb"\s{0,64}\{\s{0,8}(?:" + _OTHER + rb"\s{0,8},\s{0,8}){0,2}" + _ID)
_AT_END: Final = re.compile(
    rb",\s{0,8}" + _ID + rb"(?:\s{0,8},\s{0,8}" + _OTHER + rb"){0,2}\s{0,8}\}\s{0,64}\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversized:
    """A line that was too long to be read."""

    size: int
    head: bytes
    tail: bytes

    @property
    def id(self) -> int | str | None:
        """Whose answer is waited for, where the line shows it."""
        found = _AT_START.match(self.head) or _AT_END.search(self.tail)
        if found is None:
            return None
        try:
            value = json.loads(found["id"])
        except ValueError:  # not UTF-8
            return None
        return value if isinstance(value, int | str) else None


class Frames:
    """Cuts what is fed into lines; blank ones are left out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | Oversized]:
        """The lines that this chunk ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._take(part)
            if (frame := self._end()) is not None:
                yield frame
        self._take(rest)

    def end(self) -> Iterator[bytes | Oversized]:
        """The last line, if it was not ended."""
        if (frame := self._end()) is not None:
            yield frame

    def _take(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._limit:
            self._line += part
            return
        before = self._tail or bytes(self._line[-_KEPT:])
        self._tail = (before + part)[-_KEPT:]
        if len(self._line) < _KEPT:
            self._line += part[: _KEPT - len(self._line)]
        del self._line[_KEPT:]

    def _end(self) -> bytes | Oversized | None:
        line, size, tail = bytes(self._line), self._size, self._tail
        self._line.clear()
        self._size, self._tail = 0, b""
        if size > self._limit:
            return Oversized(size=size, head=line, tail=tail)
        return line if line.strip() else None
