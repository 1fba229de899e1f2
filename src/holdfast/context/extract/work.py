"""All work of a conversation: runs on files, cases of service, single changes; one line each fact.

Promise: each statement once with all its sources, of one test command only the last result; what
was said around such work is told by its records, so that it is no talk
(``tests/context/test_extract_records.py``, ``tests/context/test_extract_service.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from holdfast.context.extract.heard import Exchange
from holdfast.context.extract.packing import Piece
from holdfast.context.extract.records import TESTS, record_pieces
from holdfast.context.extract.service import service_pieces, stretches
from holdfast.context.extract.steps import ENDED
from holdfast.text import normalise

__all__ = ["Work", "work_of"]

_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The pieces of a conversation's work, those to be kept first; and the places of the turns
    that they tell of, which are read no further."""

    pieces: tuple[Piece, ...]
    told: frozenset[int]


def work_of(parts: Sequence[Exchange]) -> Work:
    """The work in these exchanges: what must be kept, then of all runs the newest first."""
    found: list[list[Piece]] = []
    told: set[int] = set()
    place = 0
    for serves, case in stretches(parts):
        if serves:
            place = next((turn.place for part in case for turn in part.turns), place)
            told.update(turn.place for part in case for turn in part.turns)
            found.append(service_pieces(case, place))
            continue
        for part in case:
            place = part.turns[0].place if part.turns else place
            if part.is_run:
                told.update(turn.place for turn in part.turns)
            found.append(record_pieces(part, place))
    must = [piece for pieces in found for piece in pieces if piece.must]
    rest = [[piece for piece in pieces if not piece.must] for pieces in reversed(found)]
    ranked = [piece for rank in zip_longest(*rest) for piece in rank if piece is not None]
    kept = _once(_last_tests([*must, *ranked]))
    return Work(pieces=tuple(kept[:_MOST]), told=frozenset(told))


def _last_tests(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with the last result of each test command only: the earlier ones are over."""
    last: dict[str, int] = {}
    for piece in pieces:
        if piece.entity == TESTS:
            command = piece.text.split(ENDED)[0]
            last[command] = max(piece.place, last.get(command, piece.place))
    return [p for p in pieces if p.entity != TESTS or p.place == last[p.text.split(ENDED)[0]]]


def _once(pieces: Sequence[Piece]) -> list[Piece]:
    """Each statement once, with the sources of all its repetitions."""
    first: dict[tuple[str, str], int] = {}
    kept: list[Piece] = []
    for piece in pieces:
        place = first.setdefault((piece.entity, normalise(piece.text)), len(kept))
        if place == len(kept):
            kept.append(piece)
        else:
            sources = dict.fromkeys((*kept[place].sources, *piece.sources))
            kept[place] = replace(kept[place], sources=tuple(sources))
    return kept
