"""How OpenAI writes down an answer of its Responses: ``wire_server`` sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.models.wire_words import Call, Say

__all__ = ["events", "whole"]


def whole(said: Say) -> dict[str, Any]:
    return _response(said, "completed", [*_items(said)])


def events(said: Say) -> Iterator[dict[str, Any]]:
    number = count()
    for event in _events(said):
        yield {**event, "sequence_number": next(number)}


def _events(said: Say) -> Iterator[dict[str, Any]]:
    begun = _response(said, "in_progress", [])
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(_items(said)):
        empty = {**item, "status": "in_progress"}
        empty |= {"content": []} if item["type"] == "message" else {}
        empty |= {"arguments": ""} if item["type"] == "function_call" else {}
        yield {"type": "response.output_item.added", "output_index": index, "item": empty}
        yield from _inside(index, item, said)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    if said.stop == "max_output_tokens":
        ended = _response(said, "incomplete", [*_items(said)])
        ended["incomplete_details"] = {"reason": said.stop}
        yield {"type": "response.incomplete", "response": ended}
    else:
        yield {"type": "response.completed", "response": whole(said)}


def _inside(index: int, item: dict[str, Any], said: Say) -> Iterator[dict[str, Any]]:
    at = {"item_id": item["id"], "output_index": index}
    if item["type"] == "message":
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        at |= {"content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": part}
        for piece in _cut(said.text, said.pieces):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": said.text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part | {"text": said.text}}
    elif item["type"] == "function_call":
        kind = "response.function_call_arguments"
        for piece in _cut(item["arguments"], said.pieces):
            yield {"type": f"{kind}.delta", **at, "delta": piece}
        yield {"type": f"{kind}.done", **at, "arguments": item["arguments"], "name": item["name"]}


def _items(said: Say) -> Iterator[dict[str, Any]]:
    if said.thinking:
        summary = [{"type": "summary_text", "text": said.thinking}]
        yield {
            "id": "rs_1",
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": said.signature,
        }
    if said.text:
        text = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        yield {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [text],
        }
    for number, call in enumerate(said.calls):
        yield {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": _arguments(call),
        }


def _arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _response(said: Say, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    read = said.input_tokens + said.cached
    usage = {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": said.cached},
        "output_tokens": said.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + said.output_tokens,
    }
    return {
        "id": "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b",
        "object": "response",
        "created_at": 1_770_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": said.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage if status != "in_progress" else None,
    }


def _cut(text: str, pieces: int) -> list[str]:
    size = max(1, -(-len(text) // pieces))
    return [text[at : at + size] for at in range(0, len(text), size)]
