"""What went wrong, as an answer: one shape for all of it, with the next thing to do.

    {"error": {"type": "not_found", "message": "…", "hint": "…", "details": {…}}}

Promise: the type and the status of an error are stable; what nobody expected is told without
its inside, and logged (``tests/server/test_failing.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from holdfast.errors import (
    HoldfastError,
    IrreducibleContext,
    Locked,
    ModelUnavailable,
    NotFound,
    PolicyRefused,
    SessionGone,
    StorageError,
    UsageError,
)

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = [
    "FAILURE",
    "Busy",
    "Changed",
    "Failure",
    "FailureBody",
    "FailureType",
    "answer_failures",
    "failure_of",
    "told",
    "type_of",
]

log = logging.getLogger("holdfast.server")


class Changed(HoldfastError):
    """Somebody else wrote it meanwhile: what was meant to be replaced is no longer there."""

    def __init__(self, message: str, *, version: str | None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.version = version


class Busy(HoldfastError):
    """One turn of a conversation at a time."""


FailureType = Literal[
    "busy",
    "changed",
    "failed",
    "invalid_request",
    "irreducible_context",
    "locked",
    "method_not_allowed",
    "model_unavailable",
    "not_found",
    "refused",
    "session_gone",
    "storage",
    "too_large",
    "too_many",
    "unauthorized",
    "unsupported",
    "usage",
]
"""By what programs go; none is ever taken away."""


class Failure(BaseModel):
    """What happened, why, and what to do."""

    type: FailureType
    message: str
    hint: str | None = None
    details: dict[str, Any] | None = None


class FailureBody(BaseModel):
    error: Failure


FAILURE: Final[dict[str, Any]] = {
    "application/json": {"schema": {"$ref": "#/components/schemas/FailureBody"}}
}
"""How the description of a route says that it fails with this: a stream does so, too."""


_KINDS: Final[tuple[tuple[type[HoldfastError], int, FailureType], ...]] = (
    (Changed, 409, "changed"),
    (Busy, 409, "busy"),
    (SessionGone, 410, "session_gone"),
    (NotFound, 404, "not_found"),
    (PolicyRefused, 403, "refused"),
    (IrreducibleContext, 422, "irreducible_context"),
    (ModelUnavailable, 503, "model_unavailable"),
    (Locked, 423, "locked"),
    (StorageError, 507, "storage"),
    (UsageError, 400, "usage"),
    (HoldfastError, 500, "failed"),
)
_OF_STATUS: Final[dict[int, FailureType]] = {
    400: "usage",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "usage",
    413: "too_large",
    415: "unsupported",
    422: "invalid_request",
    429: "too_many",
}


def type_of(status: int) -> FailureType:
    """The type of what is refused with that status."""
    return _OF_STATUS.get(status, "refused")


def failure_of(error: HoldfastError) -> tuple[int, Failure]:
    """The status and the answer of an error."""
    status, kind = next((status, kind) for each, status, kind in _KINDS if isinstance(error, each))
    return status, Failure(
        type=kind, message=error.message, hint=error.hint, details=_details(error)
    )


def _details(error: HoldfastError) -> dict[str, Any] | None:
    match error:
        case Changed(version=version):
            return {"version": version}
        case IrreducibleContext(blocks=blocks):
            return {"blocks": [{"name": name, "tokens": tokens} for name, tokens in blocks]}
    return None


def told(status: int, failure: Failure, headers: Mapping[str, str] | None = None) -> JSONResponse:
    body = FailureBody(error=failure).model_dump()
    return JSONResponse(body, status, headers=dict(headers or {}))


def answer_failures(app: FastAPI) -> None:
    """Let every failure of the app be answered in that shape."""

    async def of_ours(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HoldfastError)
        return told(*failure_of(error))

    async def of_request(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return told(422, _unreadable(error))

    async def of_route(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        kind = type_of(error.status_code)
        return told(error.status_code, Failure(type=kind, message=str(error.detail)), error.headers)

    app.add_exception_handler(HoldfastError, of_ours)
    app.add_exception_handler(RequestValidationError, of_request)
    app.add_exception_handler(HTTPException, of_route)
    app.add_middleware(_Unexpected)


class _Unexpected:
    """What nobody expected, answered and logged once.

    A handler for every exception would do so, too, and let it through to the web server, which
    logs it once more.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_begun = False

        async def sending(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if is_begun or scope["type"] != "http":
                raise  # whoever hears the beginning must not take it for the whole
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            text = "Something failed that should not; the server's log has it."
            failure = Failure(type="failed", message=text, hint="holdfast doctor")
            await told(500, failure)(scope, receive, send)


def _unreadable(error: RequestValidationError) -> Failure:
    """Which field, and what is wrong with it; never what was sent."""
    fields = [
        {"field": ".".join(str(part) for part in each["loc"]), "problem": each["msg"]}
        for each in error.errors()
    ]
    first = fields[0] if fields else {"field": "body", "problem": "cannot be read"}
    return Failure(
        type="invalid_request",
        message=f"{first['field']}: {first['problem']}.",
        hint="The description of every route is at /api/openapi.json.",
        details={"fields": fields},
    )
