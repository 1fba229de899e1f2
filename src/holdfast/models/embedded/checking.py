"""Whether weights can be loaded, said before the runtime is asked: it only says that it failed.

Promise: a file that is missing, is none of ours, or is larger than the memory that is free is an
error with the next command; where nobody can tell how much is free, nothing is refused
(``tests/models/test_embedded.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdfast.errors import ModelUnavailable

__all__ = ["check_file", "check_memory", "damaged", "short_name"]

_MAGIC: Final = b"GGUF"
_BESIDE: Final = 256 << 20
"""Bytes for what is computed, beside the weights."""
_PER_TOKEN: Final = 32 << 10
"""Bytes of what is remembered of a token, of a model of this size."""


def short_name(name: str) -> str:
    """The name under which weights are fetched."""
    return name.partition(":")[2] or name


def check_file(file: Path, name: str) -> int:
    """The size of the weights.

    Raises:
        ModelUnavailable: they are not there, cannot be read, or are no weights.
    """
    try:
        with file.open("rb") as opened:
            begins = opened.read(len(_MAGIC))
            size = opened.seek(0, 2)
    except FileNotFoundError:
        raise ModelUnavailable(
            f"The weights of {name} are not there: {file}",
            hint=f"holdfast model get {short_name(name)}",
        ) from None
    except OSError as error:
        raise ModelUnavailable(
            f"The weights of {name} cannot be read: {error.strerror or error} ({file})",
            hint=f"ls -l {file}",
        ) from error
    if begins != _MAGIC:
        raise damaged(file, name, "it does not begin like a GGUF file")
    return size


def check_memory(file: Path, name: str, *, size: int, window: int) -> None:
    """
    Raises:
        ModelUnavailable: there is less memory free than the model takes.
    """
    needed = size + window * _PER_TOKEN + _BESIDE
    free = free_memory()
    if free is not None and free < needed:
        raise ModelUnavailable(
            f"{name} takes about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are "
            f"free.",
            hint="End other programs, or use another model: holdfast doctor",
        )


def damaged(file: Path, name: str, why: str) -> ModelUnavailable:
    """The error for weights that are not whole."""
    short = short_name(name)
    return ModelUnavailable(
        f"The weights of {name} are damaged, or of a kind that this version cannot load: {why} "
        f"({file}).",
        hint=f"holdfast model remove {short} && holdfast model get {short}",
    )


def free_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that programs could take now; None where the system does not say."""
    try:
        with meminfo.open("rb") as opened:
            for line in opened:
                if line.startswith(b"MemAvailable:"):
                    return int(line.split()[1]) << 10
    except (OSError, ValueError, IndexError):
        pass
    return None
