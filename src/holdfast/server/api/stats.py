"""What there is, what it cost, what was saved (``tests/server/test_stats.py``)."""

from __future__ import annotations

from fastapi import APIRouter

from holdfast.server.places import Here
from holdfast.server.shapes.stats import Figures, costs_of, saved_of, status_of

__all__ = ["router"]

router = APIRouter(tags=["stats"])


@router.get("/stats", summary="Sizes, costs by day and model, tokens saved by day")
def stats(here: Here) -> Figures:
    engine = here.engine
    return Figures(
        status=status_of(engine.status()),
        costs=costs_of(
            engine.costs("day"),
            engine.costs("model"),
            engine.costs("what"),
            engine.settings.cost.daily_limit,
        ),
        saved=saved_of(engine.saved()),
    )
