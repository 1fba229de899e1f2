"""The same conversation without us, and what requests cost over the wire.

Promise: everything always, plain trimming and our own requests are counted by one measure,
prompt caching included (``tests/engine/test_replay.py``). Pure.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.context.accounting import Budget
from holdfast.context.assembly import Request
from holdfast.context.blocks import Block, is_user
from holdfast.context.pricing import Prices
from holdfast.context.tokens import TokenEstimator
from holdfast.context.trimming import plain_trim
from holdfast.engine.replay.figures import Trimmed
from holdfast.types import Json, Message, ViewItem

__all__ = ["Meter", "Others"]


class Others:
    """The same conversation without us: everything always, and plain trimming."""

    def __init__(self, budget: Budget, estimator: TokenEstimator, *, fixed: int) -> None:
        self._estimator = estimator
        self._budget = budget
        self._fixed = fixed
        self._blocks: list[Block] = []
        self.full = _Prefix(fixed)
        self._trim = _Prefix(fixed)
        self._over = 0
        self._task_gone_at: int | None = None
        self._dropped: dict[int, None] = {}

    def hear(self, message: Message) -> None:
        tokens = self._estimator.message(message)
        item = ViewItem(message=message, stands_for=(str(len(self._blocks)),))
        self._blocks.append(Block(item=item, tokens=tokens))

    def ask(self, turn: int, task: str) -> None:
        self.full.send(self._blocks)
        kept = plain_trim(self._blocks, self._budget.compact_at, fixed=self._fixed)
        if self._fixed + sum(block.tokens for block in kept) > self._budget.window:
            self._over += 1
        else:
            self._trim.send(kept)
        if len(kept) < len(self._blocks):
            stay = {block.entry for block in kept}
            self._dropped |= {
                index: None for index, block in enumerate(self._blocks) if block.entry not in stay
            }
            sent = [block.message.text for block in kept if is_user(block.message)]
            if task and task not in sent and self._task_gone_at is None:
                self._task_gone_at = turn

    def trimmed(self) -> Trimmed:
        lost = [self._blocks[index].message for index in list(self._dropped)]
        texts = [message.text for message in lost if message.role in {"user", "assistant"}]
        return Trimmed(
            dropped=len(self._dropped),
            task_gone_at=self._task_gone_at,
            tokens_sent=self._trim.tokens,
            cost_sent=self._trim.cost,
            over_budget=self._over,
            first_dropped=tuple(text for text in texts if text.strip())[:5],
        )


class _Prefix:
    """Tokens and price of requests that are runs of the same blocks, behind the same tools."""

    def __init__(self, fixed: int) -> None:
        self._fixed = fixed
        self._last: Sequence[Block] | None = None
        self._prices = Prices()
        self.tokens = 0
        self.cost = 0.0

    def send(self, blocks: Sequence[Block]) -> None:
        tokens = self._fixed + sum(block.tokens for block in blocks)
        cached = self._fixed if self._last is not None else 0
        for before, now in zip(self._last or (), blocks, strict=False):
            if before is not now:
                break
            cached += now.tokens
        self._last = tuple(blocks)
        self.tokens += tokens
        self.cost += self._prices.cost(cached, tokens - cached)


class Meter:
    """Tokens and price of requests as they go over the wire, prompt caching included."""

    def __init__(self) -> None:
        self._last: list[bytes] = []
        self._prices = Prices()
        self.tokens = 0
        self.cost = 0.0

    def send(self, request: Request) -> bool:
        """Whether the request begins with the whole of the one before it."""
        now = [_bytes([request.system, request.tools]), *map(_bytes, request.messages)]
        same = 0
        for before, after in zip(self._last, now, strict=False):
            if before != after:
                break
            same += 1
        is_prefix = same == len(self._last)
        self._last = now
        cached = _tokens_of_first(request, same, now)
        self.tokens += request.tokens
        self.cost += self._prices.cost(cached, request.tokens - cached)
        return is_prefix


def _tokens_of_first(request: Request, same: int, now: Sequence[bytes]) -> int:
    """What of the request was sent before; by length where messages have no size of their own."""
    if not same:
        return 0
    if request.sizes:
        return request.tokens - sum(request.sizes[same - 1 :])
    return request.tokens * sum(map(len, now[:same])) // sum(map(len, now))


def _bytes(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
