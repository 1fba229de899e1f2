"""The only writer of bytes: durable append, atomic replace, locks, folders by handle.

Promises, each with its test in ``tests/foundation/test_disk.py`` and ``tests/sessions``:
what returned is on disk; a write that failed left the old bytes; files are 0600 and folders
0700 whatever the umask; no name leads through a symlink, a hard link or out of its folder.

Every call that touches a file goes through a ``System``, so that tests can make the disk
fail at any call, or record the calls and replay every state a power loss could leave.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from holdfast.errors import HoldfastError, Locked, NotFound, PolicyRefused, StorageError

__all__ = [
    "PROCESS",
    "SYSTEM",
    "Directory",
    "FileLock",
    "FileStat",
    "GrowingFile",
    "System",
]

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
TEMPORARY: Final = ".tmp-"
LOCK_SECONDS: Final = 30.0

_NEVER_LINKS = os.O_NOFOLLOW | os.O_CLOEXEC


class System:
    """The system calls that read or change files. Tests replace it; nobody else should."""

    def open(self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        return os.open(path, flags, mode, dir_fd=dir_fd)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the drive's cache
        else:
            os.fdatasync(fd)

    def sync_folder(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)

    def mkdir(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        os.mkdir(name, mode, dir_fd=dir_fd)


SYSTEM: Final = System()


class FileStat(NamedTuple):
    """Which file has a name now, and how long it is."""

    inode: int
    size: int


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
        with _told("open", path):
            flags = os.O_RDONLY | os.O_DIRECTORY | _NEVER_LINKS
            folder = cls(system.open(str(path), flags), path, system)
        for name in missing:
            folder = folder.child(name)
        if not missing:
            folder._take_over()
        return folder

    def child(self, name: str, *, create: bool = True) -> Directory:
        """The folder ``name`` in this one; private, and durable if it had to be made."""
        self._check(name)
        flags = os.O_RDONLY | os.O_DIRECTORY | _NEVER_LINKS
        with _told("open", self.path, name):
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

    def sync(self) -> None:
        """Make the names in this folder durable: creations, renames and removals."""
        with _told("sync", self.path):
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
        _refuse_links(found, self.path, name)
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
        return sorted(name for name in os.listdir(self._fd) if not name.startswith(TEMPORARY))

    def open_growing(self, name: str, *, create: bool = False) -> GrowingFile:
        """The file ``name`` for reading and appending. New ones are durable after ``sync()``."""
        self._check(name)
        flags = os.O_RDWR | os.O_APPEND | _NEVER_LINKS | (os.O_CREAT if create else 0)
        with _told("open", self.path, name):
            try:
                fd = self.system.open(name, flags, FILE_MODE, dir_fd=self._fd)
            except OSError as error:
                if create or error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                    raise
                # What cannot be written can still be read: a backup, a read-only disk.
                fd = self.system.open(name, os.O_RDONLY | _NEVER_LINKS, dir_fd=self._fd)
            try:
                _refuse_links(found := os.fstat(fd), self.path, name)
                _tighten(fd, found, FILE_MODE)
            except BaseException:
                os.close(fd)
                raise
        return GrowingFile(fd, self.path / name, self.system)

    def read(self, name: str) -> bytes | None:
        """The whole file, or None if there is none."""
        self._check(name)
        with _told("read", self.path, name):
            try:
                fd = self.system.open(name, os.O_RDONLY | _NEVER_LINKS, dir_fd=self._fd)
            except FileNotFoundError:
                return None
            with open(fd, "rb") as file:
                _refuse_links(os.fstat(fd), self.path, name)
                return file.read()

    def replace(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Put ``data`` in place of the file: readers see the old bytes or the new, never half.

        ``durable=False`` is for what can be derived again.
        """
        self._check(name)
        temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NEVER_LINKS
        with _told("replace", self.path, name):
            fd = self.system.open(temporary, flags, FILE_MODE, dir_fd=self._fd)
            try:
                try:
                    _tighten(fd, os.fstat(fd), FILE_MODE)
                    _write_all(self.system, fd, data)
                    if durable:
                        self.system.sync(fd)
                finally:
                    os.close(fd)
                self.system.rename(temporary, name, dir_fd=self._fd)
            except BaseException:
                with contextlib.suppress(OSError):
                    self.system.unlink(temporary, dir_fd=self._fd)
                raise
            if durable:
                self.system.sync_folder(self._fd)

    def rename(self, name: str, target: str) -> None:
        """Give a file another name, durably. The caller's lock keeps ``target`` free."""
        self._check(name)
        self._check(target)
        with _told("rename", self.path, name):
            self.system.rename(name, target, dir_fd=self._fd)
            self.system.sync_folder(self._fd)

    def remove(self, name: str) -> bool:
        """Take the file away; whether there was one. Durable after ``sync()``."""
        self._check(name)
        with _told("remove", self.path, name):
            try:
                self.system.unlink(name, dir_fd=self._fd)
            except FileNotFoundError:
                return False
        return True

    def sweep(self, *, dry_run: bool = False, older_than_seconds: float = 3600) -> int:
        """Remove temporary files that a crash left behind; how many there are."""
        stale = []
        for name in os.listdir(self._fd):
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
        return [self.path / name for name in os.listdir(self._fd) if self._is_loose(name)]

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
        _refuse_foreign(found, self.path)
        _tighten(self._fd, found, FOLDER_MODE)

    def _check(self, name: str) -> None:
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            raise PolicyRefused(f"{name!r} is not a name of one file in {str(self.path)!r}.")


class GrowingFile:
    """An open file that only grows: read anywhere, append at the end, all or nothing.

    Its lock is on the file itself, so it goes with the file when that is renamed. A file that has
    no name any more when we get its lock was removed or replaced while we waited.
    """

    def __init__(self, fd: int, path: Path, system: System) -> None:
        self._fd = fd
        self.path = path
        self._system = system
        self._closer = weakref.finalize(self, os.close, fd)
        _lockables.add(self)

    def close(self) -> None:
        self._closer()
        self._fd = -1  # the number may be another file's soon

    @property
    def inode(self) -> int:
        return os.fstat(self._fd).st_ino

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def look(self) -> tuple[int, int]:
        """How many names the file has now, and how long it is."""
        found = os.fstat(self._fd)
        return found.st_nlink, found.st_size

    def lock(self, *, timeout_seconds: float = LOCK_SECONDS) -> None:
        """Wait until nobody else, in this process or another, has it locked."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _wait_for_lock(self._fd, fcntl.LOCK_EX, timeout_seconds, self.path)
        except OSError as error:
            raise _explained(error, "lock", self.path) from error

    def unlock(self) -> None:
        """Let others have it. Harmless if it is not locked, so it may follow a failed ``lock``."""
        if self._fd >= 0:  # else closed, in a child that was forked meanwhile
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def read(self, offset: int, length: int) -> bytes:
        """Up to ``length`` bytes from ``offset``; fewer at the end of the file."""
        with _told("read", self.path):
            return os.pread(self._fd, length, offset)

    def append(self, data: bytes, *, at: int) -> None:
        """Write ``data`` behind the first ``at`` bytes and make it durable.

        If anything fails the file is cut back to ``at``. When even that fails the bytes stay
        and the next writer judges them: they are whole records, or a torn one to quarantine.
        """
        try:
            written = self._system.write(self._fd, data)
            if written < len(data):
                _write_all(self._system, self._fd, data[written:])
            self._system.sync(self._fd)
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._system.truncate(self._fd, at)
            if isinstance(error, OSError):
                raise _explained(error, "append to", self.path) from error
            raise

    def write_line(self, line: bytes) -> None:
        """Append a line in one call, not durably: for reports that may be lost."""
        with _told("append to", self.path):
            self._system.write(self._fd, line + b"\n")

    def truncate(self, size: int) -> None:
        """Cut the file, durably. For torn tails only, after their bytes are quarantined."""
        with _told("truncate", self.path):
            self._system.truncate(self._fd, size)
            self._system.sync(self._fd)


class FileLock:
    """A lock that belongs to no file of its own: for operations on a whole folder.

    The kernel frees it when the holder dies. ``shared`` holders exclude only exclusive ones. One
    object has one holder; whoever else wants the lock makes an object of its own.
    """

    def __init__(
        self, folder: Directory, name: str, *, timeout_seconds: float = LOCK_SECONDS
    ) -> None:
        self._folder = folder
        self._name = name
        self._timeout_seconds = timeout_seconds

    @contextlib.contextmanager
    def hold(self, *, shared: bool = False) -> Iterator[None]:
        """Hold it; ``Locked`` if that takes longer than the time-out."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while True:
            file = self._folder.open_growing(self._name, create=True)
            try:
                _wait_for_lock(file._fd, kind, self._timeout_seconds, file.path)
                links, _ = file.look()
                if not links:
                    continue  # somebody removed it: others lock the one that has its name now
                yield
                return
            finally:
                file.unlock()
                file.close()


def _wait_for_lock(fd: int, kind: int, timeout_seconds: float, path: Path) -> None:
    deadline = time.monotonic() + timeout_seconds
    pause = 0.0
    while True:
        time.sleep(pause)
        pause = min(pause * 1.5 + 0.0002, 0.005)
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < deadline:
                continue
        else:
            return
        holder = _holder_of(os.fstat(fd))
        who = f"process {holder}" if holder is not None else "another process"
        raise Locked(
            f"{str(path)!r} is held by {who}; waited {timeout_seconds:g} s.",
            hint="Try again when it has finished, or end that process.",
        )


def _holder_of(found: os.stat_result) -> int | None:
    """Who holds the lock on this file, where the system tells (Linux)."""
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if device in fields and "->" not in fields:
                return int(fields[fields.index(device) - 1])
    except (OSError, ValueError):
        pass
    return None


class _Process:
    """``generation`` differs between a process and the children it forks.

    Whatever holds handles or locks compares it instead of asking for the process id, which is a
    system call each time.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.lock = Lock()
        """For whoever opens its files again after a fork: of this process, so never left held."""


PROCESS: Final = _Process()

_lockables: weakref.WeakSet[GrowingFile] = weakref.WeakSet()


def _after_fork() -> None:
    """A child must not keep its parent's locks alive, nor take them for its own: it shares
    every handle. Its own first call opens the files again."""
    PROCESS.lock = Lock()
    PROCESS.generation += 1
    for file in list(_lockables):
        file.close()


os.register_at_fork(after_in_child=_after_fork)


def _write_all(system: System, fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[system.write(fd, left) :]


def _tighten(fd: int, found: os.stat_result, mode: int) -> None:
    if stat.S_IMODE(found.st_mode) != mode:
        with contextlib.suppress(OSError):  # not ours, or a read-only disk: `doctor` tells
            os.fchmod(fd, mode)


def _refuse_links(found: os.stat_result, path: Path, name: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise _link_refused(path / name)
    if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
        raise PolicyRefused(
            f"{str(path / name)!r} is a hard link: the same file has another name.",
            hint="Replace it by a copy of its own.",
        )
    _refuse_foreign(found, path, name)


def _refuse_foreign(found: os.stat_result, path: Path, name: str = "") -> None:
    me = os.geteuid()
    if me not in (0, found.st_uid):
        raise PolicyRefused(
            f"{str(path / name)!r} belongs to user {found.st_uid}, not to you ({me}).",
            hint="Use a home of your own: holdfast --home DIR …",
        )


def _link_refused(path: Path) -> PolicyRefused:
    return PolicyRefused(
        f"{str(path)!r} is a symbolic link or not what it should be; Holdfast does not follow it.",
        hint="Put the real file or folder there.",
    )


@contextlib.contextmanager
def _told(operation: str, folder: Path, name: str = "") -> Iterator[None]:
    """Turns the system's errors into ours, with what happened to what."""
    try:
        yield
    except OSError as error:
        raise _explained(error, operation, folder / name) from error


def _explained(error: OSError, operation: str, path: Path) -> HoldfastError:
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
        return _link_refused(path)
    if error.errno == errno.ENOENT:
        return NotFound(f"There is no {str(path)!r}.")
    return StorageError(
        f"Could not {operation} {str(path)!r}: {error.strerror or error}.",
        hint=_HINTS.get(error.errno or 0, "Run: holdfast doctor"),
    )


_HINTS: Final = {
    errno.ENOSPC: "Free some disk space; what was acknowledged before is safe.",
    errno.EDQUOT: "Your disk quota is used up; what was acknowledged before is safe.",
    errno.EFBIG: "The file may not grow further (ulimit -f); what was acknowledged is safe.",
    errno.EACCES: "Check who owns the folder and its mode: holdfast doctor --fix",
    errno.EBADF: "The file can only be read here: holdfast doctor",
    errno.EROFS: "The file system is read-only; use another home: holdfast --home DIR …",
}
