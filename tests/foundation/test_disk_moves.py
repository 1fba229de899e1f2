"""Names that change places, files made once, folders walked: the recipes memory adds."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.disk import Directory, System, new_file
from holdfast.errors import PolicyRefused, StorageError


class Old(System):
    """A kernel or a file system without the newer calls."""

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        raise OSError(errno.ENOSYS, "no such call")

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        raise OSError(errno.EINVAL, "no such flag")


@pytest.fixture(params=[System, Old])
def folder(request: pytest.FixtureRequest, home: Path) -> Directory:
    return Directory.open(home, system=request.param())


def test_two_files_change_places(home: Path) -> None:
    folder = Directory.open(home)
    inner = folder.child("inner")
    folder.replace("a", b"one")
    inner.replace("b", b"two")
    inodes = folder.identify("a"), inner.identify("b")
    assert folder.exchange("a", inner, "b")
    assert (folder.read("a"), inner.read("b")) == (b"two", b"one")
    assert (inner.identify("b"), folder.identify("a")) == inodes, "moved, not copied"


def test_where_names_cannot_change_places_that_is_said(home: Path) -> None:
    folder = Directory.open(home, system=Old())
    folder.replace("a", b"one")
    folder.replace("b", b"two")
    assert folder.exchange("a", folder, "b") is False
    assert folder.read("a") == b"one"


def test_a_file_is_made_only_if_the_name_is_free(folder: Directory) -> None:
    assert folder.create("a", b"one")
    assert not folder.create("a", b"two")
    assert folder.read("a") == b"one"
    assert os.listdir(folder.path) == ["a"]
    assert folder.write_new("b", b"one")
    assert not folder.write_new("b", b"two")
    assert folder.read("b") == b"one"


def test_a_file_moves_only_to_a_free_name(folder: Directory) -> None:
    inner = folder.child("inner")
    folder.replace("a", b"one")
    inner.replace("taken", b"two")
    assert not folder.move("a", inner, "taken")
    assert inner.read("taken") == b"two"
    assert folder.move("a", inner, "free")
    assert (folder.read("a"), inner.read("free")) == (None, b"one")


def test_a_failed_file_leaves_no_trace(home: Path) -> None:
    class Full(System):
        def write(self, fd: int, data: bytes | memoryview) -> int:
            raise OSError(errno.ENOSPC, "full")

    folder = Directory.open(home, system=Full())
    for call in (folder.create, folder.write_new, folder.replace):
        with pytest.raises(StorageError, match="full"):
            call("a", b"text")
    assert os.listdir(home) == []


@pytest.mark.parametrize("name", ["fifo", "folder", "link", "hard"])
def test_only_plain_files_are_opened_and_nothing_makes_us_wait(home: Path, name: str) -> None:
    folder = Directory.open(home)
    folder.child("folder")
    folder.replace("file", b"text")
    os.mkfifo(home / "fifo")
    (home / "link").symlink_to("file")
    os.link(home / "file", home / "hard")
    for call in (folder.read, folder.look, folder.open_reading, folder.is_written):
        with pytest.raises(PolicyRefused):
            call(name)
    with pytest.raises((PolicyRefused, StorageError)):
        folder.open_growing(name)


def test_a_hard_link_removed_while_it_is_opened_is_not_taken_for_ours(home: Path) -> None:
    outside = home.parent / "outside"
    outside.write_bytes(b"SECRET")

    class Racing(System):
        def open(
            self, path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
        ) -> int:
            fd = super().open(path, flags, mode, dir_fd=dir_fd)
            if path == "file" and os.fstat(fd).st_nlink == 2:
                os.unlink(home / "file")
                (home / "file").write_bytes(b"ours")
            return fd

    folder = Directory.open(home, system=Racing())
    os.link(outside, home / "file")
    assert folder.read("file") == b"ours"
    os.unlink(home / "file")
    os.link(outside, home / "file")
    file = folder.open_growing("file")
    assert file.read(0, 10) == b"ours"


def test_everything_below_is_walked_without_following_anything(home: Path) -> None:
    folder = Directory.open(home)
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"x")
    inner = folder.child("a").child("b")
    inner.replace("file", b"text")
    folder.replace("top", b"1")
    (home / "a" / "link").symlink_to(outside)
    os.mkfifo(home / "pipe")
    assert [(path, kind) for path, kind, _ in folder.walk()] == [
        ("a", "folder"),
        ("a/b", "folder"),
        ("a/b/file", "file"),
        ("a/link", "link"),
        ("pipe", "other"),
        ("top", "file"),
    ]
    assert {path: size for path, kind, size in folder.walk() if kind == "file"} == {
        "a/b/file": 4,
        "top": 1,
    }


def test_a_file_is_read_piece_by_piece(home: Path) -> None:
    folder = Directory.open(home)
    folder.replace("file", b"abcdef")
    file = folder.open_reading("file")
    assert file is not None
    with file:
        assert (file.read(2), file.read(2), file.read()) == (b"ab", b"cd", b"ef")
    assert folder.open_reading("nothing") is None


def test_a_look_tells_a_later_save_apart(home: Path) -> None:
    folder = Directory.open(home)
    folder.replace("file", b"one")
    first = folder.look("file")
    assert first is not None
    assert first[0] == b"one"
    assert folder.glance("file") == first[1]
    folder.replace("file", b"two")
    assert folder.glance("file") != first[1]
    assert folder.glance("nothing") is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_who_has_a_file_open_for_writing_is_known_and_costs_nobody_anything(home: Path) -> None:
    folder = Directory.open(home)
    folder.replace("file", b"one")
    got: list[int] = []
    before = signal.signal(signal.SIGURG, lambda number, _: got.append(number))
    try:
        assert folder.is_written("file") in (False, None)
        if folder.is_written("file") is None:
            pytest.skip("this file system does not tell")
        with (home / "file").open("rb"):
            assert folder.is_written("file") is False, "readers do not count"
        with (home / "file").open("ab"):
            assert folder.is_written("file") is True
        program = (
            "import sys; f = open(sys.argv[1], 'ab'); print('open', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", program, str(home / "file")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"open\n"
            assert folder.is_written("file") is True
            other.communicate()
        assert folder.is_written("file") is False
        assert folder.is_written("nothing") is False
        assert got == []
    finally:
        signal.signal(signal.SIGURG, before)


def test_a_new_file_outside_is_private_durable_and_never_in_place_of_another(
    tmp_path: Path, any_umask: None
) -> None:
    path = tmp_path / "backup.zip"
    with new_file(path) as file:
        file.write(b"text")
        file.seek(0)
        file.write(b"T")
    assert path.read_bytes() == b"Text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(StorageError, match="already"), new_file(path) as file:
        file.write(b"other")
    assert path.read_bytes() == b"Text"


def test_a_new_file_that_fails_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "backup.zip"
    with pytest.raises(ZeroDivisionError), new_file(path) as file:  # noqa: PT012
        file.write(b"text")
        _ = 1 // 0
    assert os.listdir(tmp_path) == []
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError), new_file(tmp_path / "link"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_many_files_are_glanced_at_and_missing_ones_left_out(tmp_path: Path) -> None:
    folder = Directory.open(tmp_path / "home")
    folder.replace("a", b"one")
    folder.replace("b", b"two")
    found = folder.glances(["a", "gone", "b"])
    assert found == {"a": folder.glance("a"), "b": folder.glance("b")}
    with pytest.raises(PolicyRefused):
        folder.glances(["../a"])
