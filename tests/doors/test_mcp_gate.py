"""Who is let in over HTTP: every combination of what a request can say of itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from holdfast.errors import PolicyRefused
from holdfast.gatehouse.heads import Denied, gate_for
from holdfast.mcp_server.clients import Client, new_client
from holdfast.mcp_server.gate import admit
from holdfast.mcp_server.http import check_clients
from holdfast.mcp_server.limits import FRAME_BYTES
from tests.scale import SCALE

PORT = 8377
CLIENT, TOKEN = new_client("editor", at="")

HOSTS = {
    f"127.0.0.1:{PORT}": True,
    f"localhost:{PORT}": True,
    f"LOCALHOST:{PORT}": True,
    f"[::1]:{PORT}": True,
    "memory.example.org": True,
    None: False,
    "": False,
    "127.0.0.1": False,
    f"127.0.0.1:{PORT + 1}": False,
    f"evil.example:{PORT}": False,
    f"127.0.0.1.evil.example:{PORT}": False,
    f"localhost:{PORT}@evil.example": False,
    f"localhost:{PORT}, evil.example": False,
    "memory.example.org:80": False,
}
ORIGINS = {
    None: True,
    f"http://127.0.0.1:{PORT}": True,
    "https://memory.example.org": True,
    "null": False,
    "http://evil.example": False,
    f"http://evil.example:{PORT}": False,
    "http://127.0.0.1": False,
    f"https://127.0.0.1:{PORT}": False,
    f"http://127.0.0.1:{PORT}.evil.example": False,
    "": False,
}
FETCHES = {None: True, "none": True, "same-origin": True, "same-site": False, "cross-site": False}
TOKENS = {
    f"Bearer {TOKEN}": True,
    f"bearer {TOKEN}": True,
    None: False,
    "": False,
    TOKEN: False,
    "Bearer": False,
    "Bearer ": False,
    f"Bearer {TOKEN}x": False,
    f"Basic {TOKEN}": False,
    f"Bearer {CLIENT.token_hash}": False,
}
METHODS = {"POST": True, "GET": False, "DELETE": False, "OPTIONS": False, "PUT": False}
TYPES = {
    "application/json": True,
    "application/json; charset=utf-8": True,
    None: False,
    "text/plain": False,
    "application/x-www-form-urlencoded": False,
    "application/jsonx": False,
}


def whose(token: str) -> Client | None:
    return CLIENT if token == TOKEN else None


def head(
    host: str | None = f"127.0.0.1:{PORT}",
    origin: str | None = None,
    fetch: str | None = None,
    token: str | None = f"Bearer {TOKEN}",
    method: str = "POST",
    kind: str | None = "application/json",
    *,
    path: str = "/mcp",
    more: Iterable[tuple[str, str]] = (),
) -> dict[str, Any]:
    given = {
        "host": host,
        "origin": origin,
        "sec-fetch-site": fetch,
        "authorization": token,
        "content-type": kind,
    }
    headers = [(name, value) for name, value in given.items() if value is not None]
    return {
        "type": "http",
        "path": path,
        "method": method,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in [*headers, *more]],
    }


GATE = gate_for(PORT, ["Memory.Example.org"])


def status(given: dict[str, Any]) -> int:
    """0 for who is let in."""
    try:
        assert admit(GATE, given, whose) is CLIENT
    except Denied as denied:
        return denied.status
    return 0


def test_every_combination_is_decided_by_the_first_thing_that_is_wrong() -> None:
    counted = 0
    methods, kinds = (METHODS, TYPES) if SCALE > 1 else (["POST"], ["application/json"])
    who = itertools.product(HOSTS, ORIGINS, FETCHES, TOKENS, methods, kinds)
    what = itertools.product([f"localhost:{PORT}"], [None], [None], TOKENS, METHODS, TYPES)
    for each in itertools.chain(who, what):
        host, origin, fetch, token, method, kind = each
        wanted = 0
        if not (HOSTS[host] and ORIGINS[origin] and FETCHES[fetch]):
            wanted = 403
        elif not TOKENS[token]:
            wanted = 401
        elif not METHODS[method]:
            wanted = 405
        elif not TYPES[kind]:
            wanted = 415
        found = status(head(host, origin, fetch, token, method, kind))
        assert found == wanted, each
        counted += 1
    assert counted >= 14 * 10 * 5 * 10


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ([("host", f"127.0.0.1:{PORT}")], 403),
        ([("origin", f"http://127.0.0.1:{PORT}"), ("origin", "http://evil.example")], 403),
        ([("authorization", f"Bearer {TOKEN}")], 401),
        ([("content-type", "text/plain")], 415),
        ([("content-length", str(FRAME_BYTES))], 0),
        ([("content-length", str(FRAME_BYTES + 1))], 413),
        ([("content-length", "9" * 5_000)], 413),
        ([("content-length", "-1")], 400),
        ([("content-length", "٣")], 400),
    ],
)
def test_what_is_said_twice_or_too_large_is_refused(
    more: list[tuple[str, str]], wanted: int
) -> None:
    assert status(
        head(more=[(name, value.encode().decode("latin-1")) for name, value in more])
    ) == (wanted)


def test_the_address_that_is_listened_on_is_one_of_ours_where_nobody_else_reaches_it() -> None:
    for bound, is_ours in (("127.0.0.2", True), ("0.0.0.0", False), ("192.168.1.4", False)):
        gate = gate_for(PORT, bound=bound)
        assert (f"{bound}:{PORT}" in gate.hosts) == is_ours
        assert (f"http://{bound}:{PORT}" in gate.origins) == is_ours
    assert gate_for(PORT, bound="::1") == gate_for(PORT)


@pytest.mark.parametrize("path", ["/", "/mcp/", "/MCP", "/mcp/../mcp", "//mcp", "/sse"])
def test_there_is_one_path(path: str) -> None:
    assert status(head(path=path)) == 404
    assert status(head(path=path, token=None)) == 401, "who has no token learns of no path"


@pytest.mark.parametrize(
    ("host", "tls", "hosts", "clients", "is_fine"),
    [
        ("127.0.0.1", False, [], 0, True),
        ("127.8.8.8", False, [], 0, True),
        ("localhost", False, [], 0, True),
        ("::1", False, [], 0, True),
        ("[::1]", False, [], 0, True),
        ("0.0.0.0", False, [], 1, False),
        ("::", False, ["m.example"], 1, False),
        ("192.168.1.4", True, [], 1, False),
        ("192.168.1.4", True, ["m.example"], 0, False),
        ("192.168.1.4", True, ["m.example"], 1, True),
        ("localhost.evil.example", False, [], 1, False),
    ],
)
def test_an_address_that_others_reach_needs_tls_a_name_and_a_client(
    host: str, tls: bool, hosts: list[str], clients: int, is_fine: bool
) -> None:
    def check() -> None:
        check_clients(host, is_behind_tls=tls, hosts=hosts, clients=clients)

    if is_fine:
        check()
    else:
        with pytest.raises(PolicyRefused, match="reached from other machines"):
            check()
