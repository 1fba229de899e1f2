"""An encoder that is loaded by the first text it has to encode.

Loading takes a few hundred milliseconds and, with the library that runs it, tens of megabytes:
a status page that only asks for names must not pay for it. Promise: loaded at most once,
however many threads ask at the same time; a load that failed says so each time it is needed
and is tried again. Proved by ``tests/models/test_embedders_choice.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from holdfast.errors import ModelUnavailable
from holdfast.ports import Embedded, Embedder, Script

__all__ = ["Deferred"]


class Deferred:
    """Answers for its encoder until that is loaded, and hands texts to it afterwards."""

    def __init__(
        self,
        *,
        name: str,
        dimensions: int,
        script: Script,
        has_tokens: bool,
        load: Callable[[], Embedder],
    ) -> None:
        self._name = name
        self._dimensions = dimensions
        self._script: Script = script
        self._has_tokens = has_tokens
        self._load = load
        self._loaded: Embedder | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def script(self) -> Script:
        return self._script

    @property
    def has_tokens(self) -> bool:
        return self._has_tokens

    @property
    def is_loaded(self) -> bool:
        return self._loaded is not None

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        """
        Raises:
            ModelUnavailable: it cannot be loaded, or what was loaded is another model.
        """
        return self._encoder().embed(texts, tokens=tokens)

    def _encoder(self) -> Embedder:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._checked(self._load())
            return self._loaded

    def _checked(self, encoder: Embedder) -> Embedder:
        """Vectors are stored under the name that was promised: another model's may not be."""
        if (encoder.name, encoder.dimensions) != (self._name, self._dimensions):
            raise ModelUnavailable(
                f"The encoder {self._name!r} with {self._dimensions} dimensions was expected, "
                f"but {encoder.name!r} with {encoder.dimensions} was loaded.",
                hint="Install the version that is expected, or rebuild the index: "
                "holdfast index rebuild",
            )
        return encoder
