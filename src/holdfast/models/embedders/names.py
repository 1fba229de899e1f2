"""The encoders that a setting asks for by name.

Promise: every name gives encoders, none, or an error that lists the names there are; nothing
is loaded by naming it. Proved by ``tests/models/test_embedders_choice.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from holdfast.errors import ConfigError, ModelUnavailable, did_you_mean
from holdfast.models.embedders.bundled import bge_small_zh, bundled, minilm, universal, with_bge
from holdfast.ports import Embedder

__all__ = ["KNOWN_NAMES", "from_name"]

_HOSTED: Final[Mapping[str, str]] = {
    "ollama": "OllamaEmbedder",
    "openai": "OpenAIEmbedder",
    "voyage": "VoyageEmbedder",
}

KNOWN_NAMES: Final = (
    "auto",
    "none",
    "minilm",
    "universal",
    "bge-small-zh",
    "onnx:FOLDER",
    *(f"{provider}:MODEL" for provider in _HOSTED),
)


def from_name(spec: str, *, models: Path | None = None, threads: int = 1) -> list[Embedder]:
    """The encoders of ``spec``; several, separated by commas, are used side by side.

    ``auto`` is whatever is bundled and installed, ``none`` is none.

    Raises:
        ConfigError: there is no such name, or it lacks its folder or model.
        ModelUnavailable: a folder holds no model; a key is missing.
    """
    found: list[Embedder] = []
    for part in spec.split(","):
        found += _of(part.strip(), models, threads)
    return list({one.name: one for one in found}.values())


def _of(spec: str, models: Path | None, threads: int) -> list[Embedder]:
    plain: Mapping[str, Callable[[], list[Embedder]]] = {
        "auto": lambda: bundled(models, threads=threads),
        "none": list,
        "minilm": lambda: [minilm(models, threads=threads)],
        "universal": lambda: [universal(models, threads=threads)],
        "bge-small-zh": lambda: [bge_small_zh(_fetched(models), threads=threads)],
    }
    if spec in plain:
        return plain[spec]()
    kind, colon, rest = spec.partition(":")
    if kind == "onnx" and rest:
        made: Any = import_module("holdfast.models.embedders.onnx").OnnxEmbedder
        return [made.from_folder(Path(rest).expanduser(), threads=threads)]
    if kind in _HOSTED and rest:
        module = import_module("holdfast.models.embedders.hosted")
        return [getattr(module, _HOSTED[kind])(rest)]
    if colon and (kind in _HOSTED or kind == "onnx"):
        raise ConfigError(
            f"{spec!r} does not say which model.", hint=f"Write {kind}:NAME, without a space."
        )
    raise ConfigError(
        f"There is no encoder {spec!r}.",
        hint=did_you_mean(spec, KNOWN_NAMES) or f"Known are: {', '.join(KNOWN_NAMES)}",
    )


def _fetched(models: Path | None) -> Path:
    folder = with_bge(models)
    if folder is None:
        raise ModelUnavailable(
            "bge-small-zh is not on this machine.", hint="Run: holdfast model get bge-small-zh"
        )
    return folder
