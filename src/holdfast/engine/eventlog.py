"""Events → ``events.jsonl``: one line each, for people and for ``holdfast events``.

Not durable on purpose: an event is a report, and a sync per report would double the cost of
what it reports. A disk that refuses costs the line, never the turn.

Promise: while an erasure puts another file in its place, no event of any process is lost
(``tests/engine/test_erase.py``).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import local
from typing import Final

from holdfast.disk import Directory, GrowingFile
from holdfast.errors import HoldfastError
from holdfast.events import Event

__all__ = ["EVENTS", "EventLog", "locked_events"]

EVENTS: Final = "events.jsonl"

log = logging.getLogger("holdfast.events")


class EventLog:
    """A listener that writes every event that is kept to the home's log."""

    def __init__(self, home: Directory) -> None:
        self._home = home
        self._is_failing = False
        self._here = local()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Write nothing of what is told meanwhile in this thread."""
        self._here.is_silent = True
        try:
            yield
        finally:
            self._here.is_silent = False

    def __call__(self, event: Event) -> None:
        if not event.is_kept or getattr(self._here, "is_silent", False):
            return
        told = event.to_json()
        if "reason" in told:  # the only field that may quote what somebody else said
            told["reason"] = import_module("holdfast.redact").redact(told["reason"])
        line = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        try:
            with locked_events(self._home) as file:
                file.write_line(line.encode("utf-8", "replace"))
        except HoldfastError as error:
            if not self._is_failing:
                log.warning("events are not written: %s", error.message)
            self._is_failing = True
        else:
            self._is_failing = False


@contextmanager
def locked_events(home: Directory) -> Iterator[GrowingFile]:
    """The log, while nobody else appends to it or puts another in its place."""
    while True:
        file = home.open_growing(EVENTS, create=True)
        try:
            file.lock()
            if not file.look()[0]:
                continue  # replaced while we waited
            yield file
            return
        finally:
            file.unlock()
            file.close()
