"""What tokens cost when the provider caches prefixes, and whether a rewrite pays for itself.

A provider that caches prompts charges a share of the input price for what it still has
(``cache_read``) and somewhat more than the input price for what it stores anew
(``cache_write``). Whoever changes a message in the middle makes the provider store everything
from there on once more: that is the price of pruning. What it gains are the reads of what is
gone, once per request.

Promise: pruning is never said to pay when it costs more than it saves
(``tests/context/test_pricing.py``). Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Prices", "net_saving", "pays_off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """US dollars per million tokens of input, and the factors for cached tokens.

    The defaults are those of a model of the middle class. A provider that stores for nothing
    has ``cache_write=1``; a local model that keeps its prefix has ``cache_read`` near 0.
    """

    input_per_million: float = 3.0
    cache_read: float = 0.1
    cache_write: float = 1.25

    def cost(self, cached: int, fresh: int) -> float:
        """US dollars of one request: what the cache has, and what it has to store."""
        return self.input_per_million / 1_000_000 * self.shares(cached, fresh)

    def shares(self, cached: int, fresh: int) -> float:
        """The same, counted in tokens at the full input price."""
        return cached * self.cache_read + fresh * self.cache_write


def net_saving(
    saved: int, after: int, turns: int, prices: Prices, *, cache_is_cold: bool = False
) -> float:
    """What leaving out ``saved`` tokens gains over ``turns`` requests, in tokens at full price.

    ``after`` are the tokens behind the first change. A warm cache has them, and they must be
    stored again: once a write instead of a read. A cold cache has nothing: the first request
    would have stored what is saved, and rewriting costs nothing extra.
    """
    if turns <= 0:
        return 0.0
    if cache_is_cold:
        return prices.shares(saved * (turns - 1), saved)
    rewriting = after * max(0.0, prices.cache_write - prices.cache_read)
    return prices.shares(saved * turns, 0) - rewriting


def pays_off(saved: int, after: int, turns: int, prices: Prices) -> bool:
    """Whether pruning gains more than it costs although the cache is warm.

    Decided by the factors alone: a model that costs no money still spends time where another
    one spends dollars.
    """
    return net_saving(saved, after, turns, prices) > 0
