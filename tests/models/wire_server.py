"""A real server on this machine that speaks as OpenAI and Anthropic do: Chat Completions,
Responses, Messages.

What it says is scripted, in words that belong to neither: ``Say`` is rendered the way the path
asked for, whole or as server-sent events, in the order and with the fields in which the real
services send them. It can also fail as they do: refuse, fall silent, break off, send rubbish.

    with wire_server() as server:
        server.script([rate_limited(after=1), Say("Hello.")])
        client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="key")
        …
        server.requests[0].json["messages"]
"""

from __future__ import annotations

import json
import select
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal, TypeAlias

from tests.models import wire_responses, wire_words
from tests.models.wire_words import Format, Said

__all__ = [
    "Alive",
    "Answer",
    "Broken",
    "Call",
    "Fail",
    "Hang",
    "Raw",
    "Say",
    "WireRequest",
    "WireServer",
    "overflow",
    "overloaded",
    "rate_limited",
    "wire_server",
]

_LONGEST_SECONDS = 60.0
Call = wire_words.Call
Say = wire_words.Say


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def format(self) -> Format:
        return "anthropic" if self.path.startswith("/v1/messages") else "openai"

    @property
    def is_responses(self) -> bool:
        return self.path.startswith("/v1/responses")

    @property
    def is_streamed(self) -> bool:
        return bool(self.body) and bool(self.json.get("stream"))


@dataclass(frozen=True, slots=True)
class Fail:
    """An error, as its service says it; ``body`` is sent as JSON unless it is bytes."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hang:
    """Silence until the other side leaves: before anything is said, or after some events."""

    after: int | None = None
    say: Said = field(default_factory=lambda: Say("Some words that are heard"))


@dataclass(frozen=True, slots=True)
class Alive:
    """Events that only keep a connection open, until the other side leaves."""

    every: float = 0.05
    first: bytes = b""
    """What is said once, before them."""
    again: bytes = b'event: ping\ndata: {"type": "ping"}\n\n: alive\n\n'


@dataclass(frozen=True, slots=True)
class Broken:
    """An answer that does not come to its end.

    ``dropped``: the connection is reset; ``truncated``: the events stop and the answer ends as
    if it were whole; ``garbage``: an event (or the whole body) is no JSON; ``error``: the service
    says in the midst of the events that it cannot go on.
    """

    how: Literal["dropped", "truncated", "garbage", "error"]
    after: int = 4
    say: Said = field(default_factory=lambda: Say("Some words that are heard"))


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are, with a status and type."""

    body: bytes
    status: int = 200
    type: str = "application/json"


Answer: TypeAlias = "Said | Fail | Hang | Alive | Broken | Raw | Callable[[WireRequest], Answer]"


def overflow(limit: int = 10_000, tokens: int = 13_107) -> Callable[[WireRequest], Answer]:
    """The request has more tokens than the model takes, as the service asked says it."""
    return lambda request: Fail(400, wire_words.overflow(request.format, limit, tokens))


def rate_limited(after: float | None = None) -> Callable[[WireRequest], Answer]:
    """Too many requests; ``after`` is the header Retry-After."""
    headers = {} if after is None else {"Retry-After": f"{after:g}"}
    return lambda request: Fail(429, wire_words.rate_limit(request.format), headers)


def overloaded(status: int = 529) -> Callable[[WireRequest], Answer]:
    return lambda request: Fail(status, wire_words.overloaded(request.format))


class WireServer:
    """Answers in the order of the script; what was asked is in ``requests``."""

    def __init__(self) -> None:
        self.requests: list[WireRequest] = []
        """Those for an answer of a model, in order."""
        self.pages: dict[str, Any] = {}
        """What is under a path that is only read: ``/api/tags``, ``/v1/models``, ``/props``.
        A callable is given the request. Other paths are not found."""
        self.read: list[WireRequest] = []
        """Requests for those pages."""
        self.left = 0
        """How often the other side went away while it was being answered."""
        self.ended = 0
        """How many answers came to their end, whichever it was."""
        self.otherwise: Answer = Fail(400, {"error": {"message": "no answer is scripted"}})
        """What is said when the script is at its end."""
        self._script: list[Answer] = []
        self._changed = threading.Condition()
        self._released = threading.Event()
        self._server = self._made()
        self.port: int = self._server.server_address[1]

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def script(self, answers: Iterable[Answer]) -> None:
        """What the next requests are answered with, behind what is still to come."""
        with self._changed:
            self._script += answers

    def wait_for(self, is_so: Callable[[WireServer], bool], seconds: float = 20.0) -> bool:
        """Wait until something is so of this server; False if it never was."""
        deadline = monotonic() + seconds
        with self._changed:
            while not is_so(self):
                if (left := deadline - monotonic()) <= 0:
                    return False
                self._changed.wait(min(left, 0.05))
        return True

    @contextmanager
    def running(self) -> Iterator[WireServer]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._released.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    # ── serving ─────────────────────────────────────────────────────────────────────────────

    def _made(self) -> socketserver.ThreadingTCPServer:
        outer = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError):
                    outer._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

        return Server(("127.0.0.1", 0), Handler)

    def _serve(self, connection: socket.socket) -> None:
        request = _read(connection)
        if request is None:
            return
        if request.method == "GET" or request.path in self.pages:
            with self._changed:
                self.read.append(request)
                self._changed.notify_all()
            self._show(connection, request)
            return
        with self._changed:
            self.requests.append(request)
            answer = self._script.pop(0) if self._script else self.otherwise
            self._changed.notify_all()
        try:
            while callable(answer):
                answer = answer(request)
            self._answer(connection, request, answer)
        except OSError:
            self._count_left()
            raise
        finally:
            with self._changed:
                self.ended += 1
                self._changed.notify_all()

    def _show(self, connection: socket.socket, request: WireRequest) -> None:
        page = self.pages.get(request.path, Fail(404, {"error": "not found"}))
        if callable(page):
            page = page(request)
        if isinstance(page, Hang):
            self._wait_to_be_left(connection)
        elif isinstance(page, Raw):
            _send(connection, page.status, page.body, page.type)
        else:
            fail = page if isinstance(page, Fail) else Fail(200, page)
            _send(connection, fail.status, _json(fail.body))

    def _answer(self, connection: socket.socket, request: WireRequest, answer: Any) -> None:
        match answer:
            case Fail():
                body = answer.body if isinstance(answer.body, bytes) else _json(answer.body)
                _send(connection, answer.status, body, headers=answer.headers)
            case Raw():
                _send(connection, answer.status, answer.body, answer.type)
            case Hang(after=None):
                self._wait_to_be_left(connection)
            case Hang():
                self._say(connection, request, answer.say, stop_after=answer.after)
                self._wait_to_be_left(connection)
            case Alive():
                self._stay(connection, answer)
            case Broken():
                self._break(connection, request, answer)
            case said:
                self._say(connection, request, said)

    def _say(
        self,
        connection: socket.socket,
        request: WireRequest,
        said: Said,
        stop_after: int | None = None,
    ) -> None:
        if not request.is_streamed:
            if stop_after is None:
                _send(connection, 200, _json(_whole(request, said)))
            return
        _send_head(connection, 200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for number, event in enumerate(_events(request, said)):
            if stop_after is not None and number >= stop_after:
                return
            _send_chunk(connection, event)
            if said.every and self._released.wait(said.every):
                return
        _send_chunk(connection, b"")

    def _break(self, connection: socket.socket, request: WireRequest, answer: Broken) -> None:
        if answer.how == "garbage" and not request.is_streamed:
            _send(connection, 200, b'{"id": "half an answ')
            return
        self._say(connection, request, answer.say, stop_after=answer.after)
        match answer.how:
            case "dropped":
                # With a linger of nothing the other side is told at once, as by a crash.
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()
            case "truncated":
                _send_chunk(connection, b"")
            case "garbage":
                _send_chunk(connection, wire_words.garbage(request.format))
                _send_chunk(connection, b"")
            case "error":
                _send_chunk(connection, wire_words.error_event(request.format))
                _send_chunk(connection, b"")

    def _stay(self, connection: socket.socket, answer: Alive) -> None:
        _send_head(connection, 200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        if answer.first:
            _send_chunk(connection, answer.first)
        while not self._released.wait(answer.every):
            _send_chunk(connection, answer.again)

    def _wait_to_be_left(self, connection: socket.socket) -> None:
        deadline = monotonic() + _LONGEST_SECONDS
        while not self._released.is_set() and monotonic() < deadline:
            if select.select([connection], [], [], 0.02)[0]:
                with suppress(ConnectionError):
                    if connection.recv(65_536):
                        continue
                self._count_left()
                return

    def _count_left(self) -> None:
        with self._changed:
            self.left += 1
            self._changed.notify_all()


@contextmanager
def wire_server(answers: Sequence[Answer] = ()) -> Iterator[WireServer]:
    with WireServer().running() as server:
        server.script(answers)
        yield server


def _whole(request: WireRequest, said: Said) -> Any:
    if request.is_responses:
        return wire_responses.whole(said)
    return wire_words.whole(request.format, said)


def _events(request: WireRequest, said: Said) -> Iterator[bytes]:
    if not request.is_responses:
        yield from wire_words.events(request.format, said)
        return
    for event in wire_responses.events(said):
        yield f"event: {event['type']}\n".encode() + b"data: " + _json(event) + b"\n\n"


# ── HTTP ────────────────────────────────────────────────────────────────────────────────────


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _read(connection: socket.socket) -> WireRequest | None:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(65_536)):
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    line, *fields = head.decode("latin-1").split("\r\n")
    method, path, _ = line.split(" ", 2)
    headers = {name.lower(): value for name, _, value in (f.partition(": ") for f in fields)}
    length = int(headers.get("content-length", 0))
    pieces = [body]
    have = len(body)
    while have < length:
        if not (piece := connection.recv(1 << 20)):
            return None
        pieces.append(piece)
        have += len(piece)
    return WireRequest(method=method, path=path, headers=headers, body=b"".join(pieces))


def _send_head(
    connection: socket.socket, status: int, type: str, headers: Mapping[str, str]
) -> None:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {type}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())


def _send(
    connection: socket.socket,
    status: int,
    body: bytes,
    type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> None:
    _send_head(connection, status, type, {"Content-Length": str(len(body)), **(headers or {})})
    connection.sendall(body)


def _send_chunk(connection: socket.socket, data: bytes) -> None:
    connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
