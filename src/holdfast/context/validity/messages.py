"""One message, as the provider takes it, whatever stands before and behind it.

Order of calls and results, ids, and the first and last message need the neighbours: that is
``repair``. Promise: a message that can be sent comes back as the same object, and what comes
back comes back unchanged a second time (``tests/context/test_repair.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from holdfast.context.validity.blocks import SERVER_CALLS, is_server_result
from holdfast.context.validity.fields import mend_message_extra, without_shape
from holdfast.context.validity.parts import (
    call_text,
    is_thinking,
    mend_call,
    mend_image,
    mend_opaque,
    mend_result,
    mend_text,
    mend_thinking,
)
from holdfast.context.validity.rules import is_blank
from holdfast.context.validity.strings import is_unicode
from holdfast.context.validity.target import (
    ChangeKind,
    Target,
    left_out_text,
    result_heading,
)
from holdfast.types import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["Around", "is_paused", "is_system", "mend_message", "quoted", "without_images"]

_Notes = list[ChangeKind]
_SYSTEM = ("system", "developer")
_RESULTS = ("tool", "function")
_SPEAKERS = (*_SYSTEM, "user", "assistant")
_ROLES = (*_RESULTS, *_SPEAKERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What one message must know of the others, by its place.

    ``images`` is how many the request will have, as far as that matters; ``hidden`` which are too
    many: (part, part of the result or None). ``continued`` are ids of a server's calls whose
    result stands in the next assistant message: the provider had paused between them.
    """

    images: int = 0
    hidden: Mapping[int, frozenset[tuple[int, int | None]]] = field(default_factory=dict)
    continued: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def is_as(self, other: Around, end: int) -> bool:
        """Whether both say the same about every place before ``end``."""
        return self.images == other.images and all(
            {at: each for at, each in mine.items() if at < end}
            == {at: each for at, each in others.items() if at < end}
            for mine, others in (
                (self.hidden, other.hidden),
                (self.continued, other.continued),
            )
        )


def is_system(message: Message) -> bool:
    return message.role in _SYSTEM


def mend_message(
    message: Message, target: Target, notes: _Notes, around: Around, index: int, *, last: bool
) -> Message | None:
    """The message, or None if it has nothing to say. ``last``: nothing follows it."""
    if _is_plain(message, target):
        return message
    role = _mend_role(message, notes)
    hidden = around.hidden.get(index, frozenset())
    sight = _Sight(count=around.images)
    parts: list[Part] = []
    for at, part in enumerate(message.parts):
        if hidden:
            inner = frozenset(where for each, where in hidden if each == at and where is not None)
            sight = _Sight(count=around.images, hidden=(at, None) in hidden, inner=inner)
        parts += _mend_part(part, role, target, notes, sight)
    if role == "assistant" and target.format == "anthropic":
        parts = _paired(parts, notes, around.continued.get(index, frozenset()), last)
    parts = _arranged(parts, role, target, notes)
    extra: Mapping[str, Json] = message.extra if role == message.role else {}
    extra = _mend_shape(mend_message_extra(extra, role, target, notes), role, target, notes)
    if _is_same(parts, message.parts) and role == message.role and extra is message.extra:
        mended = message
    else:
        mended = replace(message, role=role, parts=tuple(parts), extra=extra)
    if _is_silent(mended, target):
        return None
    return mended if target.format == "anthropic" else _written(mended, target, notes)


def _is_plain(message: Message, target: Target) -> bool:
    """Whether this is the usual message, of one text that every provider takes.

    Most messages are, and every request looks at all of them.
    """
    if len(message.parts) != 1 or message.extra or message.role not in _SPEAKERS:
        return False
    only = message.parts[0]
    if not isinstance(only, Text) or only.extra:
        return False
    most = target.caps.max_string
    fits = most is None or len(only.text) <= most
    return fits and not is_blank(only.text) and is_unicode(only.text)


def _mend_role(message: Message, notes: _Notes) -> str:
    if message.role not in _ROLES or (message.role in _RESULTS and not message.tool_results):
        notes.append("role")
        return "user"
    return message.role


def _is_same(parts: list[Part], before: tuple[Part, ...]) -> bool:
    return len(parts) == len(before) and all(
        new is old for new, old in zip(parts, before, strict=True)
    )


def _mend_shape(
    extra: Mapping[str, Json], role: str, target: Target, notes: _Notes
) -> Mapping[str, Json]:
    """How the message was written, where that way is refused: an empty list, a listed system."""
    is_refused = extra.get("shape") == (
        "empty_list" if target.format == "openai" else "listed" if role in _SYSTEM else None
    )
    if not is_refused or "shape" not in extra:
        return extra
    notes.append("field")
    return without_shape(extra)


# ── parts by role ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """Of one part: is it an image too many, which inside it are, and how many there are."""

    count: int
    hidden: bool = False
    inner: frozenset[int] = frozenset()


def _mend_part(
    part: Part, role: str, target: Target, notes: _Notes, sight: _Sight
) -> tuple[Part, ...]:
    if isinstance(part, Text):
        text = mend_text(part, target, notes, own_words=role == "assistant")
        if not target.caps.empty_text and is_blank(text.text):
            notes.append("blank")
            return ()
        return (text,)
    if role in _SYSTEM:
        return _in_system(part, notes)
    if role == "assistant":
        return _by_assistant(part, target, notes)
    return _by_user(part, target, notes, sight)


def _in_system(part: Part, notes: _Notes) -> tuple[Part, ...]:
    if is_thinking(part):
        notes.append("thinking")
        return ()
    notes.append("opaque")
    return (Text(text=left_out_text("part of the system text")),)


def _by_assistant(part: Part, target: Target, notes: _Notes) -> tuple[Part, ...]:
    kept: Part | None
    match part:
        case ToolCall():
            kept = mend_call(part, target, notes)
        case Thinking():
            kept = mend_thinking(part, target, notes)
        case Opaque():
            kept = mend_opaque(part, "assistant", target, notes)
        case ToolResult():
            notes.append("orphan_result")
            return _texts_only(quoted(part, "orphan_result", None, target))
        case _:
            notes.append("image")
            kept = Text(text=left_out_text("image"))
    return () if kept is None else (kept,)


def _texts_only(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(part for part in parts if isinstance(part, Text))


def _by_user(part: Part, target: Target, notes: _Notes, sight: _Sight) -> tuple[Part, ...]:
    match part:
        case Image():
            kept = mend_image(part, target, notes, is_hidden=sight.hidden, count=sight.count)
            return (kept,)
        case ToolResult():
            return (mend_result(part, target, notes, sight.inner, sight.count),)
        case ToolCall():
            notes.append("stray_call")
            return (call_text(part, target),)
        case Opaque() if not is_thinking(part):
            if (opaque := mend_opaque(part, "user", target, notes)) is not None:
                return (opaque,)
            kind = part.data.get("type")
            return (Text(text=left_out_text(_named(kind))),)
        case _:
            notes.append("thinking")
            return ()


def _named(kind: Json) -> str:
    is_word = isinstance(kind, str) and kind.isascii() and kind.isidentifier()
    return f"part of type {kind[:40]}" if is_word else "part"


def quoted(
    result: ToolResult, kind: ChangeKind, tool: str | None, target: Target
) -> tuple[Part, ...]:
    """A result that cannot stand as one, as parts of a user message: a heading, and it."""
    heading = mend_text(Text(text=result_heading(kind, tool)), target, [])
    shown = tuple(
        mend_text(Text(text=part.text), target, []) if isinstance(part, Text) else part
        for part in result.content
        if isinstance(part, Image) or (isinstance(part, Text) and not is_blank(part.text))
    )
    return (heading, *shown)


# ── the whole message ───────────────────────────────────────────────────────────────────────


def _arranged(parts: list[Part], role: str, target: Target, notes: _Notes) -> list[Part]:
    if target.format == "openai":
        return _one_legacy_call(parts, notes) if role == "assistant" else parts
    if role != "assistant":
        if role != "user" or len(parts) < 2:
            return parts
        ordered = sorted(parts, key=lambda part: not isinstance(part, ToolResult))
        if not _is_same(ordered, tuple(parts)):
            notes.append("order")
        return ordered
    kept = len(parts)
    while kept and is_thinking(parts[kept - 1]):
        kept -= 1
    if kept < len(parts):
        notes.append("thinking")
    return parts[:kept]


def _one_legacy_call(parts: list[Part], notes: _Notes) -> list[Part]:
    """The field ``function_call`` holds one call; further ones become tool calls."""
    seen = False
    for at, part in enumerate(parts):
        if isinstance(part, ToolCall) and part.extra.get("shape") == "function_call":
            if seen:
                notes.append("field")
                parts[at] = replace(part, extra=without_shape(part.extra))
            seen = True
    return parts


def _paired(parts: list[Part], notes: _Notes, continued: frozenset[str], last: bool) -> list[Part]:
    """The parts without halves of pairs of a server's tools."""
    waiting: dict[str, int] = {}
    lonely: set[int] = set()
    for at, part in enumerate(parts):
        if not isinstance(part, Opaque):
            continue
        if part.data.get("type") in SERVER_CALLS:
            call_id = str(part.data.get("id"))
            waiting[call_id] = at
            if call_id not in continued:
                lonely.add(at)
        elif is_server_result(part.data.get("type")):
            call_id = str(part.data.get("tool_use_id"))
            if (call := waiting.pop(call_id, None)) is not None:
                lonely.discard(call)
            elif call_id not in continued:
                lonely.add(at)
    calls = any(isinstance(part, ToolCall) for part in parts)
    if last and not calls and lonely and _is_server_call(parts[-1]):
        lonely.discard(len(parts) - 1)  # the provider paused here and will go on
    if not lonely:
        return parts
    notes.append("server_tool")
    return [part for at, part in enumerate(parts) if at not in lonely]


def _is_server_call(part: Part) -> bool:
    return isinstance(part, Opaque) and part.data.get("type") in SERVER_CALLS


def is_paused(message: Message) -> bool:
    """Whether the provider paused in a call of its own: its turn goes on from here."""
    return (
        message.role == "assistant" and bool(message.parts) and _is_server_call(message.parts[-1])
    )


def _is_silent(message: Message, target: Target) -> bool:
    if target.format == "anthropic":
        return not message.parts
    says = (Text, Image, ToolCall, ToolResult, Opaque)
    if any(isinstance(part, says) for part in message.parts):
        return False
    if message.role == "assistant" and (message.extra.get("openai") or {}).get("audio"):
        return False
    return bool(message.parts) or message.form != "text" or not target.caps.empty_text


def _written(message: Message, target: Target, notes: _Notes) -> Message:
    """The message in a form OpenAI takes: silence as null, images behind the run of results."""
    if not message.parts and message.role == "assistant":  # it spoke: audio
        if message.form == "parts" or (message.form == "text" and not target.caps.empty_text):
            notes.append("field")
            return replace(message, form="null")
        return message
    if message.role not in _RESULTS or len(message.parts) != 1:
        return message
    only = message.parts[0]
    if not isinstance(only, ToolResult) or not any(isinstance(p, Image) for p in only.content):
        return message
    notes.append("image")
    if message.role == "tool":
        return replace(message, role="user", extra={})
    only = replace(only, content=without_images(only.content))
    return replace(message, parts=(only,))


def without_images(content: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with a text in the place of each image."""
    return tuple(
        Text(text=left_out_text("image")) if isinstance(part, Image) else part for part in content
    )
