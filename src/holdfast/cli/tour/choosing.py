"""Which model a person has, without opening their home.

Promise: the same choice as the engine's (``Engine.choose_model``), and no file is made for it
(``tests/doors/test_start.py``).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.errors import ModelUnavailable
from holdfast.models.registry import Choice, Registry

if TYPE_CHECKING:
    from holdfast.cli.options import Door
    from holdfast.ports import Model

__all__ = ["choose", "chosen_model"]


def choose(door: Door) -> Choice:
    """Which model would answer, and why. Asked anew each time: a server may have come up."""
    return _registry(door).choose()


def chosen_model(door: Door) -> Model:
    """The model that would answer.

    Raises:
        ModelUnavailable: there is none; says how to get one.
    """
    registry = _registry(door)
    choice = registry.choose()
    if choice.model is None:
        raise ModelUnavailable(
            f"There is no model to answer: {choice.why}.", hint="Three ways to one: holdfast start"
        )
    return registry(choice.model)


def _registry(door: Door) -> Registry:
    return Registry.at(door.home_path(), os.environ)
