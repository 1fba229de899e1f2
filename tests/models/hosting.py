"""Hosted models in front of a ``WireServer``, for the tests that need one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from holdfast.models.hosted import hosted_model
from holdfast.ports import ModelReply, ModelRequest, StreamingModel
from holdfast.types import Message
from tests.models.wire_server import WireServer

__all__ = ["KEY", "NAMES", "TOOL", "Sleeps", "ask", "environ", "heard", "model_at", "run"]

T = TypeVar("T")

KEY = "sk-test-0123456789abcdef"
NAMES = ("anthropic:claude-sonnet-5", "openai-chat:gpt-4o", "openai-responses:gpt-5")
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks something up.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}


class Sleeps:
    """A sleep that takes no time and remembers how long it was to be."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def environ(server: WireServer) -> dict[str, str]:
    return {
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": server.anthropic_url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": server.openai_url,
    }


def model_at(
    server: WireServer,
    name: str,
    *,
    seconds: float = 20.0,
    retries: int = 2,
    sleep: Sleeps | None = None,
) -> StreamingModel:
    return hosted_model(
        name,
        environ=environ(server),
        timeout_seconds=seconds,
        retries=retries,
        sleep=sleep or Sleeps(),
        chance=lambda: 0.5,
    )


def ask(*said: str | Message, **about: Any) -> ModelRequest:
    messages = [Message.of("user", each) if isinstance(each, str) else each for each in said]
    return ModelRequest(messages=messages or [Message.of("user", "Hello?")], **about)


async def heard(model: StreamingModel, request: ModelRequest) -> list[str | ModelReply]:
    return [piece async for piece in model.stream(request)]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
