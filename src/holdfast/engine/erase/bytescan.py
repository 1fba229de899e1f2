"""Whether a text is gone: a look at every byte and every name below a folder.

It knows nothing of what the stores say they erased; that is its worth. Links are not followed
and what cannot be read is named: neither is ever taken for clean.

Promise: whatever file or name below the folder holds the text is found, as UTF-8, UTF-16, JSON,
percent or HTML escapes, base64, or packed by git (``tests/engine/test_erase.py``).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError, NotFound
from holdfast.matching import Match
from holdfast.types import Remaining

__all__ = ["Scanned", "scan_bytes"]

_BLOCK: Final = 1 << 20
_PIECE: Final = 1 << 14
_NOT_TEXT: Final = re.compile(r"\d{4}-\d{2}-\d{2}|[0-9a-f]{64}")
_ENDINGS: Final = re.compile(
    r"\.(?:md|jsonl|json|state\.json|quarantine|toml|token|key|lock|diff)$"
)
_LAYOUT: Final = frozenset(
    {"agents", "sessions", "artifacts", "memory", "topics", "imports", "bank", "entities"}
    | {"tasks", "archive", "chats", "users", "models", "locks", "quarantine", "preimages"}
    | {"receipts", "rescued", "config", "events", "audit", "server", "operations", "pending"}
    | {"tombstones", ".journal", ".index", ".git", "MEMORY", "AGENTS", "USER", "SOUL", "IDENTITY"}
    | {"identity", "README", "sessions.lock", "artifacts.lock", ".gitignore"}
)
_BY_ID: Final = frozenset({"preimages", "receipts", "rescued"})
"""Folders whose files are named by an id of ours."""


@dataclass(slots=True)
class Scanned:
    files: int = 0
    bytes: int = 0
    held: list[str] = field(default_factory=list)
    """Files that hold the text."""
    named: list[str] = field(default_factory=list)
    """Files and folders whose name holds it."""
    unseen: list[Remaining] = field(default_factory=list)


def scan_bytes(folder: Directory, match: Match) -> Scanned:
    """Every file and every name below the folder, with their paths from it."""
    scanned = Scanned()
    _scan(folder, "", match, scanned)
    return scanned


def _scan(folder: Directory, path: str, match: Match, scanned: Scanned) -> None:
    inside = path.rstrip("/").rpartition("/")[2]
    in_git = f"/{path}".find("/.git/") >= 0
    for found in folder.found():
        here = path + found.name
        if inside not in _BY_ID and not in_git and _tells(match, found.name):
            scanned.named.append(here)
        if found.kind == "folder":
            try:
                inner = folder.child(found.name, create=False)
            except NotFound:
                continue
            except HoldfastError as error:
                scanned.unseen.append(_unseen(here, error.message))
                continue
            _scan(inner, f"{here}/", match, scanned)
        elif found.kind == "file":
            _scan_file(folder, found.name, here, match, scanned, in_git=in_git)
        else:
            scanned.unseen.append(_unseen(here, f"It is a {found.kind}, which is not followed."))


def _scan_file(
    folder: Directory, name: str, path: str, match: Match, scanned: Scanned, *, in_git: bool
) -> None:
    try:
        file = folder.open_reading(name)
    except HoldfastError as error:
        scanned.unseen.append(_unseen(path, error.message))
        return
    if file is None:
        return  # gone meanwhile
    with file:
        blocks = _counted(file, scanned)
        try:
            holds = match.is_in_blocks(_unpacked(blocks) if in_git else blocks)
        except OSError as error:
            scanned.unseen.append(_unseen(path, f"It cannot be read: {error.strerror}."))
            return
    scanned.files += 1
    if holds:
        scanned.held.append(path)


def _counted(file: BinaryIO, scanned: Scanned) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        scanned.bytes += len(block)
        yield block


def _unpacked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of a file of git, and what is packed in it: an object, or the objects of a pack."""
    data = b"".join(blocks)
    yield data
    if data[:4] != b"PACK":
        yield _inflated(data, 0)
        return
    at = data.find(b"\x78", 12)
    while at >= 0:  # where an object begins is not said: each byte that may be its first is tried
        yield _inflated(data, at)
        at = data.find(b"\x78", at + 1)


def _inflated(data: bytes, start: int) -> bytes:
    """What was compressed from there on, as far as it can be read."""
    unpacker = zlib.decompressobj()
    found: list[bytes] = []
    try:
        for at in range(start, len(data), _PIECE):
            found.append(unpacker.decompress(data[at : at + _PIECE], _BLOCK << 6))
            if unpacker.eof or len(found) > 1 << 12:
                break
    except zlib.error:
        pass
    return b"\n".join((b"", b"".join(found)))


def _tells(match: Match, name: str) -> bool:
    """Whether a name holds the text beside what the layout itself says: dates, hashes, endings."""
    if name in _LAYOUT or not match.is_in(name):
        return False
    rest = _NOT_TEXT.sub(" ", _ENDINGS.sub("", _ENDINGS.sub("", name)))
    return rest not in _LAYOUT and match.is_in(rest)


def _unseen(path: str, why: str) -> Remaining:
    return Remaining(path=path, why=f"Not looked into. {why}", hint="Look into it yourself.")
