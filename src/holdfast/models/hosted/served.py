"""Models of pydantic-ai, made for a server with its address: Ollama, llama.cpp, LM Studio, any.

Promise: a server on this machine is asked directly, past any proxy; what it says of its model is
believed before any table (``tests/models/test_servers.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.ollama import OllamaProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from holdfast.models.hosted.clients import direct
from holdfast.models.hosted.failures import Called
from holdfast.models.hosted.speaking import HostedModel
from holdfast.models.servers import Server, is_loopback, look_at
from holdfast.models.windows import window_of
from holdfast.ports import Traits

__all__ = ["served"]

_PROFILE: Final = OpenAIModelProfile(
    # The older name is the one that all of them know.
    openai_chat_supports_max_completion_tokens=False,
    openai_supports_strict_tool_definition=False,
    supports_json_schema_output=True,
)


def served(
    name: str,
    server: Server,
    model: str,
    *,
    api_key: str | None,
    timeout_seconds: float,
    retries: int,
    sleep: Callable[[float], Awaitable[object]],
    chance: Callable[[], float],
) -> HostedModel:
    """A model on a server."""
    is_local = is_loopback(server.base_url)
    about = look_at(server, model, api_key=api_key)
    return HostedModel(
        Called(name=name, seconds=timeout_seconds, key=api_key, place=server.base_url),
        partial(_made, server, model, api_key),
        traits=Traits(
            window=about.window or window_of(model),
            tool_calls=about.tool_calls,
            is_local=is_local,
            caches_prefix=is_local,
        ),
        retries=retries,
        must_end=server.kind != "server",
        sleep=sleep,
        chance=chance,
    )


def _made(server: Server, model: str, api_key: str | None) -> OpenAIChatModel:
    given: dict[str, Any] = {
        "base_url": server.openai_url,
        "api_key": api_key or "none",
        "http_client": direct(server.base_url) if is_loopback(server.base_url) else None,
    }
    if server.kind == "ollama":
        return OllamaModel(model, provider=OllamaProvider(**given))
    provider = OpenAICompatibleProvider(server.kind, **given, profile=_PROFILE)
    return OpenAIChatModel(model, provider=provider)
