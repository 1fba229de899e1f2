"""The server itself, asked over its own sockets."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

import holdfast
from holdfast._version import __version__
from holdfast.engine.turn.running import Step
from holdfast.server.app import API, build
from holdfast.server.places import OWN, TOUR, Place, Places
from holdfast.server.running import Server


class Tale:
    """A conversation of two messages."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._left = ["Hello?", "And then?"]

    def left(self) -> int:
        return len(self._left)

    def session(self) -> str:
        return "tale"

    def upcoming(self) -> str | None:
        return self._left[0] if self._left else None

    async def play(self) -> AsyncIterator[Step]:
        self.told.append(self._left.pop(0))
        yield Step(kind="text", text="Once…")
        yield Step(kind="end")

    async def answer(self, session: str, text: str) -> AsyncIterator[Step]:
        yield Step(kind="text", text=f"{session}: {text}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("serving") / "home"
    told = holdfast.open(home / "elsewhere")
    told.session("tale").append({"role": "assistant", "content": "Once…"})
    places = [
        Place(name=OWN, engine=holdfast.open(home)),
        Place(name=TOUR, engine=told, player=Tale()),
    ]
    with Server(Places(places), home=home, language="zh") as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers) as client:
        yield client


def test_it_says_what_runs_and_which_model_answers_or_why_none_does(client: httpx.Client) -> None:
    told = client.get("/server").raise_for_status().json()
    assert told["version"] == __version__
    assert (told["agent"], told["language"]) == ("main", "zh")
    assert [each["name"] for each in told["places"]] == [OWN, TOUR]
    assert told["model"]["name"] is None
    assert told["model"]["why"]
    assert all(each["why"] for each in told["model"]["considered"])
    assert told["tour"]["session"] == "tale"


def test_a_model_that_came_later_is_found_when_somebody_asks_to_look(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/server").json()["model"]["name"] is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")
    assert client.get("/server").json()["model"]["name"] is None, "nobody looked"
    found = client.post("/models/look").raise_for_status().json()
    assert found["name"].startswith("anthropic:")
    assert "sk-ant" not in json.dumps(found)
    assert client.get("/server").json()["model"] == found
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert client.post("/models/look").json()["name"] is None


def test_a_browser_signs_in_by_a_link_and_out_again(server: Server, client: httpx.Client) -> None:
    given = client.post("/sign-in-codes").raise_for_status().json()
    url, _, code = given["url"].partition("/#code=")
    assert (url, code) == (server.url, given["code"])
    token = httpx.post(f"{server.url}/sign-in", json={"code": code}).json()["token"]
    browser = httpx.Client(
        base_url=f"{server.url}/api/v1", headers={"Authorization": f"Bearer {token}"}
    )
    with browser:
        assert browser.get("/server").status_code == 200
        refused = browser.post("/sign-in-codes")
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "refused")
        assert browser.post("/sign-out").status_code == 204
        assert browser.get("/server").status_code == 401
    assert client.post("/sign-out").status_code == 204
    assert client.get("/server").status_code == 200, "the token in the file stays"


def test_the_tour_goes_on_message_by_message_until_it_is_over(client: httpx.Client) -> None:
    assert client.post("/tour/next").status_code == 404, "the own place has none"
    there = {"Holdfast-Place": TOUR}
    for said in ("Hello?", "And then?"):
        assert client.get("/server").json()["tour"]["upcoming"] == said
        answer = client.post("/tour/next", headers=there)
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.text.splitlines()
        steps = [json.loads(each[6:]) for each in lines if each.startswith("data: ")]
        assert [each["kind"] for each in steps] == ["accepted", "said", "text", "end"]
        assert steps[1]["text"] == said
        assert steps[3]["entry"]
    assert client.get("/server").json()["tour"] == {"session": "tale", "left": 0, "upcoming": None}
    over = client.post("/tour/next", headers=there)
    assert (over.status_code, over.json()["error"]["type"]) == (404, "not_found")


def test_the_app_alone_knows_no_server_and_its_page_names_every_route(home: Path) -> None:
    with holdfast.open(home) as engine:
        app = build(Places([Place(name=OWN, engine=engine)]))
        client = TestClient(app)
        assert client.get("/api/v1/server").status_code == 404
        assert client.post("/api/v1/sign-in-codes").status_code == 404
        described = client.get("/api/openapi.json").json()["paths"]
    text = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    named = re.findall(r"`((?:[A-Z]+ )+)(/[^`]*)`", text)
    written = {(method, f"/api/v1{path}") for methods, path in named for method in methods.split()}
    assert written == {
        (method.upper(), path)
        for path, methods in described.items()
        if path.startswith(API)  # what the entrance answers itself is told in tables
        for method in methods
    }
