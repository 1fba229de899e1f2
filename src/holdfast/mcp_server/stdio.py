"""The server on stdin and stdout: what a program that starts us speaks to.

Promises, proven by ``tests/doors/test_mcp_stdio.py`` and ``test_mcp_joining.py``: nothing but
messages is written to stdout; a message that is too large or none is answered with an error, and
the next one is read; when stdin ends or we are told to stop, every call that came in is finished
and answered first, unless nobody takes the answers: then it ends all the same, a minute later.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from queue import SimpleQueue
from typing import Any, Final

import anyio

from holdfast.mcp_server.frames import Frames, Oversized
from holdfast.mcp_server.limits import FRAME_BYTES
from holdfast.mcp_server.sdk import Answer, Sdk
from holdfast.types import Json

__all__ = ["Wire", "serve_stdio", "taken_over"]

_CHUNK: Final = 65_536
_CHUNKS: Final = 4
"""Chunks that are read ahead."""
_WAITING: Final = 256
"""Calls that may wait for their answer before the next message is read."""
_LAST_SECONDS: Final = 60.0
"""How long it may take from the end until all that came in before it is answered and written."""
_NO_JSON: Final = -32700
_NO_MESSAGE: Final = -32600


def taken_over() -> tuple[int, int]:
    """Handles of what stdin and stdout were. From now on whoever prints does so to stderr, and
    whoever reads stdin finds its end: the protocol has both for itself."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


def serve_stdio(
    sdk: Sdk, answer: Answer, source: int, sink: int, *, last_seconds: float = _LAST_SECONDS
) -> None:
    """Serve until stdin ends, nobody reads stdout any more, or a signal comes; from then on for
    ``last_seconds`` at most."""
    anyio.run(_serve, sdk, answer, source, sink, last_seconds)


async def _serve(sdk: Sdk, answer: Answer, source: int, sink: int, last_seconds: float) -> None:
    wire = Wire(sdk, sink)
    server = sdk.server(answer)
    async with anyio.create_task_group() as tasks, _stopping(wire):

        async def give_up() -> None:
            await wire.stopped.wait()
            await anyio.sleep(last_seconds)
            tasks.cancel_scope.cancel()

        tasks.start_soon(wire.read, source)
        tasks.start_soon(wire.write)
        tasks.start_soon(give_up)
        await server.run(wire.requests, wire.replies, server.create_initialization_options())
        await wire.finish()
        tasks.cancel_scope.cancel()
    wire.close()


class Wire:
    """Both directions, and what was asked and not answered yet."""

    def __init__(self, sdk: Sdk, sink: int) -> None:
        self._sdk = sdk
        self._pen = _Pen(sink)
        self._into, self.requests = anyio.create_memory_object_stream[Any](0)
        self.replies, self._out_of = anyio.create_memory_object_stream[Any](0)
        self._waiting: set[Any] = set()
        self._changed = anyio.Event()
        self.stopped = anyio.Event()
        self._written = anyio.Event()
        self._writing = anyio.Lock()

    def stop(self) -> None:
        """Read no further; what was asked is still answered."""
        self.stopped.set()
        self._note()

    async def finish(self) -> None:
        """Until everything that the server said is written."""
        self.stop()
        await self.replies.aclose()
        await self._written.wait()

    def close(self) -> None:
        """Nothing more is written."""
        self._pen.put_down()

    # ── in ──────────────────────────────────────────────────────────────────────────────────

    async def read(self, source: int) -> None:
        """Hand on what comes in; at its end wait for the answers, then let the server go."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[bytes] = asyncio.Queue()

        def arrive(chunk: bytes) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        room = threading.Semaphore(_CHUNKS)
        # A thread that nobody waits for: nothing ends a read of a terminal or pipe.
        threading.Thread(target=_pump, args=(source, arrive, room), daemon=True).start()
        async with self._into, anyio.create_task_group() as tasks:
            tasks.start_soon(self._read_on, chunks, room)
            await self.stopped.wait()
            await self._until(lambda: not self._waiting)
            tasks.cancel_scope.cancel()

    async def _read_on(self, chunks: asyncio.Queue[bytes], room: threading.Semaphore) -> None:
        frames = Frames(FRAME_BYTES)
        while chunk := await chunks.get():
            room.release()
            for frame in frames.feed(chunk):
                if self.stopped.is_set():
                    return
                await self._take(frame)
        for frame in frames.end():
            await self._take(frame)
        self.stop()

    async def _take(self, frame: bytes | Oversized) -> None:
        if isinstance(frame, Oversized):
            told = f"A message of {frame.size:,} bytes; the limit is {FRAME_BYTES:,}."
            await self._complain(frame.id, _NO_MESSAGE, told + " Send it in smaller parts.")
            return
        try:
            message = self._sdk.read(frame)
        except ValueError:
            await self._complain(*_wrong_with(frame))
            return
        if _has_no_id(message, frame):
            await self._complain(None, _NO_MESSAGE, "The id of a request is a number or a text.")
            return
        self._expect(message)
        await self._until(lambda: len(self._waiting) < _WAITING)
        with suppress(anyio.BrokenResourceError):  # the server is gone already
            await self._into.send(message)

    def _expect(self, message: Any) -> None:
        """Note whose answer is waited for; a call that its caller cancelled may get none."""
        said = getattr(message.message, "root", message.message)
        method, params = getattr(said, "method", None), getattr(said, "params", None)
        if method == "notifications/cancelled" and isinstance(params, Mapping):
            self._waiting.discard(params.get("requestId"))
        elif method is not None and getattr(said, "id", None) is not None:
            self._waiting.add(said.id)

    # ── out ─────────────────────────────────────────────────────────────────────────────────

    async def write(self) -> None:
        """Write what the server says, each message whole."""
        try:
            async with self._out_of:
                async for message in self._out_of:
                    await self._send(self._sdk.write(message))
                    said = getattr(message.message, "root", message.message)
                    if getattr(said, "method", None) is None:
                        self._waiting.discard(getattr(said, "id", None))
                        self._note()
        except OSError:  # nobody reads any more
            self._waiting.clear()
            self.stop()
        finally:
            self._written.set()

    async def _complain(self, id: int | str | None, code: int, text: str) -> None:
        error: Json = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}
        with suppress(OSError):
            await self._send(json.dumps(error).encode())

    async def _send(self, frame: bytes) -> None:
        async with self._writing:
            await self._pen.write(frame + b"\n")

    # ── waiting ─────────────────────────────────────────────────────────────────────────────

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()


def _wrong_with(frame: bytes) -> tuple[int | str | None, int, str]:
    """Of a line that is no message: its id, if it has one, and what is wrong."""
    try:
        value = json.loads(frame)
    except (ValueError, RecursionError):
        return None, _NO_JSON, "This line is no JSON. A message is one line of JSON in UTF-8."
    id = value.get("id") if isinstance(value, dict) else None
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    return known, _NO_MESSAGE, "This is JSON, but no message of JSON-RPC 2.0."


def _has_no_id(message: Any, frame: bytes) -> bool:
    """Whether a request says ``"id": null``: no answer could be told from another, and none at
    all would leave its caller waiting. What has no id at all is a notification."""
    said = getattr(message.message, "root", message.message)
    if getattr(said, "method", None) is None or getattr(said, "id", None) is not None:
        return False
    return "id" in json.loads(frame)


def _pump(source: int, arrive: Callable[[bytes], None], room: threading.Semaphore) -> None:
    """Read what comes while there is room for it, and say so; an empty chunk is the end."""
    with suppress(RuntimeError):  # the loop is closed: nobody listens any more
        while True:
            room.acquire()
            try:
                chunk = os.read(source, _CHUNK)
            except OSError:
                chunk = b""
            arrive(chunk)
            if not chunk:
                return


class _Pen:
    """Writes frames in a thread that nobody waits for at the end: nothing ends a write to a pipe
    that nobody reads, and we must be able to."""

    def __init__(self, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._frames: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        threading.Thread(target=self._work, args=(sink,), daemon=True).start()

    async def write(self, frame: bytes) -> None:
        """Until it is written whole.

        Raises:
            OSError: nobody reads any more.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self._frames.put((frame, done))
        await done

    def put_down(self) -> None:
        """Nothing more is written."""
        self._frames.put(None)

    def _work(self, sink: int) -> None:
        while (next_one := self._frames.get()) is not None:
            frame, done = next_one
            try:
                view = memoryview(frame)
                while view:
                    view = view[os.write(sink, view) :]
                problem = None
            except OSError as error:
                problem = error
            with suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
                self._loop.call_soon_threadsafe(_settle, done, problem)


def _settle(done: asyncio.Future[None], problem: OSError | None) -> None:
    if done.done():  # given up meanwhile
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)


@asynccontextmanager
async def _stopping(wire: Wire) -> AsyncIterator[None]:
    """Stop when we are told to, as politely as when stdin ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, wire.stop)
    try:
        yield
    finally:
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
