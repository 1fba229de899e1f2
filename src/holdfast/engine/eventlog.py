"""Events → ``events.jsonl``: one line each, for people and for ``holdfast events``.

Not durable on purpose: an event is a report, and a sync per report would double the cost of
what it reports. A disk that refuses costs the line, never the turn.
"""

from __future__ import annotations

import json
import logging
from importlib import import_module

from holdfast.disk import Directory
from holdfast.errors import HoldfastError
from holdfast.events import Event

__all__ = ["EventLog"]

log = logging.getLogger("holdfast.events")


class EventLog:
    """A listener that writes every event to the home's log."""

    def __init__(self, home: Directory) -> None:
        self._home = home
        self._is_failing = False

    def __call__(self, event: Event) -> None:
        told = event.to_json()
        if "reason" in told:  # the only field that may quote what somebody else said
            told["reason"] = import_module("holdfast.redact").redact(told["reason"])
        line = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        try:
            file = self._home.open_growing("events.jsonl", create=True)
            try:
                file.write_line(line.encode("utf-8", "replace"))
            finally:
                file.close()
        except HoldfastError as error:
            if not self._is_failing:
                log.warning("events are not written: %s", error.message)
            self._is_failing = True
        else:
            self._is_failing = False
