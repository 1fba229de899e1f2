"""A program saves into a file that was replaced meanwhile: its lines come into the present one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from holdfast.disk import SYSTEM, Directory, System
from holdfast.errors import StorageError, UsageError
from holdfast.memory.workspace import Operation, Workspace, journal, swapping
from holdfast.testing import FixedClock, SequentialIds
from tests.sessions.disks import FailingDisk

PATH = "memory/2026-03-04.md"


def workspace(
    home: Path, ids: str = "e", told: list[Operation] | None = None, system: System = SYSTEM
) -> Workspace:
    base = Directory.open(home, system=system)
    on_change = None if told is None else told.append
    return Workspace(base, clock=FixedClock(), ids=SequentialIds(ids), on_change=on_change)


@pytest.fixture
def room(home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(swapping, "_PATIENCE_WITH_WRITERS", 0)
    monkeypatch.setattr(swapping, "_QUIET_IF_HELD", 0)
    return workspace(home)


@pytest.fixture(params=[True, False], ids=["leases", "no leases"])
def _can_tell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr("holdfast.disk.folders.is_written", lambda _: None)


def add(room: Workspace, line: str, path: str = PATH) -> None:
    room.edit(path, lambda text: (text or "# Day\n") + line + "\n")


def save(editor: BinaryIO, text: str) -> None:
    """In place, as editors do that truncate; the file was opened before."""
    editor.seek(0)
    editor.truncate()
    editor.write(text.encode())
    editor.flush()
    found = os.fstat(editor.fileno())
    os.utime(editor.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns - 10**10))


def late(room: Workspace, home: Path, text: str) -> None:
    """One line of ours, and a save that began before it and ends after it."""
    with (home / PATH).open("r+b") as editor:
        add(room, "- ours")
        save(editor, text)


@pytest.mark.usefixtures("_can_tell")
def test_a_line_saved_too_late_is_there_after_the_next_operation(
    room: Workspace, home: Path
) -> None:
    add(room, "- one")
    late(room, home, "# Day\n- one\n- by hand\n")
    assert "by hand" not in (room.read(PATH) or "")
    ((path, what),) = room.problems()
    assert path == PATH
    assert "too late" in what
    add(room, "- elsewhere", "MEMORY.md")
    assert room.read(PATH) == "# Day\n- one\n- by hand\n- ours\n"
    assert room.problems() == []


def test_another_process_brings_it_in(room: Workspace, home: Path) -> None:
    add(room, "- one")
    add(room, "- two", "MEMORY.md")
    late(room, home, "# Day\n- by hand\n- one\n")
    told: list[Operation] = []
    other = workspace(home, "other", told)
    with other.operation("look"):
        pass
    assert other.read(PATH) == "# Day\n- by hand\n- one\n- ours\n"
    assert [(each.what, each.paths) for each in told] == [("late save", (PATH,))]


def test_it_is_brought_in_beside_what_came_later(room: Workspace, home: Path) -> None:
    add(room, "- one")
    with (home / PATH).open("r+b") as editor:
        add(room, "- ours")
        add(room, "- more")
        file = home / PATH
        file.write_text("# Day, renamed\n" + "".join(file.read_text().splitlines(True)[1:]))
        save(editor, "# Day\n- one\n- by hand\n")
    add(room, "- last")
    text = room.read(PATH)
    assert text == "# Day, renamed\n- one\n- by hand\n- ours\n- more\n- last\n"


def test_a_line_taken_out_by_hand_goes_too(room: Workspace, home: Path) -> None:
    add(room, "- one")
    add(room, "- wrong")
    late(room, home, "# Day\n- one\n- by hand\n")
    add(room, "- last")
    assert room.read(PATH) == "# Day\n- one\n- by hand\n- ours\n- last\n"


def test_a_save_that_is_under_way_is_left_to_the_next_operation(
    room: Workspace, home: Path
) -> None:
    add(room, "- one")
    with (home / PATH).open("r+b", buffering=0) as editor:
        add(room, "- ours")
        editor.truncate(0)
        add(room, "- two")
        assert room.read(PATH) == "# Day\n- one\n- ours\n- two\n"
        save(editor, "# Day\n- one\n- by hand\n")
    add(room, "- three")
    assert room.read(PATH) == "# Day\n- one\n- by hand\n- ours\n- two\n- three\n"


@pytest.mark.parametrize("cut", ["", "# Day\n- o"])
def test_a_save_that_was_cut_off_takes_nothing_away(room: Workspace, home: Path, cut: str) -> None:
    add(room, "- one")
    late(room, home, cut)
    add(room, "- two")
    assert room.read(PATH) == "# Day\n- one\n- ours\n- two\n"
    assert room.problems() == []


def test_a_save_that_took_longer_than_anybody_waits_does_not_double_the_page(
    room: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """We found an empty file, and made a page of our own of it."""
    monkeypatch.setattr(swapping, "_QUIET_IF_CUT", 0)
    monkeypatch.setattr(swapping, "_QUIET_IF_CUT_UNSEEN", 0)
    add(room, "- one")
    with (home / PATH).open("wb") as editor:
        room.edit(PATH, lambda text: (text or "# Day\n") + "- ours\n")
        save(editor, "# Day\n- one\n- by hand\n")
    add(room, "- two")
    assert room.read(PATH) == "# Day\n- one\n- by hand\n- ours\n- two\n"


def test_a_program_that_never_closes_the_old_file_is_heard_again_and_again(
    room: Workspace, home: Path
) -> None:
    add(room, "- one")
    with (home / PATH).open("ab", buffering=0) as logger:
        for number in range(4):
            add(room, f"- ours {number}")
            logger.write(b"- logged %d\n" % number)
        lines = (home / PATH).read_text().splitlines()
        assert [line for line in lines if "logged" in line] == [
            "- logged 0", "- logged 1", "- logged 2",
        ]  # fmt: skip
        (home / PATH).write_text("# Day\n- one\n")
        for process in range(2):  # what was taken out by hand since stays out
            add(workspace(home, f"p{process}-"), f"- {process}")
    text = room.read(PATH) or ""
    assert "logged 2" not in text
    assert text.count("logged 3") == 1


@pytest.mark.parametrize("can_be_known", [True, False], ids=["the same line", "no diff"])
def test_what_cannot_be_joined_is_kept_and_named(
    room: Workspace, home: Path, can_be_known: bool
) -> None:
    add(room, "- one")
    with (home / PATH).open("r+b") as editor:
        room.edit(PATH, lambda _: "# Day\n- one, by us\n")
        save(editor, "# Day\n- one, by hand\n")
    if not can_be_known:
        for diff in (home / ".journal/preimages").glob("*.diff"):
            diff.unlink()
    add(room, "- two")
    assert room.read(PATH) == "# Day\n- one, by us\n- two\n"
    (kept,) = (home / ".journal" / "rescued").iterdir()
    assert kept.read_text() == "# Day\n- one, by hand\n"
    assert [path for path, _ in room.problems()] == [f".journal/rescued/{kept.name}"]
    if can_be_known:
        room.undo("e000002")
        assert room.read(PATH) == "# Day\n- one\n- two\n"
    else:
        with pytest.raises(UsageError):
            room.undo("e000002")


def test_what_is_saved_into_a_file_that_was_removed_is_kept_and_named(
    room: Workspace, home: Path
) -> None:
    add(room, "- one")
    with (home / PATH).open("ab") as editor:
        room.edit(PATH, lambda _: None)
        editor.write(b"- by hand\n")
    add(room, "- two", "MEMORY.md")
    (kept,) = (home / ".journal" / "rescued").iterdir()
    assert kept.read_text() == "# Day\n- one\n- by hand\n"
    assert room.read(PATH) is None


def test_undo_takes_back_our_lines_and_leaves_those(room: Workspace, home: Path) -> None:
    add(room, "- one")
    late(room, home, "# Day\n- one\n- by hand\n")
    undone = room.undo()
    assert undone.operation == "e000002", "not the late save, which is nothing of ours"
    assert room.read(PATH) == "# Day\n- one\n- by hand\n"
    assert undone.undo is not None
    room.undo(undone.undo)
    assert room.read(PATH) == "# Day\n- one\n- by hand\n- ours\n"
    (save_id,) = (each.id for each in room.operations() if each.what == "late save")
    room.undo(save_id)
    assert room.read(PATH) == "# Day\n- one\n- ours\n"


def test_what_was_saved_very_late_is_named_and_kept_when_its_operation_is_not(
    room: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_LOOK_EVERY", 1)
    monkeypatch.setattr(journal, "_SLACK", 0)
    monkeypatch.setattr(journal, "_WATCHED", 2)
    add(room, "- one")
    with (home / PATH).open("ab") as editor:
        for number in range(5):
            add(room, f"- ours {number}")
        editor.write(b"- very late\n")
    assert [path for path, _ in room.problems()] == [PATH]
    room.journal._keep = (2, 10**9, 2)
    add(room, "- last")
    (kept,) = (home / ".journal" / "rescued").iterdir()
    assert kept.read_bytes() == b"# Day\n- one\n- very late\n"
    assert [path for path, _ in room.problems()] == [f".journal/rescued/{kept.name}"]


def test_a_file_that_was_brought_in_is_not_kept_for_people(
    room: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_LOOK_EVERY", 1)
    monkeypatch.setattr(journal, "_SLACK", 0)
    room.journal._keep = (3, 10**9, 2)
    add(room, "- one")
    late(room, home, "# Day\n- one\n- by hand\n")
    for number in range(8):
        add(room, f"- {number}")
    assert (room.read(PATH) or "").count("by hand") == 1
    assert not (home / ".journal" / "rescued").exists()
    assert room.problems() == []


@pytest.mark.parametrize("sticky", [False, True], ids=["one call fails", "the process dies"])
def test_a_failure_at_any_call_loses_no_line_and_doubles_none(
    fast_path: Path, monkeypatch: pytest.MonkeyPatch, sticky: bool
) -> None:
    monkeypatch.setattr(swapping, "_PATIENCE_WITH_WRITERS", 0)
    failed = 0
    for fail_at in range(1, 200):
        home = fast_path / f"home{fail_at}"
        room = workspace(home)
        add(room, "- one")
        late(room, home, "# Day\n- one\n- by hand\n")
        disk = FailingDisk(fail_at, sticky=sticky)
        with suppress(StorageError):
            add(workspace(home, "other", system=disk), "- other", "MEMORY.md")
        if not disk.has_failed:
            break
        failed += 1
        add(workspace(home, "last"), "- last")
        text = workspace(home).read(PATH)
        assert text == "# Day\n- one\n- by hand\n- ours\n- last\n", f"after call {fail_at}"
        assert workspace(home).problems() == []
    assert failed > 20


def _link(file: Path) -> None:
    target = file.with_name("elsewhere.txt")
    file.rename(target)
    file.symlink_to(target)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("spoil", [_link, _folder])
def test_a_file_that_cannot_be_edited_any_more_keeps_nobody_from_others(
    room: Workspace, home: Path, spoil: Callable[[Path], None]
) -> None:
    add(room, "- one")
    late(room, home, "# Day\n- one\n- by hand\n")
    spoil(home / PATH)
    add(room, "- two", "MEMORY.md")
    assert room.read("MEMORY.md") == "# Day\n- two\n"
    assert PATH in [path for path, _ in room.problems()]
