"""Checksums of large files that are not worked out at every start.

Promise: a file passes only with the expected checksum; what was worked out once is believed as
long as the file is the same one with the same size and times, and one that was changed or put in
its place is read again, whole (``tests/models/test_weights.py``). A verdict is remembered beside
the file, a bad one too. The note protects against accidents and against other programs, not
against somebody who can write the folder: they can write the note as well.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from typing import Final

from holdfast.disk import Directory
from holdfast.errors import HoldfastError

__all__ = ["NOTE", "checksum", "has_checksum", "looks", "remember"]

NOTE: Final = ".json"
"""What is put behind the name of a file for the note about its checksum."""
_NOTE_BYTES: Final = 4096


def checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def has_checksum(file: Path, expected: str, size: int) -> bool | None:
    """Whether the file is the expected one; None if there is none.

    Only a file of the right size is read. A link is followed: a person who has the weights for
    another program need not have them twice.
    """
    try:
        found = file.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size != size:
        return False
    known = _remembered(file, found)
    if known is None:
        known = checksum(file)
        with suppress(HoldfastError, OSError):  # a folder that is not ours: read it every time
            remember(Directory.open(file.parent), file.name, known, found)
    return known == expected


def looks(found: os.stat_result) -> dict[str, int]:
    """What tells a file from another in its place. Nobody sets ``changed_ns`` by hand, as a copy
    that keeps its times sets ``modified_ns``."""
    return {
        "bytes": found.st_size,
        "modified_ns": found.st_mtime_ns,
        "changed_ns": found.st_ctime_ns,
        "inode": found.st_ino,
    }


def remember(folder: Directory, name: str, sha256: str, found: os.stat_result) -> None:
    """Note beside the file what its checksum was when it looked like this."""
    note = {"sha256": sha256, **looks(found)}
    folder.replace(name + NOTE, json.dumps(note).encode() + b"\n", durable=False)


def _remembered(file: Path, found: os.stat_result) -> str | None:
    try:
        with file.with_name(file.name + NOTE).open("rb") as opened:
            note = json.loads(opened.read(_NOTE_BYTES))
        if {key: note[key] for key in looks(found)} == looks(found):
            return str(note["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
