"""Memory files as a person edits them: of the version that was read, kept as typed, undoable."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.disk import System
from holdfast.engine.editing import ChangedMeanwhile, Editing, kind_of
from holdfast.engine.facade import Engine
from holdfast.errors import NotFound, PolicyRefused, StorageError, UsageError
from tests.scale import scaled


@pytest.fixture
def engine(home: Path) -> Engine:
    return holdfast.open(home, background=False)


def _file(engine: Engine, path: str) -> Path:
    return engine.home / "agents" / "main" / path


def test_an_edit_of_the_version_that_was_read_is_kept_as_typed(engine: Engine) -> None:
    made = engine.editing.write("MEMORY.md", "# Mine\n\n- W: my key is hunter2 \n", None)
    assert _file(engine, "MEMORY.md").read_text() == "# Mine\n\n- W: my key is hunter2 \n"
    again = engine.editing.write("MEMORY.md", made.text + "- O(c=0.5) @Ann: tea\n", made.version)
    assert again.version == sha256(_file(engine, "MEMORY.md").read_bytes()).hexdigest()
    assert [(each.fact.number, each.fact.line.text) for each in again.lines] == [
        (3, "my key is hunter2"),
        (4, "tea"),
    ]


def test_an_edit_of_an_older_version_changes_nothing_and_says_which_is_there(
    engine: Engine,
) -> None:
    editing = engine.editing
    first = editing.write("MEMORY.md", "one\n", None)
    second = editing.write("MEMORY.md", "two\n", first.version)
    for stale in (first.version, None, "0" * 64):
        with pytest.raises(ChangedMeanwhile) as error:
            editing.write("MEMORY.md", "three\n", stale)
        assert error.value.version == second.version
    with pytest.raises(ChangedMeanwhile) as gone:
        editing.write("memory/topics/x.md", "x", second.version)
    assert gone.value.version is None
    assert editing.read("MEMORY.md").text == "two\n"
    assert len(engine.changes()) == 2  # a refused edit is no operation


def test_of_many_who_edit_the_same_version_one_succeeds(engine: Engine) -> None:
    version = engine.editing.write("MEMORY.md", "start\n", None).version

    def edit(number: int) -> str | None:
        try:
            return engine.editing.write("MEMORY.md", f"{number}\n", version).text
        except ChangedMeanwhile:
            return None

    with ThreadPoolExecutor(8) as pool:
        done = [text for text in pool.map(edit, range(16)) if text is not None]
    assert done == [engine.editing.read("MEMORY.md").text]


def test_what_an_editor_saves_meanwhile_is_not_overwritten(engine: Engine) -> None:
    version = engine.editing.write("MEMORY.md", "start\n", None).version
    _file(engine, "MEMORY.md").write_text("saved by hand\n")
    with pytest.raises(ChangedMeanwhile):
        engine.editing.write("MEMORY.md", "mine\n", version)
    assert _file(engine, "MEMORY.md").read_text() == "saved by hand\n"


_KEPT = st.text(st.characters(codec="utf-8"), max_size=60)


@settings(max_examples=scaled(15))
@given(held=_KEPT, added=_KEPT.filter(str.strip))
def test_what_is_added_leaves_every_byte_above_it(
    tmp_path_factory: pytest.TempPathFactory, held: str, added: str
) -> None:
    with holdfast.open(tmp_path_factory.mktemp("home"), background=False) as engine:
        engine.editing.write("MEMORY.md", held, None)
        before = _file(engine, "MEMORY.md").read_bytes()
        engine.editing.append("MEMORY.md", added)
        after = _file(engine, "MEMORY.md").read_bytes()
        assert after.startswith(before)
        assert added.rstrip("\r\n").replace("\r", "").replace("\n", "") in after.decode().replace(
            "\r", ""
        ).replace("\n", "")
        engine.undo()
        assert _file(engine, "MEMORY.md").read_bytes() == before


def test_a_file_keeps_its_line_endings(engine: Engine) -> None:
    version = engine.editing.write("MEMORY.md", "one\r\ntwo\r\n", None).version
    edited = engine.editing.write("MEMORY.md", "one\n2\n", version)  # as a browser sends it
    engine.editing.append("MEMORY.md", "three")
    assert _file(engine, "MEMORY.md").read_bytes() == b"one\r\n2\r\nthree\r\n"
    assert edited.text == "one\r\n2\r\n"


def test_paths_that_are_none_and_names_that_are_credentials_are_refused(engine: Engine) -> None:
    for path in (
        "../x.md",
        "/etc/passwd",
        "memory/../../x.md",
        "sessions/s1.jsonl",
        "",
        "a\x00.md",
    ):
        for call in (
            lambda path=path: engine.editing.read(path),
            lambda path=path: engine.editing.write(path, "x", None),
            lambda path=path: engine.editing.append(path, "x"),
            lambda path=path: engine.editing.history(path),
        ):
            with pytest.raises(PolicyRefused):
                call()
    with pytest.raises(UsageError):
        engine.editing.write(
            "memory/topics/sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123.md", "x", None
        )
    with pytest.raises(NotFound):
        engine.editing.read("memory/topics/none.md")
    with pytest.raises(UsageError):
        engine.editing.append("MEMORY.md", " \n")
    assert engine.files() == []


def test_lines_that_are_for_others_are_neither_shown_nor_lost(engine: Engine) -> None:
    text = '- W: for all\n- W: for Bob <!-- hf {"id":"b1","user":"bob"} -->\n- W: last\n'
    made = engine.editing.write("MEMORY.md", text, None)
    assert "Bob" not in made.text
    assert [each.fact.number for each in made.lines] == [1, 3]
    assert made.locked is not None
    assert "for Bob" not in engine.editing.history("MEMORY.md")[0].diff
    with pytest.raises(PolicyRefused):
        engine.editing.write("MEMORY.md", made.text, made.version)
    engine.editing.append("MEMORY.md", "- W: more")
    assert "for Bob" in _file(engine, "MEMORY.md").read_text()


def test_a_file_that_is_no_text_can_be_read_and_not_overwritten(engine: Engine) -> None:
    engine.editing.write("MEMORY.md", "x\n", None)
    _file(engine, "MEMORY.md").write_bytes(b"caf\xe9\n")
    read = engine.editing.read("MEMORY.md")
    assert read.text == "caf\ufffd\n"
    assert read.locked is not None
    with pytest.raises(PolicyRefused):
        engine.editing.write("MEMORY.md", read.text, read.version)
    engine.editing.append("MEMORY.md", "y")
    assert _file(engine, "MEMORY.md").read_bytes() == b"caf\xe9\ny\n"


def test_memory_that_may_only_be_read_is_not_edited(home: Path) -> None:
    with holdfast.open(home, background=False) as engine:
        engine.editing.write("MEMORY.md", "x\n", None)
    with holdfast.open(home, background=False, config={"memory.mode": "read"}) as engine:
        read = engine.editing.read("MEMORY.md")
        assert read.locked == "memory may only be read here"
        with pytest.raises(PolicyRefused):
            engine.editing.append("MEMORY.md", "y")
        assert not engine.editing.history("MEMORY.md")[0].can_undo
    with holdfast.open(home, background=False, config={"memory.mode": "off"}) as engine:
        with pytest.raises(PolicyRefused):
            engine.editing.read("MEMORY.md")
        with pytest.raises(PolicyRefused):
            engine.editing.files()


def test_the_history_of_a_file_shows_each_step_and_what_can_be_undone(engine: Engine) -> None:
    editing = engine.editing
    first = editing.write("MEMORY.md", "one\ntwo\n", None)
    editing.write("MEMORY.md", "one\n2\n", first.version)
    engine.remember("Elsewhere.", kind="W")
    editing.append("MEMORY.md", "three")
    steps = editing.history("MEMORY.md")
    assert [each.operation.what for each in steps] == ["edit", "edit", "edit"]
    assert "+three\n" in steps[0].diff
    assert "-two\n+2\n" in steps[1].diff
    assert steps[2].diff.startswith("--- /dev/null\n+++ b/MEMORY.md\n")
    assert [each.can_undo for each in steps] == [True, True, False]  # nobody can tell one from two
    assert len(editing.history()) == 4
    assert len(editing.history(limit=2)) == 2

    undone = engine.undo(steps[1].operation.id)
    assert editing.read("MEMORY.md").text == "one\ntwo\nthree\n"
    now = {each.operation.id: each for each in editing.history("MEMORY.md")}
    assert not now[steps[1].operation.id].can_undo
    assert now[steps[1].operation.id].operation.undone_by == undone.undo
    assert undone.undo is not None
    assert now[undone.undo].can_undo


def test_every_line_says_what_it_stands_on_and_whether_it_still_holds(engine: Engine) -> None:
    old = engine.remember("Peter lives in Berlin.", kind="W", entity="Peter", target="memory")
    new = engine.remember("Peter lives in Paris.", kind="W", entity="Peter", target="memory")
    engine.facts.supersede(old.added[0].id, new.added[0].id)
    lines = {each.fact.id: each for each in engine.editing.read("MEMORY.md").lines}
    ended, holding = lines[old.added[0].id], lines[new.added[0].id]
    assert (ended.holds, ended.superseded_by) == (False, new.added[0].id)
    assert (holding.holds, holding.superseded_by) == (True, None)


def test_a_citation_leads_to_its_entry_or_its_lines(engine: Engine) -> None:
    session = engine.session("talk")
    session.append({"role": "user", "content": "hello"})
    entry = session.append({"role": "assistant", "content": "The code is 7."})
    said = engine.editing.source(f"talk#{entry}")
    assert (said.session, said.entry, said.text, said.trust) == (
        "talk",
        entry,
        "The code is 7.",
        "agent",
    )
    assert said.seq == next(each.seq for each in session.entries() if each.id == entry)
    engine.editing.write("MEMORY.md", '# M\n- W: a <!-- hf {"id":"x","trust":"tool"} -->\n', None)
    line = engine.editing.source("MEMORY.md#L2")
    assert (line.path, line.trust, line.session) == ("MEMORY.md", "tool", None)
    assert line.lines is not None
    assert (line.lines.start, line.lines.end) == (2, 2)
    assert engine.editing.source("MEMORY.md").path == "MEMORY.md"
    with pytest.raises(NotFound):
        engine.editing.source("talk#none")
    assert engine.editing.seq("nobody", "e") is None


def test_an_entry_is_looked_for_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = engine.session("talk").append({"role": "user", "content": "hello"})
    asked: list[str] = []
    find = Editing._find_seq

    def counting(self: Editing, session: str, entry: str) -> int:
        asked.append(entry)
        return find(self, session, entry)

    monkeypatch.setattr(Editing, "_find_seq", counting)
    assert {engine.editing.seq("talk", entry) for _ in range(5)} == {1}
    assert asked == [entry]


def test_files_are_listed_memory_first_then_the_newest_day(engine: Engine) -> None:
    for path in (
        *("bank/entities/Ann.md", "memory/2026-01-01.md", "memory/topics/a.md", "USER.md"),
        *("memory/2026-02-01.md", "tasks/t.md", "bank/x.md", "MEMORY.md"),
    ):
        engine.editing.write(path, "- W: one\n\n- W: two\n" if path == "MEMORY.md" else "x", None)
    found = engine.editing.files()
    assert [(each.path, each.kind) for each in found] == [
        ("MEMORY.md", "memory"),
        ("memory/2026-02-01.md", "daily"),
        ("memory/2026-01-01.md", "daily"),
        ("USER.md", "other"),
        ("bank/entities/Ann.md", "entity"),
        ("bank/x.md", "bank"),
        ("memory/topics/a.md", "topic"),
        ("tasks/t.md", "task"),
    ]
    assert (found[0].lines, found[0].memories, found[0].bytes) == (3, 2, 19)
    assert kind_of("archive/memory/2026-01-01.md") == "other"


def test_a_memory_that_stands_in_two_files_counts_in_both(engine: Engine) -> None:
    twice = '- W: the same words <!-- hf {"id":"01JABCDEFGHJKMNPQRSTVWXYZ0"} -->\n'
    engine.editing.write("MEMORY.md", twice + "- W: mine alone\n", None)
    engine.editing.write("memory/topics/copy.md", twice, None)
    counted = {each.path: each.memories for each in engine.editing.files()}
    assert counted == {"MEMORY.md": 2, "memory/topics/copy.md": 1}
    version = engine.editing.read("memory/topics/copy.md").version
    engine.editing.write("memory/topics/copy.md", twice * 2, version)
    assert [each.memories for each in engine.editing.files()] == [2, 2]


def test_a_file_that_was_emptied_shows_what_emptied_it(engine: Engine) -> None:
    version = engine.editing.write("MEMORY.md", "one\n", None).version
    engine.editing.write("MEMORY.md", "", version)
    preimages = _file(engine, ".journal/preimages")
    for each in preimages.glob("*.diff"):
        each.unlink()  # then only the file itself tells what was left
    (newest, _) = engine.editing.history("MEMORY.md")
    assert "-one" in newest.diff


def test_a_conversation_that_cannot_be_read_is_no_missing_one(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = engine.session("talk").append({"role": "user", "content": "hello"})
    assert engine.editing.seq("talk", entry) == 1
    assert engine.editing.seq("gone", entry) is None
    assert engine.editing.seq("talk", "no-such-entry") is None

    real = System.open

    def failing(self: System, path: str, flags: int, mode: int = 0o777, **at: int | None) -> int:
        if path.startswith("talk."):
            raise OSError(errno.EIO, "The disk does not answer.")
        return real(self, path, flags, mode, **at)

    monkeypatch.setattr(System, "open", failing)
    fresh = holdfast.open(engine.home, background=False)
    with pytest.raises(StorageError):
        fresh.editing.seq("talk", entry)
