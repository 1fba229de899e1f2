"""The embedded model behind the port: streams, counts, remembers, says why it takes its time.

The first call loads the weights, in a thread of their own; no event loop waits. What was read for
the turn before is not read again. An answer that nobody waits for ends at its next token.

Promise: the pieces of a stream are the text of its reply, calls of tools apart; a request that
does not fit is an error that ``session.recover`` understands; everything else that goes wrong is
``ModelUnavailable`` with the next command (``tests/models/test_embedded.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.errors import HoldfastError, ModelUnavailable
from holdfast.models.embedded.calls import Shown, calls_in
from holdfast.models.embedded.runtime import Job, Runtime, runtime_of
from holdfast.models.embedded.waiting import Waiting, reading
from holdfast.models.embedded.wire import RESPONSE_SCHEMA, chat_request, names_of
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Json, Message, Part, Text, ToolCall, Usage

__all__ = ["EmbeddedModel", "RequestTooLong", "embedded_model"]

log = logging.getLogger("holdfast.models")

WINDOW: Final = 8_192
_MOST_CALLS: Final = 16


class RequestTooLong(HoldfastError):
    """The request is longer than the window. Says so in the words that a server would."""

    status_code = 400
    code = "context_length_exceeded"


def embedded_model(
    file: Path, *, name: str, window: int = WINDOW, threads: int | None = None
) -> EmbeddedModel:
    """A model of weights on disk; nothing is loaded before it is asked something.

    ``name`` is what it is called everywhere, such as ``embedded:qwen2.5-coder-1.5b``.
    """
    return EmbeddedModel(file, name=name, window=window, threads=threads)


class EmbeddedModel:
    """A model inside this process. All that share a file share its weights."""

    def __init__(
        self, file: Path, *, name: str, window: int = WINDOW, threads: int | None = None
    ) -> None:
        self._file = file.absolute()
        self._name = name
        self._window = window
        self._threads = threads
        self._calls_tools = False
        self.on_wait: Callable[[Waiting], None] | None = None
        """Told by ``stream``, in its event loop, what is waited for before the first word."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def traits(self) -> Traits:
        return Traits(
            window=self._window,
            tool_calls=self._calls_tools,
            is_local=True,
            prefill_per_second=self._runtime.speed.per_second,
            caches_prefix=True,
        )

    @property
    def is_loaded(self) -> bool:
        return self._runtime.is_loaded

    def learn_tool_calls(self, can: bool) -> None:
        """Whether it calls tools when it should: tried by whoever needs to know."""
        self._calls_tools = can

    def estimate_first_token(self, tokens: int, *, cached: int = 0) -> float | None:
        """Seconds until the first word of an answer to a request of so many tokens.

        ``cached`` of them were in the turn before: what that turn read and said. None as long as
        nobody knows how fast the model reads here.
        """
        speed = self._runtime.speed.per_second
        if speed is None:
            return None
        return self._runtime.seconds_to_load + max(0, tokens - cached) / speed

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply: ModelReply | None = None
        async with aclosing(self._answer(request, None)) as answer:
            async for heard in answer:
                if isinstance(heard, ModelReply):
                    reply = heard
        assert reply is not None
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        async with aclosing(self._answer(request, self.on_wait)) as answer:
            async for heard in answer:
                yield heard

    @property
    def _runtime(self) -> Runtime:
        return runtime_of(self._file, self._name)

    async def _answer(
        self, request: ModelRequest, on_wait: Callable[[Waiting], None] | None
    ) -> AsyncGenerator[str | ModelReply, None]:
        heard: asyncio.Queue[Json | Waiting | _End] = asyncio.Queue()
        runtime, job = self._begun(request, heard)
        answer = _Answer(
            names=frozenset()
            if request.extra.get(RESPONSE_SCHEMA) is not None
            else names_of(request.tools)
        )
        try:
            while not isinstance(now := await heard.get(), _End):
                if isinstance(now, Waiting):
                    _tell(on_wait, now)
                elif progress := now.get("prompt_progress"):
                    _tell(on_wait, _still_to_read(progress, runtime))
                elif piece := answer.add(now):
                    yield piece
        finally:
            job.is_cancelled.set()
        if now.problem is not None:
            raise _told(now.problem, self._name)
        if piece := answer.end():
            yield piece
        reply = answer.reply(self._name, self._window)
        runtime.speed.note(answer.read, answer.read_seconds)
        yield reply

    def _begun(
        self, request: ModelRequest, heard: asyncio.Queue[Json | Waiting | _End]
    ) -> tuple[Runtime, Job]:
        """The request in the queue of the weights."""
        loop = asyncio.get_running_loop()

        def put(what: Json | Waiting | _End) -> None:
            try:
                loop.call_soon_threadsafe(heard.put_nowait, what)
            except RuntimeError:  # its loop is closed: nobody is there to hear it
                job.is_cancelled.set()

        job = Job(
            asked=chat_request(request),
            on_chunk=put,
            on_wait=put,
            on_end=lambda problem: put(_End(problem=problem)),
            window=self._window,
            threads=self._threads,
        )
        while not (runtime := self._runtime).submit(job):
            pass  # it is being let go: the next one is another
        return runtime, job


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    problem: BaseException | None = None


def _tell(on_wait: Callable[[Waiting], None] | None, waiting: Waiting | None) -> None:
    if on_wait is None or waiting is None:
        return
    try:
        on_wait(waiting)
    except Exception:  # the border: whoever listens must not break the answer
        log.exception("a listener failed")


def _still_to_read(progress: Mapping[str, Json], runtime: Runtime) -> Waiting | None:
    """What is to be read yet, as fast as this reading goes, or as the last ones went."""
    left = int(progress["total"]) - int(progress["processed"])
    done = int(progress["processed"]) - int(progress["cache"])
    seconds = float(progress["time_ms"]) / 1000
    if left <= 0:
        return None
    return reading(left, done / seconds if done and seconds else runtime.speed.per_second)


def _told(problem: BaseException, name: str) -> BaseException:
    if isinstance(problem, HoldfastError):
        return problem
    return ModelUnavailable(
        f"{name} failed: {type(problem).__name__}.", hint="Try again; then: holdfast doctor"
    )


@dataclass(slots=True, kw_only=True)
class _Answer:
    """What was said so far."""

    names: frozenset[str]
    shown: Shown = field(init=False)
    texts: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, str]] = field(default_factory=dict)
    stop_reason: str | None = None
    timings: Mapping[str, Json] | None = None
    error: Mapping[str, Json] | None = None
    found: list[ToolCall] | None = None
    said: str = ""

    def __post_init__(self) -> None:
        self.shown = Shown(self.names)

    def add(self, chunk: Json) -> str:
        """What a chunk adds to what is shown."""
        if error := chunk.get("error"):
            self.error = error
            return ""
        self.timings = chunk.get("timings") or self.timings
        text = ""
        for choice in chunk.get("choices") or ():
            self.stop_reason = choice.get("finish_reason") or self.stop_reason
            delta = choice.get("delta") or {}
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                self._add_call(call)
        self.texts.append(text)
        return self.shown.feed(text) if text else ""

    def _add_call(self, call: Mapping[str, Json]) -> None:
        function = call.get("function") or {}
        known = self.calls.setdefault(
            int(call.get("index") or 0), {"id": "", "name": "", "arguments": ""}
        )
        known["id"] += call.get("id") or ""
        known["name"] += function.get("name") or ""
        known["arguments"] += function.get("arguments") or ""

    def end(self) -> str:
        """What was held back in vain; calls are found now."""
        text = "".join(self.texts)
        self.found = [
            ToolCall(
                id=each["id"] or f"call_{number}",
                name=each["name"],
                arguments=each["arguments"] or "{}",
            )
            for number, each in self.calls.items()
            if each["name"]
        ][:_MOST_CALLS]
        self.said = text
        if not self.found and self.names:
            self.found, self.said = calls_in(text, self.names)
        return "" if self.found else self.shown.end()

    def reply(self, name: str, window: int) -> ModelReply:
        if self.error is not None:
            raise _refused(self.error, name, window)
        parts: list[Part] = [Text(text=self.said)] if self.said.strip() or not self.found else []
        parts += self.found or []
        return ModelReply(
            message=Message(role="assistant", parts=tuple(parts)),
            usage=self._usage,
            stop_reason="tool_calls" if self.found else self.stop_reason,
        )

    @property
    def _usage(self) -> Usage | None:
        if self.timings is None:
            return None
        counted = {key: int(self.timings.get(key) or 0) for key in _COUNTS}
        return Usage(
            input_tokens=counted["prompt_n"],
            output_tokens=counted["predicted_n"],
            cache_read_tokens=counted["cache_n"],
        )

    @property
    def read(self) -> int:
        return int((self.timings or {}).get("prompt_n") or 0)

    @property
    def read_seconds(self) -> float:
        return float((self.timings or {}).get("prompt_ms") or 0.0) / 1000


_COUNTS: Final = ("prompt_n", "predicted_n", "cache_n")


def _refused(error: Mapping[str, Json], name: str, window: int) -> HoldfastError:
    """What the runtime says is wrong with a request, as an error of ours."""
    if error.get("type") == "exceed_context_size_error":
        tokens = error.get("n_prompt_tokens")
        limit = error.get("n_ctx") or window
        return RequestTooLong(
            f"The request ({tokens} tokens) exceeds the available context size ({limit} tokens) "
            f"of {name}.",
            hint="Compact the conversation: holdfast compact, or /compact in a chat.",
        )
    return ModelUnavailable(
        f"{name} refused the request ({error.get('code')}, {error.get('type')}).",
        hint="holdfast doctor",
    )
