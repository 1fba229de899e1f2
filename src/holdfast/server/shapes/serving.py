"""What ``/server``, ``/models/look`` and the codes answer."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from pydantic import BaseModel

from holdfast.models.registry import Choice

__all__ = ["ChosenModel", "CodeGiven", "ServerShown", "model_shown"]


class ConsideredPlace(BaseModel):
    """One place where a model could have come from."""

    place: str
    model: str | None
    why: str


class ChosenModel(BaseModel):
    """Which model answers when none is named; ``name`` is null if there is none."""

    name: str | None
    why: str
    considered: list[ConsideredPlace]


class PlaceShown(BaseModel):
    name: str


class TourShown(BaseModel):
    """How far the tour's conversation is."""

    session: str
    left: int
    upcoming: str | None


class ServerShown(BaseModel):
    version: str
    agent: str
    home: str
    language: Literal["en", "zh"]
    time_zone: str
    today: date
    started_at: datetime
    places: list[PlaceShown]
    model: ChosenModel
    tour: TourShown | None


class CodeGiven(BaseModel):
    """A code that works once, and the link that has it."""

    code: str
    url: str
    expires_at: datetime


def model_shown(choice: Choice) -> ChosenModel:
    return ChosenModel(
        name=choice.model,
        why=choice.why,
        considered=[
            ConsideredPlace(place=each.place, model=each.model, why=each.why)
            for each in choice.considered
        ],
    )
