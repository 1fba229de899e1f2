"""What hosted models cost, from the table of ``genai-prices``, which comes with pydantic-ai.

Promise: no network; without the package, or for a model it does not know, there is no price
rather than a guess. The table (some megabytes) is loaded by the first question
(``tests/models/test_prices.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from holdfast.models.names import ALIASES, SERVER_KINDS, split_name

__all__ = ["Prices", "known_window", "price_of"]

# How the table calls those that are called otherwise here; None: nobody's prices are theirs.
_NAMES: Final[dict[str, str | None]] = {
    "alibaba": None,
    "bedrock": "aws",
    "embedded": None,
    "google-cloud": "google",
    "huggingface": None,
    "litellm": None,
    "local": None,
    "nebius": None,
    "vllm": None,
    "xai": "x-ai",
    **dict.fromkeys(SERVER_KINDS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars per million tokens. Of a price that grows with the request: the first step."""

    input: float
    output: float
    cache_read: float | None = None
    """None: the provider has no price of its own for it."""
    cache_write: float | None = None


def price_of(model: str, *, at: datetime | None = None) -> Prices | None:
    """What a model costs: ``anthropic:claude-…``, or a bare name that only one provider has.

    ``at`` is the moment of the call: prices change.
    """
    found = _found(model)
    if found is None:
        return None
    when = at or datetime.now(UTC)
    try:
        prices = found.get_prices(when)
    except (LookupError, ValueError):  # a model with no price at all
        return None
    read, output = _dollars(prices.input_mtok), _dollars(prices.output_mtok)
    if read is None and output is None:
        return None
    return Prices(
        input=read or 0.0,
        output=output or 0.0,
        cache_read=_dollars(prices.cache_read_mtok),
        cache_write=_dollars(prices.cache_write_mtok),
    )


def known_window(model: str) -> int | None:
    """What the table says a model can read."""
    window = getattr(_found(model), "context_window", None)
    return window if isinstance(window, int) and window > 0 else None


@cache
def _found(model: str) -> Any:
    """The row of a model, or None."""
    provider, name = split_name(model)
    known = ALIASES.get(provider or "", provider)
    whose = _NAMES.get(known, known) if known is not None else None
    if not name or (known is not None and whose is None):
        return None
    if find_spec("genai_prices") is None:
        return None
    table = import_module("genai_prices.data_snapshot").get_snapshot()
    try:
        return table.find_provider_model(name, None, whose, None)[1]
    except LookupError:
        return None


def _dollars(given: object) -> float | None:
    """A price; of one with steps the first."""
    base = getattr(given, "base", given)
    return float(base) if isinstance(base, Decimal | int | float) else None
