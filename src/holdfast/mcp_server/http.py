"""The server over HTTP: for programs that are already running, each with a token of its own.

Promises, proven by ``tests/doors/test_mcp_http.py``: whose memory a request sees is decided by
its token alone; there is one engine for each place, with a server of its own, so that no answer
can come from another; when we are told to stop, calls are finished and memories saved first.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.to_thread import run_sync

from holdfast.engine.facade import Engine, open_engine
from holdfast.errors import HoldfastError, PolicyRefused, UsageError
from holdfast.mcp_server.answers import Answers
from holdfast.mcp_server.clients import Client, ClientBook
from holdfast.mcp_server.gate import (
    Denied,
    Gate,
    Head,
    Receive,
    Send,
    admit,
    body_of,
    deny,
    gate_for,
)
from holdfast.mcp_server.sdk import Sdk
from holdfast.models.servers import is_loopback_host
from holdfast.types import Scope

__all__ = ["HttpServer", "check_address", "listening", "opener"]

log = logging.getLogger("holdfast.mcp")

_CLOSING_SECONDS: Final = 30
_BACKLOG: Final = 128

Opened = Callable[[Client], Engine]
"""Opens the engine of a client's place."""


def check_address(host: str, *, is_behind_tls: bool, hosts: Iterable[str], clients: int) -> None:
    """Refuse an address that others reach, unless somebody said that TLS stands before it.

    Raises:
        PolicyRefused: tokens and memories would cross the network in the clear.
    """
    if is_loopback_host(host):
        return
    if not is_behind_tls or not list(hosts):
        raise PolicyRefused(
            f"{host} can be reached from other machines, and this server speaks plain HTTP.",
            hint="Put a proxy with TLS before it, and say so: --behind-tls --allow-host "
            "memory.example.org",
        )
    if not clients:
        raise PolicyRefused(
            f"{host} can be reached from other machines, and no client is known yet.",
            hint="holdfast mcp clients add NAME",
        )


def listening(host: str, port: int) -> socket.socket:
    """A socket that others can connect to already; port 0 is any that is free."""
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
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


class HttpServer:
    """Serves until it is stopped. ``opened`` opens the engine of a client's place."""

    def __init__(
        self, sdk: Sdk, book: ClientBook, opened: Opened, *, hosts: Iterable[str] = ()
    ) -> None:
        self._sdk = sdk
        self._book = book
        self._opened = opened
        self._hosts = tuple(hosts)
        self._gate: Gate = gate_for(0)
        self._managers: dict[Scope, Any] = {}
        self._engines: list[Engine] = []
        self._opening = anyio.Lock()
        self._tasks: TaskGroup | None = None
        self._uvicorn: Any = None

    def run(self, bound: socket.socket) -> None:
        """Answer on that socket, until ``stop`` or a signal."""
        try:
            anyio.run(self._run, bound)
        finally:
            self._close()

    def _close(self) -> None:
        with ExitStack() as each:  # also behind one that cannot be closed
            for engine in self._engines:
                each.callback(engine.close)

    def stop(self) -> None:
        """Take no more requests; finish those that came."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True

    async def _run(self, bound: socket.socket) -> None:
        uvicorn = import_module("uvicorn")
        address, port = bound.getsockname()[:2]
        self._gate = gate_for(port, self._hosts, bound=address)
        config = uvicorn.Config(
            self,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_CLOSING_SECONDS,
        )
        self._uvicorn = uvicorn.Server(config)
        _outlive_signals()
        async with anyio.create_task_group() as self._tasks:
            await self._uvicorn.serve(sockets=[bound])
            self._tasks.cancel_scope.cancel()

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] != "http":
            return
        try:
            client = admit(self._gate, head, self._whose)
            body = await body_of(receive)
            manager = await self._manager(client)
        except Denied as denied:
            await deny(denied, send)
            return
        await manager.handle_request(head, _replayed(body, receive), send)

    def _whose(self, token: str) -> Client | None:
        try:
            return self._book.whose(token)
        except HoldfastError as error:
            log.error("clients cannot be read: %s", error)
            raise Denied(503, "The clients of this server cannot be read; see its log.") from None

    # ── places ──────────────────────────────────────────────────────────────────────────────

    async def _manager(self, client: Client) -> Any:
        """What answers for the place of this client; its engine is opened by the first call."""
        found = self._managers.get(client.scope)
        if found is not None:
            return found
        async with self._opening:
            if client.scope not in self._managers:
                try:
                    engine = await run_sync(self._opened, client)
                except HoldfastError as error:
                    log.error("the memory of client %s cannot be opened: %s", client.name, error)
                    told = "This memory cannot be opened; see the server's log."
                    raise Denied(503, told) from None
                self._engines.append(engine)
                manager = self._sdk.manager(self._sdk.server(Answers(engine)))
                assert self._tasks is not None
                await self._tasks.start(partial(_keep_running, manager))
                self._managers[client.scope] = manager
        return self._managers[client.scope]


async def _keep_running(
    manager: Any, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, for whoever parses it; then what comes."""
    is_given = False

    async def replay() -> Any:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _outlive_signals() -> None:
    """The web server ends by itself when it is told to, and then passes the signal on: it must
    not end us before what is being saved is saved."""
    if threading.current_thread() is not threading.main_thread():
        return

    def ignore(number: int, frame: FrameType | None) -> None:
        del number, frame

    for each in (signal.SIGTERM, signal.SIGINT):
        with suppress(ValueError):
            signal.signal(each, ignore)


def opener(home: Path | None) -> Opened:
    """Opens the engines of a home."""
    return lambda client: open_engine(
        home, client.agent, user=client.user, chat=client.chat, chat_type=client.chat_type
    )
