"""What ``holdfast cost`` says.

Promise: the rows add up to the summary; tokens from the cache are counted apart, and calls whose
price is not known are said, never taken for free (``tests/doors/test_cli_cost.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast, get_args

from holdfast.cli.render import json_lines, note, say, table
from holdfast.engine.spending import By, Spent
from holdfast.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from holdfast.cli.options import Door

__all__ = ["show"]

_UNNAMED: Final = {"session": "(no session)"}


def show(door: Door, by: str, *, days: int | None, as_json: bool) -> None:
    if by not in get_args(By):
        near = did_you_mean(by, get_args(By))
        raise UsageError(
            f"Costs are not kept by {by!r}.", hint=near or f"One of {', '.join(get_args(By))}."
        )
    with door.open() as engine:
        since = engine.today() - timedelta(days=days - 1) if days else None
        found = engine.costs(cast("By", by), since=since)
        limit = engine.settings.cost.daily_limit
        own = engine.spent().get(engine.today().isoformat(), Spent())
    total = sum(found.values(), Spent())
    if as_json:
        summary = {"summary": True, **asdict(total), "daily_limit": limit}
        rows = ({by: name or None, **asdict(each)} for name, each in found.items())
        json_lines(rows, summary=summary)
        return
    if not found:
        say("Nothing yet: no reply was committed with its count, no model was asked to save.")
        return
    table(
        (by, "calls", "read", "of it cached", "written", "cost"),
        [*_rows(by, found), ("all", *_cells(total))],
    )
    if total.unpriced:
        calls = "1 call" if total.unpriced == 1 else f"{total.unpriced:,} calls"
        note(f"{calls} of models whose price is not known here are not in the sum.")
    if limit is not None:
        note(f"Flushes and summaries today: ${own.dollars:.4f} of ${limit:.2f} (cost.daily_limit).")


def _rows(by: str, found: Mapping[str, Spent]) -> Iterator[tuple[str, ...]]:
    for name, each in found.items():
        yield (name or _UNNAMED.get(by, "?"), *_cells(each))


def _cells(spent: Spent) -> tuple[str, ...]:
    share = spent.cache_read_tokens / spent.input_tokens if spent.input_tokens else 0.0
    price = f"${spent.dollars:.4f}" + ("+?" if spent.unpriced else "")
    return (
        f"{spent.calls:,}",
        f"{spent.input_tokens:,}",
        f"{share:.0%}",
        f"{spent.output_tokens:,}",
        price,
    )
