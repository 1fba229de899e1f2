"""Failures as answers: one shape, stable types, nothing of the inside."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import anyio
import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from holdfast import errors
from holdfast.server.failing import Busy, Changed, answer_failures, failure_of


class Body(BaseModel):
    limit: int


def _all_below(kind: type[errors.HoldfastError]) -> list[type[errors.HoldfastError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _all_below(below))]


def _raising(raise_it: Callable[[], None]) -> FastAPI:
    app = FastAPI()
    answer_failures(app)

    @app.get("/")
    def route() -> None:
        raise_it()

    return app


async def _asked(
    app: FastAPI, method: str = "GET", path: str = "/", **more: object
) -> httpx.Response:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.request(method, path, **more)  # type: ignore[arg-type]


def _ask(app: FastAPI, method: str = "GET", path: str = "/", **more: object) -> httpx.Response:
    return anyio.run(lambda: _asked(app, method, path, **more))


def _raise(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (errors.UsageError("no"), 400, "usage"),
        (errors.InvalidMessage("no"), 400, "usage"),
        (errors.PolicyRefused("no"), 403, "refused"),
        (errors.NotFound("no"), 404, "not_found"),
        (Changed("no", version="abc"), 409, "changed"),
        (Busy("no"), 409, "busy"),
        (errors.SessionGone("no"), 410, "session_gone"),
        (errors.IrreducibleContext("no", blocks=[("system", 9)]), 422, "irreducible_context"),
        (errors.Locked("no"), 423, "locked"),
        (errors.HoldfastError("no"), 500, "failed"),
        (errors.ModelUnavailable("no"), 503, "model_unavailable"),
        (errors.StorageError("no"), 507, "storage"),
    ],
)
def test_every_kind_of_error_has_its_status_and_type(
    error: errors.HoldfastError, status: int, kind: str
) -> None:
    found, failure = failure_of(error)
    assert (found, failure.type) == (status, kind)


def test_no_error_of_ours_is_without_an_answer() -> None:
    for kind in _all_below(errors.HoldfastError):
        if kind is not Changed:
            status, failure = failure_of(kind("what happened", hint="what to do"))
            assert 400 <= status < 600
            assert (failure.message, failure.hint) == ("what happened", "what to do")


def test_an_error_comes_with_its_hint_and_details() -> None:
    error = Changed("Somebody wrote it.", version="abc", hint="Read it again.")
    answer = _ask(_raising(_raise(error)))
    assert answer.status_code == 409
    assert answer.json() == {
        "error": {
            "type": "changed",
            "message": "Somebody wrote it.",
            "hint": "Read it again.",
            "details": {"version": "abc"},
        }
    }


def test_what_nobody_expected_is_logged_once_and_not_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def asked() -> httpx.Response:
        # What the app lets through to the web server would be logged there a second time.
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/")

    app = _raising(_raise(RuntimeError("the inside")))
    with caplog.at_level(logging.ERROR):
        answer = anyio.run(asked)
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "failed"
    assert "the inside" not in answer.text
    assert [str(each.exc_info and each.exc_info[1]) for each in caplog.records] == ["the inside"]


def test_a_failure_behind_the_beginning_of_an_answer_is_not_hidden() -> None:
    """The web server hangs up then, so that nobody takes the beginning for the whole."""
    app = FastAPI()
    answer_failures(app)

    @app.get("/")
    def route() -> StreamingResponse:
        def parts() -> Iterator[bytes]:
            yield b"the beginning"
            raise RuntimeError("the inside")

        return StreamingResponse(parts())

    async def asked() -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            await client.get("/")

    with pytest.raises(RuntimeError, match="the inside"):
        anyio.run(asked)


def test_a_path_or_method_that_is_none_has_the_same_shape() -> None:
    app = _raising(lambda: None)
    assert _ask(app, path="/elsewhere").json()["error"]["type"] == "not_found"
    refused = _ask(app, "POST")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET"
    assert refused.json()["error"]["type"] == "method_not_allowed"


def test_a_body_that_cannot_be_read_names_the_field_and_not_what_was_sent() -> None:
    app = FastAPI()
    answer_failures(app)

    @app.post("/")
    def route(body: Body) -> None:
        del body

    answer = _ask(app, "POST", json={"limit": "my secret"})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["fields"][0]["field"] == "body.limit"
    assert "my secret" not in answer.text
