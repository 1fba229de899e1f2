"""The description of the API: who may ask, how each operation can fail, what the groups are.

Routes say what they take and give. What holds for all of them is said here: that a token is
needed, and of each operation the failures that can come of it, no others. The three addresses
that the entrance answers itself are described as well.

Promise: every operation has a title of its own, a stable id, and the failures that it has
(``tests/server/test_openapi.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from holdfast.server.failing import FAILURE, FailureBody

__all__ = ["FAILURES", "describe", "id_of"]

FAILURES: Final = {
    400: "What was asked for makes no sense.",
    401: "No token, or not one of this server.",
    403: "A name or path that may not be used, or an address that is not this server's.",
    404: "There is no such thing, or no such place.",
    405: "This can only be read.",
    408: "The body did not come in time.",
    409: "Somebody else changed it, or is at it.",
    410: "It was deleted or renamed meanwhile.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request cannot be read.",
    423: "Another process holds it.",
    429: "Too many wrong tries; wait a minute.",
    500: "Something failed that should not.",
    503: "No model answers.",
    507: "The disk refused.",
}
_ALWAYS: Final = (401, 403, 500, 507)
_OF_BODIES: Final = (408, 413, 415)
_OF_SESSIONS: Final = ("sessions", "messages", "transcripts", "context")
_OF_MODELS: Final = ("sessions", "messages", "context", "search", "health", "serving")
_UNUSED: Final = ("HTTPValidationError", "ValidationError")
_REFS: Final = "#/components/schemas/{model}"

_ABOUT: Final = """\
The memory of one agent, and its conversations.

Every request carries the token of the server: `Authorization: Bearer …` (`holdfast serve token`).
The header `Holdfast-Place` says whose memory is meant: `own`, or `tour` where the tour is served.
Bodies are JSON of at most 2 MiB; a field that is not described is refused. Times are ISO 8601 with
their offset.

Whatever fails answers `{"error": {"type", "message", "hint", "details"}}`; programs go by `type`.
A path that is none answers 404, a method that is none of its path 405.
"""
_TAGS: Final = {
    "serving": "The server itself: what runs, which model answers, who is let in.",
    "sessions": "Conversations: begin, look at, change, end, follow, fork.",
    "messages": "Say something, and let the model answer, streamed or at its end.",
    "transcripts": "What was said, page by page, and what was done about it.",
    "context": "How full the window is; save and compact by hand.",
    "events": "What happened, and what happens: a list, and a stream that can be resumed.",
    "files": "Memory files: read, edit, look at their history, undo.",
    "memory": "Remember, forget, and bring back from the archive.",
    "facts": "Single memories, what they stand on, and which contradict each other.",
    "tasks": "Records of tasks, and how they went.",
    "search": "Search in memory and in what was said.",
    "stats": "Counts, costs, and what was saved.",
    "health": "The index, the check-up, models and encoders.",
    "entrance": "Without the API: sign in, measure, see that the server is alive.",
}


def id_of(route: APIRoute) -> str:
    """The id of an operation: the name that it has in the program, which is its alone."""
    return route.name


def describe(app: FastAPI) -> None:
    """Let the app tell this description. It is made when somebody first asks for it."""
    made: list[dict[str, Any]] = []
    lock = Lock()

    def openapi() -> dict[str, Any]:
        with lock:
            if not made:
                made.append(_described(app))
        return made[0]

    app.openapi = openapi  # type: ignore[method-assign]


def _described(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title=app.title,
        version=app.version,
        description=_ABOUT,
        routes=app.routes,
        tags=[{"name": name, "description": text} for name, text in _TAGS.items()],
    )
    for method, operation in _operations(found):
        _add_failures(method, operation)
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas.update(_failure_schemas())
    for name in _UNUSED:
        schemas.pop(name, None)
    parts["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "The token in the file (holdfast serve token), or that of a browser.",
        }
    }
    found["security"] = [{"token": []}]
    found["paths"].update(_ENTRANCE)
    return found


def _operations(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in found["paths"].values():
        yield from methods.items()


def _failure_schemas() -> dict[str, Any]:
    whole = FailureBody.model_json_schema(ref_template=_REFS)
    inner: dict[str, Any] = whole.pop("$defs")
    return {**inner, "FailureBody": whole}


def _add_failures(method: str, operation: dict[str, Any]) -> None:
    answers: dict[str, Any] = operation["responses"]
    for status in sorted(_failures_of(method, operation)):
        told = answers.pop(str(status), {})
        is_own = told.get("description") not in (None, "Validation Error")
        text = told["description"] if is_own else FAILURES[status]
        answers[str(status)] = _failure(text)


def _failures_of(method: str, operation: dict[str, Any]) -> set[int]:
    tag = operation["tags"][0]
    has_body = "requestBody" in operation
    has_parameters = bool(operation.get("parameters"))
    found = {*_ALWAYS, *(int(each) for each in operation["responses"] if each >= "400")}
    if has_body:
        found.update(_OF_BODIES)
    if has_body or has_parameters:
        found.update((400, 404, 422))
    if tag in _OF_SESSIONS:
        found.update((410, 423))
    if method != "get":
        found.update((409, 423))
        found.update({503} if tag in _OF_MODELS else ())
    return found


def _failure(text: str) -> dict[str, Any]:
    return {"description": text, "content": FAILURE}


def _failures(*statuses: int) -> dict[str, Any]:
    return {str(status): _failure(FAILURES[status]) for status in statuses}


def _one_of(name: str, text: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": text,
        "required": [name],
        "properties": {name: {"type": "string", "maxLength": 1_000}},
    }


_ENTRANCE: Final[dict[str, Any]] = {
    "/sign-in": {
        "post": {
            "tags": ["entrance"],
            "operationId": "sign_in",
            "summary": "Sign in a browser, with a code or with the token in the file",
            "security": [],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {
                            "oneOf": [
                                _one_of("code", "Of a link; it works once, for five minutes."),
                                _one_of("token", "The one in the file."),
                            ]
                        }
                    }
                },
            },
            "responses": {
                "200": {
                    "description": "A token for this browser.",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["token", "expires_at"],
                                "properties": {
                                    "token": {"type": "string"},
                                    "expires_at": {"type": "string", "format": "date-time"},
                                },
                            }
                        }
                    },
                },
                **_failures(401, 403, 405, 408, 413, 415, 422, 429, 500, 507),
            },
        }
    },
    "/metrics": {
        "get": {
            "tags": ["entrance"],
            "operationId": "metrics",
            "summary": "Counts for Prometheus",
            "responses": {
                "200": {
                    "description": "The text format of Prometheus.",
                    "content": {"text/plain": {"schema": {"type": "string"}}},
                },
                **_failures(*_ALWAYS, 405),
            },
        }
    },
    "/healthz": {
        "get": {
            "tags": ["entrance"],
            "operationId": "healthz",
            "summary": "Whether the server is alive",
            "security": [],
            "responses": {
                "200": {
                    "description": "It is.",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["status"],
                                "properties": {"status": {"const": "ok"}},
                            }
                        }
                    },
                },
                **_failures(403, 405),
            },
        }
    },
}
