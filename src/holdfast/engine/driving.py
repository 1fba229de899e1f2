"""A generator that asks for a model, and the model it asks: brought together.

What needs a model is written without one: a generator yields ``ModelRequest``s, is sent the
answers, or a ``ModelFailure`` in their place, and returns its result. Here the model is called,
each time in an event loop of its own thread, so that it works inside a running loop as well.

Promise: the time is bounded. A model that hangs, fails or is not there costs at most
``seconds`` in all; the generator hears of it and goes on
(``tests/engine/test_driving.py``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from threading import Thread
from typing import Final, TypeVar

from holdfast.ports import Model, ModelFailure, ModelReply, ModelRequest
from holdfast.types import Message

__all__ = ["drive"]

T = TypeVar("T")

log = logging.getLogger("holdfast.models")

_GRACE_SECONDS: Final = 1.0


def drive(
    work: Generator[ModelRequest, ModelReply | ModelFailure, T],
    model: Model | None,
    *,
    seconds: float,
    now: Callable[[], float] = time.monotonic,
) -> T:
    """The result of ``work``; its requests are answered by ``model`` while there is time."""
    deadline = now() + seconds
    try:
        request = next(work)
        while True:
            request = work.send(_ask(model, request, deadline - now()))
    except StopIteration as stop:
        result: T = stop.value
        return result


def _ask(model: Model | None, request: ModelRequest, seconds: float) -> ModelReply | ModelFailure:
    if model is None:
        return ModelFailure(reason="no model is configured")
    if seconds <= 0:
        return ModelFailure(reason="the time for models is used up")
    answers: list[ModelReply | ModelFailure] = []

    async def ask() -> None:
        try:
            reply = await asyncio.wait_for(model.complete(request), seconds)
            answers.append(_checked(reply, model.name))
        except TimeoutError:
            answers.append(ModelFailure(reason=f"{model.name} took longer than {seconds:.0f} s"))
        except BaseException as error:  # the border: other people's code, in a thread of ours
            log.info("%s failed", model.name, exc_info=True)
            told = f"{model.name}: {type(error).__name__}: {error}"
            failed = error if isinstance(error, Exception) else None
            answers.append(ModelFailure(reason=told, error=failed))

    # A daemon: code that blocks its own event loop cannot be cancelled, only left behind.
    thread = Thread(target=lambda: asyncio.run(ask()), name="holdfast-model", daemon=True)
    thread.start()
    thread.join(seconds + _GRACE_SECONDS)
    if not answers:
        return ModelFailure(reason=f"{model.name} did not answer and could not be stopped")
    return answers[0]


def _checked(reply: object, name: str) -> ModelReply | ModelFailure:
    """What came back, if it is a reply at all."""
    if isinstance(reply, ModelReply) and isinstance(reply.message, Message):
        return reply
    return ModelFailure(reason=f"{name} returned a {type(reply).__name__} that is no reply")
