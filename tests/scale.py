"""One setting scales every generated count: HOLDFAST_TEST_SCALE (1 = default, 20 = long run)."""

from __future__ import annotations

import os

SCALE = float(os.environ.get("HOLDFAST_TEST_SCALE", "1"))


def scaled(count: int) -> int:
    """``count`` in the default run, more in the long one, never less than one."""
    return max(1, round(count * SCALE))
