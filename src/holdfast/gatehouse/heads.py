"""The head of a request: what it says of itself, and whether that lets it in.

    host      exactly one, exactly one of ours: a name that leads here by DNS is not
    origin    none, or our own: a web page may not speak to us through its reader's browser
    token     in the Authorization header and nowhere else
    kind      application/json, no larger than the limit

Promise: nothing here reads more than the head
(``tests/doors/test_mcp_gate.py``, ``tests/server/test_entrance.py``: every combination).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

from holdfast.models.servers import is_loopback_host

__all__ = [
    "Denied",
    "Gate",
    "Head",
    "Receive",
    "Send",
    "bearer",
    "check_framing",
    "check_host",
    "check_json",
    "check_length",
    "check_origin",
    "check_same",
    "check_site",
    "gate_for",
    "said",
    "too_large",
]

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_LONGEST_NUMBER: Final = 15

Head = Mapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Denied(Exception):
    """Not let in: the HTTP status, what is told, and what to do."""

    def __init__(
        self, status: int, message: str, *, hint: str | None = None, **headers: str
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.headers = headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What the Host and Origin of a request may be."""

    hosts: frozenset[str]
    origins: frozenset[str]


def gate_for(
    port: int, others: Iterable[str] = (), *, bound: str = "127.0.0.1", scheme: str = "http"
) -> Gate:
    """The names of this machine with that port, and the one that is listened on if it is another
    (``127.0.0.2``); ``others`` are reached through TLS. ``scheme`` is what is spoken here."""
    listened = {bound} if is_loopback_host(bound) and ":" not in bound else set()
    own = {f"{each}:{port}" for each in (*_LOOPBACK, *listened)}
    more = {each.casefold() for each in others}
    origins = {f"{scheme}://{each}" for each in own} | {f"https://{each}" for each in more}
    return Gate(hosts=frozenset(own | more), origins=frozenset(origins))


def check_host(gate: Gate, head: Head) -> None:
    hosts = said(head, b"host")
    if len(hosts) != 1 or hosts[0].casefold() not in gate.hosts:
        raise Denied(403, "This host name is not one of this server.")


def check_origin(gate: Gate, head: Head) -> None:
    origins = said(head, b"origin")
    if len(origins) > 1 or any(each.casefold() not in gate.origins for each in origins):
        raise _no_page()


def check_same(head: Head) -> None:
    """A page of ours speaks to the very name it came from: another of our names is another page."""
    hosts = [each.casefold() for each in said(head, b"host")]
    if any(each.casefold().partition("://")[2] not in hosts for each in said(head, b"origin")):
        raise _no_page()


def check_site(head: Head) -> None:
    """What a browser adds: whether the page that asks is one of ours."""
    if any(each not in ("none", "same-origin") for each in said(head, b"sec-fetch-site")):
        raise _no_page()


def _no_page() -> Denied:
    return Denied(403, "Web pages may not use this server.")


def bearer(head: Head) -> str | None:
    """The token that was sent, if one was, and only one."""
    given = said(head, b"authorization")
    kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() or None if kind.casefold() == "bearer" else None


def check_json(head: Head) -> None:
    kinds = [each.partition(";")[0].strip().casefold() for each in said(head, b"content-type")]
    if kinds != ["application/json"]:
        raise Denied(415, "The body of a request is application/json.")


def check_framing(head: Head) -> None:
    """Where a body ends is said once: two that read it must not read it differently."""
    if said(head, b"transfer-encoding") and said(head, b"content-length"):
        raise Denied(400, "A body has a Content-Length or a Transfer-Encoding, not both.")


def check_length(head: Head, limit: int) -> None:
    check_framing(head)
    lengths = said(head, b"content-length")
    if any(not each.isascii() or not each.isdigit() for each in lengths):
        raise Denied(400, "The Content-Length is no number.")
    if any(len(each) > _LONGEST_NUMBER or int(each) > limit for each in lengths):
        raise too_large(limit)


def too_large(limit: int) -> Denied:
    return Denied(413, f"The body is larger than {limit:,} bytes, the limit.")


def said(head: Head, name: bytes) -> list[str]:
    """Every header of that name."""
    return [value.decode("latin-1") for key, value in head["headers"] if key.lower() == name]
