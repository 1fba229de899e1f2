"""Folders that must not stay: private, gone in the end, also after a crash; nobody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.disk import scratch
from holdfast.disk.scratch import remove_scratch, scratch_folder

MAKER = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from holdfast.disk import scratch\n"
    "scratch._place = lambda: Path(sys.argv[1])\n"
    "folder = scratch.scratch_folder()\n"
    "(folder / 'said').write_text('secret')\n"
    "print(folder, flush=True)\n"
    "time.sleep(float(sys.argv[2]))\n"
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scratch, "_place", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def other(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has such a folder."""
    argv = [sys.executable, "-c", MAKER, str(place), "60"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def folder_of(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_folder_is_private_and_goes_with_all_that_is_in_it(place: Path, any_umask: None) -> None:
    folder = scratch_folder()
    assert folder.parent == place
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "said").write_text("secret")
    remove_scratch(folder)
    assert list(place.iterdir()) == []
    remove_scratch(folder)  # there is nothing to do


def test_no_descriptor_stays_open(place: Path) -> None:
    folder = scratch_folder()
    descriptor = scratch._open[folder][1]
    lock = os.fstat(descriptor).st_ino
    remove_scratch(folder)
    with suppress(OSError):  # it is closed, or somebody else's by now
        assert os.fstat(descriptor).st_ino != lock


def test_it_is_in_memory_where_there_is_such_a_place() -> None:
    folder = scratch_folder()
    try:
        if os.access("/dev/shm", os.W_OK | os.X_OK):
            assert folder.parent == Path("/dev/shm")
    finally:
        remove_scratch(folder)


def test_a_folder_that_nobody_removed_goes_when_the_interpreter_ends(place: Path) -> None:
    argv = [sys.executable, "-c", MAKER, str(place), "0"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert not Path(done.stdout.strip()).exists()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(
    place: Path, other: subprocess.Popen[str]
) -> None:
    theirs = folder_of(other)
    other.send_signal(signal.SIGKILL)
    other.wait(20)
    assert (theirs / "said").exists()
    mine = scratch_folder()
    assert not theirs.exists()
    assert list(place.iterdir()) == [mine]
    remove_scratch(mine)


def test_what_a_living_process_uses_stays(place: Path, other: subprocess.Popen[str]) -> None:
    theirs = folder_of(other)
    mine = scratch_folder()
    assert (theirs / "said").read_text() == "secret"
    remove_scratch(theirs)
    assert (theirs / "said").exists(), "not ours to remove"
    remove_scratch(mine)


def test_a_forked_child_removes_nothing_of_its_parent_s(place: Path) -> None:
    folder = scratch_folder()
    child = os.fork()
    if child == 0:
        remove_scratch(folder)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert folder.is_dir()
    other = scratch_folder()
    assert folder.is_dir(), "and it is still in use"
    remove_scratch(other)
    remove_scratch(folder)


def test_a_folder_that_is_just_being_made_is_left_alone(place: Path) -> None:
    half = place / f"{scratch._NAME}half"
    half.mkdir()
    remove_scratch(scratch_folder())
    assert half.exists()
    long_ago = time.time() - 3_600
    os.utime(half, (long_ago, long_ago))
    remove_scratch(scratch_folder())
    assert not half.exists()


def test_nothing_is_followed_out_of_the_place(place: Path) -> None:
    outside = place / "precious"
    outside.mkdir()
    (outside / "file").write_text("keep")
    (place / f"{scratch._NAME}link").symlink_to(outside)
    (place / f"{scratch._NAME}file").write_text("not a folder")
    os.utime(outside, (0, 0))
    remove_scratch(scratch_folder())
    assert (outside / "file").read_text() == "keep"
