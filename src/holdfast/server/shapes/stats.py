"""Figures, as the API tells them (``tests/server/test_stats.py``)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from holdfast.engine.figures import Savings
    from holdfast.engine.spending import Spent
    from holdfast.engine.status import Status

__all__ = ["Costs", "Figures", "StatusTold", "costs_of", "saved_of", "status_of"]


class StatusTold(BaseModel):
    """Immediate = what the model sees now; short-term = sessions; long-term = memory files."""

    home: str
    agent: str
    today: str
    newest_session: str | None
    view_messages: int
    view_chars: int
    sessions: int
    session_entries: int
    session_bytes: int
    artifact_bytes: int
    memory_files: int
    memory_bytes: int
    memories: int
    tasks: int
    open_tasks: int
    memory_mode: str
    has_index: bool


class Cost(BaseModel):
    """What some calls of models cost, in US dollars."""

    cost: float
    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    unpriced: int = Field(description="Calls of models whose price is not known here.")


class DayCost(Cost):
    day: str


class NamedCost(Cost):
    name: str


class Costs(BaseModel):
    days: list[DayCost] = Field(description="The oldest first.")
    models: list[NamedCost] = Field(description="The dearest first.")
    what: list[NamedCost] = Field(description="By what was asked: replies, flushes, summaries.")
    daily_limit: float | None


class SavedOn(BaseModel):
    day: str
    pruned_tokens: int
    compacted_tokens: int
    flushed_lines: int
    flushes: int
    compactions: int


class Saved(BaseModel):
    """Tokens that requests did not carry, and memories that were kept."""

    days: list[SavedOn] = Field(description="The oldest first.")
    total_tokens: int
    truncated: bool = Field(description="Only the end of a long log of events was read.")


class Figures(BaseModel):
    status: StatusTold
    costs: Costs
    saved: Saved


def status_of(found: Status) -> StatusTold:
    return StatusTold.model_validate(found.to_json())


def costs_of(
    days: dict[str, Spent],
    models: dict[str, Spent],
    what: dict[str, Spent],
    daily_limit: float | None,
) -> Costs:
    return Costs(
        days=[DayCost(day=day, **_cost(spent)) for day, spent in sorted(days.items())],
        models=_dearest(models),
        what=_dearest(what),
        daily_limit=daily_limit,
    )


def saved_of(found: Savings) -> Saved:
    return Saved(
        days=[SavedOn(**asdict(each)) for each in found.days],
        total_tokens=found.total_tokens,
        truncated=found.truncated,
    )


def _dearest(spent: dict[str, Spent]) -> list[NamedCost]:
    named = [NamedCost(name=name, **_cost(each)) for name, each in spent.items()]
    return sorted(named, key=lambda each: (-each.cost, -each.input_tokens, each.name))


def _cost(spent: Spent) -> dict[str, Any]:
    told = asdict(spent)
    return {"cost": round(told.pop("dollars"), 6), **told}
