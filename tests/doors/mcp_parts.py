"""A real server over HTTP in a thread, and real clients of the MCP SDK for it and for stdio."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from holdfast.gatehouse.listening import listening
from holdfast.mcp_server.clients import ClientBook, new_client
from holdfast.mcp_server.http import HttpServer, opener
from holdfast.mcp_server.sdk import sdk

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A server that runs."""

    home: Path
    port: int
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/mcp"

    def let_in(self, name: str, **scope: str) -> str:
        """A new client's token."""
        client, token = new_client(name, at="2026-11-16T00:00:00+00:00", **scope)
        ClientBook(self.home).add(client)
        return token

    def send(
        self,
        body: bytes | Iterator[bytes],
        headers: Mapping[str, str],
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> tuple[int, dict[str, Any]]:
        """A request as a program without an SDK sends it; its Host is among the headers."""
        connection = HTTPConnection(self.host, self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if "Content-Length" in headers:
                connection.endheaders()
            elif isinstance(body, bytes):
                connection.putheader("Content-Length", str(len(body)))
                connection.endheaders(body)
            else:
                connection.putheader("Transfer-Encoding", "chunked")
                connection.endheaders(body, encode_chunked=True)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()


@contextmanager
def serving(home: Path, host: str = "127.0.0.1") -> Iterator[Site]:
    server = HttpServer(sdk(), ClientBook(home), opener(home))
    with listening(host, 0) as bound:
        port = bound.getsockname()[1]
        thread = threading.Thread(target=server.run, args=(bound,))
        thread.start()
        try:
            yield Site(home=home, port=port, host=host)
        finally:
            while thread.is_alive():  # it may not have begun yet
                server.stop()
                thread.join(0.1)


@asynccontextmanager
async def over_http(site: Site, token: str, *, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(site.url, http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(*command: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a server that it starts itself."""
    given = StdioServerParameters(command=command[0], args=list(command[1:]), env=environ())
    async with Client(stdio_client(given), mode=mode) as client:
        yield client


def environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def started(home: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "holdfast", "--home", str(home), *options, "mcp"]


def run(work: Callable[[], Awaitable[T]]) -> T:
    async def within() -> T:
        return await asyncio.wait_for(work(), 120)

    return asyncio.run(within())


async def called(client: Client, name: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a tool that did not fail; its text says the same."""
    answer = await client.call_tool(name, arguments)
    text = said(answer)
    assert not answer.is_error, text
    found = answer.structured_content
    assert isinstance(found, dict)
    assert found["text"] == text
    return found


async def refused(client: Client, name: str, **arguments: object) -> str:
    """What a tool says that failed."""
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    return said(answer)


def said(answer: Any) -> str:
    (block,) = answer.content
    return str(block.text)
