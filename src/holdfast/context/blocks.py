"""A view as the planners see it: each message with its price, and what must stay together.

A *block* is one message of the view with the tokens it costs. A *group* is what is kept or
dropped as one: an assistant message with the results of its calls that come before it speaks
again, and what the user says in between; or any other single message. A result that comes later
than that is a message of its own: ``validity`` shows it as text.

Promise: every block is in exactly one group, in order, and no group ends between a call and a
result that comes in time (``tests/context/test_blocks.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from holdfast.context.tokens import Scales, TokenEstimator
from holdfast.types import Image, Message, Part, Text, ToolResult, View, ViewItem

__all__ = [
    "SYSTEM_ROLES",
    "Block",
    "Category",
    "Group",
    "PricedBlocks",
    "blocks_of",
    "category_of",
    "group_blocks",
    "is_system",
    "is_user",
    "result_text",
]

SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_MEANWHILE: Final = frozenset({"user", "tool", "function"})

Category = Literal["system", "tools", "memory", "summary", "messages", "tool_results", "images"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One message of the view with its price. ``images`` is the part of it that images cost."""

    item: ViewItem
    tokens: int
    images: int = 0

    @property
    def message(self) -> Message:
        return self.item.message

    @property
    def entry(self) -> str:
        """The entry whose message this is (of a summary: the compaction)."""
        return self.item.stands_for[0]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Blocks that are kept or dropped together."""

    blocks: tuple[Block, ...]

    @cached_property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    @property
    def entries(self) -> tuple[str, ...]:
        return tuple(block.entry for block in self.blocks)

    @property
    def first(self) -> Block:
        return self.blocks[0]

    @cached_property
    def is_user(self) -> bool:
        """Whether a person speaks here."""
        return any(is_user(block.message) for block in self.blocks)


def blocks_of(
    view: View, price: Callable[[Message], int], image_price: Callable[[Image], int]
) -> tuple[Block, ...]:
    """The view with its prices."""
    return tuple(
        Block(
            item=item,
            tokens=price(item.message),
            images=sum(image_price(image) for image in _images(item.message.parts)),
        )
        for item in view.items
    )


class PricedBlocks:
    """The blocks of a view that grows: what ``blocks_of`` gives, each message weighed once."""

    __slots__ = ("_known", "_scales")

    def __init__(self) -> None:
        self._scales = Scales()
        self._known: tuple[object, float, dict[int, Block]] = (None, 0.0, {})

    @property
    def weighed(self) -> int:
        """How many messages had to be weighed so far."""
        return self._scales.weighed

    def of(self, view: View, estimator: TokenEstimator) -> tuple[Block, ...]:
        """The view with its prices."""
        scale, factor, known = self._known
        if scale is not estimator.scale or factor != estimator.factor:
            known = {}
        found = [known.get(id(item)) for item in view.items]
        if None in found or len(found) != len(known):
            found = [*self._priced(view.items, found, estimator)]
            # A block holds its item: as long as it is kept, no other item has its place.
            known = {id(block.item): block for block in found if block is not None}
        self._known = (estimator.scale, estimator.factor, known)
        return tuple(block for block in found if block is not None)

    def _priced(
        self, items: Sequence[ViewItem], found: Sequence[Block | None], estimator: TokenEstimator
    ) -> Iterator[Block]:
        weights = self._scales.weigh((item.message for item in items), estimator)
        for item, block, weight in zip(items, found, weights, strict=True):
            if block is not None:
                yield block
            else:
                tokens = estimator.tokens_of(weight)
                yield Block(item=item, tokens=tokens, images=weight.images)


def _images(parts: Iterable[Part]) -> Iterable[Image]:
    for part in parts:
        if isinstance(part, Image):
            yield part
        elif isinstance(part, ToolResult):
            yield from _images(part.content)


def group_blocks(blocks: Sequence[Block]) -> tuple[Group, ...]:
    """The blocks in the groups that stay together."""
    groups: list[Group] = []
    held: list[Block] = []
    meanwhile: list[Block] = []  # said while the calls of ``held`` wait for their results
    waiting: set[str] = set()

    def close() -> None:
        if held:
            groups.append(Group(blocks=tuple(held)))
        groups.extend(Group(blocks=(block,)) for block in meanwhile)
        held.clear()
        meanwhile.clear()

    for block in blocks:
        answered = {result.call_id for result in block.message.tool_results}
        if waiting & answered:
            held += [*meanwhile, block]
            meanwhile.clear()
            waiting -= answered
        elif waiting and block.message.role in _MEANWHILE:
            meanwhile.append(block)
        else:
            close()
            held.append(block)
            waiting = {call.id for call in block.message.tool_calls}
    close()
    return tuple(groups)


def is_system(message: Message) -> bool:
    return message.role in SYSTEM_ROLES


def is_user(message: Message) -> bool:
    """Whether a person speaks: a user message that is more than a carrier of tool results."""
    return message.role == "user" and any(
        (isinstance(part, Text) and part.text.strip() != "") or isinstance(part, Image)
        for part in message.parts
    )


def result_text(message: Message) -> str:
    """The text of the tool results in a message."""
    return "\n".join(result.text for result in message.tool_results)


def category_of(block: Block) -> Category:
    """What a block counts as. Tokens of its images are counted apart."""
    item = block.item
    if item.message.role in SYSTEM_ROLES:
        return "system"
    if item.kind == "summary":
        return "summary"
    if item.kind == "recall":
        return "memory"
    for part in item.message.parts:  # asked of every message of every request
        if isinstance(part, ToolResult):
            return "tool_results"
    return "messages"
