"""The disks that misbehave of ``tests/sessions``, with the calls the workspace adds.

A rename from one folder to another, and two names that change places, reach the disk whole or
not at all: that is what file systems with a journal promise, and what is modelled here.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from holdfast.disk import System
from tests.sessions import disks
from tests.sessions.disks import _Folder


class FailingDisk(disks.FailingDisk):
    """Fails also where names change places."""

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        self._count()
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        self._count()
        super().move(source, target, dir_fd=dir_fd, target_fd=target_fd)


class RecordingDisk(disks.RecordingDisk):
    """Knows what of an exchange or a move would outlive a power loss."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._tied = 0
        self._certain: set[str] = set()
        self._decided: dict[str, bool] = {}

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)
        here, there = self._folder(dir_fd), self._folder(target_fd)
        first, second = here.now[source], there.now[target]
        self._tie([(here, source, second), (there, target, first)])

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        super().move(source, target, dir_fd=dir_fd, target_fd=target_fd)
        here, there = self._folder(dir_fd), self._folder(target_fd)
        node = here.now[source]
        self._tie([(here, source, None), (there, target, node)])

    def sync_folder(self, fd: int) -> None:
        self._certain |= {kind for kind, _, _ in self._folder(fd).pending if kind[:4] == "tied"}
        super().sync_folder(fd)

    def crash(self, target: Path, chance: random.Random) -> None:
        self._decided = {}
        super().crash(target, chance)

    def _tie(self, changes: list[tuple[_Folder, str, int | None]]) -> None:
        self._tied += 1
        for folder, name, node in changes:
            folder.set(name, node)
            folder.pending[-1] = (f"tied {self._tied}", name, node)
        self._changed()

    def _build(self, node: int, target: Path, chance: random.Random) -> None:
        found = self._nodes[node]
        if not isinstance(found, _Folder) or not any(
            kind[:4] == "tied" for kind, *_ in found.pending
        ):
            super()._build(node, target, chance)
            return
        # What was decided for one folder of a move holds for the other.
        durable, pending = found.durable, found.pending
        found.durable, found.pending = dict(durable), []
        for kind, name, changed in pending:
            if kind[:4] == "tied":
                sure = kind in self._certain
                happened = sure or self._decided.setdefault(kind, chance.random() < 0.5)
            else:
                happened = chance.random() < 0.5
            if happened:
                _apply(found.durable, kind, name, changed)
        super()._build(node, target, chance)
        found.durable, found.pending = durable, pending


def _apply(names: dict[str, int], kind: str, name: str, changed: int | None) -> None:
    if kind == "rename":
        source, _, name = name.partition("\0")
        names.pop(source, None)
    if changed is None:
        names.pop(name, None)
    else:
        names[name] = changed


class Meddling(System):
    """Somebody does something at the very moment a call is made: before it, or after."""

    def __init__(self) -> None:
        self.before_exchange: list[Callable[[], object]] = []
        self.after_exchange: list[Callable[[], object]] = []
        self.before_move: list[Callable[[], object]] = []
        self.before_sync_folder: list[Callable[[], object]] = []
        self.can_exchange = True

    def exchange(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        _once(self.before_exchange)
        if not self.can_exchange:
            raise OSError(38, os.strerror(38))
        super().exchange(source, target, dir_fd=dir_fd, target_fd=target_fd)
        _once(self.after_exchange)

    def move(self, source: str, target: str, *, dir_fd: int, target_fd: int) -> None:
        _once(self.before_move)
        if not self.can_exchange:
            raise OSError(38, os.strerror(38))
        super().move(source, target, dir_fd=dir_fd, target_fd=target_fd)

    def sync_folder(self, fd: int) -> None:
        _once(self.before_sync_folder)
        super().sync_folder(fd)


def _once(actions: list[Callable[[], object]]) -> None:
    if actions:
        actions.pop(0)()
