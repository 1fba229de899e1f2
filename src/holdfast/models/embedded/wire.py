"""A request in our words → the chat request that the runtime in this process takes.

Messages are reduced to what a text model reads: their text, calls of tools and results. An image
is named, not shown; reasoning and parts of other providers are left out. The same messages always
give the same bytes, so that what was read once is not read again.

Promise: every request gives plain JSON; calls have arguments that are JSON; a tool described for
any provider is described for this one; nothing that is said can end its message and begin another
(``tests/models/test_embedded_wire.py``). Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.models.embedded.schema import grammar_schema
from holdfast.ports import ModelRequest
from holdfast.types import Image, Json, Message, Text, ToolCall, ToolResult

__all__ = ["RESPONSE_SCHEMA", "chat_request", "names_of"]

RESPONSE_SCHEMA: Final = "response_schema"
"""The key of ``ModelRequest.extra`` under which a JSON schema for the answer is given."""

_TEMPERATURE: Final = 0.2
_SEED: Final = 7
"""The same question gets the same answer: what went wrong can be looked at again."""
_ANSWER_TOKENS: Final = 1_024
_MARK: Final = re.compile(
    r"<(?=\|[^|<>\s]{1,40}\|>|/?s>|(?:start|end)_of_turn>|(?:bos|eos|pad|unk)>)"
)
"""Where a control token of the families of models begins: in what is said they are only words."""
_IMAGE: Final = "[an image, which this model cannot see]"
_ROLES: Final = {"system": "system", "developer": "system", "assistant": "assistant"}


def chat_request(request: ModelRequest) -> dict[str, Json]:
    """The request as the runtime takes it, streamed, with reports on how far it has read."""
    asked: dict[str, Json] = {
        "messages": list(_messages(request)),
        "max_tokens": request.max_tokens or _ANSWER_TOKENS,
        "stream": True,
        "return_progress": True,
        "cache_prompt": True,
        "seed": _SEED,
        "temperature": _TEMPERATURE,
    }
    if request.tools:
        asked["tools"] = [_tool(each) for each in request.tools]
    if (schema := request.extra.get(RESPONSE_SCHEMA)) is not None:
        named = {"name": "answer", "schema": grammar_schema(schema)}
        asked |= {
            "temperature": 0.0,
            "response_format": {"type": "json_schema", "json_schema": named},
        }
    if isinstance(warmth := request.extra.get("temperature"), int | float):
        asked["temperature"] = float(warmth)
    return asked


def names_of(tools: Sequence[Mapping[str, Json]]) -> frozenset[str]:
    """The names of the tools of a request."""
    return frozenset(_tool(each)["function"]["name"] for each in tools) - {""}


def _tool(given: Mapping[str, Json]) -> dict[str, Json]:
    """A tool as OpenAI describes it, whoever it was described for."""
    inner = given.get("function")
    inner = inner if isinstance(inner, Mapping) else given
    parameters = inner.get("parameters") or inner.get("input_schema") or {"type": "object"}
    return {
        "type": "function",
        "function": {
            "name": str(inner.get("name") or ""),
            "description": str(inner.get("description") or ""),
            "parameters": parameters,
        },
    }


def _messages(request: ModelRequest) -> Iterator[dict[str, Json]]:
    if request.system:
        yield {"role": "system", "content": _sayable(request.system)}
    for message in request.messages:
        yield from _message(message)


def _message(message: Message) -> Iterator[dict[str, Json]]:
    """The message, its results before it: each answers a call of the message before."""
    for result in message.tool_results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": _said(result)}
    calls = [_call(each) for each in message.tool_calls]
    text = _said(message)
    if message.tool_results and not text and not calls:
        return
    role = _ROLES.get(message.role, "user")
    written: dict[str, Json] = {"role": role, "content": text}
    if calls:
        written["tool_calls"] = calls
    yield written


def _said(holder: Message | ToolResult) -> str:
    parts = holder.parts if isinstance(holder, Message) else holder.content
    texts = [
        part.text if isinstance(part, Text) else _IMAGE
        for part in parts
        if isinstance(part, Text | Image)
    ]
    return _sayable("\n".join(filter(None, texts)))


def _sayable(text: str) -> str:
    """Without halves of characters, which are no UTF-8, and without marks of the chat itself: the
    runtime would take ``<|im_end|>`` in a web page for the end of the message it stands in."""
    return _MARK.sub("<\u200b", text.encode("utf-8", "replace").decode("utf-8"))


def _call(call: ToolCall) -> dict[str, Json]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": _sayable(call.name), "arguments": _arguments(call.arguments)},
    }


def _arguments(given: str | Mapping[str, Json]) -> str:
    """The arguments as the text of a JSON object: the template of a model reads them."""
    if isinstance(given, str):
        try:
            found = json.loads(given or "{}")
        except (ValueError, RecursionError):
            found = None
        given = found if isinstance(found, dict) else {"text": given}
    return _sayable(json.dumps(dict(given), ensure_ascii=False, default=str))
