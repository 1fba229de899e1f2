"""Encoders: a text as a vector, so that a question finds what was said in other words.

Bundled are MiniLM for Latin script and the universal sentence encoder across 16 languages;
``bge-small-zh`` can be fetched for Chinese; any sentence encoder in ONNX and three kinds of
servers can be named. Promise: importing this loads no encoder and no library that runs one;
the first text does. Proved by ``tests/models/test_embedders_choice.py``.
"""

from __future__ import annotations

from holdfast.models.embedders.bundled import bundled, why_missing
from holdfast.models.embedders.names import KNOWN_NAMES, from_name
from holdfast.models.embedders.scripts import cjk_share, for_text, script_of

__all__ = [
    "KNOWN_NAMES",
    "bundled",
    "cjk_share",
    "for_text",
    "from_name",
    "script_of",
    "why_missing",
]
