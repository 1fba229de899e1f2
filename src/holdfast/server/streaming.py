"""Server-sent events: what happens, as it happens, until one side leaves.

Promise: whoever leaves is noticed at once, also while nothing is said, and what made the events
is told so, however the stream is ended (``tests/server/test_entrance.py``); a line comes at least
every 15 seconds; nothing in a text can end a frame or begin another
(``tests/server/test_messages.py``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import Response

from holdfast.errors import HoldfastError
from holdfast.redact import redact
from holdfast.server.failing import Failure, failure_of
from holdfast.text import cut
from holdfast.types import Json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from holdfast.engine.turn.running import Step

__all__ = ["EVENTS_DESCRIBED", "EventStream", "failure_told", "frame", "sse", "step_told"]

log = logging.getLogger("holdfast.server")

PING_SECONDS: Final = 15.0
_OTHER: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_PING: Final = b": ping\n\n"
_TOLD: Final = 500

Told = Mapping[str, Json]

EVENTS_DESCRIBED: Final[dict[str, Any]] = {
    "text/event-stream": {
        "schema": {
            "type": "object",
            "description": "One event; its data is a JSON object.",
            "required": ["event", "data"],
            "properties": {
                "id": {"type": "string"},
                "event": {"type": "string"},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
        }
    }
}
"""What a stream holds, for the description of the API."""


def frame(event: str, data: Told, *, id: str | None = None) -> bytes:
    """One event. JSON has no line breaks of its own, so the data is one line."""
    event = _OTHER.sub("", event) or "event"
    number = f"id: {id}\n" if id is not None else ""
    said = json.dumps(dict(data), ensure_ascii=True, separators=(",", ":"))
    return f"{number}event: {event}\ndata: {said}\n\n".encode()


class EventStream(Response):
    """An answer that goes on for as long as there are frames and somebody reads them."""

    media_type = "text/event-stream"

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        status_code: int = 200,
        *,
        closing: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``closing`` is called at the end, whichever it is: also if not one frame was asked
        for."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(status_code=status_code, headers=headers)
        del self.headers["content-length"]
        self._frames = frames
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            # Whoever cancels may do so again and again (a scope of anyio, a loop that ends): what
            # has to be done at the end is done by a task that nobody cancels with this one.
            ending = asyncio.ensure_future(self._end(sending, leaving))
            _endings.add(ending)
            ending.add_done_callback(_endings.discard)
            await asyncio.shield(ending)

    async def _end(self, *tasks: asyncio.Future[None]) -> None:
        try:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            if self._closing is not None:
                await self._closing()

    async def _send(self, send: Send) -> None:
        following: asyncio.Future[bytes] | None = None
        try:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            while True:
                following = following or asyncio.ensure_future(_next(self._frames))
                done, _ = await asyncio.wait({following}, timeout=PING_SECONDS)
                body = _PING
                if done:
                    try:
                        body = following.result()
                    except StopAsyncIteration:
                        break
                    following = None
                await send({"type": "http.response.body", "body": body, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:  # it left while something was being sent
            log.debug("a stream was left", exc_info=True)
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            close = getattr(self._frames, "aclose", None)
            if close is not None:
                with suppress(RuntimeError):  # it is at its end already
                    await close()


_endings: Final[set[asyncio.Future[None]]] = set()
"""Streams that come to their end; a loop keeps no task that nobody else does."""


async def _next(frames: AsyncIterator[bytes]) -> bytes:
    return await anext(frames)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


# ── the steps of a turn ─────────────────────────────────────────────────────────────────────

Ended = Callable[[], Awaitable[Told]]


def sse(
    steps: AsyncIterator[Step], *, first: Iterable[Told] = (), ended: Ended | None = None
) -> EventStream:
    """The steps of a turn as they happen. ``first`` is told before them; ``ended`` says which
    entry the answer became."""
    return EventStream(_frames(steps, tuple(first), ended), closing=getattr(steps, "aclose", None))


async def _frames(
    steps: AsyncIterator[Step], first: tuple[Told, ...], ended: Ended | None
) -> AsyncIterator[bytes]:
    for told in first:
        yield frame("step", told)
    try:
        async for step in steps:
            told = step_told(step)
            if step.kind == "end" and ended is not None:
                told |= await ended()
            yield frame("step", told)
    except Exception as error:  # noqa: BLE001 - told to whoever reads: the head is long sent
        yield frame("step", {"kind": "error", "error": failure_told(error).model_dump()})


def step_told(step: Step) -> dict[str, Json]:
    """A step as it is told."""
    match step.kind:
        case "text":
            return {"kind": "text", "text": step.text}
        case "tool_call":
            return {"kind": "tool_call", "tool": step.tool, "arguments": dict(step.arguments)}
        case "tool_result":
            return {
                "kind": "tool_result",
                "tool": step.tool,
                "result": step.result,
                "is_error": step.is_error,
            }
    return {"kind": "end", "entry": None, "seq": None}


def failure_told(error: BaseException) -> Failure:
    """What went wrong in the midst of an answer. What a model's client raised is told in short,
    without credentials."""
    if isinstance(error, HoldfastError):
        return failure_of(error)[1]
    log.error("a turn failed", exc_info=error)
    why = redact(cut(str(error), _TOLD))
    return Failure(
        type="failed",
        message=f"The answer broke off: {type(error).__name__}" + (f": {why}" if why else "."),
        hint="What was said is kept. Send the message again, or look: holdfast doctor",
    )
