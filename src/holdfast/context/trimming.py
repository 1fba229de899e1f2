"""What most programs do when the window is full: drop the oldest messages.

Kept as the yardstick of ``replay``, not as a way to shrink anything: nothing is saved, nothing
is summarised, and the task at the beginning goes first. It is done as well as it can be: system
text stays, and a call is never parted from its results.

Promise: what is kept is the system text and the longest run of newest groups that fits, at
least the last one (``tests/context/test_trimming.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.context.blocks import Block, group_blocks, is_system

__all__ = ["plain_trim"]


def plain_trim(blocks: Sequence[Block], limit: int, *, fixed: int = 0) -> tuple[Block, ...]:
    """The blocks that plain trimming would send when at most ``limit`` tokens fit."""
    system = [block for block in blocks if is_system(block.message)]
    rest = [block for block in blocks if not is_system(block.message)]
    room = limit - fixed - sum(block.tokens for block in system)
    if sum(block.tokens for block in rest) <= room:
        return tuple(blocks)
    kept: list[Block] = []
    for group in reversed(group_blocks(rest)):
        if kept and group.tokens > room:
            break
        room -= group.tokens
        kept[:0] = group.blocks
    return (*system, *kept)
