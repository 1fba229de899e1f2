"""A generator that asks for a model, and the model it asks: brought together.

What needs a model is written without one: a generator yields ``ModelRequest``s, is sent the
answers, or a ``ModelFailure`` in their place, and returns its result. Here the model is called,
in the event loop of models, so that it works inside a running loop as well.

Promise: the time is bounded. A model that hangs, fails, answers with something odd or is not
there costs at most ``seconds`` in all; the generator hears of it and goes on. What it hears
quotes nobody (``tests/engine/test_driving.py``).
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, Final, TypeVar

from holdfast.engine.modelloop import NotEnded, on_model_loop
from holdfast.engine.replies import malformed
from holdfast.ports import Model, ModelFailure, ModelReply, ModelRequest

__all__ = ["drive"]

T = TypeVar("T")

log = logging.getLogger("holdfast.models")

_GRACE_SECONDS: Final = 1.0
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""What a status or a code looks like, and a sentence does not."""


def drive(
    work: Generator[Any, Any, T],
    model: Model | None,
    *,
    seconds: float,
    now: Callable[[], float] = time.monotonic,
    answer: Callable[[object], object] | None = None,
) -> T:
    """The result of ``work``; its requests are answered by ``model`` while there is time.

    What it yields that is no request for a model goes to ``answer``.
    """
    deadline = now() + seconds
    try:
        asked = next(work)
        while True:
            if isinstance(asked, ModelRequest) or answer is None:
                asked = work.send(_ask(model, asked, deadline - now()))
            else:
                asked = work.send(answer(asked))
    except StopIteration as stop:
        result: T = stop.value
        return result


def _ask(model: Model | None, request: ModelRequest, seconds: float) -> ModelReply | ModelFailure:
    if model is None:
        return ModelFailure(reason="no model is configured")
    if seconds <= 0:
        return ModelFailure(reason="the time for models is used up")

    async def ask() -> ModelReply | ModelFailure:
        # Not wait_for, which makes a task: SystemExit in a task ends the loop it runs in.
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return _checked(await model.complete(request), model.name)
        except BaseException as error:  # noqa: BLE001 - the border: other people's code
            if isinstance(error, TimeoutError) and limit.expired():
                return ModelFailure(reason=f"{model.name} took longer than {seconds:.0f} s")
            return _failure(model.name, error)

    try:
        return on_model_loop(ask).result(seconds + _GRACE_SECONDS)
    except NotEnded:
        return ModelFailure(reason=f"{model.name} did not answer and could not be stopped")


def _failure(name: str, error: BaseException) -> ModelFailure:
    """What kind of error it was. Its text may quote the conversation: events and records are
    kept longer and shown to others, so it is in the debug log alone."""
    log.debug("%s failed", name, exc_info=error)
    numbers = ", ".join(_numbers_of(error))
    told = f"{name}: {type(error).__name__}{f' ({numbers})' if numbers else ''}"
    return ModelFailure(reason=told, error=error if isinstance(error, Exception) else None)


def _numbers_of(error: BaseException) -> Iterator[str]:
    """The HTTP status and the code of the provider, where an error has them."""
    for names in (("status_code", "status", "http_status"), ("code", "errno")):
        with suppress(Exception):  # a property of other people's that raises
            given = (getattr(error, name, None) for name in names)
            codes = (str(each) for each in given if isinstance(each, int | str))
            yield next(code for code in codes if _CODE.fullmatch(code))


def _checked(reply: object, name: str) -> ModelReply | ModelFailure:
    """What came back, if it is a reply through and through."""
    if not isinstance(reply, ModelReply):
        return ModelFailure(reason=f"{name} returned a {type(reply).__name__} that is no reply")
    if (problem := malformed(reply)) is not None:
        return ModelFailure(reason=f"{name} returned a reply that is malformed: {problem}")
    return reply
