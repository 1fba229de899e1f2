"""A stretch of conversation as plain text, for a model that shall write about it.

One user message, no tool blocks: immune to the pairing rules of every provider. Each message is
numbered, so that the writer can say where a line comes from; results are shortened, thinking
and system messages are left out, recalled memory is left out because it is in memory already.

Promise: what is inside the fence cannot close it, and no piece is longer than asked for
(``tests/context/test_compaction_flatten.py``). Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.context.blocks import Block, Group, is_system
from holdfast.context.compaction.identifiers import call_text
from holdfast.text import cut, shorten, strip_hidden
from holdfast.types import Image, Text, ToolCall, ToolResult

__all__ = ["RESULT_CHARS", "Piece", "fenced", "flatten", "pack"]

RESULT_CHARS: Final = 2_000
_SPEECH_FACTOR: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One message as text, with its number and its entry."""

    number: int
    entry: str
    text: str


def flatten(groups: Sequence[Group], *, result_chars: int = RESULT_CHARS) -> tuple[Piece, ...]:
    """The messages in order, numbered from 1."""
    pieces: list[Piece] = []
    names: dict[str, str] = {}
    number = 0
    for group in groups:
        for block in group.blocks:
            number += 1
            rows = list(_rows(block, names, result_chars))
            if rows:
                text = "\n".join(f"[#{number} {row}" for row in rows)
                pieces.append(Piece(number=number, entry=block.entry, text=text))
    return tuple(pieces)


def _rows(block: Block, names: dict[str, str], limit: int) -> Iterator[str]:
    message = block.message
    if is_system(message) or block.item.kind in ("recall", "summary"):
        return
    for part in message.parts:
        if isinstance(part, Text) and part.text.strip():
            yield f"{message.role}] {_short(part.text, _SPEECH_FACTOR * limit)}"
        elif isinstance(part, ToolCall):
            names[part.id] = part.name
            yield f"{message.role} calls {part.name}] {_short(call_text(part), limit)}"
        elif isinstance(part, ToolResult):
            name = names.get(part.call_id, "tool")
            failed = ", failed" if part.is_error else ""
            yield f"result of {name}{failed}] {_short(part.text, limit)}"
        elif isinstance(part, Image):
            yield f"{message.role}] (image)"


def _short(text: str, limit: int) -> str:
    if len(text) > limit:
        note = f"\n[… {len(text) - limit} characters left out …]\n"
        text = shorten(text, limit * 2 // 3, limit // 3, note)
    return strip_hidden(text)[0].strip()


def fenced(text: str, name: str) -> str:
    """The text between two marks that it cannot contain: they are made from its checksum."""
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"


def pack(pieces: Sequence[Piece], room: int, price: Callable[[str], int]) -> list[list[Piece]]:
    """Pieces in runs of at most ``room`` tokens each, in order; a larger one is cut to fit."""
    runs: list[list[Piece]] = [[]]
    left = room
    for piece in pieces:
        cost = price(piece.text) + 1
        while cost > room and piece.text:
            piece = _cut_to(piece, room, cost)
            cost = price(piece.text) + 1
        if cost > left and runs[-1]:
            runs.append([])
            left = room
        runs[-1].append(piece)
        left -= cost
    return [run for run in runs if run]


def _cut_to(piece: Piece, room: int, cost: int) -> Piece:
    length = len(piece.text) * room * 3 // (cost * 4)
    return Piece(number=piece.number, entry=piece.entry, text=cut(piece.text, length))
