"""The one way in: who asks is settled from the head of a request, before anything is parsed.

    host → origin, kind of fetch → public? → token → kind and size → body → the app

Public are the console's files and ``/healthz`` (GET, HEAD), which say nothing about anybody, and
``POST /sign-in``, which gives a token for a code. Everything else, whether it exists or not,
needs a token.

Promise: in that order, and nothing that was refused has changed anything
(``tests/server/test_entrance.py``: every combination, and over sockets).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from holdfast.errors import HoldfastError
from holdfast.gatehouse.bodies import answer, body_of, replayed
from holdfast.gatehouse.heads import (
    Denied,
    Gate,
    Head,
    Receive,
    Send,
    bearer,
    check_framing,
    check_host,
    check_json,
    check_length,
    check_origin,
    check_same,
    check_site,
    said,
)
from holdfast.server.desk import TOKEN, WHO
from holdfast.server.failing import Failure, FailureBody, type_of
from holdfast.server.pages import CSP, Pages
from holdfast.server.tokens import Tokens, TooManyTries

__all__ = ["BODY_BYTES", "METRICS", "SIGN_IN", "Counted", "Entrance"]

log = logging.getLogger("holdfast.server")

BODY_BYTES: Final = 2 * 1024 * 1024
"""Enough for the largest memory file that is edited."""
SIGN_IN: Final = "/sign-in"
METRICS: Final = "/metrics"
_SIGN_IN_BYTES: Final = 4096
_METRICS_KIND: Final = "text/plain; version=0.0.4; charset=utf-8"
_STREAM: Final = b"text/event-stream"
_READING: Final = ("GET", "HEAD")
_ALWAYS: Final = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": CSP,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "x-frame-options": "DENY",
    }.items()
)
_NOT_KEPT: Final = (b"cache-control", b"no-store")
_CLOSED: Final = Failure(
    type="storage",
    message="The token of this server cannot be read, so nobody is let in.",
    hint="The server's log says why. A new one: holdfast serve token --rotate",
)
_STOPPING: Final = Failure(
    type="failed", message="The server stops.", hint="Ask again when it runs: holdfast serve"
)

App = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Whom to tell how requests ended, and who knows all figures."""

    answered: Callable[[int], None]
    metrics: Callable[[], str]


class Entrance:
    """Stands before the app; itself an app that a web server calls."""

    def __init__(
        self, app: App, *, gate: Gate, tokens: Tokens, pages: Pages, counted: Counted
    ) -> None:
        self._app = app
        self._gate = gate
        self._tokens = tokens
        self._pages = pages
        self._counted = counted
        self._streams: set[anyio.CancelScope] = set()

    @property
    def open_streams(self) -> int:
        """How many are following what happens."""
        return len(self._streams)

    def end_streams(self) -> None:
        """Whoever only listens is told that it is over; who waits for an answer may have it."""
        for each in list(self._streams):
            each.cancel()

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if head["type"] != "http":
            return
        sending = self._with_headers(send)
        try:
            admitted = await self._admit(head, receive, sending)
        except Denied as denied:
            await _deny(denied, head, sending)
            return
        except HoldfastError as error:
            log.error("%s", error)  # where and why is nothing for whoever has no token
            await _tell(sending, head, 507, _CLOSED, {})
            return
        if admitted is not None:
            await self._pass(admitted, sending)

    async def _admit(
        self, head: Head, receive: Receive, send: Send
    ) -> tuple[MutableMapping[str, Any], Receive] | None:
        """What the app is given, or None if it was answered here."""
        path, method = head["path"], head["method"]
        check_host(self._gate, head)
        _check_target(head)
        check_framing(head)
        check_origin(self._gate, head)
        check_same(head)
        is_public = Pages.is_public(path) and _is_plain(head)
        if is_public and method in _READING:
            await self._show(head, send)
            return None
        check_site(head)
        if is_public:
            raise Denied(405, "This can only be read.", allow="GET, HEAD")
        if path == SIGN_IN and _is_plain(head):
            await self._sign_in(head, receive, send)
            return None
        token = bearer(head)
        who = None if token is None else self._tokens.who(token)
        if who is None:
            raise _nobody(token)
        if path == METRICS:
            await self._measure(head, send)
            return None
        body = await _body(head, receive, BODY_BYTES)
        return {**head, WHO: who, TOKEN: token}, replayed(body, receive)

    # ── what is answered here ───────────────────────────────────────────────────────────────

    async def _show(self, head: Head, send: Send) -> None:
        page = self._pages.get(head["path"])
        if page is None:
            raise Denied(404, "There is no such page.", hint="The console is at /.")
        has_it = page.tag in [each.strip() for each in ",".join(_tags(head)).split(",")]
        is_short = has_it or head["method"] == "HEAD"
        await answer(send, 304 if has_it else 200, page.body, page.headers, is_head=is_short)

    async def _sign_in(self, head: Head, receive: Receive, send: Send) -> None:
        if head["method"] != "POST":
            raise Denied(405, "Sign in with POST.", allow="POST")
        check_json(head)
        code, token = _asked(await _body(head, receive, _SIGN_IN_BYTES))
        try:
            given = self._tokens.sign_in(code=code, token=token)
        except TooManyTries as error:
            raise Denied(429, error.message, hint=error.hint, **{"retry-after": "60"}) from None
        if given is None:
            raise Denied(
                401,
                "This link is used up or too old."
                if token is None
                else "This token is not the one of this server.",
                hint="Take a new link: holdfast serve link",
            )
        told = {"token": given.secret, "expires_at": given.expires_at.isoformat()}
        body = json.dumps(told).encode()
        await answer(send, 200, body, {"content-type": "application/json"})

    async def _measure(self, head: Head, send: Send) -> None:
        if head["method"] not in _READING:
            raise Denied(405, "This can only be read.", allow="GET, HEAD")
        try:
            text = await run_sync(self._counted.metrics)
        except Exception:  # the border: whatever a room raises, told in our shape
            log.exception("the figures cannot be had")
            raise Denied(500, "The figures cannot be had; the server's log has it.") from None
        is_head = head["method"] == "HEAD"
        await answer(send, 200, text.encode(), {"content-type": _METRICS_KIND}, is_head=is_head)

    # ── what the app answers ────────────────────────────────────────────────────────────────

    async def _pass(self, admitted: tuple[Head, Receive], send: Send) -> None:
        head, receive = admitted
        scope = anyio.CancelScope()
        is_begun = is_stream = False

        async def sending(message: MutableMapping[str, Any]) -> None:
            nonlocal is_begun, is_stream
            is_begun = True
            if _begins_stream(message):
                is_stream = True
                if head["method"] == "GET":
                    self._streams.add(scope)
            elif is_stream and not self._still_holds(head[TOKEN]):
                scope.cancel()  # nothing more is told under a token that ended
                return
            await send(message)

        try:
            with scope:
                await self._app(head, receive, sending)
        except asyncio.CancelledError:  # by the web server, when its time to end is over
            log.warning("%s %s was cut off: the server stops", head["method"], head["path"])
            if not is_begun:
                await _tell(send, head, 500, _STOPPING, {})
            return
        finally:
            self._streams.discard(scope)
        if scope.cancelled_caught:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _still_holds(self, token: str) -> bool:
        try:
            return self._tokens.who(token, is_used=False) is not None
        except HoldfastError as error:
            log.error("%s", error)
            return False

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self._counted.answered(message["status"])
                headers = [*message.get("headers", ()), *_ALWAYS]
                if all(name.lower() != _NOT_KEPT[0] for name, _ in headers):
                    headers.append(_NOT_KEPT)
                message = {**message, "headers": headers}
            await send(message)

        return sending


def _check_target(head: Head) -> None:
    """A path of ours, not the address of somebody else, and no other protocol."""
    if not head["path"].startswith("/"):
        raise Denied(403, "This address is not one of this server.")
    if any("websocket" in each.casefold() for each in said(head, b"upgrade")):
        raise Denied(403, "There are no web sockets here.")


def _is_plain(head: Head) -> bool:
    """Whether the path was sent as it is read: what is public is never spelled otherwise."""
    raw = head.get("raw_path")
    return raw is None or raw == head["path"].encode()


def _nobody(token: str | None) -> Denied:
    hint = "A link for a browser: holdfast serve link. The token: holdfast serve token"
    if token is None:
        return Denied(401, "Send the token of this server: Authorization: Bearer …", hint=hint)
    return Denied(401, "This token is not one of this server, or no longer.", hint=hint)


async def _body(head: Head, receive: Receive, limit: int) -> bytes:
    check_length(head, limit)
    lengths = said(head, b"content-length")
    if said(head, b"transfer-encoding") or any(int(each) > 0 for each in lengths):
        check_json(head)
    elif not lengths and head["method"] in _READING:
        return b""
    return await body_of(receive, limit)


def _tags(head: Head) -> list[str]:
    return [each.replace("W/", "") for each in said(head, b"if-none-match")]


def _asked(body: bytes) -> tuple[str | None, str | None]:
    """A code or a token: one of them."""
    try:
        given = json.loads(body)
        code, token = given.get("code"), given.get("token")
    except (ValueError, AttributeError, RecursionError):
        code = token = None
    given = code if token is None else token
    if (code is None) == (token is None) or not isinstance(given, str):
        raise Denied(422, 'Send {"code": "…"} or {"token": "…"}.')
    return code, token


def _begins_stream(message: MutableMapping[str, Any]) -> bool:
    return message["type"] == "http.response.start" and any(
        name.lower() == b"content-type" and value.startswith(_STREAM)
        for name, value in message.get("headers", ())
    )


async def _deny(denied: Denied, head: Head, send: Send) -> None:
    """Say so, and hang up: what is left of the request is not read."""
    failure = Failure(type=type_of(denied.status), message=denied.message, hint=denied.hint)
    extra = {"www-authenticate": "Bearer"} if denied.status == 401 else {}
    await _tell(send, head, denied.status, failure, {**extra, **denied.headers})


async def _tell(
    send: Send, head: Head, status: int, failure: Failure, headers: dict[str, str]
) -> None:
    body = FailureBody(error=failure).model_dump_json().encode()
    told = {"content-type": "application/json", "connection": "close", **headers}
    await answer(send, status, body, told, is_head=head["method"] == "HEAD")
