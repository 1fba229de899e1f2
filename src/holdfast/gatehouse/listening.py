"""Where a server listens, and how it ends.

Promises: an address that others reach is refused unless somebody said what protects it
(``tests/doors/test_mcp_gate.py``); a signal ends the web server, never what is being saved
(``tests/doors/test_mcp_http.py``, ``tests/server/test_running.py``).
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

from holdfast.errors import PolicyRefused, UsageError
from holdfast.models.servers import is_loopback_host

__all__ = ["Tls", "check_address", "listening", "outlive_signals", "shown_host", "web_server"]

_CLOSING_SECONDS: Final = 30
_BACKLOG: Final = 128
_AT_ONCE: Final = 16
"""How many connections are taken before those that were are looked at: asyncio would take as many
as may wait, however few files this process may open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """A certificate of our own, and its key."""

    certificate: Path
    key: Path


def check_address(
    host: str,
    *,
    is_behind_tls: bool,
    hosts: Iterable[str],
    is_ready: bool,
    otherwise: str,
    hint: str,
    tls: Tls | None = None,
) -> None:
    """Refuse an address that others reach, unless somebody said that TLS stands before it and
    the server is ready for them: if not, ``otherwise`` says what is missing, ``hint`` what to do.

    Raises:
        PolicyRefused: tokens and memories would cross the network in the clear.
    """
    if is_loopback_host(host):
        return
    if not list(hosts) or not (is_behind_tls or tls is not None):
        raise PolicyRefused(
            f"{host} can be reached from other machines, and this server speaks plain HTTP."
            if tls is None
            else f"{host} can be reached from other machines, and no name was allowed for it.",
            hint="Put a proxy with TLS before it, and say so: --behind-tls --allow-host "
            "memory.example.org"
            if tls is None
            else "Say what they call it: --allow-host memory.example.org:8443",
        )
    if not is_ready:
        raise PolicyRefused(
            f"{host} can be reached from other machines, and {otherwise}.", hint=hint
        )


def listening(host: str, port: int) -> socket.socket:
    """A socket that others can connect to already; port 0 is any that is free."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    # Said outright, because asyncio switches Nagle's delay off only where it reads TCP: without it
    # every answer of two writes waits 40 ms for the other side.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1" if bare == "localhost" else bare, port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"Nobody can listen on {host} port {port}: {error.strerror or error}.",
            hint="Take another port: --port 0 takes any that is free.",
        ) from None
    found.listen(_BACKLOG)
    return found


def shown_host(host: str) -> str:
    """As it stands in a URL."""
    return f"[{host}]" if ":" in host.strip("[]") and not host.startswith("[") else host


def web_server(
    app: object, *, before_end: Callable[[], None] | None = None, tls: Tls | None = None
) -> Any:
    """What speaks HTTP for an app: ``await it.serve(sockets=[…])``. ``before_end`` is called
    when no more requests are taken, before those that run are waited for."""
    uvicorn = import_module("uvicorn")
    config = uvicorn.Config(
        app,
        # Of h11: the target of a request stays as it was sent.
        http=import_module("holdfast.gatehouse.connections").Connection,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_AT_ONCE,
        timeout_graceful_shutdown=_CLOSING_SECONDS,
        ssl_certfile=None if tls is None else str(tls.certificate),
        ssl_keyfile=None if tls is None else str(tls.key),
    )
    found = uvicorn.Server(config)
    starting = found.startup

    async def startup(sockets: list[socket.socket] | None = None) -> None:
        await starting(sockets)
        for each in sockets or ():
            each.listen(_BACKLOG)  # as many may wait as before

    found.startup = startup
    if before_end is not None:
        ending = found.shutdown

        async def shutdown(sockets: list[socket.socket] | None = None) -> None:
            before_end()
            await ending(sockets)

        found.shutdown = shutdown
    return found


def outlive_signals(told: Callable[[], None] | None = None) -> None:
    """The web server ends by itself when it is told to, and then passes the signal on: it must
    not end us before what is being saved is saved. ``told`` is called for a signal that comes
    before it listens to them, or afterwards."""
    if threading.current_thread() is not threading.main_thread():
        return

    def heed(number: int, frame: FrameType | None) -> None:
        del number, frame
        if told is not None:
            told()

    for each in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError):
            signal.signal(each, heed)
