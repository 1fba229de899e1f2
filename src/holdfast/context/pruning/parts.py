"""What in a view could be shortened, and what may not be touched.

A *piece* is one part of one message: a tool result, an image, the arguments of a call, or a
text. Results know the call they answer: the nearest call before them with their id, because
ids are used again in later turns.

Promise: system text, summaries, pins, the first and the newest user message are never pieces
that may be touched; results inside such a user message may (``tests/context/test_pruning.py``).
Pure.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal

from holdfast.config.keys import PruneTools
from holdfast.context.blocks import Block, is_system, is_user
from holdfast.text import shorten_json
from holdfast.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["Kind", "Limits", "Piece", "ToolFilter", "limits_of", "pieces_of"]

Kind = Literal["result", "image", "arguments", "recall", "assistant", "user"]

_NEVER: Final = frozenset({"pin", "summary"})  # a view shows these as they are, whatever we say
_SPOKEN: Final = frozenset({"message", "pin"})  # what was said, not what was put in


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part that could be shown shorter. ``index`` is its block's, ``part`` its own."""

    block: Block
    index: int
    part: int
    kind: Kind
    text: str = ""
    images: tuple[Image, ...] = ()
    foreign: int = 0  # characters of parts inside a result that we do not understand
    call: ToolCall | None = None
    is_error: bool = False
    touchable: bool = True

    @property
    def entry(self) -> str:
        return self.block.entry

    @property
    def chars(self) -> int:
        return len(self.text) + self.foreign

    @property
    def tool(self) -> str:
        return self.call.name if self.call is not None else ""

    @property
    def is_alone(self) -> bool:
        return len(self.block.message.parts) == 1

    @property
    def was_pruned(self) -> bool:
        """Whether what is shown is already the work of an earlier plan."""
        return self.block.item.shortened and f"expand {self.entry}" in self.text

    @property
    def was_capped(self) -> bool:
        """Whether it was set aside on arrival and is shown as beginning and end since."""
        return self.block.item.shortened and not self.was_pruned


# ── where ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Pieces between the first user message and the last few assistant messages may go."""

    first_user: int
    newest_user: int
    cutoff: int

    def allow(self, index: int) -> bool:
        return self.first_user < index < self.cutoff


def limits_of(blocks: Sequence[Block], keep_last_assistants: int) -> Limits:
    """Where pruning may work. Without a user message, or with fewer assistant messages than
    are to be kept: nowhere."""
    spoken = [
        index
        for index, block in enumerate(blocks)
        if block.item.kind in _SPOKEN and is_user(block.message)
    ]
    cutoff, left = len(blocks), keep_last_assistants
    while left > 0 and cutoff > 0:
        cutoff -= 1
        left -= blocks[cutoff].message.role == "assistant"
    return Limits(
        first_user=spoken[0] if spoken else len(blocks),
        newest_user=spoken[-1] if spoken else -1,
        cutoff=0 if left > 0 else cutoff,
    )


class ToolFilter:
    """Whether results of a tool may be shortened: by patterns of its name, in any case."""

    def __init__(self, tools: PruneTools) -> None:
        self._allow = [pattern.lower() for pattern in tools.allow]
        self._deny = [pattern.lower() for pattern in tools.deny]
        self._known: dict[str, bool] = {}

    def allows(self, tool: str) -> bool:
        if (known := self._known.get(tool)) is None:
            known = self._known[tool] = self._decide(tool.lower())
        return known

    def _decide(self, tool: str) -> bool:
        if any(fnmatchcase(tool, pattern) for pattern in self._deny):
            return False
        return not self._allow or any(fnmatchcase(tool, pattern) for pattern in self._allow)


# ── what ────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What is known on the way through the view."""

    limits: Limits
    protected: Collection[str]
    calls: dict[str, ToolCall] = field(default_factory=dict)

    def is_fixed(self, block: Block) -> bool:
        return (
            block.item.kind in _NEVER or block.entry in self.protected or is_system(block.message)
        )


def pieces_of(
    blocks: Sequence[Block], limits: Limits, *, protected: Collection[str] = (), all_kinds: bool
) -> list[Piece]:
    """The pieces of a view, in order: results and images, or of all kinds.

    Results that may not be touched are among them, because they can make others stale.
    """
    walk = _Walk(limits=limits, protected=frozenset(protected))
    found: list[Piece] = []
    for index, block in enumerate(blocks):
        found += _in_block(block, index, walk, all_kinds=all_kinds)
    return found


def _in_block(block: Block, index: int, walk: _Walk, *, all_kinds: bool) -> Iterator[Piece]:
    fixed = walk.is_fixed(block)
    # Of the first and the newest user message only the results they carry are not the user's.
    is_users = index in (walk.limits.first_user, walk.limits.newest_user)
    for number, part in enumerate(block.message.parts):
        if isinstance(part, ToolCall):
            walk.calls[part.id] = part
        if isinstance(part, ToolResult):
            yield _result(block, index, number, part, walk, touchable=not fixed)
        elif fixed or is_users:
            continue
        elif isinstance(part, Image):
            yield Piece(block=block, index=index, part=number, kind="image", images=(part,))
        elif all_kinds and isinstance(part, ToolCall):
            yield Piece(
                block=block,
                index=index,
                part=number,
                kind="arguments",
                text=_arguments_text(part),
                call=part,
            )
        elif all_kinds and isinstance(part, Text):
            kind = _kind_of_text(block)
            yield Piece(block=block, index=index, part=number, kind=kind, text=part.text)


def _result(
    block: Block, index: int, number: int, result: ToolResult, walk: _Walk, *, touchable: bool
) -> Piece:
    content = result.content
    text = content[0].text if len(content) == 1 and isinstance(content[0], Text) else result.text
    return Piece(
        block=block,
        index=index,
        part=number,
        kind="result",
        text=text,
        images=tuple(part for part in content if isinstance(part, Image)),
        foreign=_foreign(content),
        call=walk.calls.get(result.call_id),
        is_error=bool(result.is_error),
        touchable=touchable,
    )


def _foreign(content: Iterable[Part]) -> int:
    total = 0
    for part in content:
        if isinstance(part, Opaque):
            total += len(json.dumps(part.data, ensure_ascii=False, default=dict))
        elif isinstance(part, Thinking | ToolCall | ToolResult):
            total += len(json.dumps(Message(role="", parts=(part,)).to_json(), default=dict))
    return total


def _kind_of_text(block: Block) -> Kind:
    if block.item.kind == "recall":
        return "recall"
    return "user" if block.message.role == "user" else "assistant"


def _arguments_text(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    return shorten_json(call.arguments, sys.maxsize)
