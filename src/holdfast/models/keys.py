"""Whose key is in the environment: in which variable, and which model to begin with.

Promise: nothing is loaded and nobody is asked, only the environment that is given is read, and
the order is always the same (``tests/models/test_keys.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

__all__ = ["HOSTED", "Hosted", "Keyed", "is_installed", "keyed_providers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A provider of hosted models, and what it takes to call it."""

    provider: str
    variables: tuple[str, ...]
    """Where its key is looked for; the first that is set counts. None: it has no one key."""
    model: str | None
    """A model to begin with."""
    client: str
    """The package that speaks to it, besides pydantic-ai."""
    extra: str = "hosted"
    base_url: str | None = None
    """The variable that says where else it is."""

    @property
    def install(self) -> str:
        return f"pip install 'holdfast[{self.extra}]'"

    def key_in(self, environ: Mapping[str, str]) -> tuple[str, str] | None:
        """The variable and the key in it."""
        for variable in self.variables:
            if key := environ.get(variable, "").strip():
                return variable, key
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed:
    """A provider whose key is there."""

    provider: str
    variable: str
    default_model: str
    """With its provider: ``anthropic:claude-…``."""
    is_installed: bool
    install: str
    """The command that installs what it needs."""


def _openai_like(provider: str, variable: str, model: str | None) -> Hosted:
    return Hosted(provider=provider, variables=(variable,), model=model, client="openai")


# Those that most people have a key of come first; the rest stands in the order of the alphabet.
_ORDER: Final = (
    Hosted(
        provider="anthropic",
        variables=("ANTHROPIC_API_KEY",),
        model="claude-sonnet-5-5",
        client="anthropic",
        base_url="ANTHROPIC_BASE_URL",
    ),
    Hosted(
        provider="openai",
        variables=("OPENAI_API_KEY",),
        model="gpt-6.1-terra",
        client="openai",
        base_url="OPENAI_BASE_URL",
    ),
    Hosted(
        provider="google",
        variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        model="gemini-3.8-flash",
        client="google.genai",
        extra="google",
    ),
    Hosted(
        provider="mistral",
        variables=("MISTRAL_API_KEY",),
        model="mistral-medium-latest",
        client="mistralai",
        extra="mistral",
    ),
    _openai_like("deepseek", "DEEPSEEK_API_KEY", "deepseek-flash"),
    _openai_like("openrouter", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-5"),
    Hosted(
        provider="groq",
        variables=("GROQ_API_KEY",),
        model="openai/gpt-oss-120b",
        client="groq",
        extra="groq",
    ),
    Hosted(
        provider="alibaba",
        variables=("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        model="qwen-plus",
        client="openai",
    ),
    _openai_like("cerebras", "CEREBRAS_API_KEY", "gpt-oss-120b"),
    Hosted(
        provider="cohere",
        variables=("CO_API_KEY",),
        model="command-a-03-2025",
        client="cohere",
        extra="cohere",
    ),
    _openai_like("fireworks", "FIREWORKS_API_KEY", None),
    Hosted(
        provider="huggingface",
        variables=("HF_TOKEN",),
        model=None,  # people have this token for other things
        client="huggingface_hub",
        extra="huggingface",
    ),
    _openai_like("moonshotai", "MOONSHOTAI_API_KEY", "kimi-k3"),
    _openai_like("nebius", "NEBIUS_API_KEY", None),
    _openai_like("together", "TOGETHER_API_KEY", None),
    Hosted(
        provider="xai",
        variables=("XAI_API_KEY",),
        model="grok-4.5",
        client="xai_sdk",
        extra="xai",
    ),
    _openai_like("zai", "ZAI_API_KEY", "glm-5.3"),
    # With credentials of their own kind, which their clients find themselves.
    Hosted(provider="azure", variables=(), model=None, client="openai"),
    Hosted(provider="bedrock", variables=(), model=None, client="boto3", extra="bedrock"),
    Hosted(
        provider="google-cloud", variables=(), model=None, client="google.genai", extra="google"
    ),
    Hosted(provider="litellm", variables=(), model=None, client="openai"),
    Hosted(provider="vllm", variables=(), model=None, client="openai"),
)

HOSTED: Final[Mapping[str, Hosted]] = {each.provider: each for each in _ORDER}
"""The providers by name, in the order in which they are chosen."""


def keyed_providers(environ: Mapping[str, str]) -> list[Keyed]:
    """The providers whose key is set, the one to choose first in front."""
    found: list[Keyed] = []
    for each in _ORDER:
        key = each.key_in(environ)
        if key is not None and each.model is not None:
            found.append(
                Keyed(
                    provider=each.provider,
                    variable=key[0],
                    default_model=f"{each.provider}:{each.model}",
                    is_installed=is_installed(each),
                    install=each.install,
                )
            )
    return found


def is_installed(provider: Hosted) -> bool:
    """Whether what it takes to call a provider is here; nothing is loaded to know it."""
    return _is_there("pydantic_ai") and _is_there(provider.client)


def _is_there(package: str) -> bool:
    outer, _, inner = package.partition(".")
    if find_spec(outer) is None:
        return False
    # Of a package within one that others share (google.*) the outer would be loaded: it is empty.
    return not inner or find_spec(package) is not None
