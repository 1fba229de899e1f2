"""A language model inside this process: weights on disk, no key, no network, no server to start.

    embedded_model(file, name="embedded:qwen2.5-coder-1.5b")    loads nothing yet
    model.stream(request)                                       loads, reads, speaks

Importing this package loads neither a model nor the library that runs it. Proved by
``tests/models/test_embedded.py``, ``test_embedded_calls.py`` and ``test_embedded_wire.py``.
"""

from __future__ import annotations

from holdfast.models.embedded.model import EmbeddedModel, embedded_model
from holdfast.models.embedded.runtime import close_embedded
from holdfast.models.embedded.waiting import SLOW_SECONDS, Waiting

__all__ = ["SLOW_SECONDS", "EmbeddedModel", "Waiting", "close_embedded", "embedded_model"]
