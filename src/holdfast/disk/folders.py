"""Folders by handle: everything in one is reached by one name through its handle.

Promise: see the package. Proven by ``tests/foundation/test_disk.py`` and ``test_disk_moves.py``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from holdfast.disk.growing import GrowingFile
from holdfast.disk.seen import (
    FileStat,
    Kind,
    Seen,
    kind_of,
    refuse_foreign,
    refuse_links,
    refuse_odd,
    seen,
    tighten,
    told,
)
from holdfast.disk.system import (
    CANNOT,
    FILE_MODE,
    FOLDER_MODE,
    NEVER_LINKS,
    SYSTEM,
    System,
    write_all,
)
from holdfast.disk.writers import is_written
from holdfast.errors import NotFound, PolicyRefused

__all__ = ["Directory", "Found"]

TEMPORARY: Final = ".tmp-"
_LOOKS: Final = 50


class Found(NamedTuple):
    """One name in a folder: what it is, without having touched it."""

    name: str
    kind: Kind
    size: int
    is_mine: bool
    is_loose: bool
    """Others may read or change it."""
    seen: Seen = Seen(0, 0, 0)


class Directory:
    """An open folder. Everything in it is reached by name through its handle.

    A name is one path component; the handle makes it impossible for a renamed or linked
    parent to lead elsewhere between the check and the use.
    """

    def __init__(
        self, fd: int, path: Path, system: System, parent: Directory | None = None
    ) -> None:
        self._fd = fd
        self.path = path
        self.system = system
        self._parent = parent
        self._is_way_durable = False
        self._closer = weakref.finalize(self, os.close, fd)

    @classmethod
    def open(cls, path: Path, *, system: System = SYSTEM) -> Directory:
        """The folder at ``path``, made if missing. Links *above* it are the user's own choice.

        A folder that was there is made private only if it is empty or a home already: what
        else is in it, and who may read that, is not ours to decide.
        """
        path = Path(os.path.realpath(path))
        missing: list[str] = []
        while not path.exists() and path.parent != path:
            missing.insert(0, path.name)
            path = path.parent
        with told("open", path):
            flags = os.O_RDONLY | os.O_DIRECTORY | NEVER_LINKS
            folder = cls(system.open(str(path), flags), path, system)
        for name in missing:
            folder = folder.child(name)
        if not missing:
            folder._take_over()
        return folder

    def child(self, name: str, *, create: bool = True) -> Directory:
        """The folder ``name`` in this one; private, and durable if it had to be made."""
        self._check(name)
        flags = os.O_RDONLY | os.O_DIRECTORY | NEVER_LINKS
        with told("open", self.path, name):
            try:
                fd = self.system.open(name, flags, dir_fd=self._fd)
            except FileNotFoundError:
                if not create:
                    raise
                with contextlib.suppress(FileExistsError):
                    self.system.mkdir(name, FOLDER_MODE, dir_fd=self._fd)
                fd = self.system.open(name, flags, dir_fd=self._fd)
                self.sync()
        folder = Directory(fd, self.path / name, self.system, self)
        folder._make_private()
        return folder

    def close(self) -> None:
        self._closer()

    @property
    def inode(self) -> int:
        return os.fstat(self._fd).st_ino

    def sync(self) -> None:
        """Make the names in this folder durable: creations, renames and removals."""
        with told("sync", self.path):
            self.system.sync_folder(self._fd)

    def sync_way(self) -> None:
        """Make the way that leads here durable: our name in our parent, its name, and so on.

        Whoever made these folders may have died before it could. Done once.
        """
        if self._is_way_durable:
            return
        if self._parent is not None:
            self._parent.sync()
            self._parent.sync_way()
        else:
            with contextlib.suppress(OSError):  # what lies above the home may not be ours
                fd = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        self._is_way_durable = True

    def stat(self, name: str) -> FileStat | None:
        """What is known about the file, or None if there is none. Links are refused."""
        self._check(name)
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        refuse_links(found, self.path, name)
        return FileStat(found.st_ino, found.st_size)

    def identify(self, name: str) -> tuple[int, int] | None:
        """Inode and length of whatever has that name now: to compare with a file that is open.

        Nothing is checked, because nothing is followed; it is asked at every append.
        """
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size

    def names(self) -> list[str]:
        """The names in this folder, sorted; half-written temporary files left out."""
        return sorted(name for name in self._listed() if not name.startswith(TEMPORARY))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[int]:
        """A handle of its own for one listing: where it has got to belongs to the handle, so two
        threads that listed through the same one would each miss what the other had read."""
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            yield fd
        finally:
            os.close(fd)

    def _listed(self) -> list[str]:
        with self._reading() as fd:
            return os.listdir(fd)

    def open_growing(self, name: str, *, create: bool = False) -> GrowingFile:
        """The file ``name`` for reading and appending. New ones are durable after ``sync()``."""
        self._check(name)
        flags = os.O_RDWR | os.O_APPEND | NEVER_LINKS | (os.O_CREAT if create else 0)
        with told("open", self.path, name):
            try:
                fd = self._open_plain(name, flags)
            except OSError as error:
                if create or error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                    raise
                # What cannot be written can still be read: a backup, a read-only disk.
                fd = self._open_plain(name, os.O_RDONLY | NEVER_LINKS)
            tighten(fd, os.fstat(fd), FILE_MODE)
        return GrowingFile(fd, self.path / name, self.system)

    def read(self, name: str) -> bytes | None:
        """The whole file, or None if there is none."""
        file = self.open_reading(name)
        if file is None:
            return None
        with file, told("read", self.path, name):
            return file.read()

    def look(self, name: str) -> tuple[bytes, Seen] | None:
        """The whole file as it was at one moment, with what to compare a later look with.

        None if there is no such file, ``Seen`` of an inode 0 if it changed while it was read.
        """
        file = self.open_reading(name)
        if file is None:
            return None
        with file, told("read", self.path, name):
            before = seen(os.fstat(file.fileno()))
            data = file.read()
            after = seen(os.fstat(file.fileno()))
        return data, after if before == after and len(data) == after.size else Seen(0, 0, 0)

    def glance(self, name: str) -> Seen | None:
        """What a ``look`` would return beside the bytes, without reading them."""
        self._check(name)
        with told("read", self.path, name):
            try:
                return seen(os.stat(name, dir_fd=self._fd, follow_symlinks=False))
            except FileNotFoundError:
                return None

    def glances(self, names: Iterable[str]) -> dict[str, Seen]:
        """A ``glance`` at each of these names that there is: for many of them, often."""
        result = {}
        for name in names:
            self._check(name)
            try:
                result[name] = seen(os.stat(name, dir_fd=self._fd, follow_symlinks=False))
            except OSError:
                continue
        return result

    def touch(self, name: str) -> None:
        """Say that the file was used now. Only its time changes, and that is worth no error."""
        self._check(name)
        with contextlib.suppress(OSError):
            os.utime(name, dir_fd=self._fd, follow_symlinks=False)

    def is_written(self, name: str) -> bool | None:
        """Whether some program has the file open for writing; None if nobody can tell."""
        file = self.open_reading(name)
        if file is None:
            return False
        with file:
            return is_written(file.fileno())

    def open_reading(self, name: str) -> BinaryIO | None:
        """The file, to be read piece by piece and closed by the caller; None if there is none."""
        self._check(name)
        with told("read", self.path, name):
            try:
                fd = self._open_plain(name, os.O_RDONLY | NEVER_LINKS)
            except FileNotFoundError:
                return None
        return open(fd, "rb")

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Put ``data`` in place of the file: readers see the old bytes or the new, never half.

        ``durable=False`` is for what can be derived again.
        """
        self._check(name)
        with told("replace", self.path, name), self._temporary(data, durable) as temporary:
            self.system.rename(temporary, name, dir_fd=self._fd)
            if durable:
                self.system.sync_folder(self._fd)

    def create(self, name: str, data: bytes, *, durable: bool = True) -> bool:
        """Make a file that was not there, whole or not at all; False if the name is taken."""
        self._check(name)
        with told("create", self.path, name), self._temporary(data, durable) as temporary:
            if not self._move(temporary, self, name):
                self.system.unlink(temporary, dir_fd=self._fd)
                return False
            if durable:
                self.system.sync_folder(self._fd)
        return True

    def write_new(self, name: str, data: bytes) -> bool:
        """Make a file of durable bytes that was not there; its name is durable after ``sync()``.

        For files that nobody looks for yet: half of it may be left if the power goes.
        """
        self._check(name)
        with told("create", self.path, name):
            try:
                self._write(name, data, durable=True)
            except FileExistsError:
                return False
        return True

    def exchange(self, name: str, other: Directory, other_name: str) -> bool:
        """Let the two files change places in one step; False where the disk cannot do that.

        Durable after ``sync()`` of both folders. Links are not followed: they change places too.
        """
        self._check(name)
        other._check(other_name)
        with told("exchange", other.path, other_name):
            try:
                self.system.exchange(name, other_name, dir_fd=self._fd, target_fd=other._fd)
            except OSError as error:
                if error.errno not in CANNOT:
                    raise
                return False
        return True

    def move(self, name: str, to: Directory, target: str, *, durable: bool = True) -> bool:
        """Give a file a name in another folder (or this); False if that name is taken."""
        self._check(name)
        to._check(target)
        with told("move", self.path, name):
            if not self._move(name, to, target):
                return False
            if durable:
                self.system.sync_folder(to._fd)
                if to is not self:
                    self.system.sync_folder(self._fd)
        return True

    def rename(self, name: str, target: str) -> None:
        """Give a file another name, durably. The caller's lock keeps ``target`` free."""
        self._check(name)
        self._check(target)
        with told("rename", self.path, name):
            self.system.rename(name, target, dir_fd=self._fd)
            self.system.sync_folder(self._fd)

    def remove(self, name: str) -> bool:
        """Take the file away; whether there was one. Durable after ``sync()``."""
        self._check(name)
        with told("remove", self.path, name):
            try:
                self.system.unlink(name, dir_fd=self._fd)
            except FileNotFoundError:
                return False
        return True

    def remove_folder(self, name: str) -> bool:
        """Take an empty folder away; False if there is none or something is in it."""
        self._check(name)
        with told("remove", self.path, name):
            try:
                self.system.rmdir(name, dir_fd=self._fd)
            except OSError as error:
                if error.errno not in {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                return False
        return True

    def found(self) -> list[Found]:
        """Everything in this folder, sorted by name; nothing is followed or opened."""
        result = []
        me = os.geteuid()
        with told("list", self.path), self._reading() as fd, os.scandir(fd) as entries:
            for entry in entries:
                try:
                    stats = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # gone meanwhile
                mine = me in (0, stats.st_uid)
                loose = bool(stats.st_mode & 0o077) and not stat.S_ISLNK(stats.st_mode)
                kind, size = kind_of(stats), stats.st_size
                result.append(Found(entry.name, kind, size, mine, loose, seen(stats)))
        return sorted(result)

    def walk(self) -> Iterator[tuple[str, Kind, int]]:
        """Everything below, by handles: its path from here, what it is and its size.

        A folder comes before what is in it. Links and strangers' folders are named, not entered.
        """
        for entry in self.found():
            yield entry.name, entry.kind, entry.size
            if entry.kind != "folder" or not entry.is_mine:
                continue
            try:
                inner = self.child(entry.name, create=False)
            except (NotFound, PolicyRefused):
                continue  # removed, or made a link of, in this moment
            for path, kind, size in inner.walk():
                yield f"{entry.name}/{path}", kind, size

    def has(self, folder: Directory, name: str) -> bool:
        """Whether ``folder`` is still what that name leads to here."""
        with contextlib.suppress(OSError):
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            return os.path.samestat(found, os.fstat(folder._fd))
        return False

    def folds_case(self, name: str) -> bool:
        """Whether an existing name can be written in capitals here and still be found."""
        with contextlib.suppress(OSError):
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
            other = os.stat(name.swapcase(), dir_fd=self._fd, follow_symlinks=False)
            return os.path.samestat(found, other) and name.swapcase() not in self._listed()
        return False

    def sweep(self, *, dry_run: bool = False, older_than_seconds: float = 3600) -> int:
        """Remove temporary files that a crash left behind; how many there are."""
        stale = []
        for name in self._listed():
            if name.startswith(TEMPORARY):
                with contextlib.suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
                    if time.time() - found.st_mtime >= older_than_seconds:
                        stale.append(name)
        for name in [] if dry_run else stale:
            self.remove(name)
        return len(stale)

    def loose_modes(self) -> list[Path]:
        """Files and folders directly in here that others may read; the cure is ``tighten``."""
        return [self.path / name for name in self._listed() if self._is_loose(name)]

    def tighten(self) -> int:
        """Make everything directly in here private; how many had to be changed."""
        loose = [path.name for path in self.loose_modes()]
        for name in loose:
            is_folder = stat.S_ISDIR(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode)
            os.chmod(name, FOLDER_MODE if is_folder else FILE_MODE, dir_fd=self._fd)
        return len(loose)

    def free_bytes(self) -> int:
        """What an ordinary user may still write on this file system."""
        return (found := os.fstatvfs(self._fd)).f_bavail * found.f_frsize

    @contextlib.contextmanager
    def _temporary(self, data: bytes, durable: bool) -> Iterator[str]:
        """A file of a passing name that holds ``data``; taken away if the block fails."""
        name = f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
        self._write(name, data, durable=durable)
        try:
            yield name
        except BaseException:
            with contextlib.suppress(OSError):
                self.system.unlink(name, dir_fd=self._fd)
            raise

    def _write(self, name: str, data: bytes, *, durable: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NEVER_LINKS
        fd = self.system.open(name, flags, FILE_MODE, dir_fd=self._fd)
        try:
            tighten(fd, os.fstat(fd), FILE_MODE)
            write_all(self.system, fd, data)
            if durable:
                self.system.sync(fd)
        except BaseException:
            with contextlib.suppress(OSError):
                self.system.unlink(name, dir_fd=self._fd)
            raise
        finally:
            os.close(fd)

    def _open_plain(self, name: str, flags: int) -> int:
        """A handle on a plain file of ours whose only name this is.

        Asked of the name once more, after it was opened: a hard link that was removed in between
        would look like a file of our own by then.
        """
        for _ in range(_LOOKS):
            fd = self.system.open(name, flags, FILE_MODE, dir_fd=self._fd)
            try:
                refuse_odd(found := os.fstat(fd), self.path, name)
                with contextlib.suppress(FileNotFoundError):
                    named = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
                    if os.path.samestat(found, named) and named.st_nlink == 1:
                        return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
        raise PolicyRefused(
            f"{str(self.path / name)!r} was another file at each of {_LOOKS} looks.",
            hint="Close the program that keeps replacing it, and try again.",
        )

    def _move(self, name: str, to: Directory, target: str) -> bool:
        try:
            self.system.move(name, target, dir_fd=self._fd, target_fd=to._fd)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in CANNOT - {errno.EXDEV}:
                raise
            # No such call here: take the name first, and put the file over our own empty one.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NEVER_LINKS
            try:
                os.close(self.system.open(target, flags, FILE_MODE, dir_fd=to._fd))
            except FileExistsError:
                return False
            try:
                self.system.move_over(name, target, dir_fd=self._fd, target_fd=to._fd)
            except BaseException:
                with contextlib.suppress(OSError):
                    self.system.unlink(target, dir_fd=to._fd)
                raise
        return True

    def _is_loose(self, name: str) -> bool:
        try:
            found = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return not stat.S_ISLNK(found.st_mode) and bool(found.st_mode & 0o077)

    def _take_over(self) -> None:
        found = os.fstat(self._fd)
        if found.st_mode & stat.S_ISVTX:
            raise PolicyRefused(
                f"{str(self.path)!r} is shared by everybody; a home must be yours alone.",
                hint=f"Use a folder in it: {self.path / 'holdfast'}",
            )
        names = self.names()
        if not names or "agents" in names:
            self._make_private()

    def _make_private(self) -> None:
        found = os.fstat(self._fd)
        refuse_foreign(found, self.path)
        tighten(self._fd, found, FOLDER_MODE)

    def _check(self, name: str) -> None:
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            raise PolicyRefused(f"{name!r} is not a name of one file in {str(self.path)!r}.")
