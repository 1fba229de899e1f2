"""What was acknowledged is there after a power loss, whatever of the rest is.

The real code runs over a disk that remembers what was synced. After every single change of
the disk, folders are built as they could look if the power went at that moment, opened again
with the real code, read, verified and appended to.
"""

from __future__ import annotations

import logging
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.errors import StorageError
from holdfast.sessions.store import Store
from holdfast.testing import SequentialIds
from holdfast.types import Message
from tests.scale import scaled
from tests.sessions.disks import RecordingDisk
from tests.sessions.rooms import open_store, open_transcript, said

STATES = 2500


class Ledger:
    """What the program was told is safe."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        self.in_doubt: set[str] = set()

    def acknowledge(self, entry_id: str, text: str) -> None:
        self.acknowledged[entry_id] = text

    def check(self, folder: Path) -> None:
        """Read everything back with the real code, as the next start of the program would."""
        store = open_store(folder, cap_chars=200, ids=SequentialIds("new"))
        found: dict[str, str] = {}
        for name in store.names():
            transcript = store.open(name)
            for entry in map(store.whole, transcript.entries()):
                if entry.message is not None:
                    found[entry.id] = entry.message.text
            # It can be written to, and what is written can be read.
            (entry,) = transcript.append([said("after the crash")])
            assert store.open(name).find(entry.id).data["text"] == "after the crash"
            assert store.verify(store.open(name)).missing_artifacts == ()
        for entry_id, text in self.acknowledged.items():
            if entry_id not in self.in_doubt:
                assert found.get(entry_id) == text, f"lost {entry_id}: {text!r}"


def appends(store: Store, ledger: Ledger) -> None:
    first, second = open_transcript(store, "s1"), open_transcript(store, "s2")
    for number in range(6):
        (entry,) = first.append([said(f"first {number} " + "word " * 30)])
        ledger.acknowledge(entry.id, entry.data["text"])
        for entry in second.append([said(f"second {number}"), said(f"and third {number}")]):
            ledger.acknowledge(entry.id, entry.data["text"])
    first.close()


def artifacts(store: Store, ledger: Ledger) -> None:
    transcript = open_transcript(store)
    for number in range(4):
        message = Message.of("user", f"a large paste {number % 2} " * 30)
        (entry,) = store.append(transcript, [message])
        ledger.acknowledge(entry.id, message.text)


def forks_and_renames(store: Store, ledger: Ledger) -> None:
    transcript = open_transcript(store, "old")
    for number in range(3):
        (entry,) = transcript.append([said(f"message {number}")])
        ledger.acknowledge(entry.id, entry.data["text"])
    store.fork(store.open("old"), entry.id, "fork")
    transcript.close()
    store.rename("old", "new")
    renamed = store.open("new")
    (entry,) = renamed.append([said("after the rename")])
    ledger.acknowledge(entry.id, entry.data["text"])


def deletions(store: Store, ledger: Ledger) -> None:
    kept, gone = open_transcript(store, "kept"), open_transcript(store, "gone")
    shared = Message.of("user", "the same long text in both sessions " * 20)
    for transcript in (kept, gone):
        (entry,) = store.append(transcript, [shared])
        ledger.acknowledge(entry.id, shared.text)
    ledger.in_doubt.add(entry.id)  # from here on it may be there or not
    store.delete("gone")


@pytest.mark.parametrize(
    "program", [appends, artifacts, forks_and_renames, deletions], ids=lambda each: each.__name__
)
def test_what_was_acknowledged_survives_a_power_loss_at_any_moment(
    fast_path: Path, program: Callable[[Store, Ledger], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    moments = _count_changes(fast_path / "dry", program)
    per_moment = max(1, round(scaled(STATES) / 4 / moments))
    root = fast_path / "live"
    root.mkdir(mode=0o700)
    disk = RecordingDisk(root)
    ledger = Ledger()
    crashed = fast_path / "crashed"
    states = 0

    def power_fails() -> None:
        nonlocal states
        for variant in range(per_moment):
            disk.crash(crashed, random.Random(f"{program.__name__}-{disk.changes}-{variant}"))
            ledger.check(crashed)
            shutil.rmtree(crashed)
            states += 1

    disk.on_change = power_fails
    program(open_store(root, system=disk, cap_chars=200), ledger)
    power_fails()
    assert states >= per_moment * moments


def _count_changes(root: Path, program: Callable[[Store, Ledger], None]) -> int:
    root.mkdir(mode=0o700)
    disk = RecordingDisk(root)
    program(open_store(root, system=disk, cap_chars=200), Ledger())
    return disk.changes


def test_the_simulation_notices_a_disk_that_does_not_sync(tmp_path: Path) -> None:
    """The test above would be worth nothing if it could not fail."""
    tmp_path = tmp_path / "root"
    tmp_path.mkdir(mode=0o700)

    class LyingDisk(RecordingDisk):
        def sync(self, fd: int) -> None:
            del fd

    disk = LyingDisk(tmp_path)
    ledger = Ledger()
    appends(open_store(tmp_path, system=disk), ledger)
    crashed = tmp_path.parent / "crashed"

    def check(seed: int) -> None:
        disk.crash(crashed, random.Random(seed))
        ledger.check(crashed)

    with pytest.raises(AssertionError, match="lost"):
        check(seed=1)


class DiesBeforeFolderSyncs(RecordingDisk):
    """The disk of a process that made folders and files, and died before their names were safe."""

    is_dying = True

    def sync_folder(self, fd: int) -> None:
        if self.is_dying:
            raise OSError(5, "Input/output error")
        super().sync_folder(fd)


def test_names_a_dead_process_left_unsynced_are_made_safe_before_an_acknowledgement(
    fast_path: Path,
) -> None:
    root = fast_path / "root"
    root.mkdir(mode=0o700)
    disk = DiesBeforeFolderSyncs(root)
    paste = Message.of("user", "a large paste " * 30)
    for _ in range(12):  # each gets a little further before it dies
        with suppress(StorageError):
            store = open_store(root, system=disk, cap_chars=200)
            store.append(open_transcript(store), [paste])
    disk.is_dying = False
    ledger = Ledger()
    store = open_store(root, system=disk, cap_chars=200)
    (entry,) = store.append(store.open_or_create("s1", {})[0], [paste])
    ledger.acknowledge(entry.id, paste.text)
    for seed in range(scaled(100)):
        crashed = fast_path / "crashed"
        disk.crash(crashed, random.Random(seed))
        ledger.check(crashed)
        shutil.rmtree(crashed)
