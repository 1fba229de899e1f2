"""Copies of prepared encoders: files made here once, which the next process can use at once.

Promise: a file counts as whole only if it is the one that was written (since this machine was
started, the file system says, nothing touched it) or has the checksum it had then; reading 90 MB
to be sure would cost what a copy saves. A manifest is written last, so a copy cut short is none.
Proved by ``tests/models/test_embedders_copies.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError

__all__ = ["keep_copy", "read_copy"]

_MANIFEST: Final = "manifest.json"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


def read_copy(folder: Path, of: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What was told of the copy in a folder; None if there is none, or not a whole one ``of`` that.

    Raises:
        OSError, ValueError, KeyError, TypeError, AttributeError: what is there is no copy of ours.
    """
    file = folder / _MANIFEST
    if not file.is_file():
        return None
    manifest = json.loads(file.read_bytes())
    if manifest.pop("check") != _check(manifest) or manifest["of"] != of:
        return None
    files = {name: (folder / name, told) for name, told in manifest["files"].items()}
    is_known = bool(_boot())  # otherwise marks prove nothing
    touched = [
        name
        for name, (each, told) in files.items()
        if not is_known or _marks(each) != told["marks"]
    ]
    if not all(_has_checksum(*files[name]) for name in touched):
        return None
    if touched and is_known:  # after a start of the machine, or from a backup: look once
        told_now = {name: {**told, "marks": _marks(each)} for name, (each, told) in files.items()}
        _write(folder, {**manifest, "files": told_now})
    found: Mapping[str, Any] = manifest["told"]
    return found


def keep_copy(
    folder: Path, of: Mapping[str, Any], files: Mapping[str, bytes], told: Mapping[str, Any]
) -> bool:
    """Write a copy; False if the disk refuses, which costs nothing but time."""
    with suppress(HoldfastError, OSError):
        within = Directory.open(folder)
        try:
            within.remove(_MANIFEST)
            for name, data in files.items():
                # A new file each: who has the old one mapped keeps it. Not synced: what a power
                # loss leaves has other marks, and the checksum tells.
                within.replace(name, data, durable=False)
        finally:
            within.close()
        kept = {
            name: {"sha256": sha256(data).hexdigest(), "marks": _marks(folder / name)}
            for name, data in files.items()
        }
        return _write(folder, {"of": dict(of), "files": kept, "told": dict(told)})
    return False


def _write(folder: Path, manifest: Mapping[str, Any]) -> bool:
    with suppress(HoldfastError, OSError):
        within = Directory.open(folder)
        try:
            written = {**manifest, "check": _check(manifest)}
            within.replace(_MANIFEST, json.dumps(written).encode(), durable=False)
        finally:
            within.close()
        return True
    return False


def _marks(file: Path) -> list[int | str]:
    """What changes when anybody writes to a file, puts another in its place, or the machine that
    may not have written it to its disk is started again."""
    found = file.stat()
    return [_boot(), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _boot() -> str:
    """Which start of the machine this is; empty where nobody can tell."""
    try:
        return _BOOT.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def _has_checksum(file: Path, told: Mapping[str, Any]) -> bool:
    with file.open("rb") as opened:
        return bool(file_digest(opened, "sha256").hexdigest() == told["sha256"])


def _check(manifest: Mapping[str, Any]) -> str:
    return sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
