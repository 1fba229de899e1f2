"""The file of a backup: what is in it, and whether it is wholly what was written.

An ordinary zip with a manifest (size and SHA-256 of every file), the files under ``home/``,
and a checksum of all its other bytes in the comment at its end, so that a changed byte is
noticed wherever it is. Nothing in it is believed before that: names, kinds and sizes are
checked as if somebody hostile had made the file.

Promise: see ``engine.backup``; proven by ``tests/engine/test_backup.py``.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from holdfast.engine.backup.names import git_settings, is_git_config, is_left_out, odd_name
from holdfast.errors import NotFound, PolicyRefused, StorageError
from holdfast.types import Json

__all__ = [
    "COMMENT",
    "FORMAT",
    "INSIDE",
    "MANIFEST",
    "PIECE",
    "SEAL_LENGTH",
    "Checked",
    "Listed",
    "check",
    "contents",
    "damaged",
    "opened",
    "pieces",
    "sealed",
]

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
INSIDE: Final = "home/"
PIECE: Final = 4 << 20
LONGEST_MANIFEST: Final = 64 << 20
MOST_TO_ONE: Final = 1100
"""Deflate makes at most 1032 bytes of one; a file that promises more is a bomb."""

COMMENT: Final = b"holdfast-backup sha256:"
SEAL_LENGTH: Final = 64


class Listed(NamedTuple):
    """A file of the home, as the manifest has it."""

    path: str
    size: int
    sha256: str


class Checked(NamedTuple):
    listed: tuple[Listed, ...]
    made_at: datetime
    sha256: str


def pieces(source: BinaryIO, size: int) -> Iterator[bytes]:
    """The first ``size`` bytes; the file may grow meanwhile."""
    source.seek(0)
    while size > 0 and (piece := source.read(min(PIECE, size))):
        size -= len(piece)
        yield piece


def sealed(out: BinaryIO) -> str:
    """Put the checksum of all other bytes at the end; the checksum of the whole file."""
    out.flush()
    end = out.seek(0, os.SEEK_END)
    out.seek(0)
    digest = sha256()
    for piece in pieces(out, end - SEAL_LENGTH):
        digest.update(piece)
    seal = digest.hexdigest().encode()
    out.seek(end - SEAL_LENGTH)
    out.write(seal)
    out.flush()
    digest.update(seal)
    return digest.hexdigest()


@contextmanager
def opened(file: Path) -> Iterator[BinaryIO]:
    try:
        source = open(file, "rb")  # noqa: PTH123, SIM115
    except FileNotFoundError:
        raise NotFound(f"There is no backup {str(file)!r}.", hint="holdfast backup FILE") from None
    except OSError as error:
        raise StorageError(
            f"Could not read {str(file)!r}: {error.strerror or error}.", hint="Check its mode."
        ) from error
    with source:
        yield source


def check(source: BinaryIO, file: Path) -> Checked:
    try:
        digest = _check_seal(source, file)
        with zipfile.ZipFile(source) as packed:
            listed, made_at = _check_list(packed, file)
            for each in listed:
                _check_contents(packed, each, file)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError) as error:
        raise damaged(file, str(error) or type(error).__name__) from error
    except (NotImplementedError, RuntimeError, TypeError, AttributeError) as error:
        raise damaged(file, "it uses what no backup of ours uses") from error
    return Checked(listed, made_at, digest)


def _check_seal(source: BinaryIO, file: Path) -> str:
    end = source.seek(0, os.SEEK_END)
    tail = len(COMMENT) + SEAL_LENGTH
    source.seek(max(0, end - tail))
    comment = source.read(tail)
    if not comment.startswith(COMMENT):
        raise damaged(file, "its end is missing, or it is no backup of Holdfast")
    source.seek(0)
    digest = sha256()
    for piece in pieces(source, end - SEAL_LENGTH):
        digest.update(piece)
    if digest.hexdigest().encode() != comment[-SEAL_LENGTH:]:
        raise damaged(file, "its bytes are not those that were written")
    digest.update(comment[-SEAL_LENGTH:])
    return digest.hexdigest()


def _check_list(packed: zipfile.ZipFile, file: Path) -> tuple[tuple[Listed, ...], datetime]:
    """What is in it must be what the manifest says, and no more."""
    entries = {info.filename: info for info in packed.infolist()}
    if len(entries) != len(packed.infolist()):
        raise damaged(file, "a name is in it twice")
    manifest = entries.pop(MANIFEST)
    if manifest.file_size > LONGEST_MANIFEST:
        raise damaged(file, "its manifest is too large")
    said = json.loads(_bounded(packed, manifest, LONGEST_MANIFEST))
    if said["format"] != FORMAT:
        raise StorageError(
            f"{str(file)!r} has format {said['format']!r}; this version reads {FORMAT}.",
            hint="Use the version of Holdfast that made it, or a newer one.",
        )
    listed = tuple(_listed(each, file) for each in said["files"])
    if sorted(INSIDE + each.path for each in listed) != sorted(entries):
        raise damaged(file, "its files are not those of its manifest")
    size = packed.fp.seek(0, os.SEEK_END) if packed.fp is not None else 0
    if sum(info.compress_size for info in entries.values()) > size:
        raise damaged(file, "its parts overlap")
    if sum(each.size for each in listed) > size * MOST_TO_ONE:
        raise damaged(file, "it would become far larger than it can be")
    for each in listed:
        _check_name(each.path, file)
        _check_entry(entries[INSIDE + each.path], each, file)
    _check_no_file_is_a_folder([each.path for each in listed], file)
    return listed, datetime.fromisoformat(said["made_at"])


def _listed(said: Json, file: Path) -> Listed:
    path, size, digest = said["path"], said["size"], said["sha256"]
    if not isinstance(path, str) or type(size) is not int or size < 0:
        raise damaged(file, "its manifest is not one of ours")
    return Listed(path, size, digest)


def _check_entry(info: zipfile.ZipInfo, listed: Listed, file: Path) -> None:
    kind = info.external_attr >> 16 & 0o170000
    if kind not in (0, 0o100000) or info.is_dir() or info.flag_bits & 0x1:
        raise _refused(file, listed.path, "is no plain file")
    if info.file_size != listed.size:
        raise damaged(file, "a size is not that of its manifest")


def _check_name(path: str, file: Path) -> None:
    if problem := odd_name(path):
        raise _refused(file, path, problem)
    if is_left_out(path):
        raise _refused(file, path, "is what no backup holds")


def _check_contents(packed: zipfile.ZipFile, listed: Listed, file: Path) -> None:
    if not is_git_config(listed.path):
        for _ in contents(packed, listed, file):
            pass
        return
    data = b"".join(contents(packed, listed, file)) if listed.size <= PIECE else b"["
    if git_settings(data) != data:
        raise _refused(file, listed.path, "would let git run programs")


def _check_no_file_is_a_folder(paths: list[str], file: Path) -> None:
    files = set(paths)
    for path in paths:
        while "/" in path:
            path = path.rpartition("/")[0]
            if path in files:
                raise _refused(file, path, "is a file and a folder")


def _bounded(packed: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    with packed.open(info) as entry:
        data = entry.read(most + 1)
    if len(data) > most:
        raise zipfile.BadZipFile("larger than it says")
    return data


def contents(packed: zipfile.ZipFile, listed: Listed, file: Path) -> Iterator[bytes]:
    """The pieces of a file, no more than it says; at the end they are what was hashed."""
    digest = sha256()
    left = listed.size
    with packed.open(INSIDE + listed.path) as entry:
        while piece := entry.read(PIECE):
            left -= len(piece)
            if left < 0:
                break
            digest.update(piece)
            yield piece
    if left or digest.hexdigest() != listed.sha256:
        raise damaged(file, f"{listed.path!r} is not what was written")


def damaged(file: Path, why: str) -> StorageError:
    return StorageError(
        f"{str(file)!r} cannot be used as a backup: {why}.",
        hint="Use another backup. Make a new one with: holdfast backup FILE",
    )


def _refused(file: Path, path: str, why: str) -> PolicyRefused:
    return PolicyRefused(
        f"{str(file)!r} is refused: {path!r} in it {why}.",
        hint="No backup of Holdfast has such a file. Do not trust this one.",
    )
