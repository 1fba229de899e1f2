"""Who is let in over HTTP: decided from the head of a request, before its body is read.

    host      exactly one, exactly one of ours: a name that leads here by DNS is not
    origin    none, or our own: a web page may not speak to us through its reader's browser
    token     a client's, in the Authorization header and nowhere else
    path      /mcp · POST · application/json · no larger than the limit

Promise: in that order, and what is refused has cost no more than its head
(``tests/doors/test_mcp_gate.py``, every combination).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

import anyio

from holdfast.mcp_server.clients import Client
from holdfast.mcp_server.limits import FRAME_BYTES
from holdfast.models.servers import is_loopback_host

__all__ = [
    "PATH",
    "Denied",
    "Gate",
    "Head",
    "Receive",
    "Send",
    "admit",
    "body_of",
    "deny",
    "gate_for",
]

PATH: Final = "/mcp"
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive."""

Head = Mapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Denied(Exception):
    """Not let in: the HTTP status, and what is told."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the Host and Origin of a request may be."""

    hosts: frozenset[str]
    origins: frozenset[str]


def gate_for(port: int, others: Iterable[str] = (), *, bound: str = "127.0.0.1") -> Gate:
    """The names of this machine with that port, and the one that is listened on if it is another
    (``127.0.0.2``); ``others`` are reached through TLS."""
    listened = {bound} if is_loopback_host(bound) and ":" not in bound else set()
    own = {f"{each}:{port}" for each in (*_LOOPBACK, *listened)}
    more = {each.casefold() for each in others}
    origins = {f"http://{each}" for each in own} | {f"https://{each}" for each in more}
    return Gate(hosts=frozenset(own | more), origins=frozenset(origins))


def admit(gate: Gate, head: Head, whose: Callable[[str], Client | None]) -> Client:
    """The client whose request this is.

    Raises:
        Denied: it is nobody's, or not one we answer.
    """
    _check_host(gate, head)
    _check_origin(gate, head)
    client = whose(_token(head))
    if client is None:
        raise Denied(401, "This token is not one of a client (holdfast mcp clients list).")
    _check_kind(head)
    return client


def _check_host(gate: Gate, head: Head) -> None:
    hosts = _all(head, b"host")
    if len(hosts) != 1 or hosts[0].casefold() not in gate.hosts:
        raise Denied(403, "This host name is not one of this server.")


def _check_origin(gate: Gate, head: Head) -> None:
    origins = _all(head, b"origin")
    if len(origins) > 1 or any(each.casefold() not in gate.origins for each in origins):
        raise Denied(403, "Web pages may not use this server.")
    if any(each not in ("none", "same-origin") for each in _all(head, b"sec-fetch-site")):
        raise Denied(403, "Web pages may not use this server.")


def _token(head: Head) -> str:
    given = _all(head, b"authorization")
    kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if kind.casefold() != "bearer" or not token.strip():
        raise Denied(
            401, "Send the token of a client: Authorization: Bearer … (holdfast mcp clients add)."
        )
    return token.strip()


def _check_kind(head: Head) -> None:
    if head["path"] != PATH:
        raise Denied(404, f"There is nothing here but {PATH}.")
    if head["method"] != "POST":
        raise Denied(405, "Only POST: every call is answered at once.", allow="POST")
    kinds = [each.partition(";")[0].strip().casefold() for each in _all(head, b"content-type")]
    if kinds != ["application/json"]:
        raise Denied(415, "The body of a request is application/json.")
    lengths = _all(head, b"content-length")
    if any(not each.isascii() or not each.isdigit() for each in lengths):
        raise Denied(400, "The Content-Length is no number.")
    if any(len(each) > 15 or int(each) > FRAME_BYTES for each in lengths):
        raise _too_large()


def _too_large() -> Denied:
    return Denied(413, f"The body is larger than {FRAME_BYTES:,} bytes, the limit.")


def _all(head: Head, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in head["headers"] if key.lower() == name]


# ── bodies ──────────────────────────────────────────────────────────────────────────────────


async def body_of(receive: Receive) -> bytes:
    """The whole body, whatever its head said of its length.

    Raises:
        Denied: it is too large, or does not come.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(_BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Denied(400, "The body ended too early.")
                size += len(message.get("body", b""))
                if size > FRAME_BYTES:
                    raise _too_large()
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Denied(408, f"The body did not come within {_BODY_SECONDS:.0f} seconds.") from None


async def deny(denied: Denied, send: Send) -> None:
    """Say so, and hang up: what is left of the request is not read."""
    body = json.dumps({"error": denied.message}).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **({"www-authenticate": "Bearer"} if denied.status == 401 else {}),
        **denied.headers,
    }
    await send(
        {
            "type": "http.response.start",
            "status": denied.status,
            "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
