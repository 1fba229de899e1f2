"""The decisions of one plan while it is made: what is shown instead, and what that saves.

A part's own price is not known, only its message's. Of a message with one part it is that
price less the frame (role, call id), and the frame is learnt from the shortest such message:
so only short texts are counted, however large the view is. Parts of messages with several are
counted themselves.

Promise: no replacement is taken that costs as much as what it replaces; what is saved is the
sum over the parts (``tests/context/test_pruning_properties.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.context.blocks import Block
from holdfast.context.pruning.parts import Piece
from holdfast.types import Image, Text, ToolResult

__all__ = ["Draft", "How", "Meter", "Shown"]

_LONGEST_SAMPLE: Final = 50_000  # characters: a view of longer ones is not worth counting one
_USUAL_FRAME: Final = 8

How = Literal["trim", "clear", "superseded", "image", "largest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a part of an entry is shown as from now on."""

    entry: str
    part: int
    text: str
    how: How
    tokens_before: int
    tokens_after: int


class Meter:
    """What pieces cost, without counting what was counted before."""

    def __init__(self, blocks: Sequence[Block], price_text: Callable[[str], int]) -> None:
        self._blocks = blocks
        self._price_text = price_text
        self._known: dict[tuple[int, int], int] = {}
        self._frames: dict[bool, int | None] = {}

    def text(self, text: str) -> int:
        return self._price_text(text)

    def tokens(self, piece: Piece) -> int:
        """What a piece costs as it is shown now."""
        place = (piece.index, piece.part)
        if (known := self._known.get(place)) is None:
            known = self._known[place] = self._measure(piece)
        return known

    def _measure(self, piece: Piece) -> int:
        if piece.kind == "image":
            return self._images(piece)
        frame = self._frame(is_result=piece.kind == "result")
        if piece.is_alone and frame is not None and piece.kind != "arguments":
            return max(0, piece.block.tokens - frame)
        foreign = piece.foreign // 4
        return self._price_text(piece.text) + self._images(piece) + foreign

    def _images(self, piece: Piece) -> int:
        """The piece's share of what the images of its message cost."""
        if not piece.images:
            return 0
        return piece.block.images * len(piece.images) // max(1, _images_in(piece.block))

    def _frame(self, *, is_result: bool) -> int | None:
        if is_result not in self._frames:
            self._frames[is_result] = self._learn_frame(is_result)
        return self._frames[is_result]

    def _learn_frame(self, is_result: bool) -> int | None:
        """What a message with one part costs besides its text."""
        plain = ((_only_text(block, is_result), block) for block in self._blocks)
        texts = [(text, block) for text, block in plain if text is not None]
        if not texts:
            return None
        text, block = min(texts, key=lambda pair: len(pair[0]))
        if len(text) > _LONGEST_SAMPLE:
            return _USUAL_FRAME
        return max(0, block.tokens - self._price_text(text))


def _only_text(block: Block, is_result: bool) -> str | None:
    """The text of a message that is nothing but one text, or one result of one text."""
    parts = block.message.parts
    if is_result:
        if len(parts) != 1 or not isinstance(parts[0], ToolResult):
            return None
        parts = parts[0].content
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return None


def _images_in(block: Block) -> int:
    total = 0
    for part in block.message.parts:
        if isinstance(part, ToolResult):
            total += sum(isinstance(inner, Image) for inner in part.content)
        else:
            total += isinstance(part, Image)
    return total


class Draft:
    """Replacements chosen so far. A later one for the same part takes the place of the first."""

    def __init__(self, meter: Meter, *, projected: int, goal: int) -> None:
        self.meter = meter
        self.goal = goal
        self._projected = projected
        self._chosen: dict[tuple[int, int], tuple[Piece, Shown]] = {}
        self.saved = 0

    @property
    def is_done(self) -> bool:
        return self.excess <= 0

    @property
    def excess(self) -> int:
        """Tokens above the goal."""
        return self._projected - self.saved - self.goal

    def tokens(self, piece: Piece) -> int:
        """What the piece costs as it would be shown."""
        chosen = self._chosen.get((piece.index, piece.part))
        return self.meter.tokens(piece) if chosen is None else chosen[1].tokens_after

    def shown(self, piece: Piece) -> Shown | None:
        chosen = self._chosen.get((piece.index, piece.part))
        return None if chosen is None else chosen[1]

    def take(self, piece: Piece, text: str, how: How, *, tokens: int | None = None) -> bool:
        """Show the text instead, if that is cheaper than what would be shown otherwise."""
        now = self.tokens(piece)
        after = self.meter.text(text) if tokens is None else tokens
        if after >= now:
            return False
        shown = Shown(
            entry=piece.entry,
            part=piece.part,
            text=text,
            how=how,
            tokens_before=self.meter.tokens(piece),
            tokens_after=after,
        )
        self._chosen[piece.index, piece.part] = (piece, shown)
        self.saved += now - after
        return True

    def in_order(self) -> tuple[Shown, ...]:
        """All replacements in the order of the view."""
        return tuple(shown for _, (_, shown) in sorted(self._chosen.items(), key=_place))

    @property
    def first_index(self) -> int:
        """The first message that changes."""
        return min((index for index, _ in self._chosen), default=0)


def _place(item: tuple[tuple[int, int], object]) -> tuple[int, int]:
    return item[0]
