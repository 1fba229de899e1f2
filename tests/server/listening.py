"""One request to the app, led by hand: its stream is heard frame by frame, and left at will.

No socket and no thread: the app is called as a server calls it, so a test decides when the client
is gone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from starlette.types import ASGIApp, Message

from holdfast.server.app import API

__all__ = ["Heard", "Listener"]

_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    event: str
    data: Any
    id: str | None = None


@dataclass
class Listener:
    """``async with Listener(app, "POST", "/sessions/s/messages", {"text": "hi"}) as stream:``"""

    app: ASGIApp
    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    status: int = 0
    pings: int = 0
    is_deaf: bool = False
    """Whether nothing that is sent is taken: a client that does not read."""

    async def __aenter__(self) -> Self:
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._is_asked = False
        self._rest = b""
        self._task = asyncio.ensure_future(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Close the connection, and wait until the app has noticed."""
        self._gone.set()
        await asyncio.wait_for(self._task, _SECONDS)

    async def _run(self) -> None:
        sent = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        sent += [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": f"{API}{self.path}",
            "raw_path": f"{API}{self.path}".encode(),
            "query_string": self.query.encode(),
            "root_path": "",
            "headers": sent,
            "client": ("127.0.0.1", 5),
            "server": ("localhost", 80),
        }
        await self.app(scope, self._receive, self._take)

    async def _receive(self) -> Message:
        if not self._is_asked:
            self._is_asked = True
            body = json.dumps(self.body).encode() if self.body is not None else b""
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        if self.is_deaf:
            await self._gone.wait()
        self._sent.put_nowait(message)

    async def next(self) -> Heard | None:
        """The next event; None at the end."""
        while b"\n\n" not in self._rest:
            message = await asyncio.wait_for(self._sent.get(), _SECONDS)
            self._rest += message["body"]
            if not message.get("more_body"):
                break
        one, _, self._rest = self._rest.partition(b"\n\n")
        if one == b": ping":
            self.pings += 1
            return await self.next()
        return _read(one.decode()) if one else None

    async def all(self) -> list[Heard]:
        """Everything until the end."""
        found = []
        while (heard := await self.next()) is not None:
            found.append(heard)
        return found

    async def json(self) -> Any:
        """The whole body, where it is no stream."""
        body = b""
        while True:
            message = await asyncio.wait_for(self._sent.get(), _SECONDS)
            body += message["body"]
            if not message.get("more_body"):
                return json.loads(body)


def _read(text: str) -> Heard:
    fields = dict(line.split(": ", 1) for line in text.split("\n"))
    return Heard(event=fields["event"], data=json.loads(fields["data"]), id=fields.get("id"))
