"""How many tokens something costs: estimated by script and kind, or counted, and calibrated.

Promise: one estimator for triggers, cuts and budgets, which after calibration does not
materially undercount. Proved by ``tests/context/test_tokens.py`` and
``tests/context/test_calibration.py``.
"""

from __future__ import annotations

from holdfast.context.tokens.calibration import Calibration
from holdfast.context.tokens.estimator import TokenEstimator
from holdfast.context.tokens.families import family_of
from holdfast.context.tokens.weighing import Scales
from holdfast.context.tokens.weights import FAMILIES

__all__ = ["FAMILIES", "Calibration", "Scales", "TokenEstimator", "family_of"]
