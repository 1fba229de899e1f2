"""That a server runs, told in a file: so that a command finds it.

    <home>/server.json     0600, while it runs

Promise: a server that is gone is not found, however it went (``tests/doors/test_cli_serve.py``).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Final

from holdfast.disk import Directory

__all__ = ["PRESENCE", "Presence", "announce", "find", "withdraw"]

PRESENCE: Final = "server.json"


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


def announce(home: Directory, presence: Presence) -> None:
    home.replace(PRESENCE, presence.to_bytes(), durable=False)


def withdraw(home: Directory, presence: Presence) -> None:
    """Unless another one was announced since."""
    if home.read(PRESENCE) == presence.to_bytes():
        home.remove(PRESENCE)


def find(home: Directory) -> Presence | None:
    """The server of this home, if its process is still there."""
    data = home.read(PRESENCE)
    if data is None:
        return None
    try:
        found = Presence(**json.loads(data))
        os.kill(found.pid, 0)
    except (ValueError, TypeError, OverflowError, ProcessLookupError):
        return None
    except PermissionError:
        pass  # somebody else's process: it is there
    return found
