"""Vectors of length 1, so that a product is a cosine. Pure."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "unit"]

Floats: TypeAlias = NDArray[np.float32]


def unit(rows: Any) -> Floats:
    """The rows with length 1; a row of zeros stays."""
    rows = np.asarray(rows, np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.maximum(length, 1e-12)[:, None], np.float32)
