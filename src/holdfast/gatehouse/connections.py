"""One connection: how long its head may take to come, and how many there are at once.

Both are settled before anybody has shown a token: who only connects must not keep others out.

Promise: a connection whose head is not whole in time is closed, also a later one on the same
connection; beyond the limit the one that has waited longest for its head makes way, and where
none waits the new one is closed (``tests/server/test_entrance.py``).
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connection"]

_HEAD_SECONDS: Final = 10.0
_MOST: Final = 512
_SHARE: Final = 2
"""Of the files this process may open, connections take one in so many."""


class Connection(H11Protocol):
    """What the web server makes of every connection."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._waiting: asyncio.TimerHandle | None = None
        self._is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if len(self.connections) >= _most() and not self._take_a_place():
            self._is_refused = True
            transport.abort()
            return
        super().connection_made(transport)
        self._mind_head()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        super().data_received(data)
        self._mind_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._mind_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        if not self._is_refused:
            super().connection_lost(exc)

    def _take_a_place(self) -> bool:
        """Of one that asks for nothing."""
        waiting = [
            (each._waiting.when(), each)
            for each in self.connections
            if isinstance(each, Connection) and each._waiting is not None
        ]
        if not waiting:
            return False
        _, longest = min(waiting, key=lambda each: each[0])
        longest._wait_no_more()
        longest._hang_up()
        self.connections.discard(longest)
        return True

    def _mind_head(self) -> None:
        """The time runs from the first moment a head is waited for, whatever part of it came."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._wait_no_more()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(_HEAD_SECONDS, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._waiting = None
        self.transport.abort()


def _most() -> int:
    """As many as leave this process files to work with."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else min(_MOST, max(1, soft // _SHARE))
