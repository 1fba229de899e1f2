"""The tool loop, for hosts that do not want to own one: ask, show, do what is asked for, again.

    for step in session.run("What is on my list?", functions={"read_list": read_list}):
        print(step.text, end="")

Every request is prepared and every answer committed as if the host did it, so the loop is
compacted in its midst like any other conversation. An answer that is only a silent token shows
nothing.

Promise: whatever is interrupted, at whatever await, what was acknowledged is on disk and the
conversation goes on from there; a tool that fails is answered with its error
(``tests/engine/test_running.py``).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import queue
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from holdfast.context.flush.silence import SilentStream
from holdfast.engine.modelloop import on_model_loop
from holdfast.engine.tools import TOOLS, definitions
from holdfast.errors import HoldfastError
from holdfast.events import MessageStart, MessageUpdate, ToolEnd, ToolStart
from holdfast.formats import parse_message
from holdfast.models.names import format_of
from holdfast.ports import Model, ModelReply, ModelRequest, traits_of
from holdfast.types import Json, Message, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from holdfast.engine.turn.asking import About
    from holdfast.engine.turn.fit import Prepared
    from holdfast.engine.turn.talking import Incoming

__all__ = ["Step", "Talk", "run", "run_async"]

Functions = Mapping[str, Callable[..., object]]
Tell = Callable[..., None]
Book = Callable[[str], None]
"""Writes down what a call cost that gave no reply, by what it had said."""

log = logging.getLogger("holdfast.engine")

_STEPS: Final = 50
"""How many answers one turn may take: a model that goes on for ever costs money for ever."""
_POLL_SECONDS: Final = 0.05
_LEAVE_SECONDS: Final = 5.0
"""How long a tool that runs when the turn is left may still come to its end."""
_INTERRUPTED: Final = "The turn was left while this ran; whether it was done is not known."
_SYSTEM: Final = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something that happened in a turn. ``text`` is what a person reads, if anything."""

    kind: Literal["text", "tool_call", "tool_result", "end"]
    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    result: str | None = None
    is_error: bool = False
    message: Message | None = None
    """Of the end: the whole answer."""


class Talk(Protocol):
    """What the loop needs of a session."""

    name: str

    def append(self, message: Message) -> str: ...
    def prepare(self, *messages: Any, **about: Any) -> Prepared: ...
    def commit(self, reply: object) -> str: ...
    def recover(self, error: object) -> Prepared | None: ...
    def call_tool(self, name: str, arguments: Mapping[str, Json] | str) -> Json: ...
    @property
    def phase(self) -> str: ...
    @property
    def memory_mode(self) -> str: ...


def run(
    session: Talk,
    given: Sequence[Incoming],
    *,
    functions: Functions,
    about: About,
    model: Model,
    tell: Tell,
    book: Book,
) -> Iterator[Step]:
    """The steps of a turn, for whoever has no event loop: in the one in which models are called.

    No tool is called before the reader asks for what comes after the step that announces it.
    """
    steps: queue.SimpleQueue[Step | BaseException | None] = queue.SimpleQueue()
    is_wanted = Semaphore(0)

    async def go() -> None:
        turn = run_async(
            session, given, functions=functions, about=about, model=model, tell=tell, book=book
        )
        try:
            async for step in turn:
                steps.put(step)
                if step.kind == "tool_call":
                    await asyncio.to_thread(is_wanted.acquire)
            steps.put(None)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that reads
            steps.put(error)

    call = on_model_loop(go)
    try:
        while (step := steps.get()) is not None:
            if isinstance(step, BaseException):
                raise step
            yield step
            if step.kind == "tool_call":
                is_wanted.release()
    finally:
        call.cancel()  # the reader may have left in the midst of it
        is_wanted.release()


async def run_async(
    session: Talk,
    given: Sequence[Incoming],
    *,
    functions: Functions,
    about: About,
    model: Model,
    tell: Tell,
    book: Book,
) -> AsyncIterator[Step]:
    """The steps of a turn, as they happen."""
    turn = _Loop(session, functions, about, model, tell, book)
    async for step in turn.steps(given):
        yield step


class _Loop:
    def __init__(
        self,
        session: Talk,
        functions: Functions,
        about: About,
        model: Model,
        tell: Tell,
        book: Book,
    ) -> None:
        self._session = session
        self._tell = tell
        self._book = book
        self._functions = functions
        self._model = model
        self._about = cast("dict[str, Any]", {**about, "tools": self._offered(about)})

    def _offered(self, about: About) -> list[Mapping[str, Json]]:
        """The host's tools, and ours behind them, always in the same order. A model that cannot
        call any is not made to read ours: they are some 2,700 tokens."""
        given = list(about.get("tools", ()))
        if self._session.memory_mode == "off" or not traits_of(self._model).tool_calls:
            return given
        named = {_tool_name(each) for each in given}
        ours = definitions(about.get("format") or format_of(about.get("model")))
        return [*given, *(each for each in ours if _tool_name(each) not in named)]

    async def steps(self, given: Sequence[Incoming]) -> AsyncIterator[Step]:
        new: Sequence[Incoming] = given
        for number in range(1, _STEPS + 1):
            prepared = await asyncio.to_thread(self._session.prepare, *new, **self._about)
            reply: ModelReply | None = None
            async for heard in self._answer(prepared, number):
                if isinstance(heard, ModelReply):
                    reply = heard
                else:
                    yield Step(kind="text", text=heard)
            assert reply is not None
            await asyncio.to_thread(self._session.commit, reply)
            if not reply.message.tool_calls:
                yield Step(kind="end", message=reply.message)
                return
            for call in reply.message.tool_calls:
                yield Step(kind="tool_call", tool=call.name, arguments=_arguments(call) or {})
                result, is_error = await self._act(call)
                yield Step(kind="tool_result", tool=call.name, result=result, is_error=is_error)
            new = ()
        raise HoldfastError(
            f"The model used tools {_STEPS} times without coming to an end.",
            hint="Look at the conversation: holdfast sessions show " + self._session.name,
        )

    async def _answer(self, prepared: Prepared, step: int) -> AsyncIterator[str | ModelReply]:
        """What the model says, in pieces, and at last its reply; made to fit if it must."""
        while True:
            self._tell(MessageStart, step=step)
            heard: list[str] = []
            try:
                async for piece in _stream(self._model, _request(prepared)):
                    if isinstance(piece, str):
                        heard.append(piece)
                        self._tell(MessageUpdate, text=piece)
                    yield piece
            except (asyncio.CancelledError, GeneratorExit):
                self._book("".join(heard))
                raise
            except Exception as error:
                if _was_read(error):
                    self._book("".join(heard))
                smaller = None
                if not heard:
                    smaller = await asyncio.to_thread(self._session.recover, error)
                if smaller is None:
                    raise
                prepared = smaller
            else:
                return

    async def _act(self, call: ToolCall) -> tuple[str, bool]:
        """The answer of a tool, on disk; also of one that was running when the turn was left:
        what was done must not be done again."""
        work = asyncio.ensure_future(self._do(call))
        try:
            result, is_error = await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait({work}, timeout=_LEAVE_SECONDS)
            is_known = work.done() and not work.cancelled() and work.exception() is None
            result, is_error = work.result() if is_known else (_INTERRUPTED, True)
            work.cancel()
            self._session.append(_result(call, result, is_error))
            raise
        await asyncio.to_thread(self._session.append, _result(call, result, is_error))
        return result, is_error

    async def _do(self, call: ToolCall) -> tuple[str, bool]:
        """The answer of a tool, and whether it is an error."""
        while self._session.phase == "COMPACTING":  # noqa: ASYNC110 - other threads may do it
            await asyncio.sleep(_POLL_SECONDS)
        began = time.monotonic()
        self._tell(ToolStart, tool=call.name, call=call.id)
        result, is_error = await self._called(call)
        took = round((time.monotonic() - began) * 1000, 1)
        self._tell(ToolEnd, tool=call.name, call=call.id, is_error=is_error, took_ms=took)
        return result, is_error

    async def _called(self, call: ToolCall) -> tuple[str, bool]:
        own = self._functions.get(call.name)
        arguments = _arguments(call)
        try:
            if own is None and call.name in TOOLS:
                found = await asyncio.to_thread(self._session.call_tool, call.name, call.arguments)
                return _text_of(found), False
            if own is None:
                return f"There is no tool {call.name!r}.", True
            if arguments is None:
                return f"The arguments of {call.name} are no JSON object; nothing was done.", True
            return _text_of(await _done(own, arguments)), False
        except HoldfastError as error:
            return f"{error.message} {error.hint or ''}".strip(), True
        except Exception as error:  # the border: the host's own code; the model hears of it
            log.info("tool %s failed", call.name, exc_info=True)
            return f"{type(error).__name__}: {error}", True


def _was_read(error: Exception) -> bool:
    """Whether a call that failed costs something: it got there, and was not refused."""
    refused = isinstance(getattr(error, "status_code", None), int)
    return not refused and getattr(error, "arrived", True)


async def _done(function: Callable[..., object], arguments: Mapping[str, Json]) -> object:
    """What a function of the host returns, whichever way it is written."""
    if inspect.iscoroutinefunction(function):
        return await function(**arguments)
    found = await asyncio.to_thread(function, **arguments)
    return await found if inspect.isawaitable(found) else found


async def _stream(model: Model, request: ModelRequest) -> AsyncIterator[str | ModelReply]:
    """Pieces of the text, if the model gives them, and the reply; a silent one shows nothing."""
    shown = SilentStream()
    reply: ModelReply | None = None
    stream = getattr(model, "stream", None)
    if stream is None:
        reply = await model.complete(request)
        if piece := shown.feed(_said(reply.message)):
            yield piece
    else:
        async for heard in stream(request):
            if isinstance(heard, ModelReply):
                reply = heard
            elif piece := shown.feed(heard):
                yield piece
    if piece := shown.end():
        yield piece
    if reply is None:
        raise HoldfastError(f"{model.name} stopped without an answer.", hint="Try again.")
    yield reply


def _said(message: Message) -> str:
    return "".join(part.text for part in message.parts if isinstance(part, Text))


def _request(prepared: Prepared) -> ModelRequest:
    """The request in our own words, which every model's adapter understands."""
    messages = [parse_message(each) for each in prepared.request.messages]
    system = [each.text for each in messages if each.role in _SYSTEM]
    if isinstance(prepared.system, str):
        system.insert(0, prepared.system)
    elif prepared.system:
        system[:0] = [block.get("text", "") for block in prepared.system]
    return ModelRequest(
        messages=[each for each in messages if each.role not in _SYSTEM],
        system="\n\n".join(filter(None, system)) or None,
        tools=prepared.request.tools,
        max_tokens=prepared.max_tokens,
    )


def _result(call: ToolCall, text: str, is_error: bool) -> Message:
    content = ToolResult(
        call_id=call.id, content=(Text(text=text),), is_error=True if is_error else None
    )
    return Message(role="tool", parts=(content,))


def _arguments(call: ToolCall) -> Mapping[str, Json] | None:
    """The arguments by name; None if that is not what was given."""
    if not isinstance(call.arguments, str):
        return call.arguments
    try:
        found = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _tool_name(definition: Mapping[str, Json]) -> str:
    inner = definition.get("function")
    return str((inner if isinstance(inner, Mapping) else definition).get("name", ""))
