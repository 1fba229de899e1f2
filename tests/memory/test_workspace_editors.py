"""People and their editors save the files at any moment, and nothing of it is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from itertools import count
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import BinaryIO

import pytest

from holdfast.disk import Directory
from holdfast.errors import StorageError
from holdfast.memory.workspace import Workspace, swapping
from holdfast.testing import FixedClock, SequentialIds
from tests.memory.disks import Meddling
from tests.scale import scaled

PATH = "memory/2026-03-04.md"


def workspace(home: Path, system: Meddling | None = None) -> Workspace:
    base = Directory.open(home, system=system or Meddling())
    return Workspace(base, clock=FixedClock(), ids=SequentialIds())


def add(room: Workspace, line: str, path: str = PATH) -> None:
    room.edit(path, lambda text: (text or "") + line + "\n")


def save_in_place(file: Path, line: str) -> None:
    with file.open("r+b") as handle:
        text = handle.read()
        handle.seek(0)
        handle.truncate()
        handle.write(text + line.encode() + b"\n")


def save_by_rename(file: Path, line: str) -> None:
    fresh = file.with_name(".saving")
    fresh.write_bytes(file.read_bytes() + line.encode() + b"\n")
    fresh.rename(file)


SAVES = [save_in_place, save_by_rename]


@pytest.fixture(params=[True, False], ids=["exchange", "no exchange"])
def disk(request: pytest.FixtureRequest) -> Meddling:
    """Also one that cannot let two names change places."""
    found = Meddling()
    found.can_exchange = request.param
    return found


@pytest.mark.parametrize("save", SAVES, ids=lambda each: each.__name__)
def test_what_was_saved_while_we_computed_is_kept(
    home: Path, disk: Meddling, save: Callable[[Path, str], None]
) -> None:
    room = workspace(home, disk)
    add(room, "one")
    seen: list[str | None] = []

    def change(text: str | None) -> str:
        seen.append(text)
        if len(seen) == 1:
            save(home / PATH, "theirs")
        return f"{text}ours\n"

    room.edit(PATH, change)
    assert room.read(PATH) == "one\ntheirs\nours\n"
    assert seen == ["one\n", "one\ntheirs\n"]


@pytest.mark.parametrize("save", SAVES, ids=lambda each: each.__name__)
def test_what_was_saved_in_the_moment_of_the_swap_is_kept(
    home: Path, save: Callable[[Path, str], None]
) -> None:
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    disk.before_exchange.append(lambda: save(home / PATH, "theirs"))
    add(room, "ours")
    assert room.read(PATH) == "one\ntheirs\nours\n"
    room.undo()
    assert room.read(PATH) == "one\ntheirs\n"


def _late(editor: BinaryIO) -> None:
    editor.seek(0, 2)
    editor.write(b"late\n")
    editor.flush()


def test_a_save_that_ends_after_the_swap_is_put_back(home: Path) -> None:
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    with (home / PATH).open("r+b") as editor:
        disk.after_exchange.append(lambda: _late(editor))
        add(room, "ours")
    assert room.read(PATH) == "one\nlate\nours\n"


def test_a_save_that_ends_while_we_sync_is_put_back(home: Path) -> None:
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    with (home / PATH).open("r+b") as editor:
        disk.after_exchange.append(lambda: disk.before_sync_folder.append(lambda: _late(editor)))
        add(room, "ours")
    assert room.read(PATH) == "one\nlate\nours\n"


def test_a_file_somebody_makes_in_the_same_moment_is_not_overwritten(
    home: Path, disk: Meddling
) -> None:
    room = workspace(home, disk)
    add(room, "begin", "memory/other.md")
    disk.before_move.append(lambda: (home / PATH).write_text("theirs\n"))
    add(room, "ours")
    assert room.read(PATH) == "theirs\nours\n"


def test_a_file_removed_in_the_same_moment_is_written_anew(home: Path) -> None:
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    disk.before_exchange.append((home / PATH).unlink)
    add(room, "ours")
    assert room.read(PATH) == "ours\n"


def test_a_removal_takes_nothing_that_was_saved_meanwhile(home: Path) -> None:
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    seen: list[str | None] = []

    def remove(text: str | None) -> None:
        seen.append(text)

    disk.before_move.append(lambda: save_by_rename(home / PATH, "theirs"))
    room.edit(PATH, remove)
    assert seen == ["one\n", "one\ntheirs\n"]
    assert room.read(PATH) is None
    room.undo()
    assert room.read(PATH) == "one\ntheirs\n"


def test_two_saves_at_once_are_both_kept(home: Path) -> None:
    """One ends in the old file after the swap, the other replaces ours before we put it back."""
    disk = Meddling()
    room = workspace(home, disk)
    add(room, "one")
    editor = (home / PATH).open("ab")

    def both() -> None:
        editor.write(b"into the old file\n")
        editor.flush()
        save_by_rename(home / PATH, "by rename")

    disk.after_exchange.append(both)
    add(room, "ours")
    editor.close()
    text = room.read(PATH) or ""
    assert "by rename\n" in text
    assert "ours\n" in text
    assert "into the old file\n" in text + _kept(home)
    with room.operation("look"):
        pass
    assert sorted(set((room.read(PATH) or "").splitlines())) == [
        "by rename", "into the old file", "one", "ours",
    ]  # fmt: skip


class Watch:
    """Time that passes only while somebody waits; at the ``after``-th pause something happens."""

    def __init__(self, now: float, after: int, action: Callable[[], object]) -> None:
        self.now = now
        self.left = after
        self.action = action

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.left -= 1
        if self.left == 0:
            self.action()


@pytest.mark.parametrize("how", ["read", "edit"])
def test_a_truncated_file_is_not_taken_for_an_empty_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    room = workspace(home)
    add(room, "one")
    file = home / PATH
    os.truncate(file, 0)
    watch = Watch(file.stat().st_mtime, 20, lambda: file.write_text("one\ntheirs\n"))
    monkeypatch.setattr(swapping, "time", watch)
    if how == "read":
        assert room.read(PATH) == "one\ntheirs\n"
    else:
        add(room, "ours")
        assert room.read(PATH) == "one\ntheirs\nours\n"


@pytest.mark.parametrize("seconds", [0.05, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("how", ["read", "edit"])
def test_a_slow_save_in_place_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, how: str, seconds: float
) -> None:
    """As long as a program has the truncated file open; only Linux can tell."""
    room = workspace(home)
    add(room, "one")
    file = home / PATH
    with file.open("wb") as editor:
        is_written = not sys.platform.startswith("linux") and (lambda _: not editor.closed)
        if is_written:
            monkeypatch.setattr("holdfast.disk.folders.is_written", is_written)

        def save() -> None:
            editor.write(b"one\ntheirs\n")
            editor.close()

        pauses = int(seconds / (0.002 if how == "read" else 0.001))
        monkeypatch.setattr(swapping, "time", Watch(file.stat().st_mtime, pauses, save))
        if how == "read":
            assert room.read(PATH) == "one\ntheirs\n"
        else:
            add(room, "ours")
            assert room.read(PATH) == "one\ntheirs\nours\n"


@pytest.mark.parametrize("can_tell", [True, False], ids=["leases", "no leases"])
def test_a_program_that_keeps_the_file_truncated_is_not_waited_for_for_ever(
    home: Path, monkeypatch: pytest.MonkeyPatch, can_tell: bool
) -> None:
    if not can_tell:
        monkeypatch.setattr("holdfast.disk.folders.is_written", lambda _: None)
    room = workspace(home)
    add(room, "one")
    file = home / PATH
    with file.open("wb"):
        began = file.stat().st_mtime
        watch = Watch(began, -1, lambda: None)
        monkeypatch.setattr(swapping, "time", watch)
        add(room, "ours")
    assert room.read(PATH) == "ours\n"
    assert watch.now - began < 5


@pytest.mark.parametrize("can_tell", [True, False], ids=["leases", "no leases"])
def test_whole_files_are_not_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, can_tell: bool
) -> None:
    """Neither our own, nor one that somebody has just saved, nor one that is only held open."""
    if not can_tell:
        monkeypatch.setattr("holdfast.disk.folders.is_written", lambda _: None)
    room = workspace(home)
    file = home / PATH
    waited = []
    for step in ("new", "ours", "theirs", "held"):
        holder = file.open("ab") if step == "held" else None
        if step == "theirs":
            save_in_place(file, "by hand")
        now = file.stat().st_mtime if file.exists() else time.time()
        watch = Watch(now, -1, lambda: None)
        monkeypatch.setattr(swapping, "time", watch)
        add(room, step)
        waited.append(round(watch.now - now, 3))
        if holder is not None:
            holder.close()
    assert waited[:2] == [0, 0]
    assert waited[2] <= (0 if can_tell and sys.platform == "linux" else 0.02)
    assert waited[3] <= (0.11 if can_tell and sys.platform == "linux" else 0.02)


@pytest.mark.parametrize("can_tell", [True, False], ids=["leases", "no leases"])
def test_half_a_file_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, can_tell: bool
) -> None:
    if not can_tell:
        monkeypatch.setattr("holdfast.disk.folders.is_written", lambda _: None)
    room = workspace(home)
    add(room, "one")
    file = home / PATH
    with file.open("wb", buffering=0) as editor:
        editor.write(b"one\ntw")

        def rest() -> None:
            editor.write(b"o\nthree\n")
            editor.close()

        monkeypatch.setattr(swapping, "time", Watch(file.stat().st_mtime, 5, rest))
        add(room, "ours")
    assert room.read(PATH) == "one\ntwo\nthree\nours\n"


def test_an_editor_between_its_two_steps_is_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vim moves the old file to ``name~`` and then writes a new one."""
    room = workspace(home)
    add(room, "one")
    file = home / PATH
    backup = file.with_name(file.name + "~")
    file.rename(backup)

    def second_step() -> None:
        file.write_text("one\ntheirs\n")
        backup.unlink()

    monkeypatch.setattr(swapping, "time", Watch(time.time(), 20, second_step))
    add(room, "ours")
    assert room.read(PATH) == "one\ntheirs\nours\n"


def test_an_empty_file_is_empty(home: Path) -> None:
    room = workspace(home)
    (home / "memory").mkdir(mode=0o700)
    (home / PATH).touch()
    assert room.read(PATH) == ""
    add(room, "ours")
    assert room.read(PATH) == "ours\n"


def test_a_file_that_never_rests_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.memory.workspace.workspace._TRIES", 3)
    room = workspace(home)
    add(room, "one")

    def change(text: str | None) -> str:
        save_by_rename(home / PATH, "x")
        return f"{text}ours\n"

    with pytest.raises(StorageError, match="changes faster"):
        room.edit(PATH, change)
    assert room.read(PATH) == "one\nx\nx\nx\n"
    assert len(room.operations()) == 1
    assert len(list((home / ".journal" / "preimages").iterdir())) == 1, "the diff of the first"


def test_bytes_that_are_no_text_come_back_the_same(home: Path) -> None:
    room = workspace(home)
    (home / "memory").mkdir(mode=0o700)
    mine = b"\xff\xfe caf\xe9\r\n\x0c\x85 \xe2\x80\xa8\r last"
    (home / PATH).write_bytes(mine)
    add(room, "ours")
    assert (home / PATH).read_bytes() == mine + b"ours\n"
    room.undo()
    assert (home / PATH).read_bytes() == mine


# ── many at once ────────────────────────────────────────────────────────────────────────────


def _editor(home: str, path: str, in_place: bool, ready: Barrier, stop: Event) -> None:
    """Reads the file, adds a line, saves; never takes a line of its own away."""
    file = Path(home, path)
    chance = random.Random(path)
    ready.wait()
    for number in count():
        if stop.is_set():
            break
        (save_in_place if in_place else save_by_rename)(file, f"editor {number}")
        time.sleep(chance.random() * 0.02)


def _kept(home: Path) -> str:
    texts = []
    for folder in ("preimages", "rescued"):
        found = home / ".journal" / folder
        texts += [file.read_text("utf-8") for file in found.iterdir()] if found.exists() else []
    return "".join(texts)


def test_editors_and_we_write_the_same_files_and_no_line_is_lost(
    fast_path: Path,
) -> None:
    home = fast_path / "home"
    room = workspace(home)
    room.journal._keep = (10**6, 10**12, 0)
    files = {"memory/in-place.md": True, "memory/by-rename.md": False}
    for path in files:
        add(room, "begin", path)
    context = multiprocessing.get_context("spawn")
    stop, ready = context.Event(), context.Barrier(3)
    editors = [
        context.Process(target=_editor, args=(str(home), path, in_place, ready, stop))
        for path, in_place in files.items()
    ]
    for editor in editors:
        editor.start()
    acknowledged: list[tuple[str, str]] = []
    ready.wait()
    try:
        for number in range(scaled(50)):
            for path in files:
                add(room, f"ours {number}", path)
                acknowledged.append((path, f"ours {number}"))
    finally:
        stop.set()
        for editor in editors:
            editor.join()
    with room.operation("look"):
        pass  # what was saved late comes in
    kept = set(_kept(home).split("\n"))
    saved = 0
    for path in files:
        lines = (room.read(path) or "").split("\n")
        numbers = [int(line[7:]) for line in lines if line.startswith("editor ")]
        saved += len(numbers)
        for number in range(max(numbers) + 1):
            line = f"editor {number}"
            assert line in lines or line in kept, f"{path}: {line}"
        if sys.platform == "linux":  # it tells who has a file open: hardly any save comes late
            assert max(numbers) + 1 - len(numbers) <= max(1, len(numbers) / 50)
        # An editor that saves an older copy removes our line: then it is in the history.
        ours = [line for where, line in acknowledged if where == path]
        assert [line for line in ours if line not in lines and f"+{line}" not in kept] == []
    assert saved > 20, "the editors hardly got to work"


def _writer(home: str, name: str, count: int) -> None:
    room = Workspace(Directory.open(Path(home)), clock=FixedClock(), ids=SequentialIds(name))
    for number in range(count):
        add(room, f"{name} {number}")


def test_several_processes_of_ours_lose_nothing(fast_path: Path) -> None:
    home = fast_path / "home"
    each = scaled(25)
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=_writer, args=(str(home), name, each)) for name in ("a", "b", "c")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    room = workspace(home)
    lines = (room.read(PATH) or "").split("\n")[:-1]
    assert sorted(lines) == sorted(f"{name} {n}" for name in "abc" for n in range(each))
    assert len(room.operations()) >= min(3 * each, 500)


def test_threads_that_share_a_workspace_lose_nothing(fast_path: Path) -> None:
    room = workspace(fast_path / "home")

    def work(name: str) -> None:
        for number in range(15):
            add(room, f"{name} {number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len((room.read(PATH) or "").split("\n")) == 61


def test_a_time_that_is_still_to_come_is_no_reason_to_wait(home: Path) -> None:
    add(workspace(home), "one")
    file = home / PATH
    os.utime(file, (time.time() + 10**6, time.time() + 10**6))
    folder = Directory.open(file.parent)
    found = folder.look(file.name)
    assert found is not None
    assert swapping.is_finished(folder, file.name, *found)
    file.write_bytes(b"half")
    data, seen = folder.look(file.name) or (b"", found[1])
    with file.open("ab"):  # somebody is still writing it
        assert folder.is_written(file.name) in (True, None)
        assert not swapping.is_finished(folder, file.name, data, seen)
