"""What the folder of a sentence encoder says about itself: pooling and reach.

Promise: what the folder does not say has a sensible default; what it says wrongly is an error,
never a guess. Proved by ``tests/models/test_embedders_onnx.py``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from holdfast.errors import ModelUnavailable

__all__ = ["Described", "Pooling", "described"]

Pooling = Literal["mean", "cls"]

_DEFAULT_REACH: Final = 256
_LONGEST_REACH: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    pooling: Pooling | None = None
    """How words become one vector; None: as the graph itself does it, else their mean."""
    max_tokens: int = _DEFAULT_REACH
    """How much it reads at once, with its marks."""


def described(folder: Path, pooling: Pooling | None = None) -> Described:
    """What the files of sentence-transformers in a folder say; ``pooling`` overrules them.

    Raises:
        ModelUnavailable: they cannot be read, or ask for a pooling that is not known.
    """
    asked = _read(folder / "1_Pooling" / "config.json")
    reach = _read(folder / "sentence_bert_config.json").get("max_seq_length", _DEFAULT_REACH)
    if not isinstance(reach, int) or reach < 8:
        raise ModelUnavailable(
            f"{str(folder / 'sentence_bert_config.json')!r} names no usable max_seq_length.",
            hint="Set it to a number between 8 and 512.",
        )
    return Described(
        pooling=pooling or _pooling(folder, asked), max_tokens=min(reach, _LONGEST_REACH)
    )


def _pooling(folder: Path, asked: dict[str, Any]) -> Pooling | None:
    wanted = [
        name.removeprefix("pooling_mode_")
        for name, is_on in asked.items()
        if name.startswith("pooling_mode_") and is_on is True
    ]
    if not wanted:
        return None
    if wanted == ["mean_tokens"]:
        return "mean"
    if wanted == ["cls_token"]:
        return "cls"
    raise ModelUnavailable(
        f"The encoder in {str(folder)!r} pools by {' and '.join(wanted)}, which is not known here.",
        hint="Use an encoder that pools by mean or by its first token.",
    )


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"{str(file)!r} cannot be read: {error}", hint="Fetch the folder of the model again."
        ) from error
    return value if isinstance(value, dict) else {}
