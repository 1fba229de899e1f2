"""A view → the request that goes to the provider: repaired, rendered, priced.

Promise: the request is valid for its format and model, and stands for every entry the view
stands for; the same view gives the same bytes, and a longer one begins with them, unless an edit
of the view came between (``tests/context/test_assembly.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.context.tokens import TokenEstimator
from holdfast.context.validity import Capabilities, Change, Violation, render, repair, validate
from holdfast.types import Json, Message, Opaque, Part, Thinking, ViewItem

__all__ = ["Request", "WireFormat", "assemble"]

WireFormat = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What goes to the provider, as its client takes it."""

    format: WireFormat
    messages: list[dict[str, Json]]
    system: Json = None
    """Anthropic's top-level system; with OpenAI it is among the messages."""
    tools: tuple[Mapping[str, Json], ...] = ()
    tokens: int = 0
    sizes: tuple[int, ...] = ()
    """Tokens of each message; empty where neighbours of one role had to be merged."""
    thinking_off: bool = False
    """The host must not ask for thinking this time: an open tool loop begins without it."""
    stands_for: tuple[str, ...] = ()
    repairs: tuple[Change, ...] = ()
    violations: tuple[Violation, ...] = ()
    """Always empty, unless ``repair`` has a fault: looked at before every request."""


def assemble(
    items: Sequence[ViewItem],
    *,
    format: WireFormat,
    capabilities: Capabilities,
    estimator: TokenEstimator,
    system: str | None = None,
    tools: Sequence[Mapping[str, Json]] = (),
    edited: Collection[str] = (),
) -> Request:
    """The request for these items.

    ``edited`` are entries that were sent before the view was last edited. A model that binds
    its thinking to the exact words before it refuses thinking from then, so it is left out.
    """
    if capabilities.thinking_bound and edited:
        items = [
            _without_thinking(item) if item.stands_for[0] in edited else item for item in items
        ]
    if system is not None:
        items = [ViewItem(message=Message.of("system", system), stands_for=()), *items]
    repaired = repair(items, format=format, caps=capabilities)
    if repaired.thinking_off:
        capabilities = replace(capabilities, thinking=False)
    sizes = tuple(estimator.message(item.message) for item in repaired.items)
    rendered = render(repaired.items, format=format, caps=capabilities)
    return Request(
        format=format,
        messages=rendered.messages,
        system=rendered.system,
        tools=tuple(tools),
        tokens=estimator.tools(tools) + sum(sizes),
        sizes=sizes if len(sizes) == len(rendered.messages) else (),
        thinking_off=repaired.thinking_off,
        stands_for=tuple(dict.fromkeys(id for item in repaired.items for id in item.stands_for)),
        repairs=repaired.changes,
        violations=tuple(
            validate(
                format,
                rendered.messages,
                system=rendered.system,
                tools=tools or None,
                caps=capabilities,
            )
        ),
    )


def _without_thinking(item: ViewItem) -> ViewItem:
    parts = tuple(part for part in item.message.parts if not _is_thinking(part))
    if len(parts) == len(item.message.parts):
        return item
    return replace(item, message=replace(item.message, parts=parts))


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) or (
        isinstance(part, Opaque) and part.data.get("type") == "redacted_thinking"
    )
