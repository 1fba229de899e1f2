"""Names of models: ``anthropic:claude-…`` says whose it is, and so how it is spoken to.

Promise: a name without a provider is still a name; nobody is guessed from it but Anthropic, whose
models are all called alike (``tests/models/test_names.py``). Pure.
"""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["format_of", "split_name"]


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
    if colon and name and provider in _PROVIDERS:
        return provider, name
    return None, model


_PROVIDERS: Final = frozenset(
    {
        "anthropic",
        "azure",
        "bedrock",
        "cohere",
        "deepseek",
        "google",
        "google-gla",
        "google-vertex",
        "groq",
        "huggingface",
        "litellm",
        "lmstudio",
        "local",
        "mistral",
        "ollama",
        "openai",
        "openai-chat",
        "openrouter",
        "together",
        "vllm",
        "xai",
    }
)


def format_of(model: str | None) -> Literal["openai", "anthropic"]:
    """How to speak to a model: Anthropic has a way of its own, everybody else has OpenAI's."""
    provider, name = split_name(model)
    if provider is not None:
        return "anthropic" if provider == "anthropic" else "openai"
    return "anthropic" if (name or "").casefold().startswith("claude") else "openai"
