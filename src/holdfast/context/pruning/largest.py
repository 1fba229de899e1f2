"""The last resort: the largest blocks first, wherever they stand, until the request fits.

Kinds give way in an order: results and images, arguments of calls, recalled memory and the
assistant's texts, earlier texts of the user, results of tools that are not to be shortened.
Within a kind the largest are cut down to one common level, so that none loses more than it
must. Nothing goes below a readable size before every kind has been there; only then does the
rest shrink to single lines.

Promise: the limit is reached unless nothing is left that may be touched and could be shorter
(``tests/context/test_pruning_largest.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from holdfast.context.pruning.draft import Draft
from holdfast.context.pruning.parts import Kind, Piece, ToolFilter
from holdfast.context.pruning.shorter import (
    image_note,
    placeholder,
    shorter_arguments,
    shorter_text,
    source_of,
    trimmed,
)

__all__ = ["shorten_largest"]

_ORDER: Final[dict[Kind, int]] = {
    "result": 0,
    "image": 0,
    "arguments": 1,
    "recall": 2,
    "assistant": 2,
    "user": 3,
}
_DENIED: Final = 4
_MATERIAL: Final = 0.75  # a second form of what was shortened before must be this much smaller
_READABLE_SHARE: Final = 200  # of the window: what is kept of a part as long as that is enough
_READABLE_LEAST: Final = 48
_NOTE_CHARS: Final = 110
_SHORTEST_CHARS: Final = 80
_ATTEMPTS: Final = 8


def shorten_largest(
    pieces: Sequence[Piece], draft: Draft, *, window: int, allowed: ToolFilter, head_share: float
) -> None:
    """Choose replacements until the draft is done or nothing is left to shorten."""
    tiers: list[list[Piece]] = [[] for _ in range(_DENIED + 1)]
    for piece in pieces:
        if piece.touchable and not _is_least(piece):
            denied = piece.kind == "result" and not allowed.allows(piece.tool)
            tiers[_DENIED if denied else _ORDER[piece.kind]].append(piece)
    readable = max(_READABLE_LEAST, window // _READABLE_SHARE)
    for tier in tiers:
        if not draft.is_done:
            _down_to_a_level(tier, draft, readable, head_share)
    for make in (_one_lines, _bare_notes):
        for tier in tiers:
            if not draft.is_done:
                _down_to_one_line(tier, draft, make)


def _is_least(piece: Piece) -> bool:
    """Whether it is already the one line that an earlier plan left of it."""
    return piece.was_pruned and " cleared: " in piece.text[:40] and "\n" not in piece.text


# ── one level for all ───────────────────────────────────────────────────────────────────────


def _down_to_a_level(tier: Sequence[Piece], draft: Draft, readable: int, head_share: float) -> None:
    level = max(readable, _level([draft.tokens(piece) for piece in tier], draft.excess))
    for piece in sorted(tier, key=draft.tokens, reverse=True):
        tokens = draft.tokens(piece)
        if tokens <= level or draft.is_done:
            return
        _shrink(piece, draft, min(level, int(tokens * _MATERIAL)), head_share)


def _level(sizes: Sequence[int], excess: int) -> int:
    """The level down to which the largest must be cut to save ``excess``; 0 if none is enough."""
    ordered = sorted(sizes, reverse=True)
    above = 0
    for count, size in enumerate(ordered, start=1):
        above += size
        below = ordered[count] if count < len(ordered) else 0
        if above - count * below >= excess:
            return max(0, (above - excess) // count)
    return 0


def _shrink(piece: Piece, draft: Draft, level: int, head_share: float) -> None:
    """Show at most ``level`` tokens of a piece."""
    if piece.kind == "image":
        draft.take(piece, image_note(piece.images[0], piece.entry), "largest")
        return
    if piece.foreign:
        return  # only a placeholder can stand for what we do not understand
    notes = "".join(f"\n{image_note(image, piece.entry)}" for image in piece.images)
    if notes and _fits(piece, piece.text + notes if piece.text else notes[1:], draft, level):
        return
    make = _maker(piece, head_share)
    chars = len(piece.text) * level // max(1, draft.tokens(piece) - _image_tokens(piece))
    for _ in range(_ATTEMPTS):
        if chars < _SHORTEST_CHARS:
            return
        text = make(chars - _NOTE_CHARS)
        if text is None or _fits(piece, text + notes, draft, level):
            return
        chars = chars * 4 // 5


def _fits(piece: Piece, text: str, draft: Draft, level: int) -> bool:
    """Take the text if it is within the level."""
    tokens = draft.meter.text(text)
    return tokens <= level and draft.take(piece, text, "largest", tokens=tokens)


def _image_tokens(piece: Piece) -> int:
    return piece.block.images if piece.images else 0


def _maker(piece: Piece, head_share: float) -> Callable[[int], str | None]:
    """A function that makes the shorter text of about so many characters."""
    if piece.kind == "arguments" and piece.call is not None:
        arguments = piece.call.arguments
        return lambda chars: shorter_arguments(arguments, piece.entry, max(0, chars))
    source = source_of(piece.text, shortened=piece.block.item.shortened)
    shorter = shorter_text if piece.kind == "result" else trimmed

    def make(chars: int) -> str | None:
        head = int(max(0, chars) * head_share)
        return shorter(source, piece.entry, head, max(0, chars) - head)

    return make


# ── one line each ───────────────────────────────────────────────────────────────────────────


def _down_to_one_line(
    tier: Sequence[Piece], draft: Draft, make: Callable[[Piece], Iterator[str]]
) -> None:
    for piece in sorted(tier, key=draft.tokens, reverse=True):
        if draft.is_done:
            return
        limit = draft.tokens(piece)
        if piece.was_pruned:
            limit = min(limit, int(draft.meter.tokens(piece) * _MATERIAL) + 1)
        for text in make(piece):
            tokens = draft.meter.text(text)
            if tokens < limit and draft.take(piece, text, "largest", tokens=tokens):
                break


def _one_lines(piece: Piece) -> Iterator[str]:
    """What can stand for a piece when there is no room for more: with a clue, without."""
    if piece.kind == "image":
        yield image_note(piece.images[0], piece.entry)
        return
    if piece.kind == "arguments" and piece.call is not None:
        if shorter := shorter_arguments(piece.call.arguments, piece.entry, 0):
            yield shorter
        return
    source = source_of(piece.text, shortened=piece.block.item.shortened)
    what = "tool result" if piece.kind == "result" else "text"
    for clue in (True, False):
        yield placeholder(
            what, source, piece.entry, tool=piece.tool, images=piece.images, clue=clue
        )


def _bare_notes(piece: Piece) -> Iterator[str]:
    """Arguments without even their keys: the call itself must stay, for its result."""
    if piece.kind != "arguments" or piece.call is None:
        return
    if shorter := shorter_arguments(piece.call.arguments, piece.entry, -1):
        yield shorter
