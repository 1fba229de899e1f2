"""The server over HTTP: for programs that are already running, each with a token of its own.

Promises, proven by ``tests/doors/test_mcp_http.py``: whose memory a request sees is decided by
its token alone; there is one engine for each place, with a server of its own, so that no answer
can come from another; when we are told to stop, calls are finished and memories saved first.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.to_thread import run_sync

from holdfast.engine.facade import Engine, open_engine
from holdfast.errors import HoldfastError
from holdfast.gatehouse.bodies import body_of, replayed
from holdfast.gatehouse.heads import Denied, Gate, Head, Receive, Send, gate_for
from holdfast.gatehouse.listening import check_address, outlive_signals, web_server
from holdfast.mcp_server.answers import Answers
from holdfast.mcp_server.clients import Client, ClientBook
from holdfast.mcp_server.gate import admit, deny
from holdfast.mcp_server.limits import FRAME_BYTES
from holdfast.mcp_server.sdk import Sdk
from holdfast.types import Scope

__all__ = ["HttpServer", "check_clients", "opener"]

log = logging.getLogger("holdfast.mcp")

Opened = Callable[[Client], Engine]
"""Opens the engine of a client's place."""


def check_clients(host: str, *, is_behind_tls: bool, hosts: Iterable[str], clients: int) -> None:
    """Refuse an address that others reach, unless TLS stands before it and a client is known.

    Raises:
        PolicyRefused: says what is missing.
    """
    check_address(
        host,
        is_behind_tls=is_behind_tls,
        hosts=hosts,
        is_ready=clients > 0,
        otherwise="no client is known yet",
        hint="holdfast mcp clients add NAME",
    )


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
        address, port = bound.getsockname()[:2]
        self._gate = gate_for(port, self._hosts, bound=address)
        self._uvicorn = web_server(self)
        outlive_signals()
        async with anyio.create_task_group() as self._tasks:
            await self._uvicorn.serve(sockets=[bound])
            self._tasks.cancel_scope.cancel()

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] != "http":
            return
        try:
            client = admit(self._gate, head, self._whose)
            body = await body_of(receive, FRAME_BYTES)
            manager = await self._manager(client)
        except Denied as denied:
            await deny(denied, send)
            return
        await manager.handle_request(head, replayed(body, receive), send)

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


def opener(home: Path | None) -> Opened:
    """Opens the engines of a home."""
    return lambda client: open_engine(
        home, client.agent, user=client.user, chat=client.chat, chat_type=client.chat_type
    )
