"""Hosted models, and servers that speak as OpenAI does, behind ``StreamingModel``.

    model = hosted_model("anthropic:claude-sonnet-5-5", environ=os.environ)
    async for heard in model.stream(request): …

What speaks to the providers is pydantic-ai's model layer; it is loaded when the first model is
made, not by importing this package.

Promise: a model that cannot be had says what is missing and the command that brings it, before
anything is sent (``tests/models/test_hosted_names.py``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.errors import ModelUnavailable, did_you_mean
from holdfast.models.hosted.errors import CallFailed
from holdfast.models.keys import HOSTED, Hosted, is_installed
from holdfast.models.names import ALIASES, SERVER_KINDS, split_name

if TYPE_CHECKING:
    from holdfast.models.servers import Server
    from holdfast.ports import StreamingModel

__all__ = ["CallFailed", "hosted_model", "server_model"]

Sleep = Callable[[float], Awaitable[object]]


def hosted_model(
    name: str,
    *,
    environ: Mapping[str, str],
    timeout_seconds: float = 60.0,
    retries: int = 2,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> StreamingModel:
    """The model of a provider: ``anthropic:claude-…``, ``openai:gpt-…``, ``google:gemini-…``.

    ``openai:`` speaks OpenAI's Responses, ``openai-chat:`` its Chat Completions; so does
    ``openai:`` where OPENAI_BASE_URL leads elsewhere.

    Raises:
        ModelUnavailable: the provider is not known, its client not installed or its key not set.
    """
    provider, model = split_name(name)
    known = HOSTED.get(ALIASES.get(provider or "", provider or ""))
    if known is None or not model:
        raise _unknown(name)
    _check_installed(known, name)
    key = known.key_in(environ)
    if known.variables and key is None:
        raise ModelUnavailable(
            f"{name} needs a key of {known.provider}, and {' and '.join(known.variables)} "
            f"{'are' if len(known.variables) > 1 else 'is'} not set.",
            hint=f"export {known.variables[0]}=…",
        )
    base_url = environ.get(known.base_url, "").strip() if known.base_url is not None else ""
    made: StreamingModel = _part("clients").hosted(
        name,
        known,
        model,
        kind=provider,
        key=key,
        base_url=base_url or None,
        timeout_seconds=timeout_seconds,
        retries=retries,
        sleep=sleep,
        chance=chance,
    )
    return made


def server_model(
    server: Server,
    model: str,
    *,
    api_key: str | None = None,
    timeout_seconds: float = 60.0,
    retries: int = 2,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> StreamingModel:
    """A model on a server that was found; it is asked how much the model can read.

    Raises:
        ModelUnavailable: what speaks to it is not installed.
    """
    name = f"{server.kind}:{model}"
    _check_installed(HOSTED["openai"], name)
    made: StreamingModel = _part("served").served(
        name,
        server,
        model,
        api_key=api_key,
        timeout_seconds=timeout_seconds,
        retries=retries,
        sleep=sleep,
        chance=chance,
    )
    return made


def _part(name: str) -> Any:
    """What needs pydantic-ai, loaded when a model is made."""
    return import_module(f"holdfast.models.hosted.{name}")


def _check_installed(known: Hosted, name: str) -> None:
    if not is_installed(known):
        raise ModelUnavailable(
            f"What speaks to {name} is not installed (pydantic-ai and {known.client}).",
            hint=known.install,
        )


def _unknown(name: str) -> ModelUnavailable:
    provider, colon, _ = name.partition(":")
    if not colon:
        return ModelUnavailable(
            f"{name!r} does not say whose model it is.",
            hint=f"Put the provider before it: anthropic:{name}, openai:{name} …",
        )
    near = did_you_mean(provider, [*HOSTED, *ALIASES, *SERVER_KINDS, "embedded"])
    known = ", ".join(HOSTED)
    return ModelUnavailable(
        f"There is no provider of hosted models called {provider!r}.",
        hint=near or f"Use one of {known}; of a server on this machine: ollama:NAME …",
    )
