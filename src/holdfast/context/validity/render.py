"""Repaired items → the request as it is sent, neighbours of one role merged.

``formats`` writes each message as it is; where the provider wants roles to alternate, runs of
one role become one message here, results first. A run only grows at its end, so block by
block the request of a longer conversation begins with that of a shorter one
(``tests/context/test_repair.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import is_

from holdfast.context.validity.capabilities import Capabilities, Format
from holdfast.formats import to_anthropic, to_openai
from holdfast.types import Json, ViewItem

__all__ = ["Rendered", "Written", "render", "render_on"]

_Wire = dict[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """``system`` is None for OpenAI, which has it among the messages."""

    messages: list[_Wire]
    system: str | list[_Wire] | None = None


def render(items: Sequence[ViewItem], *, format: Format, caps: Capabilities) -> Rendered:
    """The messages of the items, as ``format`` writes them."""
    messages = [item.message for item in items]
    if format == "openai":
        wires = to_openai(messages)
        return Rendered(messages=_merged(wires) if caps.strict_alternation else wires)
    request = to_anthropic(messages)
    wires = request.messages
    return Rendered(
        messages=_merged(wires) if caps.strict_alternation else wires, system=request.system
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The messages in front of one of the assistant, for whoever renders these items and more.

    Nothing that follows changes them: whatever is merged or moved is so among neighbours on the
    same side of the conversation, and there the side changes.
    """

    items: tuple[ViewItem, ...]
    rendered: Rendered
    format: Format
    caps: Capabilities


def render_on(
    items: Sequence[ViewItem], written: Written | None, *, format: Format, caps: Capabilities
) -> tuple[Rendered, Written | None]:
    """What ``render`` gives, begun with what is ``written`` already if the items begin so.

    The messages are those of ``Written``: whoever gives them away must copy them.
    """
    items = tuple(items)
    seam = _last_seam(items)
    if written is None or not _is_begun_by(written, items, seam, format, caps):
        written = None
    known = len(written.items) if written is not None else 0
    between = render(items[known:seam], format=format, caps=caps)
    end = render(items[seam:], format=format, caps=caps)
    before = written.rendered if written is not None else None
    messages = [*(before.messages if before else ()), *between.messages]
    is_parted = (
        _begins_a_side(messages, end)
        and (before is None or between.system is None)
        and (before is None or not between.messages or _begins_a_side(before.messages, between))
    )
    if not is_parted:
        return render(items, format=format, caps=caps), None
    system = before.system if before is not None else between.system
    written = Written(
        items=items[:seam],
        rendered=Rendered(messages=messages, system=system),
        format=format,
        caps=caps,
    )
    return Rendered(messages=[*messages, *end.messages], system=system), written


def _last_seam(items: Sequence[ViewItem]) -> int:
    """Where the assistant last begins to speak."""
    for at in range(len(items) - 1, 0, -1):
        if items[at].message.role == "assistant" != items[at - 1].message.role:
            return at
    return 0


def _is_begun_by(
    written: Written, items: Sequence[ViewItem], seam: int, format: Format, caps: Capabilities
) -> bool:
    return (
        len(written.items) <= seam
        and written.format == format
        and written.caps == caps
        and all(map(is_, written.items, items))
    )


def _begins_a_side(before: Sequence[_Wire], after: Rendered) -> bool:
    return (
        bool(before)
        and bool(after.messages)
        and after.system is None
        and after.messages[0]["role"] == "assistant" != before[-1]["role"]
    )


def _merged(wires: Iterable[_Wire]) -> list[_Wire]:
    out: list[_Wire] = []
    for wire in wires:
        may_join = wire["role"] in ("user", "assistant") and bool(out)
        if may_join and out[-1]["role"] == wire["role"]:
            out[-1] = _joined(out[-1], wire)
        else:
            out.append(wire)
    return out


def _joined(first: _Wire, second: _Wire) -> _Wire:
    """Both as one message. Fields beside the content stay; where both have one, the first's.

    Tool calls and the thinking beside them can only be in the second: what has calls is
    followed by their results.
    """
    blocks = [*_blocks(first), *_blocks(second)]
    blocks.sort(key=lambda block: block.get("type") != "tool_result")
    joined = {**second, **first}
    is_text = isinstance(first.get("content") or second.get("content"), str)
    joined["content"] = blocks or ("" if is_text else None)
    return joined


def _blocks(wire: _Wire) -> list[_Wire]:
    content = wire.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())
