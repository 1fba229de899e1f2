"""A call of a hosted model: asked, heard piece by piece, tried again if nobody heard anything.

A model may be silent for ``timeout_seconds``, before its first word and between words; what only
keeps a connection open is silence as well, and so is a piece with nothing in it. Every call is
heard as a stream, also one whose answer is wanted whole: so a long answer is not taken for
silence. Connections belong to the event loop they were made in: each loop has its own.

Promise: a hang costs ``timeout_seconds`` and is not tried again; what was refused for the moment
or never arrived is, at most ``retries`` times and never after a word was handed on; leaving a
stream closes its connection at once (``tests/models/test_hosted_wire.py``,
``test_hosted_errors.py``).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from threading import Lock
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from pydantic_ai.messages import InstructionPart, ModelMessage
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from holdfast.errors import HoldfastError
from holdfast.models.hosted.failures import (
    Called,
    TookTooLong,
    failure_of,
    is_passing,
    wait_asked,
)
from holdfast.models.hosted.replies import is_speech, read_reply, text_in
from holdfast.models.hosted.requests import system_of, tools_of, wire_messages
from holdfast.ports import ModelReply, ModelRequest, Traits
from holdfast.types import Json

__all__ = ["HostedModel"]

_SCHEMA: Final = "response_schema"
_WHOLE: Final = 30
"""So many times the silence may a call take in all, however busily it speaks."""
_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 30.0
"""Who asks for a longer wait is not waited for: the error says how long."""


class HostedModel:
    """A ``StreamingModel`` over a model of pydantic-ai."""

    def __init__(
        self,
        called: Called,
        make: Callable[[], WireModel[Any]],
        *,
        first: WireModel[Any] | None = None,
        traits: Traits | None = None,
        retries: int = 2,
        settings: Mapping[str, Json] | None = None,
        must_end: bool = False,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] | None = None,
    ) -> None:
        self.name: Final = called.name
        self.traits: Final = traits or Traits()
        self._called = called
        self._make = make
        self._first = first  # made already, and used in no event loop yet
        self._retries = retries
        self._settings = dict(settings or {})
        self._must_end = must_end
        self._sleep = sleep
        self._chance = chance or (lambda: 0.5)
        self._models: WeakKeyDictionary[asyncio.AbstractEventLoop, WireModel[Any]] = (
            WeakKeyDictionary()
        )
        self._lock = Lock()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply. Nothing of it is handed on before, so all of it may be tried again."""
        async with aclosing(self._tried(request, is_shown=False)) as heard:
            async for piece in heard:
                if isinstance(piece, ModelReply):
                    return piece
        raise HoldfastError(f"{self.name} stopped without an answer.", hint="Ask again.")

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
        """The words as they come, the reply last."""
        async with aclosing(self._tried(request, is_shown=True)) as heard:
            async for piece in heard:
                yield piece

    async def close(self) -> None:
        """Give up the connections of this event loop."""
        with self._lock:
            model = self._models.pop(asyncio.get_running_loop(), None)
        client = getattr(model, "client", None)
        close = getattr(client, "close", None)
        if inspect.iscoroutinefunction(close):
            await close()

    # ── trying ──────────────────────────────────────────────────────────────────────────────

    async def _tried(
        self, request: ModelRequest, *, is_shown: bool
    ) -> AsyncGenerator[str | ModelReply]:
        attempt = 0
        while True:
            is_heard = False
            try:
                async with aclosing(self._once(request)) as heard:
                    async for piece in heard:
                        is_heard = is_heard or (is_shown and isinstance(piece, str))
                        yield piece
                return
            except Exception as error:  # noqa: BLE001 - the border: raised again in our words
                wait = None if is_heard or attempt >= self._retries else self._wait(error, attempt)
                if wait is None:
                    raise self._failed(error) from self._cause(error)
            attempt += 1
            await self._sleep(wait)

    def _wait(self, error: Exception, attempt: int) -> float | None:
        """How long before the next try; None: there is none."""
        if not is_passing(error):
            return None
        backoff = _FIRST_WAIT * float(2**attempt) * (0.5 + self._chance())
        asked = wait_asked(error)
        if asked is None:
            return min(backoff, _LONGEST_WAIT)
        return asked + backoff / 4 if asked <= _LONGEST_WAIT else None

    def _failed(self, error: Exception) -> HoldfastError:
        return failure_of(error, self._called)

    def _cause(self, error: Exception) -> Exception | None:
        """What it came from, unless that would show the key."""
        said = str(error)
        is_ours = isinstance(error, HoldfastError)
        return None if is_ours or self._called.hidden(said) != said else error

    # ── one call ────────────────────────────────────────────────────────────────────────────

    async def _once(self, request: ModelRequest) -> AsyncGenerator[str | ModelReply]:
        model = self._model()
        messages, settings, parameters = self._asked(model, request)
        patience = _Patience(self._called.seconds)
        async with AsyncExitStack() as stack:
            async with patience():
                opened = cast(
                    AbstractAsyncContextManager[StreamedResponse],
                    model.request_stream(messages, settings, parameters),
                )
                response = await stack.enter_async_context(opened)
            events = aiter(response)
            while True:
                try:
                    async with patience():
                        event = cast(Any, await anext(events))
                except StopAsyncIteration:
                    break
                if text := text_in(event):
                    yield text
                if is_speech(event):
                    patience.renew()
            answer = response.get()
        yield read_reply(answer, name=self.name, must_end=self._must_end)

    def _model(self) -> WireModel[Any]:
        """The model whose connections belong to this event loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if (model := self._models.get(loop)) is None:
                # What a pool still holds keeps its loop from being forgotten by itself.
                for each in [each for each in self._models if each.is_closed()]:
                    del self._models[each]
                model, self._first = self._first or self._make(), None
                self._models[loop] = model
            return model

    def _asked(
        self, model: WireModel[Any], request: ModelRequest
    ) -> tuple[list[ModelMessage], ModelSettings, ModelRequestParameters]:
        messages = wire_messages(request.messages, system=model.system)
        parameters = ModelRequestParameters(
            function_tools=tools_of(request.tools) if self.traits.tool_calls else []
        )
        if (system := system_of(request)) is not None:
            parameters = replace(parameters, instruction_parts=[InstructionPart(content=system)])
        schema = request.extra.get(_SCHEMA)
        if isinstance(schema, Mapping) and model.profile.get("supports_json_schema_output"):
            wanted = OutputObjectDefinition(json_schema=dict(schema), name="answer")
            parameters = replace(parameters, output_mode="native", output_object=wanted)
        return messages, self._settings_of(model, request), parameters

    def _settings_of(self, model: WireModel[Any], request: ModelRequest) -> ModelSettings:
        settings: dict[str, Json] = {
            "timeout": self._called.seconds,
            "max_retries": 0,  # tried again here, and nowhere else
            # A single question will not be asked again: what it puts into a cache is paid for and
            # never read.
            "cache": len(request.messages) > 1 or bool(request.tools),
            **self._settings,
        }
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        unknown = model.unsupported_settings
        return cast(ModelSettings, {k: v for k, v in settings.items() if k not in unknown})


class _Patience:
    """How long one call is listened to: until it is silent for too long, or has taken too long."""

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._seconds = seconds
        self._end = self._clock() + seconds * _WHOLE
        self.renew()

    def renew(self) -> None:
        """Something was said."""
        self._silent_at = self._clock() + self._seconds

    @asynccontextmanager
    async def __call__(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout_at(min(self._silent_at, self._end)):
                yield
        except TimeoutError:
            if self._end <= self._silent_at:
                raise TookTooLong(self._seconds * _WHOLE) from None
            raise
