"""A view → the request that goes to the provider: repaired, rendered, priced.

Promise: the request is valid for its format and model, and stands for every entry the view
stands for; the same view gives the same bytes, and a longer one begins with them, unless an edit
of the view came between (``tests/context/test_assembly.py``); with a ``Desk`` the request is the
same, and only what is new in it is worked on (``tests/sessions/test_view_cache.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

from holdfast.context.tokens import Scales, TokenEstimator
from holdfast.context.validity import (
    Capabilities,
    Change,
    Judged,
    Rendered,
    Repaired,
    Settled,
    Violation,
    Written,
    render_on,
    repair_on,
    validate_on,
)
from holdfast.types import Json, Message, Opaque, Part, Thinking, ViewItem

__all__ = ["Desk", "Request", "WireFormat", "assemble"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Valid:
    """Messages in which nothing was wrong, with what they were judged by, and their length."""

    written: Written
    tools: tuple[Mapping[str, Json], ...]
    chars: int


class Desk:
    """What is left of the last request of a session, for the next one, which begins like it.

    Safe to use from several threads: everything on it is replaced, never changed.
    """

    __slots__ = ("_scales", "_settled", "_stripped", "_system", "_valid", "rendered", "taken")

    def __init__(self) -> None:
        self._scales = Scales()
        self._settled: Settled | None = None
        self._stripped: dict[int, tuple[ViewItem, ViewItem]] = {}
        self._system: ViewItem | None = None
        self._valid: _Valid | None = None
        self.taken = 0
        """How many items were repaired so far."""
        self.rendered = 0
        """How many items were rendered and judged so far."""

    @property
    def weighed(self) -> int:
        """How many messages were weighed so far."""
        return self._scales.weighed

    def system(self, text: str) -> ViewItem:
        """The host's system text as an item."""
        known = self._system
        if known is None or known.message.text != text:
            known = ViewItem(message=Message.of("system", text), stands_for=())
            self._system = known
        return known

    def without_thinking(
        self, items: Sequence[ViewItem], edited: Collection[str]
    ) -> list[ViewItem]:
        """The items, those of ``edited`` entries without their thinking."""
        known, kept = self._stripped, dict[int, tuple[ViewItem, ViewItem]]()
        out: list[ViewItem] = []
        for item in items:
            if item.stands_for[0] in edited:
                found = known.get(id(item)) or (item, _without_thinking(item))
                kept[id(item)] = found
                item = found[1]
            out.append(item)
        self._stripped = kept
        return out

    def repair(self, items: Sequence[ViewItem], format: WireFormat, caps: Capabilities) -> Repaired:
        repaired, settled = repair_on(items, self._settled, format=format, caps=caps)
        self._settled = settled
        self.taken += settled.taken
        return repaired

    def sizes(self, items: Sequence[ViewItem], estimator: TokenEstimator) -> tuple[int, ...]:
        weights = self._scales.weigh((item.message for item in items), estimator)
        return tuple(map(estimator.tokens_of, weights))

    def write(
        self,
        items: Sequence[ViewItem],
        format: WireFormat,
        caps: Capabilities,
        tools: tuple[Mapping[str, Json], ...],
    ) -> tuple[Rendered, list[Violation]]:
        """The messages, which are the host's to change, and what is wrong with them."""
        valid = self._valid
        known = valid.written if valid is not None else None
        rendered, written = render_on(items, known, format=format, caps=caps)
        request = Judged(
            messages=rendered.messages, system=rendered.system, tools=tools or None, caps=caps
        )
        start, chars = 0, 0
        if valid is not None and written is not None and _continues(written, valid, tools):
            start, chars = len(valid.written.rendered.messages), valid.chars
        self.rendered += len(items) - (len(valid.written.items) if valid and start else 0)
        found = validate_on(format, replace(request, at_most=chars), start)
        self._valid = None
        if written is not None and not found:
            news = Judged(messages=written.rendered.messages[start:], caps=caps)
            if news.body is not None:
                self._valid = _Valid(written=written, tools=tools, chars=chars + len(news.body))
        system = rendered.system
        return Rendered(
            messages=_copied(rendered.messages),
            system=_copied(system) if isinstance(system, list) else system,
        ), found


def _continues(written: Written, valid: _Valid, tools: tuple[Mapping[str, Json], ...]) -> bool:
    """Whether these messages begin with those that were judged, by the same measures."""
    before, now = valid.written.rendered.messages, written.rendered.messages
    return valid.tools == tools and len(before) <= len(now) and all(map(is_, before, now))


def assemble(
    items: Sequence[ViewItem],
    *,
    format: WireFormat,
    capabilities: Capabilities,
    estimator: TokenEstimator,
    system: str | None = None,
    tools: Sequence[Mapping[str, Json]] = (),
    edited: Collection[str] = (),
    desk: Desk | None = None,
) -> Request:
    """The request for these items.

    ``edited`` are entries that were sent before the view was last edited. A model that binds
    its thinking to the exact words before it refuses thinking from then, so it is left out.
    ``desk`` is the session's, if it has one: it makes this faster, and nothing else.
    """
    desk, tools = desk or Desk(), tuple(tools)
    if capabilities.thinking_bound and edited:
        items = desk.without_thinking(items, edited)
    if system is not None:
        items = [desk.system(system), *items]
    repaired = desk.repair(items, format, capabilities)
    if repaired.thinking_off:
        capabilities = replace(capabilities, thinking=False)
    sizes = desk.sizes(repaired.items, estimator)
    rendered, violations = desk.write(repaired.items, format, capabilities, tools)
    return Request(
        format=format,
        messages=rendered.messages,
        system=rendered.system,
        tools=tools,
        tokens=estimator.tools(tools) + sum(sizes),
        sizes=sizes if len(sizes) == len(rendered.messages) else (),
        thinking_off=repaired.thinking_off,
        stands_for=tuple(dict.fromkeys(id for item in repaired.items for id in item.stands_for)),
        repairs=repaired.changes,
        violations=tuple(violations),
    )


def _copied(value: Json) -> Json:
    """A copy the host may change, without what is on the desk changing with it."""
    copy = value.copy()
    for place, each in enumerate(value) if isinstance(value, list) else value.items():
        if isinstance(each, dict | list):
            copy[place] = _copied(each)
    return copy


def _without_thinking(item: ViewItem) -> ViewItem:
    parts = tuple(part for part in item.message.parts if not _is_thinking(part))
    if len(parts) == len(item.message.parts):
        return item
    return replace(item, message=replace(item.message, parts=parts))


def _is_thinking(part: Part) -> bool:
    return isinstance(part, Thinking) or (
        isinstance(part, Opaque) and part.data.get("type") == "redacted_thinking"
    )
