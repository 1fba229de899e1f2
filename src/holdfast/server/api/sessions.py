"""Conversations: list, begin, look at, change, end, follow, fork
(``tests/server/test_sessions.py``)."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated, Any, Final, cast

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response

from holdfast.engine.session import Session, next_name
from holdfast.errors import NotFound, UsageError
from holdfast.server.conversations import conversation
from holdfast.server.failing import FailureBody
from holdfast.server.places import Here, Place
from holdfast.server.shapes.sessions import (
    ChangeAsked,
    Detail,
    Fork,
    Name,
    NewSession,
    Next,
    SessionList,
    Summary,
)
from holdfast.server.turns import turns_of

__all__ = ["router"]

router = APIRouter(
    tags=["sessions"],
    responses={410: {"model": FailureBody, "description": "It was deleted or renamed meanwhile."}},
)

_TIMED: Final = re.compile(r"chat-\d{8}-\d{4}(?:-\d+)?")


@router.get("/sessions", summary="Conversations, the most recently used first")
def list_sessions(
    here: Here,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    after: Annotated[str | None, Query(max_length=200)] = None,
) -> SessionList:
    """All conversations, the most recently used first; incognito ones while they are open."""
    found = [_summary(each) for each in here.open_sessions() if each.is_incognito]
    found += [Summary(**each.to_json(), is_incognito=False) for each in here.engine.sessions()]
    if after is not None:
        places = [number for number, each in enumerate(found) if each.name == after]
        if not places:
            raise NotFound(f"There is no session {after!r}.", hint="Ask again without after.")
        found = found[places[0] + 1 :]
    shown = found[:limit]
    return SessionList(sessions=shown, next=shown[-1].name if len(found) > limit else None)


@router.post(
    "/sessions",
    summary="Begin a conversation, or go on with one",
    status_code=201,
    responses={200: {"model": Detail, "description": "There was one of that name: it goes on."}},
)
def begin_session(here: Here, asked: NewSession, response: Response) -> Detail:
    """Begin a conversation; one of that name is gone on with. Without a name it gets one."""
    taken = _taken(here)
    name = asked.name or _free_name(here, taken)
    if name in taken:
        response.status_code = 200
        if asked.incognito:
            raise UsageError(
                f"There is a session {name!r} already, so none can be incognito by that name.",
                hint="Leave the name out.",
            )
        if any(each.is_incognito and each.name == name for each in here.open_sessions()):
            return _detail(conversation(here, name))
    session = here.engine.session(
        name, model=asked.model, memory=asked.memory, incognito=asked.incognito
    )
    if name not in taken or asked.model is not None:
        here.keep(session)
    else:
        session = conversation(here, name)  # one handle, with the model it has
    if asked.goal is not None:
        session.set_goal(asked.goal or None)
    return _detail(session)


@router.get("/sessions/{name}", summary="One conversation")
def show_session(here: Here, name: Name) -> Detail:
    """One conversation."""
    return _detail(conversation(here, name))


@router.patch("/sessions/{name}", summary="Change the goal or the name")
def change_session(here: Here, name: Name, asked: ChangeAsked, request: Request) -> Detail:
    """Give it another goal, or another name."""
    session = conversation(here, name)
    if "goal" in asked.model_fields_set:
        session.set_goal(asked.goal or None)
    if asked.name is not None and asked.name != name:
        _must_be_kept(session, "renamed")
        with turns_of(request.app).hold(here, name):
            here.engine.rename_session(name, asked.name)
            here.let_go(name)
        session = conversation(here, asked.name)
    return _detail(session)


@router.delete("/sessions/{name}", status_code=204, summary="Remove a conversation for good")
def delete_session(here: Here, name: Name, request: Request) -> Response:
    """Remove it for good. What was saved of it stays in memory."""
    session = conversation(here, name)
    with turns_of(request.app).hold(here, name):
        if session.is_incognito:
            session.close()
        else:
            here.engine.delete_session(name)
        here.let_go(name)
    return Response(status_code=204)


@router.post("/sessions/{name}/close", summary="Save, and end a conversation")
async def close_session(here: Here, name: Name, request: Request) -> Detail:
    """Save what was said, and end it. A later message opens it again."""
    turns = turns_of(request.app)
    session = await run_sync(conversation, here, name)
    with turns.hold(here, name):
        return await turns.at_length(partial(_closed, here, session))


def _closed(here: Place, session: Session) -> Detail:
    told = _detail(session)
    session.close()
    if session.is_incognito:
        here.let_go(session.name)
        return told.model_copy(update={"is_closed": True})
    return _detail(session)


@router.post("/sessions/{name}/new", status_code=201, summary="Save, close, and begin the next one")
async def follow_session(
    here: Here, name: Name, request: Request, asked: Next | None = None
) -> Detail:
    """Save, close, and begin the next conversation with what is known."""
    turns = turns_of(request.app)
    session = await run_sync(conversation, here, name)
    wanted = asked.name if asked is not None else None
    with turns.hold(here, name):
        return await turns.at_length(partial(_followed, here, session, wanted))


def _followed(here: Place, session: Session, wanted: str | None) -> Detail:
    taken = _taken(here)
    _must_be_free(wanted, taken)
    following = session.new(wanted or _name_after(here, session.name, taken))
    if session.is_incognito:
        here.let_go(session.name)
    here.keep(following)
    return _detail(following)


@router.post(
    "/sessions/{name}/fork", status_code=201, summary="Begin another from an entry of this one"
)
def fork_session(here: Here, name: Name, asked: Fork) -> Detail:
    """A new conversation that begins as this one was after that entry."""
    session = conversation(here, name)
    _must_be_kept(session, "forked")
    return _detail(session.fork(asked.entry, asked.name))


def _taken(here: Place) -> set[str]:
    names = {each.name for each in here.open_sessions() if each.is_incognito}
    return names | set(here.engine._rooms.store.names())


def _free_name(here: Place, taken: set[str]) -> str:
    rooms = here.engine._rooms
    name = f"chat-{rooms.clock.now().astimezone(rooms.zone):%Y%m%d-%H%M}"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def _name_after(here: Place, name: str, taken: set[str]) -> str:
    """A name that was made of a time is followed by one that is."""
    return _free_name(here, taken) if _TIMED.fullmatch(name) else next_name(name, taken)


def _must_be_free(name: str | None, taken: set[str]) -> None:
    if name in taken:
        raise UsageError(f"There is a session {name!r} already.", hint="Choose another name.")


def _must_be_kept(session: Session, what: str) -> None:
    if session.is_incognito:
        raise UsageError(
            f"{session.name!r} is incognito: nothing of it is kept, so it cannot be {what}."
        )


def _summary(session: Session) -> Summary:
    return Summary(**_told(session))


def _told(session: Session) -> dict[str, Any]:
    state = session.state()
    return {
        "name": session.name,
        "created_at": state["created_at"],
        "last_at": state["last_at"],
        "entries": state["entries"],
        "messages": state["messages"],
        "compactions": state["compaction_count"],
        "bytes": state["end"],
        "goal": state["goal"],
        "is_closed": state["closed"],
        "is_incognito": session.is_incognito,
        "forked_from": (state["forked_from"] or {}).get("session"),
        "problem": None,
    }


def _detail(session: Session) -> Detail:
    state = session.state()
    return Detail(
        **_told(session),
        phase=cast("Any", session.phase),
        model=state["model"],
        window=session.explain_context().budget.window,
        memory_mode=session.memory_mode,
        vars_count=len(state["vars"]),
        restored=state["restored"] is not None,
    )
