"""Where the models are that were fetched.

Promise: one folder for all homes of a user, because models are large; ``HOLDFAST_MODELS`` names
another. Nothing is made or read. Proved by ``tests/models/test_weights.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from holdfast.config import default_home

__all__ = ["models_folder"]


def models_folder(environ: Mapping[str, str]) -> Path:
    named = environ.get("HOLDFAST_MODELS")
    return Path(named).expanduser() if named else default_home(environ) / "models"
