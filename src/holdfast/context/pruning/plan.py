"""When to prune, what, and how far.

    mode off          never, except as the last resort
    mode always       from ``prune_at`` on
    mode cache-ttl    from ``prune_at`` on, if the provider's cache is cold anyway or the tokens
                      saved over the turns to come outweigh storing the rest once more
    force needed      the window is full: no question of cost
    force largest     the request must fit: protection is only a preference

Within a plan: what a later read has made stale, then long results to head and tail, then
images, then whole results, each oldest first, until ``target`` is reached. Sizes are meant for
windows of 128 000 tokens and more and shrink with smaller ones.

Promise: a plan without replacements says why; the same view gives the same plan; what an
earlier plan shortened keeps its bytes (``tests/context/test_pruning.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.config.keys import Prune
from holdfast.context.accounting import Budget
from holdfast.context.blocks import Block
from holdfast.context.pricing import Prices, net_saving, pays_off
from holdfast.context.pruning.draft import Draft, Meter, Shown
from holdfast.context.pruning.largest import shorten_largest
from holdfast.context.pruning.parts import Piece, ToolFilter, limits_of, pieces_of
from holdfast.context.pruning.reads import superseded
from holdfast.context.pruning.shorter import (
    image_note,
    placeholder,
    shorter_text,
    source_of,
)
from holdfast.types import Json

__all__ = ["Force", "PrunePlan", "plan_prune"]

Force = Literal["no", "needed", "largest"]

_CHARS_PER_TOKEN: Final = 4
_LEAST_TRIM: Final = 200
_LEAST_CLEAR: Final = 160  # characters: a placeholder is about as long
_SMALLEST_BATCH: Final = 100  # one hundredth of the window is worth losing a warm cache for


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan:
    """What to show shorter, or why nothing. Tokens are those of the messages of the view."""

    shown: tuple[Shown, ...]
    tokens_before: int
    tokens_after: int
    saved_cost: float
    reason: str

    @property
    def saved(self) -> int:
        return self.tokens_before - self.tokens_after

    def entry_data(self) -> dict[str, Json]:
        """The data of the ``prune`` entry that makes it so."""
        return {
            "shown": [
                {"entry": each.entry, "part": each.part, "text": each.text, "how": each.how}
                for each in self.shown
            ],
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "saved_cost": self.saved_cost,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """The settings in characters, scaled to the window."""

    soft: int
    head: int
    tail: int
    min_clear: int

    @classmethod
    def of(cls, settings: Prune, window: int) -> _Sizes:
        chars = window * _CHARS_PER_TOKEN
        soft = max(_LEAST_TRIM, min(settings.soft_trim_chars, chars * 2 // 100))
        scale = min(1.0, soft / settings.soft_trim_chars)
        return cls(
            soft=soft,
            head=int(settings.head * scale),
            tail=int(settings.tail * scale),
            min_clear=min(settings.min_clear_chars, chars // 10),
        )


def plan_prune(
    blocks: Sequence[Block],
    budget: Budget,
    settings: Prune,
    *,
    projected: int,
    price_text: Callable[[str], int],
    cache_is_cold: bool,
    force: Force = "no",
    limit: int | None = None,
    expected_turns: int | None = None,
    prices: Prices | None = None,
    protected: Collection[str] = (),
) -> PrunePlan:
    """What to show shorter before the next request of ``projected`` tokens.

    ``limit`` is what ``force="largest"`` must get below (``flush_at`` if not given);
    ``protected`` are entries that stay as they are; ``expected_turns`` are the requests that
    will profit (if not given: as many as there were, or as fit until the flush is due).
    """
    work = _Work(
        blocks=blocks,
        budget=budget,
        settings=settings,
        projected=projected,
        cache_is_cold=cache_is_cold,
        turns=expected_turns,
        prices=prices or Prices(),
        tokens=sum(block.tokens for block in blocks),
        answers=sum(block.message.role == "assistant" for block in blocks),
    )
    goal = budget.target if force != "largest" else budget.flush_at if limit is None else limit
    if (reason := _no_need(work, force, goal)) is not None:
        return work.nothing(reason)
    draft = Draft(Meter(blocks, price_text), projected=projected, goal=goal)
    if force == "largest":
        return _plan_largest(work, draft, protected)
    return _plan_by_age(work, draft, protected, force)


def _no_need(work: _Work, force: Force, goal: int) -> str | None:
    if force != "largest" and work.settings.mode == "off":
        return "off"
    if force == "no" and work.projected < work.budget.prune_at:
        return "below prune_at"
    if work.projected <= goal:
        return f"already within {goal:,} tokens"
    return None


_NOTHING_LEFT: Final = "nothing left to shorten"


# ── by age ──────────────────────────────────────────────────────────────────────────────────


def _plan_by_age(work: _Work, draft: Draft, protected: Collection[str], force: Force) -> PrunePlan:
    limits = limits_of(work.blocks, work.settings.keep_last_assistants)
    pieces = pieces_of(work.blocks, limits, protected=protected, all_kinds=False)
    allowed = ToolFilter(work.settings.tools)
    fresh = [
        piece
        for piece in pieces
        if piece.touchable
        and limits.allow(piece.index)
        and (piece.kind == "image" or allowed.allows(piece.tool))
        and not piece.was_pruned
    ]
    if not fresh:
        return work.nothing(_NOTHING_LEFT)
    if force == "no" and (refusal := work.refusal_at_best(fresh)) is not None:
        return work.nothing(refusal)
    sizes = _Sizes.of(work.settings, work.budget.window)
    may_go = {(piece.index, piece.part) for piece in fresh}
    stale = superseded([piece for piece in pieces if piece.kind == "result"])
    _clear_stale([piece for piece in stale if (piece.index, piece.part) in may_go], draft)
    _trim(fresh, draft, sizes)
    _remove_images(fresh, draft, sizes)
    least = 0 if force == "needed" else sizes.min_clear
    clearable = _clear(fresh, draft, least)
    if not draft.in_order():
        left = f"only {clearable:,} characters could be cleared"
        return work.nothing(left if 0 < clearable < least else _NOTHING_LEFT)
    if force == "no" and (refusal := work.refusal(draft.saved, work.behind(draft))) is not None:
        return work.nothing(refusal)
    return work.plan(draft, work.occasion(force))


def _clear_stale(stale: Iterable[Piece], draft: Draft) -> None:
    for piece in stale:
        if draft.is_done:
            return
        if piece.chars >= _LEAST_CLEAR or piece.images:
            draft.take(piece, _cleared(piece, why="read again later"), "superseded")


def _trim(fresh: Iterable[Piece], draft: Draft, sizes: _Sizes) -> None:
    for piece in fresh:
        if draft.is_done:
            return
        if piece.kind != "result" or piece.images or piece.foreign:
            continue
        if len(piece.text) > sizes.soft and draft.shown(piece) is None:
            text = _trimmed(piece, sizes)
            if text is not None:
                draft.take(piece, text, "trim")


def _trimmed(piece: Piece, sizes: _Sizes) -> str | None:
    source = source_of(piece.text, shortened=piece.block.item.shortened)
    return shorter_text(source, piece.entry, sizes.head, sizes.tail)


def _remove_images(fresh: Iterable[Piece], draft: Draft, sizes: _Sizes) -> None:
    for piece in fresh:
        if draft.is_done:
            return
        if not piece.images or piece.foreign or draft.shown(piece) is not None:
            continue
        notes = [image_note(image, piece.entry) for image in piece.images]
        text = piece.text
        if len(text) > sizes.soft:
            text = _trimmed(piece, sizes) or text
        draft.take(piece, "\n".join([text, *notes] if text else notes), "image")


def _clear(fresh: Iterable[Piece], draft: Draft, least: int) -> int:
    """Clear whole results if enough of them are left; how many characters those have."""
    left = [(piece, chars) for piece in fresh if (chars := _left_of(piece, draft)) is not None]
    clearable = sum(chars for _, chars in left)
    if clearable >= least:
        for piece, _ in left:
            if draft.is_done:
                break
            draft.take(piece, _cleared(piece), "clear")
    return clearable


def _left_of(piece: Piece, draft: Draft) -> int | None:
    """The characters that clearing this piece would clear; None if it cannot be cleared."""
    if piece.kind != "result":
        return None
    shown = draft.shown(piece)
    if shown is not None and shown.how == "superseded":
        return None
    chars = piece.chars if shown is None else len(shown.text)
    return chars if chars >= _LEAST_CLEAR else None


def _cleared(piece: Piece, *, why: str = "") -> str:
    source = source_of(piece.text, shortened=piece.block.item.shortened)
    return placeholder(
        "tool result", source, piece.entry, tool=piece.tool, images=piece.images, why=why
    )


# ── wherever they stand ─────────────────────────────────────────────────────────────────────


def _plan_largest(work: _Work, draft: Draft, protected: Collection[str]) -> PrunePlan:
    limits = limits_of(work.blocks, 0)
    pieces = pieces_of(work.blocks, limits, protected=protected, all_kinds=True)
    both = work.settings.head + work.settings.tail
    shorten_largest(
        pieces,
        draft,
        window=work.budget.window,
        allowed=ToolFilter(work.settings.tools),
        head_share=work.settings.head / both if both else 0.5,
    )
    if not draft.in_order():
        return work.nothing("nothing left to shorten")
    reached = f"shortened until {draft.goal:,} tokens were reached"
    left = f"{draft.excess:,} tokens above {draft.goal:,}: all that is left must stay"
    return work.plan(draft, reached if draft.is_done else left)


# ── what it is worth ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """The question a plan answers."""

    blocks: Sequence[Block]
    budget: Budget
    settings: Prune
    projected: int
    cache_is_cold: bool
    turns: int | None
    prices: Prices
    tokens: int
    answers: int

    def nothing(self, reason: str) -> PrunePlan:
        return PrunePlan(
            shown=(),
            tokens_before=self.tokens,
            tokens_after=self.tokens,
            saved_cost=0.0,
            reason=reason,
        )

    def plan(self, draft: Draft, reason: str) -> PrunePlan:
        gained = net_saving(
            draft.saved,
            self.behind(draft),
            self.profiting(draft.saved),
            self.prices,
            cache_is_cold=self.cache_is_cold,
        )
        return PrunePlan(
            shown=draft.in_order(),
            tokens_before=self.tokens,
            tokens_after=self.tokens - draft.saved,
            saved_cost=round(gained * self.prices.input_per_million / 1_000_000, 6),
            reason=reason,
        )

    def refusal(self, saved: int, behind: int) -> str | None:
        """Why this must not be done now; None if it may. ``behind`` are the tokens from the
        first change on, as they will be."""
        if self.cache_is_cold:
            return None
        if saved * _SMALLEST_BATCH < self.budget.window:
            return f"the cache is warm and only {saved:,} tokens could be saved"
        if self.settings.mode == "always":
            return None
        if pays_off(saved, behind, self.profiting(saved), self.prices):
            return None
        return "the cache is warm and the saving would not pay for rewriting it"

    def refusal_at_best(self, fresh: Sequence[Piece]) -> str | None:
        """The same for every place where the changes could begin, if all that may go from there
        on were gone at no cost.

        Asked before a single text is written: a warm cache is the usual case, and then this is
        asked before every request.
        """
        may_go = {piece.index for piece in fresh}
        saved = behind = 0
        refusal = None
        for index in range(len(self.blocks) - 1, -1, -1):
            if index not in may_go:
                behind += self.blocks[index].tokens
                continue
            saved += self.blocks[index].tokens
            if (refusal := self.refusal(saved, behind)) is None:
                return None
        return refusal

    def occasion(self, force: Force) -> str:
        """Why it is done."""
        if force == "needed":
            return "the window is full"
        if self.cache_is_cold:
            return "prune_at is reached and the cache is cold"
        if self.settings.mode == "always":
            return "prune_at is reached"
        return "the saving pays for rewriting the cache"

    def behind(self, draft: Draft) -> int:
        """The tokens from the first change on, as they will be."""
        return sum(block.tokens for block in self.blocks[draft.first_index :]) - draft.saved

    def profiting(self, saved: int) -> int:
        """The requests that profit: as many as there were, but not more than half of those that
        fit until the flush is due: by then the cache is rewritten anyway, and the next batch of
        results may be worth pruning before."""
        if self.turns is not None:
            return self.turns
        room = self.budget.flush_at - (self.projected - saved)
        growth = max(1, self.tokens // max(1, self.answers))
        return max(1, min(self.answers, room // growth // 2))
