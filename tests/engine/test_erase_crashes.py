"""An erasure that is interrupted anywhere leaves whole files, and erasing again finishes it."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast.config import load_settings
from holdfast.disk import System
from holdfast.engine.erase import Forgotten, forget
from holdfast.engine.rooms import Rooms
from holdfast.errors import HoldfastError, UsageError
from holdfast.testing import FixedClock, SequentialIds
from holdfast.types import Scope
from tests.engine.canaries import left, open_engine, plant
from tests.scale import SCALE
from tests.sessions.disks import FailingDisk

TEXTS = ["Quetzal 77 corn", "张伟的护照"]
STEP = 8 if SCALE < 5 else 1


class Killed(BaseException):
    """The process ends here: nobody catches it, nothing is tidied up."""


class DyingDisk(FailingDisk):
    """From the k-th changing call on, every call ends the process: also those that tidy up."""

    def _count(self) -> None:
        self.calls += 1
        if self.calls >= self.fail_at and not self.is_repaired:
            self.has_failed = True
            raise Killed


def erase(home: Path, system: System) -> Forgotten:
    rooms = Rooms(
        home,
        Scope(agent="main"),
        settings=load_settings(home, environ={}),
        clock=FixedClock(),
        ids=SequentialIds(f"c{len(_runs)}-"),
        system=system,
    )
    _runs.append(1)
    return forget(rooms, TEXTS, erase=True)


_runs: list[int] = []


@pytest.mark.parametrize("kind", ["refuses", "dies"])
def test_whichever_call_fails_erasing_again_finishes(fast_path: Path, kind: str) -> None:
    template = fast_path / "template"
    if SCALE < 5:
        _plant_a_little(template)
    else:
        plant(template, TEXTS, git=False)
    fail_at, has_failed = 1, True
    failed = 0
    while has_failed:
        home = fast_path / "home"
        shutil.copytree(template, home)
        disk = FailingDisk(fail_at, number=errno.EIO) if kind == "refuses" else DyingDisk(fail_at)
        with suppress(HoldfastError, Killed):
            erase(home, disk)
        has_failed = disk.has_failed
        disk.is_repaired = True
        _an_hour_passes(home)
        failed += has_failed
        _every_session_is_whole(home)
        done = erase(home, System())
        assert done.remaining == ()
        assert left(home, TEXTS) == [], f"after call {fail_at}"
        _every_session_is_whole(home)
        _nothing_comes_back(home)
        shutil.rmtree(home)
        fail_at += STEP
    assert failed > 50 // STEP


def _plant_a_little(home: Path) -> None:
    with open_engine(home) as engine:
        session = engine.session("s1")
        session.append_all({"role": "user", "content": f"note {text}"} for text in TEXTS)
        session.set_goal(TEXTS[0])
        entry = session.append({"role": "user", "content": f"and {TEXTS[1]}"})
        session.fork(entry, "fork")
        engine.session("n0-quetzal-77-corn").append({"role": "user", "content": "x"})
        engine.remember(f"It is {TEXTS[0]}.")
        engine.remember("And another thing.")
    with open_engine(home, user="bob") as engine:
        engine.session("s1").append({"role": "user", "content": TEXTS[0]})


def _an_hour_passes(home: Path) -> None:
    for path in home.rglob(".tmp-*"):
        found = path.stat()
        os.utime(path, (found.st_atime - 3600, found.st_mtime - 3600))


def _every_session_is_whole(home: Path) -> None:
    with open_engine(home) as engine:
        for summary in engine.sessions():
            found = engine._rooms.store.verify(engine._rooms.store.open(summary.name))
            assert found.missing_artifacts == ()
            assert found.entries == summary.entries
            assert found.entries > 1 or summary.name.startswith("n0")


def _nothing_comes_back(home: Path) -> None:
    with open_engine(home) as engine:
        for operation in engine.changes():
            with suppress(UsageError):
                engine.undo(operation.id)
    assert left(home, TEXTS) == []
