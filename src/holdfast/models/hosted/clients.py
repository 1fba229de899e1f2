"""Models of pydantic-ai, made for a provider with its key.

Promise: keys and addresses come from what is given, not from the environment of the process,
except for Azure, Bedrock and Google Cloud, whose clients look for credentials themselves
(``tests/models/test_hosted_names.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from holdfast.errors import ModelUnavailable
from holdfast.models.hosted.failures import Called
from holdfast.models.hosted.speaking import HostedModel
from holdfast.models.keys import Hosted
from holdfast.models.prices import known_window, price_of
from holdfast.models.servers import is_loopback
from holdfast.models.windows import window_of
from holdfast.ports import Traits
from holdfast.text import one_line

__all__ = ["direct", "hosted"]

_PLACES: Final = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
}
_CACHING: Final = frozenset(
    {"anthropic", "openai", "google", "google-cloud", "deepseek", "moonshotai", "xai", "azure"}
)
_SAYS_WHY: Final = frozenset({"anthropic", "openai-chat", "deepseek", "openrouter"})
"""Providers whose every answer names its reason to stop: one without it broke off."""


def hosted(
    name: str,
    known: Hosted,
    model: str,
    *,
    kind: str,
    key: tuple[str, str] | None,
    base_url: str | None,
    timeout_seconds: float,
    retries: int,
    sleep: Callable[[float], Awaitable[object]],
    chance: Callable[[], float],
) -> HostedModel:
    """A model of a provider. It is made once to see whether it can be."""
    if known.provider != "openai":
        kind = known.provider  # the other names of OpenAI are ways to speak to it
    elif kind == "openai" and base_url is not None:
        kind = "openai-chat"  # what speaks as OpenAI does speaks this
    variable, secret = key or (None, None)
    called = Called(
        name=name,
        seconds=timeout_seconds,
        key=secret,
        variable=variable,
        place=base_url,
        install=known.install,
    )
    make = partial(_made, kind, model, known, secret, base_url)
    try:
        first = make()
    except (UserError, ImportError) as error:
        raise ModelUnavailable(
            f"{name} cannot be had: {one_line(str(error), 400)}", hint=known.install
        ) from error
    return HostedModel(
        called,
        make,
        first=first,
        traits=_traits(name, known.provider, first),
        retries=retries,
        settings={"openai_store": False} if known.provider == "openai" else None,
        must_end=kind in _SAYS_WHY,
        sleep=sleep,
        chance=chance,
    )


def _made(
    kind: str, model: str, known: Hosted, secret: str | None, base_url: str | None
) -> WireModel[Any]:
    def provider(_: str) -> Provider[Any]:
        maker: Callable[..., Provider[Any]] = infer_provider_class(kind)
        given = {"api_key": secret} if known.variables else {}
        if (place := base_url or _PLACES.get(known.provider)) is not None:
            given["base_url"] = place
            if is_loopback(place):
                return maker(**given, http_client=direct(place))
        return maker(**given)

    return infer_model(f"{kind}:{model}", provider_factory=provider)


def _traits(name: str, provider: str, model: WireModel[Any]) -> Traits:
    prices = price_of(name)
    window = known_window(name) or model.context_window or window_of(name)
    caches = provider in _CACHING or bool(model.profile.get("supports_cache"))
    if prices is None:
        return Traits(window=window, caches_prefix=caches)
    return Traits(
        window=window,
        caches_prefix=caches,
        input_price=prices.input,
        output_price=prices.output,
        cache_read_price=prices.cache_read,
        cache_write_price=prices.cache_write,
    )


def direct(place: str) -> httpx2.AsyncClient:
    """Connections that no proxy of the environment gets: what stays on this machine stays here."""
    return httpx2.AsyncClient(
        trust_env=False,
        # Reading all the certificates of the machine takes longer than the call, and is for TLS.
        verify=urlsplit(place).scheme == "https",
        timeout=httpx2.Timeout(600, connect=5),
    )
