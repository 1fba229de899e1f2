"""The recipes every room relies on: private, durable, atomic, locked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from holdfast.disk import Directory, FileLock, System
from holdfast.errors import Locked, NotFound, PolicyRefused, StorageError


class Log(System):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.calls.append("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self.calls.append("sync")
        super().sync(fd)

    def sync_folder(self, fd: int) -> None:
        self.calls.append("sync folder")
        super().sync_folder(fd)

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        self.calls.append("rename")
        super().rename(source, target, dir_fd=dir_fd)

    def mkdir(self, name: str, mode: int, *, dir_fd: int | None = None) -> None:
        self.calls.append("mkdir")
        super().mkdir(name, mode, dir_fd=dir_fd)


def test_a_replacement_is_synced_before_it_gets_its_name_and_the_name_after(tmp_path: Path) -> None:
    log = Log()
    folder = Directory.open(tmp_path, system=log)
    folder.replace("file", b"new")
    assert log.calls == ["write", "sync", "rename", "sync folder"]
    assert (tmp_path / "file").read_bytes() == b"new"


def test_an_append_is_one_write_and_one_sync(tmp_path: Path) -> None:
    log = Log()
    folder = Directory.open(tmp_path, system=log)
    file = folder.open_growing("log", create=True)
    file.append(b"line\n" * 100, at=0)
    assert log.calls == ["write", "sync"]


def test_a_new_folder_is_durable_in_its_parent(tmp_path: Path) -> None:
    log = Log()
    Directory.open(tmp_path / "a" / "b", system=log)
    assert log.calls == ["mkdir", "sync folder"] * 2


def test_folders_are_made_private_whatever_the_umask(tmp_path: Path, any_umask: None) -> None:
    folder = Directory.open(tmp_path / "new").child("inner")
    folder.replace("file", b"")
    for path, mode in [
        (folder.path, 0o700),
        (folder.path.parent, 0o700),
        (folder.path / "file", 0o600),
    ]:
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_strict_umask_does_not_lock_us_out(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        folder = Directory.open(tmp_path / "new").child("inner")
        folder.replace("file", b"text")
        assert folder.read("file") == b"text"
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/abs", "nul\0"])
def test_a_name_is_one_component(tmp_path: Path, name: str) -> None:
    folder = Directory.open(tmp_path)
    for call in (folder.read, folder.stat, folder.child, folder.remove, folder.open_growing):
        with pytest.raises(PolicyRefused):
            call(name)


def test_a_folder_swapped_for_a_link_after_opening_leads_nowhere_else(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    folder = Directory.open(inside)
    outside.mkdir()
    inside.rename(tmp_path / "moved")
    inside.symlink_to(outside)
    folder.replace("file", b"text")
    assert (tmp_path / "moved" / "file").read_bytes() == b"text"
    assert list(outside.iterdir()) == []


def test_a_missing_file_is_none_and_a_missing_folder_is_named(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path)
    assert folder.read("nothing") is None
    assert folder.stat("nothing") is None
    assert folder.remove("nothing") is False
    with pytest.raises(NotFound, match="nothing"):
        folder.child("nothing", create=False)


def test_leftovers_of_a_crash_are_swept_but_not_what_is_being_written(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path)
    for name in (".tmp-1-old", ".tmp-2-new"):
        (tmp_path / name).write_bytes(b"half")
    an_hour_ago = time.time() - 3601
    os.utime(tmp_path / ".tmp-1-old", (an_hour_ago, an_hour_ago))
    assert folder.names() == []
    assert folder.sweep(dry_run=True) == 1
    assert folder.sweep() == 1
    assert [path.name for path in tmp_path.iterdir()] == [".tmp-2-new"]


def test_an_error_of_the_system_says_what_happened_and_what_to_do(tmp_path: Path) -> None:
    class ReadOnly(System):
        def rename(self, source: str, target: str, *, dir_fd: int) -> None:
            raise OSError(30, "Read-only file system")

    folder = Directory.open(tmp_path, system=ReadOnly())
    with pytest.raises(StorageError) as failed:
        folder.replace("file", b"text")
    assert "Read-only file system" in failed.value.message
    assert "--home" in (failed.value.hint or "")
    assert list(tmp_path.iterdir()) == [], "the temporary file is gone"


def test_a_lock_is_held_by_one_and_names_its_holder(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path)
    with (
        FileLock(folder, "lock").hold(),
        pytest.raises(Locked, match=str(os.getpid())),
        FileLock(folder, "lock", timeout_seconds=0.05).hold(),
    ):
        pass
    with FileLock(folder, "lock", timeout_seconds=0.05).hold():
        pass


def test_shared_holders_exclude_only_exclusive_ones(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path)
    one, two, three = (FileLock(folder, "lock", timeout_seconds=0.05) for _ in range(3))
    with one.hold(shared=True), two.hold(shared=True), pytest.raises(Locked), three.hold():
        pass


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from holdfast.disk import *\n"
        "with FileLock(Directory.open(Path(sys.argv[1])), 'lock').hold():\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with FileLock(Directory.open(tmp_path), "lock", timeout_seconds=0.05).hold():
        pass


def test_a_forked_child_does_not_keep_its_parents_lock(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path)
    lock = FileLock(folder, "lock", timeout_seconds=0.2)
    with lock.hold():
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(reader, 1)  # lives until the parent is done
            os._exit(0)
    try:
        with lock.hold():
            pass
    finally:
        os.write(writer, b"x")
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)


def test_a_lock_held_during_a_fork_is_freed_when_the_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import os, sys, time; from pathlib import Path; from holdfast.disk import *\n"
        "with FileLock(Directory.open(Path(sys.argv[1])), 'lock').hold():\n"
        "    child = os.fork()\n"
        "    if child: print(child, flush=True)\n"
        "    time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    holder.kill()
    holder.wait()
    try:
        with FileLock(Directory.open(tmp_path), "lock", timeout_seconds=0.5).hold():
            pass
    finally:
        os.kill(child, 9)
        holder.stdout.close()


def test_threads_that_list_a_folder_at_once_all_see_all_of_it(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path / "home")
    names = sorted(f"file-{number}" for number in range(300))
    for name in names:
        folder.replace(name, b"x")
    seen: list[bool] = []

    def look() -> None:
        for _ in range(60):
            seen.append([found.name for found in folder.found()] == names)
            seen.append(folder.names() == names)

    threads = [Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 480
    assert all(seen)
