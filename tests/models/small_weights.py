"""The small model that proves the pipe, where ``scripts/setup`` put it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.models.weights import Shelf

__all__ = ["small_weights"]

_PLACE = Path(__file__).parents[2] / ".venv" / "models"


def small_weights() -> Path:
    """The file, or a skip that says how to get it into the run."""
    pytest.importorskip("xllamacpp")
    folder = Path(os.environ.get("HOLDFAST_TEST_WEIGHTS") or _PLACE)
    found = Shelf(folder).path("smollm2-135m")
    if found is None:
        pytest.skip(
            f"the small model is not in {folder}: "
            f"HOLDFAST_MODELS={folder} holdfast model get smollm2-135m"
        )
    return found
