"""A real server on this machine that answers as the test says: also slowly, or never, or wrong."""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from holdfast.engine.notify.egress import Egress

__all__ = [
    "PUBLIC",
    "Behaviour",
    "Receiver",
    "Request",
    "Watched",
    "answer",
    "drip",
    "endless",
    "hang",
    "receiver",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    line: str
    headers: dict[str, str]
    body: bytes
    sni: str | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behaviour = Callable[["Receiver", socket.socket, Request], None]


class Receiver:
    """What arrived, in order; ``script`` is how the next requests are answered (then: 200)."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.sent_bytes = 0
        self.script: list[Behaviour] = []
        self.released = threading.Event()
        self.sni: str | None = None
        self._tls = tls
        if tls is not None:
            tls.sni_callback = self._note_sni
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                outer.connections += 1
                with suppress(OSError):
                    outer._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.place}"

    def _note_sni(self, _: object, name: str | None, __: object) -> None:
        self.sni = name

    def _serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            request = self._read(connection)
            self.requests.append(request)
            behave = self.script.pop(0) if self.script else answer(200)
            behave(self, connection, request)

    def _read(self, connection: socket.socket) -> Request:
        data = b""
        while b"\r\n\r\n" not in data:
            if not (piece := connection.recv(65_536)):
                raise ConnectionError
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        line, *fields = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65_536)
        return Request(line=line, headers=headers, body=body, sni=self.sni)

    def send(self, connection: socket.socket, data: bytes) -> None:
        connection.sendall(data)
        self.sent_bytes += len(data)

    @contextmanager
    def running(self) -> Iterator[Receiver]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


@contextmanager
def receiver(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    with Receiver(tls).running() as running:
        yield running


def answer(status: int, body: Any = b"", **headers: str) -> Behaviour:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    def behave(here: Receiver, connection: socket.socket, _: Request) -> None:
        here.send(connection, "\r\n".join([*lines, "", ""]).encode() + data)

    return behave


def hang(here: Receiver, _: socket.socket, __: Request) -> None:
    """Takes the request and says nothing until the test is over."""
    here.released.wait(60)


def drip(data: bytes, *, every: float = 0.02) -> Behaviour:
    """One byte at a time, each soon enough for a limit on single reads."""

    def behave(here: Receiver, connection: socket.socket, _: Request) -> None:
        for position in range(len(data)):
            here.send(connection, data[position : position + 1])
            if here.released.wait(every):
                return

    return behave


def endless(head: bytes, piece: bytes) -> Behaviour:
    """As much as the other side takes."""

    def behave(here: Receiver, connection: socket.socket, _: Request) -> None:
        here.send(connection, head)
        while not here.released.is_set():
            here.send(connection, piece)

    return behave


PUBLIC = "93.184.216.34"


class Watched:
    """An ``Egress`` whose resolutions and connections are counted, and led to a local server."""

    def __init__(
        self,
        names: Mapping[str, Sequence[str]] | None = None,
        *,
        to: Receiver | None = None,
        allow_hosts: Sequence[str] = (),
        seconds: float = 5.0,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self.names = dict(names or {})
        self.resolved: list[str] = []
        self.connected: list[tuple[str, int]] = []
        self._to = to
        self.egress = Egress(
            allow_hosts=allow_hosts,
            seconds=seconds,
            resolve=self._resolve,
            connect=self._connect,
            tls=tls,
        )

    def _resolve(self, host: str, _: int) -> Sequence[str]:
        self.resolved.append(host)
        return self.names.get(host, [])

    def _connect(self, ip: str, port: int, seconds: float) -> socket.socket:
        self.connected.append((ip, port))
        place = ("127.0.0.1", self._to.port) if self._to else (ip, port)
        return socket.create_connection(place, timeout=seconds)

    def post(self, url: str, body: bytes = b"{}") -> int:
        return self.egress.post(url, body, {"Content-Type": "application/json"}).status
