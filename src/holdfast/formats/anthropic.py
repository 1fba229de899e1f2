"""Messages ⇄ Anthropic Messages: the messages and the top-level ``system`` beside them.

Promise: ``to_anthropic(from_anthropic(messages, system))`` is that request again, also with
fields and blocks nobody has heard of, and ``from_anthropic`` takes its result back to the same
messages. Signatures and encrypted blocks are never touched. What came from elsewhere is
re-shaped: a run of tool messages becomes one user message, JSON arguments become an object,
system messages become ``system``; what has no counterpart is left out and named by
``left_out_anthropic`` (``tests/foundation/test_formats_anthropic.py``,
``test_formats_across.py``). Not here: repair of a conversation that was not valid before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from holdfast.errors import InvalidMessage
from holdfast.formats.wire import (
    ANTHROPIC,
    RESULT_ROLES,
    LeftOut,
    Wire,
    copy_in,
    copy_out,
    extra_of,
    fields_of,
    kind_of,
    only_objects,
    role_of,
    shape_of,
    with_fields,
    without,
    wrong_content,
)
from holdfast.types import (
    Form,
    Image,
    Json,
    Message,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = [
    "AnthropicRequest",
    "from_anthropic",
    "left_out_anthropic",
    "read_message",
    "to_anthropic",
]

_SYSTEM_ROLES: Final = ("system", "developer")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicRequest:
    """The two fields of a Messages request that hold the conversation.

    ``system`` is None when there is none; the API wants the field left out then.
    """

    system: str | list[Wire] | None
    messages: list[Wire]


# ── in ──────────────────────────────────────────────────────────────────────────────────────


def from_anthropic(
    messages: Sequence[Mapping[str, Json]], system: str | Sequence[Mapping[str, Json]] | None = None
) -> list[Message]:
    """The messages of a Messages request, its ``system`` as the first of them.

    A response is taken as the message that repeats it in the next request: its envelope (id,
    model, usage, …) tells of the call, and the API refuses it in a message.
    """
    read = [
        _listed(read_message(copy_in(message, f"messages[{index}]"), f"messages[{index}]"))
        for index, message in enumerate(messages)
    ]
    if system is None:
        return read
    form, parts = _read_content(copy_in(system, "system"), "system")
    return [Message(role="system", parts=parts, form=form), *read]


def read_message(wire: Json, where: str) -> Message:
    """The message in ``wire``, which is plain JSON and ours to keep."""
    role = role_of(wire, where)
    form, parts = _read_content(wire.get("content"), f"{where}.content")
    is_response = role == "assistant" and wire.get("type") == "message"
    rest = {} if is_response else without(wire, "role", "content")
    return Message(role=role, parts=parts, form=form, extra=extra_of(ANTHROPIC, rest))


def _listed(message: Message) -> Message:
    """The message, marked if ``to_anthropic`` would take it for the top-level system text."""
    if message.role not in _SYSTEM_ROLES:
        return message
    return replace(
        message, extra=extra_of(ANTHROPIC, fields_of(message.extra, ANTHROPIC), "listed")
    )


def _read_content(content: Json, where: str) -> tuple[Form, tuple[Part, ...]]:
    match content:
        case str(text):
            return "text", (Text(text=text),)
        case list(blocks):
            objects = enumerate(only_objects(blocks, where))
            return "parts", tuple(_read_block(block, f"{where}[{at}]") for at, block in objects)
        case other:
            raise wrong_content(other, where)


def _read_block(wire: Wire, where: str) -> Part:
    match wire:
        case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": dict(arguments)}:
            rest = without(wire, "type", "id", "name", "input")
            extra = extra_of(ANTHROPIC, rest)
            return ToolCall(id=call_id, name=name, arguments=arguments, extra=extra)
        case {"type": "tool_result", "tool_use_id": str(call_id)}:
            return _read_result(wire, call_id, where)
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            rest = without(wire, "type", "thinking", "signature")
            return Thinking(text=text, signature=signature, extra=extra_of(ANTHROPIC, rest))
        case {"type": "thinking", "thinking": str(text)}:
            rest = without(wire, "type", "thinking")
            return Thinking(text=text, extra=extra_of(ANTHROPIC, rest, "unsigned"))
        case _:
            return _read_inner_block(wire)


def _read_inner_block(wire: Wire) -> Text | Image | Opaque:
    """A block that may also stand inside a tool result."""
    match wire:
        case {"type": "text", "text": str(text)}:
            return Text(text=text, extra=extra_of(ANTHROPIC, without(wire, "type", "text")))
        case {"type": "image", "source": dict(source)}:
            return _read_image(source, without(wire, "type", "source"))
        case _:
            return Opaque(format=ANTHROPIC, data=wire)


def _read_image(source: Wire, rest: Wire) -> Image:
    match source:
        case {"type": "base64", "media_type": str(media_type), "data": str(data)}:
            if inner := without(source, "type", "media_type", "data"):
                rest["source"] = inner
            return Image(media_type=media_type, data=data, extra=extra_of(ANTHROPIC, rest))
        case {"type": "url", "url": str(url)} if not _is_data_url(url):
            if inner := without(source, "type", "url"):
                rest["source"] = inner
            return Image(url=url, extra=extra_of(ANTHROPIC, rest))
        case _:  # a file the provider holds, or a source of a later day
            return Image(extra=extra_of(ANTHROPIC, {**rest, "source": source}))


def _is_data_url(url: str) -> bool:
    """Whether the picture is in the address itself: OpenAI takes that, this API does not."""
    return url[:5].lower() == "data:"


def _read_result(wire: Wire, call_id: str, where: str) -> ToolResult:
    known = ["type", "tool_use_id", "content"]
    if isinstance(is_error := wire.get("is_error"), bool):
        known.append("is_error")
    else:
        is_error = None
    form: Form
    content: tuple[Part, ...]
    match wire.get("content"):
        case list(blocks):
            objects = only_objects(blocks, f"{where}.content")
            form, content = "parts", tuple(_read_inner_block(block) for block in objects)
        case None:
            form, content = ("null" if "content" in wire else "absent"), ()
        case other:
            form, content = _read_content(other, f"{where}.content")
    extra = extra_of(ANTHROPIC, without(wire, *known))
    return ToolResult(call_id=call_id, content=content, form=form, is_error=is_error, extra=extra)


# ── out ─────────────────────────────────────────────────────────────────────────────────────


def to_anthropic(messages: Sequence[Message]) -> AnthropicRequest:
    """The messages as a Messages request takes them.

    System messages make up ``system``, wherever they stood, except those that came from the
    messages of such a request. Tool messages that follow each other become one user message,
    results first, and a user message right behind them continues it: the results of one turn
    must be together, and the roles alternate.
    """
    system = [message for message in messages if _is_top_level(message)]
    return AnthropicRequest(
        system=_write_system(system),
        messages=list(_write_turns(message for message in messages if not _is_top_level(message))),
    )


def left_out_anthropic(messages: Sequence[Message]) -> tuple[LeftOut, ...]:
    """What ``to_anthropic`` has no place for, in the order of the messages."""
    found: list[LeftOut] = []
    for index, message in enumerate(messages):
        if not message.parts and message.form != "parts":
            found.append(LeftOut(message=index, part=None, what="empty message"))
        for place, part in enumerate(message.parts):
            found += [LeftOut(message=index, part=place, what=what) for what in _missing(part)]
    return tuple(found)


def _missing(part: Part) -> Iterator[str]:
    if isinstance(part, ToolResult):
        yield from (kind_of(inner) for inner in part.content if not _is_inner(inner))
    elif not _has_place(part):
        yield kind_of(part)


def _has_place(part: Part) -> bool:
    match part:
        case Thinking():  # an unsigned one is refused, unless this format wrote it so
            return part.signature is not None or shape_of(part.extra) == "unsigned"
        case Image(url=str(url)):
            return not _is_data_url(url)
        case Image():
            kept = part.extra.get(ANTHROPIC) or {}
            return None not in (part.data, part.media_type) or "source" in kept
        case Opaque():
            return part.format == ANTHROPIC
        case _:
            return True


def _is_inner(part: Part) -> TypeGuard[Text | Image | Opaque]:
    return isinstance(part, Text | Image | Opaque) and _has_place(part)


def _is_top_level(message: Message) -> bool:
    return message.role in _SYSTEM_ROLES and shape_of(message.extra) != "listed"


def _write_system(messages: Sequence[Message]) -> str | list[Wire] | None:
    match messages:
        case []:
            return None
        case [message]:
            return _write_content(message)
        case _:
            parts = [part for message in messages for part in message.parts]
            return _write_blocks(_sayable(parts)) or None


def _write_turns(messages: Iterable[Message]) -> Iterator[Wire]:
    results: list[Wire] = []  # of the tool messages just passed
    for message in messages:
        if message.role in RESULT_ROLES:
            results += [_write_result(_tidied(result)) for result in message.tool_results]
            rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            if not rest:
                continue
            message = replace(message, role="user", parts=rest)
        if results and message.role != "user":
            yield {"role": "user", "content": results}
            results = []
        if (content := _write_content(message, results)) is not None:
            wire: Wire = {"role": message.role, "content": content}
            yield with_fields(wire, message.extra, ANTHROPIC)
            results = []
    if results:
        yield {"role": "user", "content": results}


def _write_content(message: Message, before: Sequence[Wire] = ()) -> str | list[Wire] | None:
    """The content with the results ``before`` it, or None if there is nothing to say here."""
    parts = [part for part in message.parts if _has_place(part)]
    if message.form == "text" and len(parts) == 1 and not before and _is_bare_text(parts[0]):
        text: str = parts[0].text
        return text if text or len(message.parts) == 1 else None
    if before:
        blocks = [*before, *_write_blocks(_sayable(parts))]
        return sorted(blocks, key=lambda block: block.get("type") != "tool_result")
    if message.form != "parts":  # this format has no such message: it came from elsewhere
        parts = _sayable(parts)
    if parts or (message.form == "parts" and not message.parts):
        return _write_blocks(parts)
    return None


def _sayable(parts: Iterable[Part]) -> list[Part]:
    """The parts without empty text, which this API refuses and others write with every call."""
    return [part for part in parts if not isinstance(part, Text) or part.text]


def _tidied(result: ToolResult) -> ToolResult:
    """A result of another format, written the way this API takes it."""
    content = tuple(_sayable(part for part in result.content if _is_inner(part)))
    return replace(result, content=content, form=result.form if content else "absent")


def _is_bare_text(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not part.extra.get(ANTHROPIC)


def _write_blocks(parts: Iterable[Part]) -> list[Wire]:
    return [_write_block(part) for part in parts if _has_place(part)]


def _write_block(part: Part) -> Wire:
    match part:
        case Text():
            wire: Wire = {"type": "text", "text": part.text}
        case Image():
            return _write_image(part)
        case ToolCall():
            wire = {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
        case ToolResult():
            return _write_result(part)
        case Thinking():
            wire = {"type": "thinking", "thinking": part.text}
            if part.signature is not None:
                wire["signature"] = part.signature
        case Opaque():
            return copy_out(part.data)
    return with_fields(wire, part.extra, ANTHROPIC)


def _write_image(image: Image) -> Wire:
    source: Wire = {}
    if image.url is not None:
        source = {"type": "url", "url": image.url}
    elif image.data is not None:
        source = {"type": "base64", "media_type": image.media_type, "data": image.data}
    source = with_fields(source, fields_of(image.extra, ANTHROPIC), "source")
    return with_fields({"type": "image", "source": source}, image.extra, ANTHROPIC)


def _write_result(result: ToolResult) -> Wire:
    wire: Wire = {"type": "tool_result", "tool_use_id": result.call_id}
    parts = [part for part in result.content if _is_inner(part)]
    if result.form == "text" and len(parts) == 1 and _is_bare_text(parts[0]):
        wire["content"] = parts[0].text
    elif parts or result.form == "parts":
        wire["content"] = _write_blocks(parts)
    elif result.form != "absent":
        wire["content"] = None if result.form == "null" else ""
    if result.is_error is not None:
        wire["is_error"] = result.is_error
    return with_fields(wire, result.extra, ANTHROPIC)


def _input(call: ToolCall) -> Wire:
    """The arguments as an object: this API takes nothing else.

    Free text and broken JSON are wrapped whole. The call must stay, its result needs it, and
    the model should see what it wrote.
    """
    if not isinstance(call.arguments, str):
        return copy_out(call.arguments)
    if shape_of(call.extra) == "custom":
        return {"input": call.arguments}
    if not call.arguments.strip():
        return {}
    try:
        parsed = copy_in(json.loads(call.arguments), "arguments")
    except (ValueError, RecursionError, InvalidMessage):  # not JSON, or JSON like 1e999 and NaN
        parsed = None
    return parsed if isinstance(parsed, dict) else {"arguments": call.arguments}
