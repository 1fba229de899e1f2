"""The index, models and the check-up, as the API tells them (``tests/server/test_health.py``)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from holdfast.server.shapes.serving import ChosenModel

if TYPE_CHECKING:
    from holdfast.engine.searching.room import IndexState, Synced
    from holdfast.engine.status import Check
    from holdfast.models.weights import OnShelf

__all__ = [
    "CheckUp",
    "IndexTold",
    "Models",
    "SyncedTold",
    "WeightsTold",
    "check_up_of",
    "index_of",
    "synced_of",
    "weights_of",
]


class EncoderTold(BaseModel):
    name: str
    embedded: int
    wanted: int


class IndexTold(BaseModel):
    """How the index stands against the files."""

    documents: int
    conversations: int
    chunks: int
    changed: int = Field(description="Documents that are not indexed as they are now.")
    bytes: int
    resting: int = Field(description="Conversations nobody used for long: not searched.")
    encoders: list[EncoderTold]
    problems: list[str]
    path: str


class SyncedTold(BaseModel):
    documents: int
    removed: int
    embedded: int
    problems: list[str]


class CheckTold(BaseModel):
    name: str
    result: Literal["ok", "warning", "failed"]
    text: str
    hint: str | None


class CheckUp(BaseModel):
    checks: list[CheckTold]


class WeightsTold(BaseModel):
    name: str
    title: str
    kind: Literal["language", "encoder"]
    bytes: int
    is_here: bool
    state: Literal["fetched", "partly", "damaged", "absent"]


class Models(BaseModel):
    chosen: ChosenModel
    embedders: list[EncoderTold] = Field(description="Those that search by meaning here.")
    missing: str | None = Field(description="What keeps search by meaning from working, if so.")
    weights: list[WeightsTold] = Field(description="Models that can be fetched to this machine.")


def index_of(found: IndexState) -> IndexTold:
    return IndexTold.model_validate(asdict(found))


def synced_of(done: Synced) -> SyncedTold:
    return SyncedTold.model_validate(asdict(done))


def check_up_of(found: list[Check]) -> CheckUp:
    return CheckUp(checks=[CheckTold(**asdict(each)) for each in found])


def weights_of(found: OnShelf) -> WeightsTold:
    return WeightsTold(
        name=found.weights.name,
        title=found.weights.title,
        kind=found.weights.kind,
        bytes=found.weights.bytes,
        is_here=found.state == "fetched",
        state=found.state,
    )
