"""Typed memories and contradictions by the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.server.asking import Asker, asking


@pytest.fixture
def ask(home: Path) -> Iterator[Asker]:
    with holdfast.open(home, background=False) as engine:
        engine.remember("Peter lives in Berlin.", kind="W", entity="Peter", target="memory")
        engine.remember("Peter lives in Paris.", kind="W", entity="Peter", target="memory")
        engine.remember("Ann prefers tea.", kind="O", entity="Ann", confidence=0.8)
        with asking(engine) as asker:
            yield asker


def test_facts_are_listed_by_what_they_are(ask: Asker) -> None:
    assert len(ask.get("/facts")["facts"]) == 3
    first = ask.get("/facts", limit=1)
    assert (len(first["facts"]), first["total"]) == (1, 3)
    (opinion,) = ask.get("/facts", kind="O")["facts"]
    assert opinion["entity"] == "Ann"
    assert 0.75 < opinion["confidence"] <= 0.8  # it fades from the moment it was said
    assert opinion["citation"] == f"{opinion['path']}#L{opinion['number']}"
    assert ask.get(f"/facts/{opinion['id']}") == opinion
    assert len(ask.get("/facts", entity="Peter", trust="user")["facts"]) == 2
    assert ask.get("/facts", trust="tool")["facts"] == []
    assert {each["name"]: each["facts"] for each in ask.get("/entities")["entities"]} == {
        "Peter": 2,
        "Ann": 1,
    }
    ask.get("/facts", kind="X")
    assert ask.status == 422
    ask.get("/facts/none")
    assert ask.status == 404


def test_a_contradiction_is_settled_by_naming_what_is_true(ask: Asker) -> None:
    (conflict,) = ask.get("/conflicts")["conflicts"]
    assert (conflict["old"]["text"], conflict["new"]["text"]) == (
        "Peter lives in Berlin.",
        "Peter lives in Paris.",
    )
    ask.post(f"/conflicts/{conflict['id']}/resolve", keep="neither")
    assert ask.status == 400
    kept = ask.post(f"/conflicts/{conflict['id']}/resolve", keep=conflict["new"]["id"])
    assert (kept["old"]["holds"], kept["new"]["holds"]) == (False, True)
    assert kept["old"]["superseded_by"] == kept["new"]["id"]
    assert ask.get("/conflicts") == {"conflicts": []}
    ask.post(f"/conflicts/{conflict['id']}/resolve", keep="new")
    assert ask.status == 404
    chain = ask.get(f"/facts/{kept['new']['id']}/history")["facts"]
    assert [each["id"] for each in chain] == [kept["old"]["id"], kept["new"]["id"]]
    assert len(ask.get("/facts", holds="false")["facts"]) == 3
    assert len(ask.get("/facts")["facts"]) == 2


def test_a_person_confirms_and_takes_back(ask: Asker) -> None:
    (opinion,) = ask.get("/facts", kind="O")["facts"]
    confirmed = ask.post(f"/facts/{opinion['id']}/confirm")
    assert confirmed["verified"]
    assert confirmed["confidence"] > opinion["confidence"]
    retracted = ask.post(f"/facts/{opinion['id']}/retract", reason="She never said so.")
    assert (retracted["holds"], retracted["reason"]) == (False, "She never said so.")
    assert ask.get("/facts", kind="O")["facts"] == []


def test_every_decision_comes_with_the_way_back_also_when_others_write_meanwhile(
    home: Path,
) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        for name in ("Berlin", "Paris"):
            engine.remember(f"Peter lives in {name}.", kind="W", entity="Peter", target="memory")
        opinion = engine.remember("Ann prefers tea.", kind="O", entity="Ann", confidence=0.8)
        file = engine.home / "agents/main/MEMORY.md"
        day = engine.home / "agents/main" / opinion.path
        before = (file.read_bytes(), day.read_bytes())
        (conflict,) = ask.get("/conflicts")["conflicts"]
        id = opinion.added[0].id
        for path, body in (
            (f"/facts/{id}/confirm", {}),
            (f"/facts/{id[:12]}/retract", {"reason": "No."}),
            (f"/conflicts/{conflict['id']}/resolve", {"keep": "new"}),
            (f"/conflicts/{conflict['id']}/resolve", {"keep": "both"}),
        ):
            done = ask.post(path, **body)
            assert (file.read_bytes(), day.read_bytes()) != before
            engine.remember(f"Said right after {path} {body}.", target="topic:meanwhile")
            undone = ask.post("/memory/undo", operation=done["operation"])
            assert undone["what"] == path.rsplit("/", 1)[1]
            assert (file.read_bytes(), day.read_bytes()) == before
        steps = ask.get("/memory/history")["operations"]
        decided = [each["about"]["facts"] for each in steps if each["what"] == "confirm"]
        assert decided == [[id]], "an operation names what it is about"
        held = len(steps)
        assert ask.post("/facts/none/confirm")["error"]["type"] == "not_found"
        assert ask.post("/conflicts/none/resolve", keep="new")["error"]["type"] == "not_found"
        assert len(ask.get("/memory/history")["operations"]) == held


def test_the_newest_come_first_and_what_nobody_dated_last(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        for path, text in (
            ("MEMORY.md", "- W: undated\n"),
            ("memory/2026-01-01.md", "- W: old\n"),
            ("memory/2026-02-01.md", "- W: new\n- W: newer\n"),
        ):
            engine.editing.write(path, text, None)
        told = [each["text"] for each in ask.get("/facts")["facts"]]
        assert told == ["newer", "new", "old", "undated"]
