"""Our messages as pydantic-ai's: what a provider is sent.

Results of tools and the words behind them become one request, as providers want them. Thinking
goes back only to whose it is: signed thinking to Anthropic, a field of reasoning to the server
that sent it; elsewhere it is left out, as every format here does. A part nobody can translate is
named in a user's message and left out of an assistant's.

Promise: texts, calls with their ids and arguments, results with their errors, pictures and
signatures arrive as they are. Two things cannot: arguments that are no JSON object arrive as text
under the one name ``INVALID_JSON``, and half a character, for which UTF-8 has no bytes, arrives as
a question mark (``tests/models/test_hosted_wire.py``, ``test_hosted.py``). Pure.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Final, TypeAlias

from pydantic_ai.messages import (
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as WireRequest
from pydantic_ai.messages import ModelResponse as WireResponse
from pydantic_ai.tools import ToolDefinition

from holdfast.errors import InvalidMessage, UsageError
from holdfast.ports import ModelRequest
from holdfast.text import one_line
from holdfast.types import Image, Json, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["HOSTED", "REDACTED", "json_object", "system_of", "tools_of", "wire_messages"]

HOSTED: Final = "hosted"
"""Where a part keeps what only its provider understands."""
REDACTED: Final = "redacted_thinking"

_SYSTEM: Final = frozenset({"system", "developer"})
_NO_JSON: Final = "INVALID_JSON"
_FIELDS: Final = frozenset({"reasoning", "reasoning_content"})
_Content: TypeAlias = "str | BinaryContent | ImageUrl | DocumentUrl"


def system_of(request: ModelRequest) -> str | None:
    """The system text, wherever it stood."""
    inside = [message.text for message in request.messages if message.role in _SYSTEM]
    whole = "\n\n".join(filter(None, (request.system, *inside)))
    return whole.encode("utf-8", "replace").decode() or None


def wire_messages(messages: Sequence[Message], *, system: str) -> list[ModelMessage]:
    """The conversation for a provider of that name.

    Raises:
        InvalidMessage: there is nothing to send.
    """
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    found: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    for message in map(_sendable, messages):
        if message.role in _SYSTEM:
            continue
        if message.role != "assistant":
            asked += _asked(message, names)
            continue
        if said := list(_said(message, system)):
            if asked:
                found.append(WireRequest(parts=asked))
                asked = []
            found.append(WireResponse(parts=said, provider_name=system))
    if asked:
        found.append(WireRequest(parts=asked))
    if not found:
        raise InvalidMessage("There is no message to send.", hint="Give the model a question.")
    return found


def _sendable(message: Message) -> Message:
    """The message, as UTF-8 can say it."""
    text = json.dumps(message.to_json(), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return Message.from_json(json.loads(text.encode("utf-8", "replace")))
    return message


# ── what the user and tools said ────────────────────────────────────────────────────────────


def _asked(message: Message, names: Mapping[str, str]) -> Iterator[ModelRequestPart]:
    """Results first: a provider wants them right behind their calls."""
    for result in message.tool_results:
        yield ToolReturnPart(
            tool_name=names.get(result.call_id, "unknown"),
            content=_result(result),
            tool_call_id=result.call_id,
            outcome="failed" if result.is_error else "success",
        )
    others = [part for part in message.parts if not isinstance(part, ToolResult)]
    if content := list(_contents(others)):
        is_text = len(content) == 1 and isinstance(content[0], str)
        yield UserPromptPart(content=content[0] if is_text else content)  # type: ignore[arg-type]


def _result(result: ToolResult) -> str | list[_Content]:
    content = list(_contents(result.content))
    if all(isinstance(each, str) for each in content):
        return "".join(str(each) for each in content)
    return content


def _contents(parts: Iterable[Part]) -> Iterator[_Content]:
    for part in parts:
        match part:
            case Text():
                if part.text:
                    yield part.text
            case Image():
                yield _image(part)
            case Opaque():
                yield _document(part)
            case _:
                pass  # a call or a thought that is not the assistant's: nobody said it


def _image(image: Image) -> _Content:
    url = image.url or ""
    if url[:5].lower() == "data:":
        kind, _, data = url[5:].partition(";base64,")
        return _binary(data, kind) or "[an image that cannot be read]"
    if image.data is not None:
        return _binary(image.data, image.media_type or "image/png") or (
            "[an image that cannot be read]"
        )
    return ImageUrl(url=url) if url else "[an image that only its provider holds]"


def _document(part: Opaque) -> _Content:
    """A document of either format; what is neither is named."""
    match part.data:
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            return text
        case {"type": "document", "source": {"type": "url", "url": str(url)}}:
            return DocumentUrl(url=url)
        case {"type": "document", "source": {"type": "base64", "data": str(data), **rest}}:
            kind = rest.get("media_type")
            found = _binary(data, kind if isinstance(kind, str) else "application/pdf")
            return found or "[a document that cannot be read]"
        case {"type": "file", "file": {"file_data": str(url)}}:
            kind, _, data = url.removeprefix("data:").partition(";base64,")
            return _binary(data, kind) or "[a document that cannot be read]"
        case {"type": str(kind)}:
            return f"[{kind[:80]}: left out, this model cannot be sent it]"
        case _:
            return "[a part that this model cannot be sent]"


def _binary(data: str, media_type: str) -> BinaryContent | None:
    try:
        return BinaryContent(data=base64.b64decode(data, validate=True), media_type=media_type)
    except (binascii.Error, ValueError):
        return None


# ── what the model said ─────────────────────────────────────────────────────────────────────


def _said(message: Message, system: str) -> Iterator[ModelResponsePart]:
    # OpenAI knows its items by their ids, and refuses one whose reasoning is not there any more.
    thoughts = [part for part in message.parts if isinstance(part, Thinking)]
    has_ids = any(_kept(part.extra, system) for part in thoughts)
    for part in message.parts:
        match part:
            case Text():
                if part.text:
                    yield TextPart(content=part.text, **_kept(part.extra, system, has_ids))
            case ToolCall():
                yield ToolCallPart(
                    tool_name=part.name,
                    args=_arguments(part.arguments),
                    tool_call_id=part.id,
                    **_kept(part.extra, system, has_ids),
                )
            case Thinking():
                yield from _thought(part, system)
            case Opaque(format="anthropic", data={"type": "redacted_thinking", "data": str(data)}):
                if system == "anthropic":
                    yield ThinkingPart(
                        content="", id=REDACTED, signature=data, provider_name=system
                    )
            case _:
                pass  # pictures and parts of other providers: no model takes them as its own


def _arguments(given: str | Mapping[str, Json]) -> str | dict[str, Json]:
    if isinstance(given, str):
        is_fine = not given.strip() or json_object(given) is not None
        return given if is_fine else {_NO_JSON: given}
    try:
        json.dumps(found := dict(given), allow_nan=False)
    except ValueError:
        return {_NO_JSON: json.dumps(found, ensure_ascii=False)}
    return found


def json_object(text: str) -> dict[str, Json] | None:
    """The object that a text is, to the letter of JSON; None if it is none."""
    try:
        found = json.loads(text, parse_constant=_no_number, parse_float=_number)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _number(said: str) -> float:
    return found if isfinite(found := float(said)) else _no_number(said)


def _no_number(said: str) -> float:
    """NaN and Infinity are no JSON: nobody could store or send what they stand in."""
    raise ValueError(f"{said} is no number of JSON")


def _thought(part: Thinking, system: str) -> Iterator[ThinkingPart]:
    kept = _kept(part.extra, system)
    if kept:
        yield ThinkingPart(content=part.text, signature=part.signature, **kept)
    elif part.signature is not None and system == "anthropic" and HOSTED not in part.extra:
        yield ThinkingPart(content=part.text, signature=part.signature, provider_name=system)
    elif part.signature is None and system != "anthropic" and part.extra.get("shape") in _FIELDS:
        yield ThinkingPart(content=part.text, id=part.extra["shape"], provider_name=system)


def _kept(extra: Mapping[str, Json], system: str, has_ids: bool = True) -> dict[str, Json]:
    """What the same provider gave with a part, as it is given back."""
    kept = extra.get(HOSTED)
    if not isinstance(kept, Mapping) or kept.get("provider_name") != system:
        return {}
    names = ("provider_name", "provider_details", *(("id",) if has_ids else ()))
    return {name: kept[name] for name in names if kept.get(name) is not None}


# ── tools ───────────────────────────────────────────────────────────────────────────────────


def tools_of(definitions: Sequence[Mapping[str, Json]]) -> list[ToolDefinition]:
    """The tools, whichever provider's shape they are written in.

    Raises:
        UsageError: one is no function: only its provider could run it; or it is no JSON.
    """
    return [_tool(each) for each in definitions]


def _tool(definition: Mapping[str, Json]) -> ToolDefinition:
    inner = definition.get("function")
    said = inner if isinstance(inner, Mapping) else definition
    name, about = said.get("name"), said.get("description")
    schema = said.get("parameters") or said.get("input_schema")
    is_function = definition.get("type") in (None, "function", "custom")
    if not isinstance(name, str) or not is_function:
        raise UsageError(
            f"The tool {name or definition.get('type')!r} is no function that can be described to "
            "every model.",
            hint='Give {"type": "function", "function": {"name": …, "parameters": {…}}}.',
        )
    try:
        json.dumps([name, about, schema], ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"The tool {name!r} cannot be sent to a model: {one_line(str(error), 200)}.",
            hint="Describe it in JSON: strings, numbers, lists and objects.",
        ) from None
    strict = said.get("strict")
    return ToolDefinition(
        name=name,
        description=about if isinstance(about, str) else None,
        parameters_json_schema=dict(schema)
        if isinstance(schema, Mapping)
        else {"type": "object", "properties": {}},
        strict=strict if isinstance(strict, bool) else False,
    )
