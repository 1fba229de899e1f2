"""Who is let in over HTTP: decided from the head of a request, before its body is read.

    host · origin    as ``gatehouse.heads`` says
    token            a client's
    path             /mcp · POST · application/json · no larger than the limit

Promise: in that order, and what is refused has cost no more than its head
(``tests/doors/test_mcp_gate.py``, every combination).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from holdfast.gatehouse.bodies import answer
from holdfast.gatehouse.heads import (
    Denied,
    Gate,
    Head,
    Send,
    bearer,
    check_host,
    check_json,
    check_length,
    check_origin,
    check_site,
)
from holdfast.mcp_server.clients import Client
from holdfast.mcp_server.limits import FRAME_BYTES

__all__ = ["PATH", "admit", "deny"]

PATH: Final = "/mcp"


def admit(gate: Gate, head: Head, whose: Callable[[str], Client | None]) -> Client:
    """The client whose request this is.

    Raises:
        Denied: it is nobody's, or not one we answer.
    """
    check_host(gate, head)
    check_origin(gate, head)
    check_site(head)
    token = bearer(head)
    if token is None:
        raise Denied(
            401, "Send the token of a client: Authorization: Bearer … (holdfast mcp clients add)."
        )
    client = whose(token)
    if client is None:
        raise Denied(401, "This token is not one of a client (holdfast mcp clients list).")
    _check_kind(head)
    return client


def _check_kind(head: Head) -> None:
    if head["path"] != PATH:
        raise Denied(404, f"There is nothing here but {PATH}.")
    if head["method"] != "POST":
        raise Denied(405, "Only POST: every call is answered at once.", allow="POST")
    check_json(head)
    check_length(head, FRAME_BYTES)


async def deny(denied: Denied, send: Send) -> None:
    """Say so, and hang up: what is left of the request is not read."""
    headers = {
        "content-type": "application/json",
        "connection": "close",
        **({"www-authenticate": "Bearer"} if denied.status == 401 else {}),
        **denied.headers,
    }
    await answer(send, denied.status, json.dumps({"error": denied.message}).encode(), headers)
