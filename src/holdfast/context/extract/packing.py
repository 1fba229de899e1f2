"""Which pieces are written, and how they share lines: the most worth per character first.

Promise: deterministic; never more characters than allowed except for pieces that must be kept;
a line never holds pieces of two speakers, and cites every entry it stands on
(``tests/context/test_extract_dialogue.py``).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from holdfast.retain import RetainKind, Trust

__all__ = ["Line", "Packing", "Piece", "pack"]

_FRESH: Final = 0.8  # more for the first piece of an entry
_REACH: Final = 6  # turns apart that may share a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A statement that could be written. ``order`` is where it stands in its turn; pieces with
    one ``entity`` and ``trust`` may share a line; ``must`` pieces are written whatever they cost.
    """

    text: str
    entity: str
    kind: RetainKind
    trust: Trust
    worth: float
    sources: tuple[str, ...]
    place: int
    order: int
    at: datetime
    must: bool = False
    topic: frozenset[str] | None = None  # shares a line only with what it has a word in common


@dataclass(slots=True, kw_only=True)
class Line:
    """A line being filled."""

    pieces: list[Piece] = field(default_factory=list)
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How lines are filled: at most ``width`` characters, pieces joined by ``join``, cost of a
    character raised to ``thrift``, pieces of turns at most ``reach`` apart."""

    width: int = 160
    join: str = "; "
    thrift: float = 0.85
    reach: int = _REACH


def pack(
    pieces: Sequence[Piece], *, allowed: float, max_lines: int, packing: Packing
) -> list[Line]:
    """The lines that the best pieces fill, in the order of the conversation."""
    shelf = _Shelf(packing, max_lines)
    must = sorted((p for p in pieces if p.must), key=lambda p: (-p.worth, p.place, p.order))
    spent = sum(shelf.put(piece) for piece in must)
    rest = [piece for piece in pieces if not piece.must]
    queue = [(-shelf.gain(piece), n, piece.place) for n, piece in enumerate(rest)]
    heapq.heapify(queue)
    while queue:
        _, n, _ = heapq.heappop(queue)
        piece = rest[n]
        gain = shelf.gain(piece)
        if queue and -gain > queue[0][0]:  # something written since has lowered its gain
            heapq.heappush(queue, (-gain, n, piece.place))
            continue
        if spent + shelf.cost(piece) <= allowed:
            spent += shelf.put(piece)
    return shelf.lines()


class _Shelf:
    """The lines so far, and what a further piece would cost."""

    def __init__(self, packing: Packing, max_lines: int) -> None:
        self._packing = packing
        self._max_lines = max_lines
        self._lines: list[Line] = []
        self._of: dict[tuple[str, Trust], list[Line]] = {}
        self._covered: set[str] = set()

    def gain(self, piece: Piece) -> float:
        fresh = 0 if piece.sources[0] in self._covered else _FRESH
        cost: float = max(1, self.cost(piece)) ** self._packing.thrift
        return piece.worth * (1 + fresh) / cost

    def cost(self, piece: Piece) -> int:
        return self._cost_on(self._line_for(piece), piece)

    def put(self, piece: Piece) -> int:
        line = self._line_for(piece)
        cost = self._cost_on(line, piece)
        if line is None:
            if len(self._lines) >= self._max_lines:
                return 0
            line = Line()
            self._lines.append(line)
            self._of.setdefault((piece.entity, piece.trust), []).append(line)
        line.length += len(piece.text) + (len(self._packing.join) if line.pieces else 0)
        line.pieces.append(piece)
        self._covered.update(piece.sources)
        return cost

    def lines(self) -> list[Line]:
        for line in self._lines:
            line.pieces.sort(key=lambda piece: (piece.place, piece.order))
        return sorted(self._lines, key=lambda line: (line.pieces[0].place, line.pieces[0].order))

    def _cost_on(self, line: Line | None, piece: Piece) -> int:
        if line is not None:
            return len(self._packing.join) + len(piece.text)
        return len(f"- {piece.kind} @{piece.entity}: \n") + len(piece.text)

    def _line_for(self, piece: Piece) -> Line | None:
        """The line that the piece can join: the nearest of its speaker that has room."""
        nearest: Line | None = None
        least = self._packing.reach + 1
        room = self._packing.width - len(piece.text) - len(self._packing.join)
        for line in self._of.get((piece.entity, piece.trust), ()):
            if line.length > room:
                continue
            away = max(abs(piece.place - other.place) for other in line.pieces)
            same_day = line.pieces[0].at.date() == piece.at.date()
            if away < least and same_day and any(_akin(piece, other) for other in line.pieces):
                nearest, least = line, away
        return nearest


def _akin(piece: Piece, other: Piece) -> bool:
    """Whether two pieces may stand side by side: no topic, one entry, or a word in common."""
    if piece.topic is None or other.topic is None or piece.sources[0] in other.sources:
        return True
    return not piece.topic.isdisjoint(other.topic)
