"""A process that dies, a disk that is full, power that goes: the old files or the new ones.

The real code runs over a disk that remembers what was synced. After every single change of the
disk, folders are built as they could look if the power went at that moment, and opened again.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.disk import SYSTEM, Directory, System
from holdfast.errors import HoldfastError, StorageError
from holdfast.memory.workspace import Workspace, journal
from holdfast.testing import FixedClock, SequentialIds
from tests.memory.disks import FailingDisk, RecordingDisk
from tests.scale import SCALE, scaled

DAY, TOPIC, MEMORY = "memory/2026-03-04.md", "memory/topics/travel.md", "MEMORY.md"
Texts = dict[str, str | None]


def workspace(home: Path, system: System = SYSTEM, ids: str = "e") -> Workspace:
    base = Directory.open(home, system=system)
    return Workspace(base, clock=FixedClock(), ids=SequentialIds(ids))


def texts(room: Workspace) -> Texts:
    return {path: room.read(path) for path in (DAY, TOPIC, MEMORY)}


def append(room: Workspace, path: str, line: str) -> None:
    room.edit(path, lambda text: (text or "# Notes\n") + line + "\n")


def make(room: Workspace) -> None:
    append(room, DAY, "- W: one")


def change(room: Workspace) -> None:
    append(room, DAY, "- W: two")


def several(room: Workspace) -> None:
    with room.operation("promote", line="l1"):
        append(room, MEMORY, "- W: one")
        append(room, TOPIC, "- W: three")
        room.edit(DAY, lambda text: (text or "").replace("- W: one\n", ""))


def remove(room: Workspace) -> None:
    room.edit(TOPIC, lambda _: None)


def undo(room: Workspace) -> None:
    room.undo()


STEPS: list[Callable[[Workspace], None]] = [make, change, several, remove, undo, undo, change]


STATES: list[Texts] = []
"""What the files hold after each step, from a run in which nothing happens."""


@pytest.fixture(autouse=True)
def _undisturbed(fast_path: Path) -> None:
    if not STATES:
        room = workspace(fast_path / "calm")
        STATES.append(texts(room))
        for step in STEPS:
            step(room)
            STATES.append(texts(room))


def check(folder: Path, possible: list[Texts]) -> None:
    """Open the folder as the next start of the program would, and go on."""
    room = workspace(folder, ids="new")
    with room.operation("look"):
        pass  # takes the lock, and with it what was left
    found = texts(room)
    assert found in possible, f"{found} is neither the old state nor the new"
    room.journal._unseen = journal._LOOK_EVERY
    append(room, DAY, "after the crash")
    assert (room.read(DAY) or "").endswith("after the crash\n")
    known = {each.preimage for done in room.operations() for each in done.changes}
    left = {path.name.removesuffix(".diff") for path in (folder / ".journal/preimages").iterdir()}
    assert left <= known, "leftovers were not swept"
    assert [path for path in folder.rglob(".tmp-*") if ".journal" in path.parts] == []
    room.undo()
    assert texts(room) == found


def test_a_power_loss_at_any_moment_leaves_the_old_files_or_the_new(fast_path: Path) -> None:
    root, crashed = fast_path / "live", fast_path / "crashed"
    root.mkdir(mode=0o700)
    disk = RecordingDisk(root)
    room = workspace(root, disk)
    at = 0
    count = 0

    def power_fails() -> None:
        nonlocal count
        for variant in range(scaled(1)):
            disk.crash(crashed, random.Random(f"{disk.changes}-{variant}"))
            check(crashed, STATES[at : at + 2])
            shutil.rmtree(crashed)
            count += 1

    disk.on_change = power_fails
    for step in STEPS:
        step(room)
        at += 1
        for variant in range(scaled(2)):  # acknowledged: only the new state will do
            disk.crash(crashed, random.Random(f"after {at}-{variant}"))
            check(crashed, STATES[at : at + 1])
            shutil.rmtree(crashed)
    assert count > 100


def test_the_simulation_notices_a_swap_that_is_not_synced(fast_path: Path) -> None:
    """The test above would be worth nothing if it could not fail."""

    class Lying(RecordingDisk):
        def sync(self, fd: int) -> None:
            self._changed()

    root, crashed = fast_path / "live", fast_path / "crashed"
    root.mkdir(mode=0o700)
    disk = Lying(root)
    room = workspace(root, disk)
    for step in STEPS[:2]:
        step(room)
    with pytest.raises((AssertionError, HoldfastError)):  # noqa: PT012 - which state does not matter
        for seed in range(30):
            disk.crash(crashed, random.Random(seed))
            check(crashed, STATES[2:3])
            shutil.rmtree(crashed)


@pytest.mark.parametrize("sticky", [False, True], ids=["one call fails", "the process dies"])
def test_a_failure_at_any_call_leaves_the_old_files_or_the_new(
    fast_path: Path, sticky: bool
) -> None:
    """When it is only one call, the operation is told to have failed and is taken back."""
    ready = fast_path / "ready"
    room = workspace(ready)
    tried = 0
    for number, step in enumerate(STEPS):
        for fail_at in range(1, 200):
            if SCALE < 4 and (fail_at + number) % 4:
                continue
            home = fast_path / "home"
            shutil.copytree(ready, home)
            disk = FailingDisk(fail_at, sticky=sticky)
            failed = False
            try:
                step(workspace(home, disk, ids=f"other{number}-"))
            except StorageError:
                failed = True
            if disk.has_failed:
                first, last = number + (not failed), number + 2
                if failed and not sticky and "_commit" not in disk.failed_during:
                    last = number + 1
                check(home, STATES[first:last])
                tried += 1
            shutil.rmtree(home)
            if not disk.has_failed:
                break
        else:
            pytest.fail("the step has more calls than were tried")
        step(room)
    assert tried > 30


def test_what_was_interrupted_is_not_taken_back_over_an_edit(home: Path) -> None:
    room = workspace(home)
    append(room, DAY, "- W: one")

    class Killed(BaseException):
        pass

    class Dies(System):
        is_dead = False

        def sync_folder(self, fd: int) -> None:
            self._check()
            super().sync_folder(fd)

        def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
            self._check()
            super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)
            self.is_dead = True

        def _check(self) -> None:
            if self.is_dead:
                raise Killed

    dying = workspace(home, Dies(), ids="dying")
    with suppress(Killed):
        append(dying, DAY, "- W: two")
    file = home / DAY
    file.write_text(file.read_text() + "by hand\n")
    room = workspace(home, ids="next")
    append(room, DAY, "- W: three")
    assert room.read(DAY) == "# Notes\n- W: one\n- W: two\nby hand\n- W: three\n"
    room.undo("dying000001")
    assert room.read(DAY) == "# Notes\n- W: one\nby hand\n- W: three\n"
