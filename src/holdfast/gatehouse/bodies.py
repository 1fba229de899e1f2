"""The body of a request: as far as its limit, and no longer than its time.

Promise: what is too large or too slow is refused, whatever the head said of its length
(``tests/doors/test_mcp_http.py``, ``tests/server/test_entrance.py``).
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from holdfast.gatehouse.heads import Denied, Receive, Send, too_large

__all__ = ["answer", "body_of", "replayed"]

_BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive."""


async def body_of(receive: Receive, limit: int, *, seconds: float = _BODY_SECONDS) -> bytes:
    """The whole body.

    Raises:
        Denied: it is too large, or does not come.
    """
    parts: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Denied(400, "The body ended too early.")
                size += len(message.get("body", b""))
                if size > limit:
                    raise too_large(limit)
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise Denied(408, f"The body did not come within {seconds:.0f} seconds.") from None


def replayed(body: bytes, receive: Receive) -> Receive:
    """The body once more, for whoever parses it; then what comes."""
    is_given = False

    async def replay() -> Any:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def answer(
    send: Send, status: int, body: bytes, headers: dict[str, str], *, is_head: bool = False
) -> None:
    """A whole answer at once; to HEAD all of it but the body."""
    told = {"content-length": str(len(body)), **headers}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(key.encode(), value.encode("latin-1")) for key, value in told.items()],
        }
    )
    await send({"type": "http.response.body", "body": b"" if is_head else body})
