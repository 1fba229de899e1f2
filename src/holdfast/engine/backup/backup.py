"""A whole home in one file, and a home made of such a file.

The file is an ordinary zip: a manifest with the size and SHA-256 of every file, the files
under ``home/``, and a checksum of all its bytes in the comment at its end. ``names`` says what is
left out: what can be derived, locks, half-written files, programs for git, and ``server.token``,
which a restored home makes anew.

Promises, proven by ``tests/engine/test_backup.py``: a backup can be made while others write
(a transcript is taken up to its last whole line, and before the payloads it refers to), and
is read back before it is called made; a changed byte is noticed; a file that is not wholly
what its manifest says, or has what no backup holds, is refused before anything is written; no
name in it leads out of the home; a home that holds something is only moved aside, never
overwritten, and not while others are seen to use it.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from holdfast._version import __version__
from holdfast.disk import SYSTEM, Directory, new_file
from holdfast.engine.backup.backupfile import (
    COMMENT,
    FORMAT,
    INSIDE,
    MANIFEST,
    PIECE,
    SEAL_LENGTH,
    Checked,
    Listed,
    check,
    contents,
    damaged,
    opened,
    pieces,
    sealed,
)
from holdfast.engine.backup.inuse import refuse_if_in_use
from holdfast.engine.backup.names import (
    LEFT_OUT,
    git_settings,
    is_git_config,
    is_left_out,
    odd_name,
)
from holdfast.engine.clock import SystemClock
from holdfast.errors import HoldfastError, NotFound, StorageError, UsageError
from holdfast.ports import Clock

__all__ = [
    "BackupChecked",
    "BackupMade",
    "Progress",
    "Restored",
    "make_backup",
    "restore_backup",
    "verify_backup",
]

Progress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupMade:
    """``skipped`` are links and other things that are no files of ours, and files whose names
    would not show as they are; they were left out."""

    file: Path
    files: int
    bytes: int
    sha256: str
    skipped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = LEFT_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupChecked:
    """A backup that is wholly what was written."""

    file: Path
    files: int
    bytes: int
    sha256: str
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """``moved_to`` is where the home that was there before is now."""

    home: Path
    files: int
    bytes: int
    made_at: datetime
    moved_to: Path | None = None


# ── making one ──────────────────────────────────────────────────────────────────────────────


def make_backup(
    home: Directory | Path, file: Path, *, clock: Clock, progress: Progress | None = None
) -> BackupMade:
    """Write everything in ``home`` to the new file ``file``, and read it back.

    Raises:
        UsageError: the file would be inside of the home, or there is no home.
        StorageError: there is such a file already, or the disk refuses.
    """
    if isinstance(home, Path):
        if not home.is_dir():
            raise NotFound(f"There is no home {str(home)!r} to back up.", hint="holdfast status")
        home = Directory.open(home)
    file = file.absolute()
    if Path(os.path.realpath(file)).is_relative_to(home.path):
        raise UsageError(
            f"{str(file)!r} is inside of the home it would be a backup of.",
            hint=f"Name a file elsewhere: holdfast backup {home.path.parent / 'holdfast.backup'}",
        )
    at = clock.now().astimezone(UTC)
    with new_file(file) as out:
        writing = _Writing(out, at, progress or _silent, sum(size for _, size in _kept(home)))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            skipped = writing.everything(home, packed)
            writing.manifest(packed)
            packed.comment = COMMENT + b"0" * SEAL_LENGTH
        digest = sealed(out)
        checked = check(out, file)
        if checked.listed != tuple(writing.listed):
            raise damaged(file, "what was read back is not what was written")
    size = sum(each.size for each in writing.listed)
    return BackupMade(
        file=file, files=len(writing.listed), bytes=size, sha256=digest, skipped=tuple(skipped)
    )


def _silent(done: int, total: int) -> None:
    del done, total


def _kept(home: Directory) -> Iterator[tuple[str, int]]:
    """The files that belong into a backup."""
    for path, kind, size in home.walk():
        if kind == "file" and not is_left_out(path) and odd_name(path) is None:
            yield path, size


class _Writing:
    def __init__(self, out: BinaryIO, at: datetime, progress: Progress, total: int) -> None:
        self._out = out
        self._at = at
        self._progress = progress
        self._total = total
        self._done = 0
        self.listed: list[Listed] = []

    def everything(self, home: Directory, packed: zipfile.ZipFile) -> list[str]:
        """Logs first: what they refer to was on disk before the line that says so."""
        logs = [path for path, _ in _kept(home) if path.endswith(".jsonl")]
        for path in logs:
            self._file(home, path, packed)
        taken = set(logs)
        skipped = []
        for path, kind, _ in home.walk():
            if path in taken or kind == "folder" or is_left_out(path):
                continue
            if kind == "file" and odd_name(path) is None:
                self._file(home, path, packed)
            else:
                skipped.append(path)
        return skipped

    def _file(self, home: Directory, path: str, packed: zipfile.ZipFile) -> None:
        *folders, name = path.split("/")
        folder = home
        try:
            for each in folders:
                folder = folder.child(each, create=False)
            source = folder.open_reading(name)
        except NotFound:
            return  # removed meanwhile
        if source is None:
            return
        with source:
            if path.endswith(".jsonl"):
                content = pieces(source, _whole_lines(source))
            elif path.endswith(".md"):
                content = iter([_one_moment(folder, name)])
            elif is_git_config(path):
                content = iter([git_settings(source.read(PIECE))])
            else:
                content = pieces(source, os.fstat(source.fileno()).st_size)
            self._entry(path, content, packed)

    def _entry(self, path: str, content: Iterator[bytes], packed: zipfile.ZipFile) -> None:
        info = zipfile.ZipInfo(INSIDE + path, date_time=self._at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o100600 << 16
        digest = sha256()
        size = 0
        with packed.open(info, "w", force_zip64=True) as entry:
            for piece in content:
                entry.write(piece)
                digest.update(piece)
                size += len(piece)
                self._progress(min(self._done + size, self._total), self._total)
        self._done += size
        self.listed.append(Listed(path, size, digest.hexdigest()))

    def manifest(self, packed: zipfile.ZipFile) -> None:
        said = {
            "format": FORMAT,
            "holdfast": __version__,
            "made_at": self._at.isoformat(),
            "left_out": list(LEFT_OUT),
            "files": [each._asdict() for each in self.listed],
        }
        info = zipfile.ZipInfo(MANIFEST, date_time=self._at.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o100600 << 16
        packed.writestr(info, json.dumps(said, indent=1))


def _whole_lines(source: BinaryIO) -> int:
    """How long the file is now up to the end of its last whole line."""
    end = os.fstat(source.fileno()).st_size
    while end > 0:
        start = max(0, end - (64 << 10))
        source.seek(start)
        found = source.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _one_moment(folder: Directory, name: str) -> bytes:
    """A file that people edit, as it was at one moment: read again if it changed meanwhile."""
    data = b""
    for _ in range(8):
        found = folder.look(name)
        if found is None:
            return data
        data, seen = found
        if seen.inode:
            break
    return data


# ── checking one ────────────────────────────────────────────────────────────────────────────


def verify_backup(file: Path) -> BackupChecked:
    """Read the whole backup.

    Raises:
        StorageError: it is not wholly what was written; nothing of it should be trusted.
    """
    with opened(file) as source:
        checked = check(source, file)
    return BackupChecked(
        file=file,
        files=len(checked.listed),
        bytes=sum(each.size for each in checked.listed),
        sha256=checked.sha256,
        made_at=checked.made_at,
    )


# ── restoring one ───────────────────────────────────────────────────────────────────────────


def restore_backup(
    file: Path,
    home: Path,
    *,
    replace: bool = False,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Restored:
    """Make ``home`` what the backup says. Nothing is written before all of it was checked.

    A home that holds something is refused; with ``replace`` it is moved aside. Stop the programs
    that use it first: one that has it open would go on writing into what was moved aside. Those
    that can be seen to are named, and nothing is changed.

    Raises:
        NotFound: there is no such file.
        StorageError: the backup is damaged, or the disk refuses. The home is as it was.
        Locked: another process uses the home.
        UsageError: the home is not empty.
    """
    home = Path(os.path.realpath(home))
    file = Path(os.path.realpath(file))
    with opened(file) as source:
        is_taken = _is_taken(home, file, replace=replace)
        checked = check(source, file)
        size = sum(each.size for each in checked.listed)
        at = (clock or SystemClock()).now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        parent = _parent_of(home)
        if parent.free_bytes() < size + (1 << 20):
            raise StorageError(
                f"{size} bytes do not fit beside {str(home)!r}.", hint="Free some disk space."
            )
        staging = f"{home.name}.restoring-{at}-{os.getpid()}"
        aside = None
        try:
            with zipfile.ZipFile(source) as packed:
                _unpack(packed, checked, parent.child(staging), file, progress or _silent)
            aside = _moved_aside(parent, home, at) if is_taken else None
            parent.rename(staging, home.name)  # in place of an empty folder, if there is one
        except BaseException:
            with suppress(HoldfastError):
                if aside is not None:
                    parent.rename(aside, home.name)
                _remove_all(parent, staging)
            raise
    return Restored(
        home=home,
        files=len(checked.listed),
        bytes=size,
        made_at=checked.made_at,
        moved_to=parent.path / aside if aside is not None else None,
    )


def _is_taken(home: Path, file: Path, *, replace: bool) -> bool:
    """Whether something must be moved aside first; refused if it may not be."""
    if home.exists() and not home.is_dir():
        raise UsageError(f"{str(home)!r} is a file; a home is a folder.", hint="Name another one.")
    is_taken = home.exists() and any(home.iterdir())
    if is_taken and not replace:
        raise UsageError(
            f"{str(home)!r} is not empty; a restore does not mix with what is there.",
            hint="Stop the programs that use it, then move it aside with: holdfast backup restore "
            "FILE --replace --yes",
        )
    if file.is_relative_to(home):
        raise UsageError(
            f"{str(file)!r} is inside of the home it would replace.",
            hint="Move it elsewhere first.",
        )
    if is_taken:
        refuse_if_in_use(Directory.open(home))
    return is_taken


def _parent_of(home: Path) -> Directory:
    """The folder above, without taking it over: what else is in there is not ours."""
    if not home.parent.is_dir():
        return Directory.open(home.parent)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        return Directory(os.open(home.parent, flags), home.parent, SYSTEM)
    except OSError as error:
        raise StorageError(
            f"Could not open {str(home.parent)!r}: {error.strerror}.", hint="Check its mode."
        ) from error


def _unpack(
    packed: zipfile.ZipFile, checked: Checked, to: Directory, file: Path, progress: Progress
) -> None:
    folders = {"": to}
    total = sum(each.size for each in checked.listed)
    done = 0
    for each in checked.listed:
        above, _, name = each.path.rpartition("/")
        folder = _folder(folders, above)
        _write(folder, name, contents(packed, each, file), each.size)
        done += each.size
        progress(done, total)
    for folder in folders.values():
        folder.sync()


def _folder(folders: dict[str, Directory], path: str) -> Directory:
    if path not in folders:
        above, _, name = path.rpartition("/")
        folders[path] = _folder(folders, above).child(name)
    return folders[path]


def _write(folder: Directory, name: str, content: Iterator[bytes], size: int) -> None:
    if size <= PIECE:
        if not folder.write_new(name, b"".join(content)):
            raise StorageError(
                f"{name!r} is in the backup twice, in capitals and not, and this disk takes both "
                "for the same.",
                hint="Restore it on a disk that tells them apart.",
            )
        return
    target = folder.open_growing(name, create=True)
    try:
        at = 0
        for piece in content:
            target.append(piece, at=at)
            at += len(piece)
    finally:
        target.close()


def _moved_aside(parent: Directory, home: Path, at: str) -> str:
    refuse_if_in_use(Directory.open(home))  # again: unpacking may have taken long
    name = home.name
    aside = f"{name}.before-restore-{at}"
    taken = set(parent.names())
    number = 2
    while aside in taken:
        aside = f"{name}.before-restore-{at}-{number}"
        number += 1
    parent.rename(name, aside)
    return aside


def _remove_all(parent: Directory, name: str) -> None:
    folder = parent.child(name, create=False)
    for entry in folder.found():
        if entry.kind == "folder":
            _remove_all(folder, entry.name)
        else:
            folder.remove(entry.name)
    parent.remove_folder(name)
