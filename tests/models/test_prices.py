"""What models cost, and what a call of one cost."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models import prices
from holdfast.models.prices import Prices, known_window, price_of
from holdfast.ports import Traits
from holdfast.types import Usage


@pytest.mark.parametrize(
    ("name", "price"),
    [
        (
            "anthropic:claude-sonnet-4-5",
            Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
        ),
        (
            "claude-sonnet-4-5",
            Prices(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
        ),
        ("openai:gpt-4o", Prices(input=2.5, output=10.0, cache_read=1.25)),
        ("openai-chat:gpt-4o", Prices(input=2.5, output=10.0, cache_read=1.25)),
        ("ollama:gpt-4o", None),
        ("embedded:qwen2.5-coder-1.5b", None),
        ("anthropic:nobody-knows-it", None),
        ("somebody-else-7b", None),
        ("", None),
    ],
)
def test_a_price_is_known_or_not_at_all(name: str, price: Prices | None) -> None:
    assert price_of(name) == price


def test_a_price_is_that_of_the_day() -> None:
    before, after = datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    then, now = price_of("openai:o3", at=before), price_of("openai:o3", at=after)
    assert then is not None
    assert now is not None
    assert then.input > now.input


def test_windows_are_in_the_table_too() -> None:
    assert known_window("anthropic:claude-sonnet-4-5") == 200_000
    assert known_window("ollama:qwen3") is None


def test_without_the_table_there_is_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "find_spec", lambda _: None)
    assert price_of("openai:gpt-4o-2024-08-06") is None


COUNTS = st.integers(0, 10_000_000)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_every_token_is_paid_once_at_its_own_price(
    fresh: int, out: int, read: int, written: int
) -> None:
    usage = Usage(
        input_tokens=fresh, output_tokens=out, cache_read_tokens=read, cache_write_tokens=written
    )
    plain = Traits(input_price=2.0, output_price=10.0)
    assert plain.cost(usage) == pytest.approx((usage.context_tokens * 2 + out * 10) / 1e6)
    cached = Traits(input_price=2.0, output_price=10.0, cache_read_price=0.2, cache_write_price=2.5)
    wanted = (fresh * 2 + out * 10 + read * 0.2 + written * 2.5) / 1e6
    assert cached.cost(usage) == pytest.approx(wanted)
    free = Traits(input_price=2.0, cache_read_price=0.0)
    assert free.cost(Usage(cache_read_tokens=read)) == 0.0
