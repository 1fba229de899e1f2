"""Names of models: ``anthropic:claude-…`` says whose it is, and so how it is spoken to.

Promise: a name without a provider is still a name; nobody is guessed from it but Anthropic, whose
models are all called alike (``tests/models/test_names.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

__all__ = ["ALIASES", "PROVIDERS", "SERVER_KINDS", "ServerKind", "format_of", "split_name"]

ServerKind = Literal["ollama", "llamacpp", "lmstudio", "server"]
SERVER_KINDS: Final[tuple[ServerKind, ...]] = get_args(ServerKind)
"""What stands before the name of a model that a server has; ``server`` is any other one."""

ALIASES: Final[Mapping[str, str]] = {
    "google-gla": "google",
    "google-vertex": "google-cloud",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""Providers that have several names: whose key and whose prices are meant."""


def split_name(model: str | None) -> tuple[str | None, str | None]:
    """The provider, if one is named, and the name the provider knows the model by.

    >>> split_name("anthropic:claude-sonnet-5")
    ('anthropic', 'claude-sonnet-5')
    >>> split_name("qwen2.5:7b")
    (None, 'qwen2.5:7b')
    """
    if model is None:
        return None, None
    provider, colon, name = model.partition(":")
    if colon and name and provider in PROVIDERS:
        return provider, name
    return None, model


PROVIDERS: Final = frozenset(
    {
        "alibaba",
        "anthropic",
        "azure",
        "bedrock",
        "cerebras",
        "cohere",
        "deepseek",
        "embedded",
        "fireworks",
        "google",
        "google-cloud",
        "groq",
        "huggingface",
        "litellm",
        "local",
        "mistral",
        "moonshotai",
        "nebius",
        "openai",
        "openrouter",
        "together",
        "vllm",
        "xai",
        "zai",
        *ALIASES,
        *SERVER_KINDS,
    }
)
"""Whose models have a name here: hosted, on a server, embedded."""


def format_of(model: str | None) -> Literal["openai", "anthropic"]:
    """How to speak to a model: Anthropic has a way of its own, everybody else has OpenAI's."""
    provider, name = split_name(model)
    if provider is not None:
        return "anthropic" if provider == "anthropic" else "openai"
    return "anthropic" if (name or "").casefold().startswith("claude") else "openai"
