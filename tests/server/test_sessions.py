"""Conversations over the API: begun, listed, changed, ended, and what is left of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.engine.facade import Engine, open_engine
from holdfast.server.app import API, build
from holdfast.server.places import OWN, Place, Places
from holdfast.testing import FixedClock, ScriptedModel


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    config = {"search.embedder": "none", "memory.time_zone": "UTC", "model.name": "scripted"}
    with open_engine(
        tmp_path_factory.mktemp("sessions") / "home",
        config=config,
        clock=FixedClock(),
        models=lambda _: ScriptedModel(["Yes."] * 20),
        background=False,
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(engine: Engine) -> Iterator[TestClient]:
    app = build(Places([Place(name=OWN, engine=engine)]))
    with TestClient(app, base_url=f"http://testserver{API}") as opened:
        yield opened


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["type"]


def test_a_conversation_without_a_name_is_named_after_the_minute(client: TestClient) -> None:
    names = [client.post("/sessions", json={}).json()["name"] for _ in range(3)]
    assert names == ["chat-20260314-0926", "chat-20260314-0926-2", "chat-20260314-0926-3"]
    following = client.post(f"/sessions/{names[0]}/new")
    assert following.status_code == 201
    assert following.json()["name"] == "chat-20260314-0926-4"
    assert client.get(f"/sessions/{names[0]}").json()["is_closed"] is True


def test_one_of_that_name_is_gone_on_with(client: TestClient) -> None:
    first = client.post("/sessions", json={"name": "again", "goal": "A goal", "memory": "read"})
    assert first.status_code == 201
    told = first.json()
    assert (told["goal"], told["memory_mode"], told["is_incognito"]) == ("A goal", "read", False)
    second = client.post("/sessions", json={"name": "again"})
    assert second.status_code == 200
    assert second.json()["goal"] == "A goal"
    assert second.json()["memory_mode"] == "read"


def test_the_list_comes_in_pages_that_together_are_all(client: TestClient, engine: Engine) -> None:
    for number in range(5):
        client.post("/sessions", json={"name": f"page-{number}"})
    expected = [each.name for each in engine.sessions()]
    seen: list[str] = []
    after = None
    while True:
        asked = {"limit": 2, **({"after": after} if after else {})}
        told = client.get("/sessions", params=asked).json()
        seen += [each["name"] for each in told["sessions"]]
        after = told["next"]
        if after is None:
            break
    assert seen == expected
    assert error_of(client.get("/sessions", params={"after": "nobody"})) == (404, "not_found")


def test_goal_and_name_change_and_the_old_name_says_where_it_went(client: TestClient) -> None:
    client.post("/sessions", json={"name": "before", "goal": "x"})
    told = client.patch("/sessions/before", json={"goal": None, "name": "after"}).json()
    assert (told["name"], told["goal"]) == ("after", None)
    gone = client.get("/sessions/before")
    assert error_of(gone) == (404, "not_found")
    assert "renamed to 'after'" in gone.json()["error"]["message"]
    assert client.patch("/sessions/after", json={}).json()["name"] == "after"
    client.post("/sessions", json={"name": "taken"})
    assert error_of(client.patch("/sessions/after", json={"name": "taken"})) == (400, "usage")
    assert error_of(client.post("/sessions/after/new", json={"name": "taken"})) == (400, "usage")


def test_what_another_process_renamed_or_deleted_is_gone_here_as_well(
    client: TestClient, engine: Engine
) -> None:
    for name in ("elsewhere", "erased"):
        assert client.post("/sessions", json={"name": name}).status_code == 201
    with open_engine(engine.home, clock=FixedClock(), background=False) as other:
        other.rename_session("elsewhere", "there")
        other.delete_session("erased")
    for method, path in (("GET", ""), ("GET", "/context"), ("POST", "/flush"), ("PATCH", "")):
        body: dict[str, Any] | None = {} if method == "PATCH" else None
        gone = client.request(method, f"/sessions/elsewhere{path}", json=body)
        assert error_of(gone) == (404, "not_found")
        assert "renamed to 'there'" in gone.json()["error"]["message"]
    assert error_of(client.get("/sessions/erased")) == (404, "not_found")
    assert client.get("/sessions/there").status_code == 200


def test_what_is_deleted_is_gone_and_says_when(client: TestClient, engine: Engine) -> None:
    client.post("/sessions", json={"name": "short-lived"})
    assert client.delete("/sessions/short-lived").status_code == 204
    assert "short-lived" not in [each.name for each in engine.sessions()]
    gone = client.get("/sessions/short-lived")
    assert gone.status_code == 404
    assert "was deleted on 2026-03-14" in gone.json()["error"]["message"]
    assert error_of(client.delete("/sessions/short-lived")) == (404, "not_found")


def test_a_closed_conversation_is_opened_again_by_a_message(client: TestClient) -> None:
    client.post("/sessions", json={"name": "reopened"})
    assert client.post("/sessions/reopened/close").json()["is_closed"] is True
    client.post("/sessions/reopened/messages", json={"text": "Still there?", "stream": False})
    told = client.get("/sessions/reopened").json()
    assert (told["is_closed"], told["messages"], told["model"]) == (False, 2, "scripted")


def test_a_fork_begins_as_the_other_was(client: TestClient, engine: Engine) -> None:
    session = engine.session("trunk")
    ids = [session.append({"role": "user", "content": f"message {n}"}) for n in range(4)]
    told = client.post("/sessions/trunk/fork", json={"entry": ids[1], "name": "branch"})
    assert told.status_code == 201
    assert (told.json()["messages"], told.json()["forked_from"]) == (2, "trunk")
    again = client.post("/sessions/trunk/fork", json={"entry": ids[1], "name": "branch"})
    assert error_of(again) == (400, "usage")
    lost = client.post("/sessions/trunk/fork", json={"entry": "nothing", "name": "other"})
    assert error_of(lost) == (404, "not_found")


def test_an_incognito_conversation_is_in_the_list_while_it_lasts_and_nowhere_after(
    client: TestClient, engine: Engine
) -> None:
    told = client.post("/sessions", json={"name": "secret-one", "incognito": True}).json()
    assert (told["is_incognito"], told["memory_mode"]) == (True, "off")
    client.post("/sessions/secret-one/messages", json={"text": "plugh xyzzy", "stream": False})
    assert client.get("/sessions/secret-one").json()["messages"] == 2
    listed = client.get("/sessions").json()["sessions"]
    assert [each["name"] for each in listed if each["is_incognito"]] == ["secret-one"]
    assert error_of(client.patch("/sessions/secret-one", json={"name": "x"})) == (400, "usage")
    fork = {"entry": "x", "name": "y"}
    assert error_of(client.post("/sessions/secret-one/fork", json=fork)) == (400, "usage")
    assert client.post("/sessions", json={"name": "secret-one"}).status_code == 200
    following = client.post("/sessions/secret-one/new", json={"name": "secret-two"}).json()
    assert following["is_incognito"] is True
    assert error_of(client.get("/sessions/secret-one")) == (404, "not_found")
    assert client.post("/sessions/secret-two/close").json()["is_closed"] is True
    assert not [each for each in client.get("/sessions").json()["sessions"] if each["is_incognito"]]
    for file in Path(engine.home).rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert b"xyzzy" not in held
            assert b"secret-one" not in held


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "../escape"}, (403, "refused")),
        ({"name": "a/b"}, (403, "refused")),
        ({"name": "with\u200bhidden"}, (403, "refused")),
        ({"name": ""}, (422, "invalid_request")),
        ({"name": "x", "memory": "all"}, (422, "invalid_request")),
        ({"name": "x", "colour": "red"}, (422, "invalid_request")),
        ({"name": "\ud800"}, (422, "invalid_request")),
        ({"name": "i", "incognito": True, "memory": "read"}, (400, "usage")),
        ({"name": "page-1", "incognito": True}, (400, "usage")),
    ],
)
def test_nonsense_is_refused_with_its_reason(
    client: TestClient, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    client.post("/sessions", json={"name": "page-1"})
    sent = json.dumps(body).encode()  # escaped, so that anything can be sent
    headers = {"content-type": "application/json"}
    answer = client.post("/sessions", content=sent, headers=headers)
    assert error_of(answer) == expected
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/close"),
        ("POST", "/new"),
        ("POST", "/flush"),
        ("POST", "/compact"),
        ("GET", "/context"),
        ("GET", "/transcript"),
        ("GET", "/timeline"),
        ("GET", "/restore"),
        ("GET", "/entries/x"),
    ],
)
def test_every_route_says_that_there_is_no_such_conversation(
    client: TestClient, method: str, path: str
) -> None:
    body: dict[str, Any] | None = {} if method in {"PATCH", "POST"} else None
    assert error_of(client.request(method, f"/sessions/nobody{path}", json=body)) == (
        404,
        "not_found",
    )
