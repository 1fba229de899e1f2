"""Memory files by the API: edits with compare-and-swap, history, undo, where a line came from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.engine.facade import Engine
from tests.server.asking import Asker, asking


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with holdfast.open(home, background=False) as opened:
        yield opened


@pytest.fixture
def ask(engine: Engine) -> Iterator[Asker]:
    with asking(engine) as asker:
        yield asker


def test_a_file_is_written_edited_shown_and_undone(ask: Asker) -> None:
    here = {"path": "MEMORY.md"}
    made = ask.put("/memory/file", here, text="# Mine\n- W @Ann: tea\n", version=None)
    assert (made["kind"], made["html"].count("data-line")) == ("memory", 3)
    (line,) = made["lines"]
    assert (line["number"], line["kind"], line["entity"], line["text"]) == (2, "W", "Ann", "tea")
    assert (line["trust"], line["holds"], line["sources"]) == ("user", True, [])
    edited = ask.put("/memory/file", here, text="# Mine\n", version=made["version"])
    assert edited["version"] != made["version"]

    stale = ask.put("/memory/file", here, text="# Theirs\n", version=made["version"])
    assert (ask.status, stale["error"]["type"]) == (409, "changed")
    assert stale["error"]["details"] == {"version": edited["version"]}
    ask.post("/memory/append", path="MEMORY.md", text="x", version=made["version"])
    assert ask.status == 409

    assert ask.post("/memory/append", path="MEMORY.md", text="- W: more")["text"].endswith("more\n")
    steps = ask.get("/memory/history", path="MEMORY.md")["operations"]
    assert [each["what"] for each in steps] == ["edit", "edit", "edit"]
    assert "+- W: more" in steps[0]["diff"]
    rehearsed = ask.post("/memory/undo", operation=steps[0]["id"], dry_run=True)
    assert (rehearsed["undo"], rehearsed["paths"]) == (None, ["MEMORY.md"])
    undone = ask.post("/memory/undo", operation=steps[0]["id"])
    assert undone["undo"]
    assert ask.get("/memory/file", path="MEMORY.md")["text"] == "# Mine\n"
    ask.post("/memory/undo", operation=steps[0]["id"])
    assert ask.status == 400


def test_what_cannot_be_a_memory_file_is_refused(ask: Asker) -> None:
    for path in ("../../etc/passwd", "sessions/x.jsonl", "a\x00b", ".journal/x.md"):
        assert ask.get("/memory/file", path=path)["error"]["type"] == "refused"
        ask.put("/memory/file", {"path": path}, text="x", version=None)
        assert ask.status == 403
    assert ask.get("/memory/file", path="MEMORY.md")["error"]["hint"]
    assert ask.status == 404
    assert ask.get("/memory/files") == {"files": []}


def test_a_file_that_is_no_text_is_told_as_text(ask: Asker, engine: Engine) -> None:
    ask.put("/memory/file", {"path": "MEMORY.md"}, text="x\n", version=None)
    (engine.home / "agents/main/MEMORY.md").write_bytes(b"- W: caf\xe9 \xff\n")
    told = ask.get("/memory/file", path="MEMORY.md")
    assert (ask.status, told["text"]) == (200, "- W: caf\ufffd \ufffd\n")
    assert told["locked"]
    assert ask.get("/memory/history")["operations"]
    assert ask.get("/facts")["facts"]


def test_a_line_leads_to_the_words_it_stands_on(ask: Asker, engine: Engine) -> None:
    session = engine.session("talk")
    session.append({"role": "user", "content": "Remember that the gate code is 4711."})
    session.append({"role": "assistant", "content": "I will."})
    session.flush()
    files = ask.get("/memory/files")["files"]
    line = ask.get("/memory/file", path=files[0]["path"])["lines"][0]
    assert "4711" in line["text"]
    (source,) = line["sources"]
    assert source["session"] == "talk"
    found = ask.get("/memory/source", citation=source["citation"])
    assert (found["text"], found["seq"]) == ("Remember that the gate code is 4711.", 1)
    assert (found["trust"], found["path"]) == ("user", None)
    ask.get("/memory/source", citation="talk#nothing")
    assert ask.status == 404
