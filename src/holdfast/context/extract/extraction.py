"""From messages to memory lines: pieces of every kind, judged together and written once.

Promise: lines are single, visible and short, cite what they stand on, and carry the trust of
their weakest support; the same messages give the same lines
(``tests/context/test_extract_dialogue.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from holdfast.context.extract.chinese import chinese_pieces
from holdfast.context.extract.commands import sampled
from holdfast.context.extract.english import english_pieces
from holdfast.context.extract.heard import (
    Extraction,
    Heard,
    KeyClause,
    Turn,
    exchanges,
    is_chinese,
    open_from,
)
from holdfast.context.extract.packing import Line, Packing, Piece, pack
from holdfast.context.extract.words import content_words
from holdfast.context.extract.work import work_of
from holdfast.retain import RetainKind, RetainLine, visible_line
from holdfast.text import cut, normalise
from holdfast.types import Message, Text, ToolCall, ToolResult

__all__ = ["extract", "key_clauses"]

_ENGLISH: Final = Packing(width=240, join="; ", thrift=0.75, reach=10)
_CHINESE: Final = Packing(width=120, join="；", thrift=1.0, reach=1_000_000)
_FLOOR: Final = 400  # characters that even a short conversation may fill
_WIDEST: Final = 240
_TEMPLATE: Final = 60  # characters; a shorter sentence said twice was meant twice


def _as_it_is(text: str) -> str:
    return text


def extract(
    heard: Sequence[Heard],
    *,
    max_lines: int = 40,
    share: float = 0.25,
    language: str | None = None,
    redact: Callable[[str], str] = _as_it_is,
    beside: Sequence[str] = (),
) -> Extraction:
    """The memories of these messages, in the order of the conversation.

    Speech may fill ``share`` of its own length; work with tools gets about twenty lines however
    long it was. What the user asked to remember, ruled or corrected is written in any case, as
    long as there are lines. ``redact`` sees every text before it is written; what it empties is
    left out. ``language`` ("zh", "en") names unnamed speakers; by default the users' language.
    ``beside`` is what tools said that is not among the messages.
    """
    material = _material(heard, language, beside)
    lines: list[tuple[int, int, RetainLine]] = []
    records = material.records[: max_lines if not material.spoken else max_lines * 3 // 4]
    lines += _written([Line(pieces=[piece]) for piece in records], "; ", redact)
    left = max_lines - len(lines)
    # Chinese pieces hold a whole fact each, so where both are spoken they share by length.
    for pieces, turns, packing in (
        (material.chinese, material.chinese_turns, _CHINESE),
        (material.english, material.english_turns, _ENGLISH),
    ):
        packed = pack(pieces, allowed=_allowed(turns, share), max_lines=left, packing=packing)
        lines += _written(packed, packing.join, redact)
        left = max_lines - len(lines)
    lines.sort(key=lambda numbered: numbered[:2])
    return Extraction(lines=tuple(line for _, _, line in lines), read=_read(heard))


def key_clauses(
    heard: Sequence[Heard],
    limit: int,
    *,
    language: str | None = None,
    redact: Callable[[str], str] = _as_it_is,
) -> tuple[KeyClause, ...]:
    """The statements most worth keeping, best first: for key points of a finished task."""
    material = _material(heard, language)
    pieces = [*material.records, *material.chinese, *material.english]
    pieces.sort(key=lambda piece: (not piece.must, -piece.worth, piece.place, piece.order))
    found: list[KeyClause] = []
    for piece in pieces:
        if len(found) >= limit:
            break
        if text := _shown(piece.text, redact):
            found.append(
                KeyClause(
                    text=text,
                    sources=piece.sources,
                    score=round(1.0 if piece.must else piece.worth, 4),
                    entity=_shown(piece.entity, redact) or "?",
                    kind=piece.kind,
                    trust=piece.trust,
                    at=piece.at,
                )
            )
    return tuple(found)


# ── gathering ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Material:
    """Everything that could be written."""

    records: list[Piece]
    chinese: list[Piece]
    chinese_turns: list[Turn]
    english: list[Piece]
    english_turns: list[Turn]

    @property
    def spoken(self) -> bool:
        return bool(self.chinese or self.english)


def _material(
    heard: Sequence[Heard], language: str | None, beside: Sequence[str] = ()
) -> _Material:
    named = language.lower().startswith("zh") if language else _speak_chinese(heard)
    parts = exchanges(heard, chinese=named)
    work = work_of(parts)
    turns = [turn for part in parts for turn in part.turns if turn.place not in work.told]
    chinese = [turn for turn in turns if is_chinese(turn.text)]
    english = [turn for turn in turns if not is_chinese(turn.text)]
    support, unanswered = _Support(heard, beside), open_from(turns)
    return _Material(
        records=support.judged(work.pieces),
        chinese=support.judged(_once(chinese_pieces(chinese, open_from=unanswered))),
        chinese_turns=chinese,
        english=support.judged(_once(english_pieces(english, open_from=unanswered))),
        english_turns=english,
    )


def _speak_chinese(heard: Sequence[Heard]) -> bool:
    """By what the users say, whatever their tools return; without users by who else speaks."""
    for role in ("user", "assistant"):
        said = (_beginning(one.message) for one in heard if one.message.role == role)
        if words := " ".join(islice((text for text in said if text), 20)):
            return is_chinese(words)
    return False


def _beginning(message: Message) -> str:
    texts = (part.text for part in message.parts if isinstance(part, Text))
    return next((text[:80] for text in texts if text.strip()), "")


def _once(pieces: Sequence[Piece]) -> list[Piece]:
    """Each statement once, with all its sources; long ones said in several places are templates."""
    first: dict[tuple[str, str], int] = {}
    kept: list[Piece | None] = []
    for piece in pieces:
        key = (piece.entity, normalise(piece.text))
        if (place := first.get(key)) is None:
            first[key] = len(kept)
            kept.append(piece)
        elif (before := kept[place]) is not None and piece.sources[0] not in before.sources:
            template = len(piece.text) >= _TEMPLATE or before.trust == "agent"
            if template and not before.must:
                kept[place] = None
            else:
                sources = (*before.sources, *piece.sources)
                kept[place] = replace(before, sources=sources, must=before.must or piece.must)
    return [piece for piece in kept if piece is not None]


# Codes and figures: an assistant has them from somewhere.
_EXACT: Final = re.compile(r"\b(?=\w*\d)\w{3,40}\b|\b[A-Z]{3,12}\b")


class _Support:
    """What tools said: a statement of the assistant that stands on it is trusted as a tool's."""

    def __init__(self, heard: Sequence[Heard], beside: Sequence[str]) -> None:
        outputs = [sampled(r.text) for one in heard for r in one.message.tool_results if r.text]
        outputs += map(sampled, beside)
        self._outputs = outputs
        self._words = [frozenset(content_words(output)) for output in outputs]
        self._all = frozenset().union(*self._words) if self._words else frozenset()

    def judged(self, pieces: Sequence[Piece]) -> list[Piece]:
        return [
            replace(piece, trust="tool")
            if piece.trust == "agent" and self._stands_on_output(piece.text)
            else piece
            for piece in pieces
        ]

    def _stands_on_output(self, text: str) -> bool:
        if is_chinese(text):
            pairs = {text[n : n + 2] for n in range(len(text) - 1)}
            return any(sum(p in out for p in pairs) >= 0.6 * len(pairs) for out in self._outputs)
        words = set(content_words(text))
        exact = {word.lower() for word in _EXACT.findall(text)}
        if exact and any(2 * len(exact & output) >= len(exact) for output in self._words):
            return True
        if not words or len(words & self._all) < 0.6 * len(words):
            return False
        return any(len(words & output) >= 0.6 * len(words) for output in self._words)


def _read(heard: Sequence[Heard]) -> tuple[str, ...]:
    readable = (Text, ToolCall, ToolResult)
    return tuple(
        one.entry
        for one in heard
        if not one.message.parts or any(isinstance(p, readable) for p in one.message.parts)
    )


# ── writing ─────────────────────────────────────────────────────────────────────────────────


def _allowed(turns: Sequence[Turn], share: float) -> float:
    """How many characters speech may fill. Long texts count in part: they are not talk."""
    said = sum(
        min(len(turn.text), 800 if turn.in_run or turn.role != "user" else 1_500) for turn in turns
    )
    return max(share * said, min(said + 60, _FLOOR)) if share > 0 else 0.0


def _written(
    packed: Sequence[Line], join: str, redact: Callable[[str], str]
) -> list[tuple[int, int, RetainLine]]:
    found = []
    for line in packed:
        first = line.pieces[0]
        text = _shown(join.join(piece.text for piece in line.pieces), redact)
        if not text:
            continue
        sources = dict.fromkeys(source for piece in line.pieces for source in piece.sources)
        written = RetainLine(
            kind=_kind(line),
            entity=cut(_shown(first.entity, redact), 80) or None,
            text=text,
            sources=tuple(sources),
            trust=first.trust,
            observed=first.at,
        )
        found.append((first.place, first.order, written))
    return found


def _kind(line: Line) -> RetainKind:
    """One kind for all pieces of a line: an opinion only if it holds nothing else."""
    kinds = {piece.kind for piece in line.pieces}
    if len(kinds) == 1:
        return line.pieces[0].kind
    return next(kind for kind in _PLAINEST if kind in kinds)


_PLAINEST: Final[tuple[RetainKind, ...]] = ("W", "B", "S", "O")


def _shown(text: str, redact: Callable[[str], str]) -> str:
    shown = visible_line(redact(text))
    return shown if len(shown) <= _WIDEST else visible_line(cut(shown, _WIDEST - 1)) + "…"
