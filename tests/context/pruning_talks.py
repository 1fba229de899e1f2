"""Conversations as real entries, so that what a plan says is shown as a session would show it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from holdfast.config import Settings
from holdfast.config.keys import Prune
from holdfast.context.accounting import Budget, make_budget
from holdfast.context.blocks import Block, blocks_of
from holdfast.context.pruning import PrunePlan, plan_prune
from holdfast.sessions.shapes import problem_with
from holdfast.sessions.view import compute_view
from holdfast.text import shorten_json
from holdfast.types import (
    Entry,
    Image,
    Json,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    View,
)

AT = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
IMAGE_TOKENS = 500
FRAME = 4


def price_text(text: str) -> int:
    """Four Latin letters or one other character are a token."""
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def price_image(image: Image) -> int:
    del image
    return IMAGE_TOKENS


def price(message: Message) -> int:
    return FRAME + sum(map(_price_part, message.parts))


def _price_part(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return price_text(part.text)
        case ToolResult():
            return sum(map(_price_part, part.content))
        case ToolCall():
            arguments = part.arguments
            if not isinstance(arguments, str):
                arguments = shorten_json(arguments, sys.maxsize)
            return price_text(part.name) + price_text(arguments)
        case Image():
            return IMAGE_TOKENS
        case _:
            return 10


def budget_of(window: int, **changed: int) -> Budget:
    return replace(make_budget(Settings(), window=window), **changed)


class Talk:
    """A transcript in memory: messages go in, a view comes out."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.entries: list[Entry] = []
        self._calls = 0
        for message in messages:
            self.add(message)

    def append(self, kind: str, data: Mapping[str, Json]) -> str:
        assert problem_with(kind, data) is None
        number = len(self.entries)
        entry_id = f"entry{number:05d}"
        parent = self.entries[-1].id if self.entries else None
        self.entries.append(
            Entry(id=entry_id, parent=parent, seq=number, at=AT, type=kind, data=data)
        )
        return entry_id

    def add(self, message: Message) -> str:
        return self.append("message", message.to_json())

    def says(self, role: str, text: str) -> str:
        return self.add(Message.of(role, text))

    def uses(
        self,
        tool: str,
        arguments: str | Mapping[str, Json],
        result: str | Sequence[Part],
        *,
        is_error: bool | None = None,
        call_id: str | None = None,
    ) -> str:
        """A call and its result; the id of the result's entry."""
        self._calls += 1
        call_id = call_id or f"call{self._calls}"
        call = ToolCall(id=call_id, name=tool, arguments=arguments)
        self.add(Message(role="assistant", parts=(call,), form="null"))
        content = (Text(text=result),) if isinstance(result, str) else tuple(result)
        given = ToolResult(
            call_id=call_id,
            content=content,
            is_error=is_error,
            form="text" if isinstance(result, str) else "parts",
        )
        return self.add(Message(role="tool", parts=(given,)))

    def goes_on(self, answers: int = 3) -> None:
        """Enough said since to make everything before it old."""
        for number in range(answers):
            self.says("assistant", f"Step {number} is done.")

    @property
    def view(self) -> View:
        return compute_view(self.entries)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return blocks_of(self.view, price, price_image)

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)

    def shown(self, entry_id: str) -> Message:
        return next(item.message for item in self.view.items if item.stands_for[0] == entry_id)

    def text(self, entry_id: str) -> str:
        return self.shown(entry_id).text

    def plan(self, **asked: Any) -> PrunePlan:
        """A plan as the engine asks for it; ``target`` and ``prune_at`` change the marks."""
        window, settings = asked.pop("window", 8_000), asked.pop("settings", Prune())
        marks = {name: asked.pop(name) for name in ("target", "prune_at") if name in asked}
        asked.setdefault("cache_is_cold", True)
        asked.setdefault("price_text", price_text)
        asked.setdefault("projected", self.tokens)
        return plan_prune(self.blocks, budget_of(window, **marks), settings, **asked)

    def prune(self, plan: PrunePlan) -> None:
        self.append("prune", plan.entry_data())


def lines(count: int, word: str = "line") -> str:
    return "".join(f"{word} {number} of some longer output\n" for number in range(count))
