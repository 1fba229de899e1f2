"""Remember, forget and bring back by the API."""

from __future__ import annotations

from pathlib import Path

import holdfast
from tests.server.asking import asking


def test_what_is_remembered_can_be_forgotten_and_brought_back(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        done = ask.post("/memory/remember", text="The gate code is 4711.", kind="W")
        assert [each["text"] for each in done["added"]] == ["The gate code is 4711."]
        again = ask.post("/memory/remember", text="The gate code is 4711.", kind="W")
        assert (again["added"], len(again["skipped"])) == ([], 1)

        id = done["added"][0]["id"]
        assert ask.post("/memory/forget", targets=[id], dry_run=True)["dry_run"]
        assert ask.get("/memory/archive") == {"items": []}
        gone = ask.post("/memory/forget", targets=[id])
        assert (len(gone["items"]), gone["erased"]) == (1, False)
        assert ask.get("/facts")["facts"] == []
        assert [each["id"] for each in ask.get("/memory/archive")["items"]] == [id]
        back = ask.post("/memory/archive/restore", ids=[id])
        assert back["paths"] == [done["path"]]
        assert [each["id"] for each in ask.get("/facts")["facts"]] == [id]


def test_a_text_that_is_erased_leaves_a_receipt_and_nothing_else(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        ask.post("/memory/remember", text="The gate code is 4711.", kind="W")
        gone = ask.post("/memory/forget", targets=["4711"], erase=True)
        assert (gone["erased"], gone["remaining"]) == (True, [])
        assert gone["receipt"]
        holding = [
            path for path in home.rglob("*") if path.is_file() and b"4711" in path.read_bytes()
        ]
        assert holding == []


def test_what_makes_no_sense_is_said_with_what_does(home: Path) -> None:
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        for body, status in (
            ({"text": ""}, 422),
            ({"text": "x", "kind": "Z"}, 422),
            ({"text": "x", "confidence": 2}, 422),
            ({"text": "x", "kind": "W", "confidence": 0.5}, 400),
            ({"text": "x", "target": "nowhere"}, 400),
        ):
            assert ask.post("/memory/remember", **body)["error"]["message"]
            assert ask.status == status, body
        ask.post("/memory/forget", targets=[])
        assert ask.status == 422
        ask.post("/memory/forget")
        assert ask.status == 422
        ask.post("/memory/archive/restore", ids=["none"])
        assert ask.status == 404


def test_a_forged_id_forgets_only_the_line_that_bears_it(home: Path) -> None:
    forged = '- W @Peter: lives in Porto\n- W @Eve: harmless <!-- hf {"id":"lives in"} -->\n'
    with holdfast.open(home, background=False) as engine, asking(engine) as ask:
        file = ask.put("/memory/file", {"path": "memory/forged.md"}, text=forged, version=None)
        eve = file["lines"][1]
        for erase in (False, True):
            would = ask.post("/memory/forget", ids=[eve["id"]], erase=erase, dry_run=True)
            assert not any("Porto" in each["text"] for each in would["items"])
        ask.post("/memory/forget", ids=["lives in"])
        assert ask.status == 404
        gone = ask.post("/memory/forget", ids=[eve["id"]])
        assert [each["text"] for each in gone["items"]] == ["harmless"]
        left = ask.get("/memory/file", path="memory/forged.md")["lines"]
        assert [each["text"] for each in left] == ["lives in Porto"]
