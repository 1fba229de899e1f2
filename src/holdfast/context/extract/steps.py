"""Calls with what came back, and the pieces that are made of them.

Promise: an id used again belongs to the latest call before the result; a piece is never wider
than a line (``tests/context/test_extract_records.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from holdfast.context.extract.commands import failed
from holdfast.context.extract.heard import Heard
from holdfast.context.extract.packing import Piece
from holdfast.fencing import without_fenced
from holdfast.retain import RetainKind, Trust
from holdfast.text import cut
from holdfast.types import ToolCall

__all__ = ["ENDED", "WIDEST", "Records", "Step", "first_line", "fitting", "steps_of"]

ENDED: Final = " → "  # between a command and how it ended
WIDEST: Final = 220


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call with what came back."""

    heard: Heard
    call: ToolCall
    answer: Heard | None
    output: str
    ok: bool

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.heard.entry,) if self.answer is None else (self.heard.entry, self.answer.entry)


@dataclass(slots=True, kw_only=True)
class Records:
    """The pieces found so far, in the order of their weight; at most ``most``."""

    place: int
    most: int
    pieces: list[Piece] = field(default_factory=list)

    def add(
        self,
        kind: RetainKind,
        entity: str,
        text: str,
        *,
        sources: Sequence[str],
        at: datetime,
        trust: Trust = "tool",
        worth: float = 0.5,
        must: bool = False,
    ) -> None:
        text = fitting(text)
        if text and len(self.pieces) < self.most:
            self.pieces.append(
                Piece(
                    text=text,
                    entity=entity,
                    kind=kind,
                    trust=trust,
                    worth=worth,
                    sources=tuple(dict.fromkeys(sources)),
                    place=self.place,
                    order=len(self.pieces),
                    at=at,
                    must=must,
                )
            )


def steps_of(heard: Sequence[Heard]) -> list[Step]:
    """The calls in these messages with their results."""
    steps: list[Step] = []
    waiting: dict[str, int] = {}
    for one in heard:
        for call in one.message.tool_calls:
            waiting[call.id] = len(steps)
            steps.append(Step(heard=one, call=call, answer=None, output="", ok=False))
        for result in one.message.tool_results:
            if (index := waiting.pop(result.call_id, None)) is not None:
                asked, output = steps[index], without_fenced(result.text)
                steps[index] = Step(
                    heard=asked.heard,
                    call=asked.call,
                    answer=one,
                    output=output,
                    ok=not failed(output, result.is_error),
                )
    return steps


def first_line(output: str) -> str:
    """The first line in which an output says something."""
    return cut(next((line.strip() for line in output.splitlines() if line.strip()), "?"), 120)


def fitting(text: str) -> str:
    """The text on one line, cut between words when it is too long for one."""
    text = " ".join(text.split())
    if len(text) <= WIDEST:
        return text
    return cut(text, WIDEST - 1).rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
