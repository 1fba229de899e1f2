"""The one client through which notices leave: checked addresses, one request, bounded.

The name is resolved once; every address it has is checked; the connection goes to a checked
address and to no other, with the name in Host and in TLS. No redirect is followed, no proxy of
the environment is used, no cookie or password is kept. The deadline is over the whole exchange,
with the resolution of the name, so that a server that sends one byte at a time wins nothing.

Promise: an answer, ``PolicyRefused`` before any connection, or ``Unreached``; none of their
messages holds a path, a header or a body (``tests/engine/test_egress.py``, against real servers).
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from threading import Thread
from typing import Any, Final, cast

from holdfast.engine.notify.addresses import Address, AllowedHosts, check_ip, read_address

__all__ = ["PASSING", "Answer", "Connect", "Egress", "Resolve", "Unreached"]

Resolve = Callable[[str, int], Sequence[str]]
Connect = Callable[[str, int, float], socket.socket]

PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which another attempt may go better."""

_HEAD_BYTES: Final = 262_144
_MOST_ADDRESSES: Final = 4


class Unreached(Exception):
    """The exchange did not come to its end. ``is_passing``: another attempt may."""

    def __init__(self, reason: str, *, is_passing: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_passing = is_passing


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes = field(repr=False)
    """At most as long as the client's cap; what is beyond it was not read."""
    retry_after: float | None = None


def _resolve(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


def _connect(ip: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((ip, port), timeout=seconds)


class Egress:
    """Sends one request at a time; keeps nothing between them."""

    def __init__(
        self,
        *,
        allow_hosts: Sequence[str] = (),
        seconds: float = 10.0,
        cap_bytes: int = 65_536,
        resolve: Resolve | None = None,
        connect: Connect | None = None,
        tls: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._allowed = AllowedHosts(allow_hosts)
        self._seconds = seconds
        self._cap_bytes = cap_bytes
        self._resolve = resolve or _resolve
        self._connect = connect or _connect
        self._tls = tls

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """
        Raises:
            PolicyRefused: the address may not be reached; nothing was connected.
            Unreached: no answer, not in time, or a redirect.
        """
        deadline = time.monotonic() + self._seconds
        address = read_address(url, self._allowed)
        ips = self._checked(address, deadline)
        request = _request(address, body, headers)
        try:
            with self._open(address, ips, deadline) as connection:
                return self._exchange(connection, request, deadline)
        except _TooLong:
            raise Unreached("the answer is too long", is_passing=False) from None
        except TimeoutError:
            raise Unreached(f"no answer within {self._seconds:g} s") from None
        except ssl.SSLCertVerificationError as error:
            why = f"its certificate was not accepted: {error.verify_message}"
            raise Unreached(why, is_passing=False) from None
        except OSError as error:
            raise Unreached(error.strerror or type(error).__name__) from None
        except (HTTPException, ValueError):  # whose messages quote what was received
            raise Unreached("what it answers is not HTTP", is_passing=False) from None

    # ── where to ────────────────────────────────────────────────────────────────────────────

    def _checked(self, address: Address, deadline: float) -> list[str]:
        """All that the name leads to, if every one of them may be reached.

        One that may not is reason enough to refuse: a name that leads to a public and to a
        private address is how a check is passed by.
        """
        found = [address.ip] if address.ip else self._asked(address, deadline)
        return [
            check_ip(ip, host=address.host, is_listed=address.is_listed)
            for ip in dict.fromkeys(found)
        ]

    def _asked(self, address: Address, deadline: float) -> Sequence[str]:
        """Asked in a thread of its own: the system's resolver knows no deadline."""
        answers: list[Sequence[str]] = []

        def ask() -> None:
            try:
                answers.append(self._resolve(address.host, address.port))
            except (OSError, UnicodeError):
                answers.append(())

        thread = Thread(target=ask, name="holdfast-resolving", daemon=True)
        thread.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if not answers:
            raise Unreached(f"{address.host} was not resolved within {self._seconds:g} s")
        if not answers[0]:
            raise Unreached(f"{address.host} could not be resolved")
        return answers[0]

    def _open(self, address: Address, ips: Sequence[str], deadline: float) -> socket.socket:
        plain = self._connected(address, ips, deadline)
        if address.scheme == "http":
            return plain
        try:
            plain.settimeout(_left(deadline))
            return self._tls().wrap_socket(plain, server_hostname=address.host)
        except BaseException:
            plain.close()
            raise

    def _connected(self, address: Address, ips: Sequence[str], deadline: float) -> socket.socket:
        """A connection to the first of the checked addresses that takes one.

        Each has its share of the time that is left, so that one that is silent (IPv6 where there
        is no route, often) leaves some for the next.
        """
        tried = ips[:_MOST_ADDRESSES]
        for position, ip in enumerate(tried):
            share = _left(deadline) / (len(tried) - position)
            try:
                return self._connect(ip, address.port, share)
            except OSError:
                if position == len(tried) - 1:
                    raise
        raise AssertionError("a loop over addresses returns or raises")

    # ── one request, one answer ─────────────────────────────────────────────────────────────

    def _exchange(self, connection: socket.socket, request: bytes, deadline: float) -> Answer:
        unsent = memoryview(request)
        while unsent:
            connection.settimeout(_left(deadline))
            unsent = unsent[connection.send(unsent) :]
        received = _Received(connection, deadline, self._cap_bytes + _HEAD_BYTES)
        with HTTPResponse(cast(Any, received), method="POST") as response:
            response.begin()
            if 300 <= response.status < 400:
                what = f"it answers {response.status}, and redirects are not followed"
                raise Unreached(what, is_passing=False)
            return Answer(
                status=response.status,
                body=response.read(self._cap_bytes),
                retry_after=_seconds(response.headers.get("Retry-After")),
            )


class _TooLong(Exception):
    """More came than any right answer needs."""


class _Received(RawIOBase):
    """What comes in, each piece of it within the time that is left."""

    def __init__(self, connection: socket.socket, deadline: float, most: int) -> None:
        self._connection = connection
        self._deadline = deadline
        self._room = most

    def makefile(self, *_: object) -> BufferedReader:
        """Called by ``HTTPResponse``, which takes this for a socket."""
        return BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(_left(self._deadline))
        count = self._connection.recv_into(buffer)
        self._room -= count
        if self._room < 0:
            raise _TooLong
        return count


def _request(address: Address, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = {
        "Host": address.host_header,
        "User-Agent": "holdfast",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Length": str(len(body)),
        **headers,
    }
    for name, value in lines.items():
        if not f"{name}{value}".isascii() or not f"{name}{value}".isprintable():
            raise Unreached(f"the header {name!r} cannot be sent", is_passing=False)
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {address.target} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _seconds(retry_after: str | None) -> float | None:
    """A date instead of a number is not read: our own pause does."""
    if retry_after is None or not retry_after.strip().isdecimal() or len(retry_after) > 12:
        return None
    return float(retry_after)
