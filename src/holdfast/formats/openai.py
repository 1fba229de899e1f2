"""Messages ⇄ OpenAI Chat Completions messages.

Promise: ``to_openai(from_openai(y)) == y`` for every message of that format, also with fields
and parts nobody has heard of, and ``from_openai(to_openai(x)) == x`` for what came from it.
Keys come in one order (role, content, …); values keep theirs. What came from elsewhere is
re-shaped: results become tool messages, an object of arguments becomes its JSON text, and
what has no counterpart is left out and named by ``left_out_openai``
(``tests/foundation/test_formats_openai.py``, ``test_formats_across.py``).
Not here: repair of a conversation that was not valid to begin with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from holdfast.formats.wire import (
    OPENAI,
    RESULT_ROLES,
    LeftOut,
    Shape,
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

__all__ = ["from_openai", "left_out_openai", "read_message", "to_openai"]

_CALL: Final = "openai tool_call"
"""The format of an opaque part that stood in ``tool_calls``, not in ``content``."""

_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.ASCII | re.DOTALL)

_THINKING_FIELDS: Final[tuple[Shape, ...]] = ("reasoning_content", "reasoning")


# ── in ──────────────────────────────────────────────────────────────────────────────────────


def from_openai(messages: Sequence[Mapping[str, Json]]) -> list[Message]:
    """The messages of a Chat Completions request, or of its answer, one for one."""
    return [
        read_message(copy_in(message, f"messages[{index}]"), f"messages[{index}]")
        for index, message in enumerate(messages)
    ]


def read_message(wire: Json, where: str) -> Message:
    """The message in ``wire``, which is plain JSON and ours to keep."""
    role = role_of(wire, where)
    form, content = _read_content(wire, where)
    if (call_id := _answered_call(role, wire)) is not None:
        known = ("role", "content", "tool_call_id") if role == "tool" else ("role", "content")
        return Message(
            role=role,
            parts=(ToolResult(call_id=call_id, content=content, form=form),),
            extra=extra_of(OPENAI, without(wire, *known)),
        )
    said = _read_fields(wire)
    rest = without(wire, "role", "content", *said)
    before = [said[field] for field in _THINKING_FIELDS if field in said]
    after = [part for field, part in said.items() if field not in _THINKING_FIELDS]
    calls = _read_calls(rest)
    is_empty_list = wire.get("content") == [] and (said or calls)
    return Message(
        role=role,
        parts=(*before, *content, *after, *calls),
        form=form,
        extra=extra_of(OPENAI, rest, "empty_list" if is_empty_list else None),
    )


def _answered_call(role: str, wire: Wire) -> str | None:
    """The id of the call this message answers.

    The function messages of before 2023-11 have none. They answer the one ``function_call``
    of that name, so call and result get an id made of it, and every room sees a pair.
    """
    match role, wire:
        case "tool", {"tool_call_id": str(call_id)}:
            return call_id
        case "function", {"name": str(name)}:
            return _legacy_id(name)
        case _:
            return None


def _legacy_id(name: str) -> str:
    return f"function_{name}"


def _read_content(wire: Wire, where: str) -> tuple[Form, tuple[Part, ...]]:
    match wire.get("content"):
        case str(text):
            return "text", (Text(text=text),)
        case list(parts):
            objects = only_objects(parts, f"{where}.content")
            return "parts", tuple(_read_part(part) for part in objects)
        case None:
            return ("null" if "content" in wire else "absent"), ()
        case other:
            raise wrong_content(other, f"{where}.content")


def _read_part(wire: Wire) -> Part:
    match wire:
        case {"type": "text", "text": str(text)}:
            return Text(text=text, extra=extra_of(OPENAI, without(wire, "type", "text")))
        case {"type": "refusal", "refusal": str(text)}:
            rest = without(wire, "type", "refusal")
            return Text(text=text, extra=extra_of(OPENAI, rest, "refusal"))
        case {"type": "image_url", "image_url": {"url": str(url), **inner}}:
            rest = without(wire, "type", "image_url")
            if inner:  # such as detail
                rest["image_url"] = inner
            extra = extra_of(OPENAI, rest)
            if (found := _DATA_URL.fullmatch(url)) is not None:
                return Image(media_type=found[1], data=found[2], extra=extra)
            return Image(url=url, extra=extra)
        case _:
            return Opaque(format=OPENAI, data=wire)


def _read_fields(wire: Wire) -> dict[str, Part]:
    """What a message says outside its content and its tool calls, by field."""
    said: dict[str, Part] = {}
    for field in _THINKING_FIELDS:
        if isinstance(text := wire.get(field), str) and text:
            said[field] = Thinking(text=text, extra=extra_of(OPENAI, {}, field))
    if isinstance(text := wire.get("refusal"), str) and text:
        said["refusal"] = Text(text=text, extra=extra_of(OPENAI, {}, "refusal_field"))
    match wire.get("function_call"):
        case {"name": str(name), "arguments": str(arguments)}:
            rest = without(wire["function_call"], "name", "arguments")
            said["function_call"] = ToolCall(
                id=_legacy_id(name),
                name=name,
                arguments=arguments,
                extra=extra_of(OPENAI, rest, "function_call"),
            )
    return said


def _read_calls(rest: Wire) -> list[Part]:
    """The calls of ``tool_calls``, taken out of ``rest``; null and [] stay there as they are."""
    calls = rest.get("tool_calls")
    if not (isinstance(calls, list) and calls and all(isinstance(call, dict) for call in calls)):
        return []
    del rest["tool_calls"]
    return [_read_call(call) for call in calls]


def _read_call(wire: Wire) -> Part:
    match wire:
        case {
            "id": str(call_id),
            "type": "custom",
            "custom": {"name": str(name), "input": str(text), **inner},
        }:
            rest = without(wire, "id", "type", "custom")
            if inner:
                rest["custom"] = inner
            extra = extra_of(OPENAI, rest, "custom")
            return ToolCall(id=call_id, name=name, arguments=text, extra=extra)
        case {
            "id": str(call_id),
            "function": {"name": str(name), "arguments": str() | dict() as arguments, **inner},
        } if wire.get("type") in ("function", None):
            rest = without(wire, "id", "function")
            if rest.get("type") == "function":
                del rest["type"]
            if inner:
                rest["function"] = inner
            shape: Shape | None = None if "type" in wire else "untyped"
            # Some compatible servers send the arguments as an object and want it back so.
            # The mark tells it from an object that another format had to begin with.
            extra = extra_of(OPENAI, rest, shape, mark=isinstance(arguments, dict))
            return ToolCall(id=call_id, name=name, arguments=arguments, extra=extra)
        case _:
            return Opaque(format=_CALL, data=wire)


# ── out ─────────────────────────────────────────────────────────────────────────────────────


def to_openai(messages: Sequence[Message]) -> list[Wire]:
    """The messages as Chat Completions takes them."""
    written = (_write_message(message) for message in _unfold(messages))
    return [wire for wire in written if wire is not None]


def left_out_openai(messages: Sequence[Message]) -> tuple[LeftOut, ...]:
    """What ``to_openai`` has no place for, in the order of the messages."""
    return tuple(
        LeftOut(message=index, part=place, what=what)
        for index, message in enumerate(messages)
        for place, part in enumerate(message.parts)
        for what in _missing(part)
    )


def _missing(part: Part) -> Iterator[str]:
    if isinstance(part, ToolResult):
        yield from (kind_of(inner) for inner in part.content if not _is_content(inner))
        if part.is_error:
            yield "is_error"
    elif not _has_place(part):
        yield kind_of(part)


def _has_place(part: Part) -> bool:
    match part:
        case Thinking():
            return shape_of(part.extra) in _THINKING_FIELDS
        case Image():
            return part.url is not None or None not in (part.data, part.media_type)
        case Opaque():
            return part.format in (OPENAI, _CALL)
        case _:
            return True


def _is_content(part: Part) -> TypeGuard[Text | Image | Opaque]:
    """Whether the part has its place in a list of content."""
    if isinstance(part, Opaque):
        return part.format == OPENAI
    return isinstance(part, Text | Image) and _has_place(part) and _field_of(part) is None


def _unfold(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with every result in a tool message of its own.

    What else a message with results said follows them. Tool messages hold no images: these
    wait until the run of tool messages, which nothing may interrupt, is over.
    """
    images: list[Part] = []
    for message in messages:
        if _sole_result(message) is not None:
            yield message
            continue
        for result in message.tool_results:
            images += [part for part in result.content if isinstance(part, Image)]
            yield Message(role="tool", parts=(_without_images(result),))
        if message.tool_results:
            rest = [part for part in message.parts if not isinstance(part, ToolResult)]
            if not any(_has_place(part) for part in rest):
                continue
            message = replace(
                message,
                role="user" if message.role in RESULT_ROLES else message.role,
                parts=(*images, *rest),
                form="text",
            )
        elif images:
            yield Message(role="user", parts=tuple(images))
        images = []
        yield message
    if images:
        yield Message(role="user", parts=tuple(images))


def _sole_result(message: Message) -> ToolResult | None:
    """The result of a tool message as OpenAI writes it; such a message goes back as it came."""
    match message.role, message.parts:
        case "tool" | "function", (ToolResult() as result,):
            return result
        case _:
            return None


def _without_images(result: ToolResult) -> ToolResult:
    content = tuple(part for part in result.content if not isinstance(part, Image))
    return replace(result, content=content, form="text")


def _write_message(message: Message) -> Wire | None:
    """The message, or None if nothing in it has a place here."""
    if (result := _sole_result(message)) is not None:
        wire = {"role": message.role, **_write_content(result.form, result.content)}
        if message.role == "tool":
            wire["tool_call_id"] = result.call_id
        return with_fields(wire, message.extra, OPENAI)
    parts = [part for part in message.parts if _has_place(part)]
    if message.parts and not parts:
        return None
    fields = _write_fields(parts)
    calls = [_write_call(part) for part in parts if _is_call(part)]
    content = [part for part in parts if _is_content(part)]
    form = message.form
    if (fields or calls) and not content and shape_of(message.extra) != "empty_list":
        form = "absent" if form == "absent" else "null"
    wire = {"role": message.role, **_write_content(form, content), **fields}
    if calls:
        wire["tool_calls"] = calls
    return with_fields(wire, message.extra, OPENAI)


def _is_call(part: Part) -> TypeGuard[ToolCall | Opaque]:
    if isinstance(part, ToolCall):
        return _field_of(part) is None
    return isinstance(part, Opaque) and part.format == _CALL


def _field_of(part: Part) -> str | None:
    """The message's field that holds this part, if it is not in content or tool_calls."""
    match part:
        case Thinking():
            return str(shape_of(part.extra))
        case Text() if shape_of(part.extra) == "refusal_field":
            return "refusal"
        case ToolCall() if shape_of(part.extra) == "function_call":
            return "function_call"
        case _:
            return None


def _write_fields(parts: Sequence[Part]) -> Wire:
    fields: Wire = {}
    for part in parts:
        if (field := _field_of(part)) is None:
            continue
        if isinstance(part, ToolCall):
            call = {"name": part.name, "arguments": _arguments_text(part)}
            fields[field] = with_fields(call, part.extra, OPENAI)
        elif isinstance(part, Text | Thinking):
            fields[field] = f"{fields[field]}\n{part.text}" if field in fields else part.text
    return fields


def _write_content(form: Form, parts: Sequence[Part]) -> Wire:
    shown = [part for part in parts if _is_content(part)]
    if form == "text" and len(shown) == 1 and _is_bare_text(text := shown[0]):
        return {"content": text.text}
    if shown:
        return {"content": [_write_part(part) for part in shown]}
    match form:
        case "absent":
            return {}
        case "null":
            return {"content": None}
        case "parts":
            return {"content": []}
        case "text":
            return {"content": ""}


def _is_bare_text(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not part.extra.get(OPENAI)


def _write_part(part: Text | Image | Opaque) -> Wire:
    match part:
        case Text():
            kind = "refusal" if shape_of(part.extra) == "refusal" else "text"
            return with_fields({"type": kind, kind: part.text}, part.extra, OPENAI)
        case Image():
            url = part.url
            if url is None:
                url = f"data:{part.media_type};base64,{part.data}"
            image = with_fields({"url": url}, fields_of(part.extra, OPENAI), "image_url")
            return with_fields({"type": "image_url", "image_url": image}, part.extra, OPENAI)
        case Opaque():
            return copy_out(part.data)


def _write_call(part: ToolCall | Opaque) -> Wire:
    if isinstance(part, Opaque):
        return copy_out(part.data)
    kept = fields_of(part.extra, OPENAI)
    is_custom = shape_of(part.extra) == "custom"
    kind, field = ("custom", "input") if is_custom else ("function", "arguments")
    arguments: Json = _arguments_text(part)
    if OPENAI in part.extra and not isinstance(part.arguments, str):
        arguments = copy_out(part.arguments)
    wire: Wire = {"id": part.id}
    if shape_of(part.extra) != "untyped":
        wire["type"] = kept.get("type", kind)
    wire[kind] = with_fields({"name": part.name, field: arguments}, kept, kind)
    return with_fields(wire, part.extra, OPENAI)


def _arguments_text(call: ToolCall) -> str:
    """The text as it came, or the shortest JSON of an object that came from elsewhere."""
    if isinstance(call.arguments, str):
        return call.arguments
    return json.dumps(copy_out(call.arguments), ensure_ascii=False, separators=(",", ":"))
