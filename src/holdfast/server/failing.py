"""What went wrong, as an answer: one shape for all of it, with the next thing to do.

    {"error": {"type": "not_found", "message": "…", "hint": "…", "details": {…}}}

Promise: the type and the status of an error are stable; what nobody expected is told without
its inside, and logged (``tests/server/test_failing.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

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

__all__ = [
    "FAILURE",
    "Busy",
    "Changed",
    "Failure",
    "FailureBody",
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


class Failure(BaseModel):
    """What happened, why, and what to do."""

    type: str
    message: str
    hint: str | None = None
    details: dict[str, Any] | None = None


class FailureBody(BaseModel):
    error: Failure


FAILURE: Final[dict[str, Any]] = {
    "application/json": {"schema": {"$ref": "#/components/schemas/FailureBody"}}
}
"""How the description of a route says that it fails with this: a stream does so, too."""


_KINDS: Final[tuple[tuple[type[HoldfastError], int, str], ...]] = (
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
_OF_STATUS: Final = {
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


def type_of(status: int) -> str:
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

    async def of_nobody(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        told_only = "Something failed that should not; the server's log has it."
        return told(500, Failure(type="failed", message=told_only, hint="holdfast doctor"))

    app.add_exception_handler(HoldfastError, of_ours)
    app.add_exception_handler(RequestValidationError, of_request)
    app.add_exception_handler(HTTPException, of_route)
    app.add_exception_handler(Exception, of_nobody)


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
