"""Deterministic stand-ins for what tests may not depend on: time, ids, models.

Shipped with the package so that people who build on Holdfast can test the same way.
Promise: the same script gives the same bytes (``tests/foundation/test_testing.py``).
"""

from __future__ import annotations

from holdfast.testing.clock import FixedClock, SequentialIds
from holdfast.testing.model import ScriptedModel

__all__ = ["FixedClock", "ScriptedModel", "SequentialIds"]
