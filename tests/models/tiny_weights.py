"""Weights of a few kilobytes, the packages that carry them, and a pip that hands those out."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import copy

from holdfast.models.weights import Shelf, Weights
from holdfast.models.weights.catalogue import HubFile, Package, Packages
from holdfast.models.weights.means import Ran

__all__ = [
    "DATA",
    "PARTS",
    "TINY",
    "Heard",
    "HeldOut",
    "make_wheel",
    "make_wheels",
    "only",
    "pieces",
    "tiny_shelf",
]

DATA = random.Random(11).randbytes(300_000)
_SIZES = (120_000, 120_000, 60_000)


def _part(number: int, size: int) -> Package:
    return Package(
        name=f"tiny-part{number}",
        version="1.0",
        member=f"tiny_part{number}/data/part{number:02d}.bin",
        bytes=size,
    )


PARTS = tuple(_part(number, size) for number, size in enumerate(_SIZES, 1))
TINY = Weights(
    name="tiny",
    title="A model for tests",
    bytes=len(DATA),
    sha256=sha256(DATA).hexdigest(),
    licence="Apache-2.0",
    languages=("en",),
    sources=(
        Packages(parts=PARTS),
        HubFile(repository="Somebody/Tiny-GGUF", file="tiny-q4.gguf"),
    ),
)


def tiny_shelf(folder: Path, weights: Weights = TINY) -> Shelf:
    return Shelf(folder, catalogue={weights.name: weights}, wait_seconds=0)


def only(kind: type) -> Weights:
    """The tiny model with sources of one kind."""
    return replace(TINY, sources=tuple(each for each in TINY.sources if isinstance(each, kind)))


def pieces() -> list[bytes]:
    """What each part carries."""
    ends = [sum(_SIZES[: number + 1]) for number in range(len(_SIZES))]
    return [DATA[end - size : end] for end, size in zip(ends, _SIZES, strict=True)]


def make_wheel(folder: Path, part: Package, data: bytes, *, member: str | None = None) -> Path:
    """A package as pip takes it: with what a wheel must say of itself."""
    folder.mkdir(exist_ok=True)
    plain = part.name.replace("-", "_")
    info = f"{plain}-{part.version}.dist-info"
    file = folder / f"{plain}-{part.version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{plain}/__init__.py", "raise SystemExit('imported')\n")
        wheel.writestr(member or part.member, data)
        said = f"Metadata-Version: 2.1\nName: {part.name}\nVersion: {part.version}\n"
        wheel.writestr(f"{info}/METADATA", said)
        wheel.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file


def make_wheels(folder: Path) -> Path:
    for part, data in zip(PARTS, pieces(), strict=True):
        make_wheel(folder, part, data)
    return folder


class HeldOut:
    """A pip that has these wheels; ``before`` is called with each package it is asked for."""

    def __init__(self, wheels: Path, before: Callable[[str], None] = lambda _: None) -> None:
        self.wheels = wheels
        self.before = before
        self.asked: list[str] = []
        self.commands: list[Sequence[str]] = []

    def __call__(
        self,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        folder: Path,
        tell: Callable[[int], None],
    ) -> Ran:
        requirement = command[-1]
        self.asked.append(requirement)
        self.commands.append(command)
        self.before(requirement)
        name, _, version = requirement.partition("==")
        wheel = self.wheels / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        if not wheel.exists():
            return Ran(code=1, output=f"ERROR: No matching distribution found for {requirement}")
        copy(wheel, command[command.index("--dest") + 1])
        tell(10_000_000)  # more than there is, as when pip has two copies for a moment
        return Ran(code=0, output="")


class Heard:
    """What was said of the progress."""

    def __init__(self) -> None:
        self.said: list[int] = []

    def __call__(self, done: int, total: int) -> None:
        assert total == len(DATA)
        assert not self.said or self.said[-1] <= done <= total
        self.said.append(done)
