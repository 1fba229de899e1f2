"""Ask the routes of the API without a network: what a client sends, and what comes back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from holdfast.engine.facade import Engine
from holdfast.server.app import API, build
from holdfast.server.places import OWN, Place, Places

__all__ = ["Asker", "asking"]


class Asker:
    """``asker.get("/facts", kind="W")`` is the answer's JSON; ``status`` that of the last one."""

    def __init__(self, client: TestClient) -> None:
        self._client = client
        self.status = 0

    def get(self, path: str, /, **query: Any) -> Any:
        return self._ask("GET", path, params=query)

    def post(self, path: str, /, **body: Any) -> Any:
        return self._ask("POST", path, json=body)

    def patch(self, path: str, /, **body: Any) -> Any:
        return self._ask("PATCH", path, json=body)

    def put(self, path: str, query: dict[str, str], /, **body: Any) -> Any:
        return self._ask("PUT", path, params=query, json=body)

    def _ask(self, method: str, path: str, **sent: Any) -> Any:
        answer = self._client.request(method, f"{API}{path}", **sent)
        self.status = answer.status_code
        return answer.json()


@cache
def _app() -> FastAPI:
    """Made once: describing every route takes longer than most of these tests."""
    return build(Places([]))


@contextmanager
def asking(engine: Engine) -> Iterator[Asker]:
    """The routes, for the time being of this engine; one at a time."""
    app = _app()
    app.state.places = Places([Place(name=OWN, engine=engine)])
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Asker(client)
