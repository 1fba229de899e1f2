"""That a server runs, told in a file: so that a command finds it.

    <home>/server.lock     held by the server of this home, which the system knows of
    <home>/server.json     0600: where it is, while it runs

Promise: a home has one server; one that is gone is not found, however it went, and whoever has
its port by now is sent nothing (``tests/doors/test_cli_serve.py``,
``tests/server/test_running.py``).
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Final

from holdfast.disk import Directory, FileLock
from holdfast.errors import Locked, UsageError

__all__ = ["PRESENCE", "Presence", "announce", "find", "occupy", "refusal", "withdraw"]

PRESENCE: Final = "server.json"
_LOCK: Final = "server.lock"
_TAKE_SECONDS: Final = 1.0
"""Whoever looks for a server holds the lock for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Where a server is reached: by browsers, and from this machine."""

    pid: int
    url: str
    started_at: str
    address: str
    port: int
    host: str
    """What it wants to be called."""
    certificate: str | None = None
    """The file of the one it shows, if it speaks TLS."""

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode()


def occupy(home: Directory) -> ExitStack:
    """Be the server of this home until what is returned is closed.

    Raises:
        UsageError: another one is.
    """
    held = ExitStack()
    try:
        held.enter_context(FileLock(home, _LOCK, timeout_seconds=_TAKE_SECONDS).hold())
    except Locked:
        raise refusal(find(home)) from None
    home.remove(PRESENCE)  # of one that was killed
    return held


def refusal(running: Presence | None) -> UsageError:
    """Why no second one begins."""
    where = "" if running is None else f": {running.url} (process {running.pid})"
    return UsageError(
        f"A server of this home runs already{where}.",
        hint="A new link to it: holdfast serve link",
    )


def announce(home: Directory, presence: Presence) -> None:
    home.replace(PRESENCE, presence.to_bytes(), durable=False)


def withdraw(home: Directory, presence: Presence) -> None:
    """Unless another one was announced since."""
    if home.read(PRESENCE) == presence.to_bytes():
        home.remove(PRESENCE)


def find(home: Directory) -> Presence | None:
    """The server of this home, if it runs."""
    data = home.read(PRESENCE) if _is_occupied(home) else None
    if data is None:
        return None
    try:
        return Presence(**json.loads(data))
    except (ValueError, TypeError):
        return None


def _is_occupied(home: Directory) -> bool:
    if home.stat(_LOCK) is None:
        return False
    try:
        with FileLock(home, _LOCK, timeout_seconds=0.0).hold(shared=True):
            return False
    except Locked:
        return True
