"""The disks that misbehave of ``tests/sessions``, and one on which somebody meddles."""

from __future__ import annotations

import os
from collections.abc import Callable

from holdfast.disk import System
from tests.sessions.disks import FailingDisk, RecordingDisk

__all__ = ["FailingDisk", "Meddling", "RecordingDisk"]


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
