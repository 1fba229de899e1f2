"""What only the whole request shows: how many images and cache marks, what was continued.

Images are named in a text from the oldest on, a tenth of the limit at a time: every such step
changes what the provider has cached, so it is taken seldom. Promise: what is below its limit is
not touched (``tests/context/test_repair.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.context.validity.blocks import SERVER_CALLS, is_server_result
from holdfast.context.validity.messages import Around
from holdfast.context.validity.parts import image_problem, is_sound_block
from holdfast.context.validity.target import Change, Target
from holdfast.types import Image, Json, Message, Opaque, Part, Text, ToolCall, ToolResult, ViewItem

__all__ = ["look_around", "within_marks"]

_WITHOUT_IMAGES: Final = ("assistant", "system", "developer")
"""Roles whose images are never sent."""


def look_around(items: Sequence[ViewItem], target: Target) -> Around:
    """The images that can be sent, which of them are too many, and what goes on elsewhere."""
    found = [
        place
        for index, item in enumerate(items)
        if item.message.role not in _WITHOUT_IMAGES
        for place in _places(index, item.message)
        if image_problem(place[1], target, 0) is None
    ]
    most = target.caps.max_images
    too_many = 0
    if most is not None and len(found) > most:
        step = max(1, most // 10)
        too_many = min(len(found), -(-(len(found) - most) // step) * step)
    hidden: dict[int, frozenset[tuple[int, int | None]]] = {}
    for (index, part, inner), _ in found[:too_many]:
        hidden[index] = hidden.get(index, frozenset()) | {(part, inner)}
    continued = _continued(items) if target.format == "anthropic" else {}
    # Beyond the limit for many it makes no difference how many: so what was repaired once stays.
    many = target.caps.many_images
    images = 0 if many is None else min(len(found) - too_many, many + 1)
    return Around(images=images, hidden=hidden, continued=continued)


def _places(index: int, message: Message) -> Iterator[tuple[tuple[int, int, int | None], Image]]:
    for at, part in enumerate(message.parts):
        if isinstance(part, Image):
            yield (index, at, None), part
        elif isinstance(part, ToolResult):
            for inside, inner in enumerate(part.content):
                if isinstance(inner, Image):
                    yield (index, at, inside), inner


def _continued(items: Sequence[ViewItem]) -> Mapping[int, frozenset[str]]:
    """Calls of a server whose result is in a later message of the same run of the assistant.

    ``render`` makes one message of the run. Calls of ours between them end it.
    """
    found: dict[int, frozenset[str]] = {}
    waiting: dict[str, int] = {}
    for index, item in enumerate(items):
        if item.message.role != "assistant":
            waiting.clear()
            continue
        for data in _server_blocks(item.message):
            if data["type"] in SERVER_CALLS:
                waiting[data["id"]] = index
            elif (caller := waiting.pop(data["tool_use_id"], index)) != index:
                for at in (caller, index):
                    found[at] = found.get(at, frozenset()) | {data["tool_use_id"]}
        if item.message.tool_calls:
            waiting.clear()
    return found


def _server_blocks(message: Message) -> Iterator[Mapping[str, Json]]:
    """Calls and results of a server's tools, those that are well-formed."""
    for part in message.parts:
        if isinstance(part, Opaque) and part.format == "anthropic":
            kind = part.data.get("type")
            is_of_server = kind in SERVER_CALLS or is_server_result(kind)
            if is_of_server and is_sound_block(part, "assistant"):
                yield part.data


# ── cache marks ─────────────────────────────────────────────────────────────────────────────


def within_marks(items: list[ViewItem], target: Target, changes: list[Change]) -> list[ViewItem]:
    """The items with no more cache marks than the provider takes: the last ones stay.

    A mark asks to keep what stands before it, so the last one on a long prefix matters most;
    those on the system text matter to every request, and go last.
    """
    if target.format != "anthropic":
        return items
    counts = [_marks(item.message) for item in items]
    surplus = sum(counts) - target.caps.cache_marks
    if surplus <= 0:
        return items
    order = sorted(range(len(items)), key=lambda at: _is_top_level(items[at].message))
    for at in order:
        if surplus > 0 and counts[at]:
            taken = min(surplus, counts[at])
            items[at] = replace(items[at], message=_unmarked(items[at].message, taken))
            changes.append(Change(kind="cache_marks", index=None, entries=items[at].stands_for))
            surplus -= taken
    return items


def _is_top_level(message: Message) -> bool:
    return message.role in ("system", "developer")


def _marks(message: Message) -> int:
    return sum([_is_marked(part) for part in _all_parts(message.parts)])


def _all_parts(parts: Sequence[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, ToolResult):
            yield from part.content


def _fields(part: Part) -> Mapping[str, Json]:
    if isinstance(part, Opaque):
        return part.data if part.format == "anthropic" else {}
    return part.extra.get("anthropic") or {}


def _is_marked(part: Part) -> bool:
    if not isinstance(part, Opaque) and not part.extra:
        return False
    return _fields(part).get("cache_control") is not None


def _unmarked(message: Message, count: int) -> Message:
    """The message with its first ``count`` marks taken off."""
    left = count

    def bare(part: Part) -> Part:
        nonlocal left
        if left and _is_marked(part):
            left -= 1
            part = _without_mark(part)
        if isinstance(part, ToolResult) and left:
            part = replace(part, content=tuple(bare(inner) for inner in part.content))
        return part

    return replace(message, parts=tuple(bare(part) for part in message.parts))


def _without_mark(part: Part) -> Part:
    fields = {key: value for key, value in _fields(part).items() if key != "cache_control"}
    if isinstance(part, Opaque):
        return replace(part, data=fields)
    extra = {**part.extra, "anthropic": fields}
    if not fields:
        del extra["anthropic"]
    if isinstance(part, Text | Image | ToolCall | ToolResult):
        return replace(part, extra=extra)
    return part
