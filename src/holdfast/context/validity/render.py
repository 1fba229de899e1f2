"""Repaired items → the request as it is sent, neighbours of one role merged.

``formats`` writes each message as it is; where the provider wants roles to alternate, runs of
one role become one message here, results first. A run only grows at its end, so block by
block the request of a longer conversation begins with that of a shorter one
(``tests/context/test_repair.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.context.validity.capabilities import Capabilities, Format
from holdfast.formats import to_anthropic, to_openai
from holdfast.types import Json, ViewItem

__all__ = ["Rendered", "render"]

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
