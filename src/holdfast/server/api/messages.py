"""Messages: one turn of a conversation, streamed or told at its end
(``tests/server/test_messages.py``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from holdfast.engine.chronicle import newest
from holdfast.engine.turn.leaving import described
from holdfast.errors import HoldfastError, ModelUnavailable
from holdfast.server.conversations import conversation
from holdfast.server.failing import FailureBody, told
from holdfast.server.places import Here
from holdfast.server.shapes.sessions import Name, Said, ToolUse, TurnAnswer
from holdfast.server.streaming import EVENTS_DESCRIBED, failure_told, sse
from holdfast.server.turns import Held, Led, Played, turns_of
from holdfast.types import Entry

if TYPE_CHECKING:
    from holdfast.engine.session import Session
    from holdfast.server.places import Place

__all__ = ["answer_of", "router"]

router = APIRouter(tags=["messages"])

_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The steps of the turn, as they happen; or, with stream false, its end.",
        "content": {
            **EVENTS_DESCRIBED,
            "application/json": {"schema": {"$ref": "#/components/schemas/TurnAnswer"}},
        },
    },
    410: {"model": FailureBody, "description": "It was deleted or renamed meanwhile."},
    500: {"model": FailureBody, "description": "The model failed."},
}


@router.post(
    "/sessions/{name}/messages",
    responses=_ANSWERS,
    response_model=TurnAnswer,
    summary="Say something, and let the model answer",
)
async def say(here: Here, name: Name, asked: Said, request: Request) -> Response:
    """Say something, and let the model answer.

    The stream has events ``step`` with a ``kind``: accepted, text, tool_call, tool_result, end,
    error. Whoever closes it stops the turn; what was heard of the answer is kept with a mark.
    """
    session = await run_in_threadpool(conversation, here, name)
    held = turns_of(request.app).hold(here, name)
    try:
        steps = await _steps(here, session, asked, held)
    except BaseException:
        held.let_go()
        raise

    async def ended() -> dict[str, Any]:
        return await run_in_threadpool(answer_of, session, steps.answer)

    if asked.stream:
        return sse(steps, first=[{"kind": "accepted"}], ended=ended)
    return await _at_its_end(steps, ended)


async def _steps(here: Place, session: Session, asked: Said, held: Held) -> Led | Played:
    try:
        given = await run_in_threadpool(described, session, asked.model)
    except ModelUnavailable:
        if here.player is None or asked.model is not None:
            raise
        return Played(here.player.answer(session.name, asked.text), held)
    return Led(session, asked.text, given, held)


def answer_of(session: Session, entry: str | None = None) -> dict[str, Any]:
    """Which entry the last answer became."""

    def is_it(each: Entry) -> bool:
        if entry is not None:
            return each.id == entry
        return each.type == "message" and each.data.get("role") == "assistant"

    found = newest(session, is_it)
    return {"entry": found.id if found else None, "seq": found.seq if found else None}


async def _at_its_end(
    steps: Led | Played, ended: Callable[[], Awaitable[dict[str, Any]]]
) -> Response:
    said: list[str] = []
    tools: list[ToolUse] = []
    try:
        async for step in steps:
            if step.kind == "text":
                said.append(step.text)
            elif step.kind == "tool_call":
                tools.append(ToolUse(tool=step.tool or "", arguments=dict(step.arguments)))
            elif step.kind == "tool_result" and tools:
                use = {"result": step.result, "is_error": step.is_error}
                tools[-1] = tools[-1].model_copy(update=use)
    except HoldfastError:
        raise
    except Exception as error:  # noqa: BLE001 - the border: a model's client raises what it likes
        return told(500, failure_told(error))
    finally:
        await steps.aclose()
    answer = TurnAnswer(**await ended(), text="".join(said), tools=tools)
    return JSONResponse(answer.model_dump())
