"""Imports after something happened in between: growth, renames, other imports, odd records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.engine.facade import Engine
from holdfast.engine.importing.places import find
from holdfast.engine.importing.running import bring_in, runs, take_back
from holdfast.engine.importing.shapes import Done, SourceFile
from holdfast.engine.importing.taking import Taking, import_conversation
from holdfast.errors import UsageError
from holdfast.testing import FixedClock
from holdfast.types import Json
from tests.engine.past_logs import (
    SESSION,
    asked_to_remember,
    claude_line,
    claude_lines,
    codex_lines,
    openclaw_lines,
    write_lines,
    write_zip,
)

SAID = "Remember that I always deploy on Tuesdays, never on Fridays."
LIKE_CODEX = {"type": "marketplace", "payload": {}, "timestamp": "2025-11-01T10:00:00Z"}


def opened(home: Path) -> Engine:
    return holdfast.open(home, background=False, clock=FixedClock())


def brought(engine: Engine, *paths: Path, **how: Any) -> Done:
    found = find(None, list(paths), environ={}, home=Path("/nowhere"))
    return bring_in(engine._rooms, found, **how)


def names(engine: Engine) -> list[str]:
    return sorted(each.name for each in engine.sessions())


def texts(engine: Engine, name: str) -> list[str]:
    entries = engine.existing_session(name).entries()
    return [entry.message.text for entry in entries if entry.message is not None]


def grown(log: Path, *lines: Json) -> Path:
    with log.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return log


# ── odd records ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_no_calendar_holds_costs_only_itself(
    home: Path, tmp_path: Path, at: str
) -> None:
    lines = [claude_line(0, "user", "first", timestamp=at), claude_line(1, "user", "second")]
    codex = [{**line, "timestamp": at} for line in codex_lines()]
    export = asked_to_remember("x")
    export["mapping"]["n6"]["message"]["create_time"] = 10**400
    del export["current_node"]
    with opened(home) as engine:
        done = brought(
            engine,
            write_lines(tmp_path / "a.jsonl", lines),
            write_lines(tmp_path / "rollout-1.jsonl", codex),
            write_zip(tmp_path / "a.zip", conversations=[export]),
        )
        assert done.tallies["claude-code"].new_messages == 2
        assert done.tallies["codex"].new_messages == 6
        assert done.tallies["chatgpt"].new_messages > 0


@pytest.mark.parametrize("named", [{}, {"sessionId": SESSION}, {"uuid": "u"}])
def test_a_record_like_one_of_codex_does_not_make_a_log_one(
    home: Path, tmp_path: Path, named: dict[str, Json]
) -> None:
    odd = {**LIKE_CODEX, **named}
    log = write_lines(tmp_path / "a.jsonl", [odd, *claude_lines()])
    with opened(home) as engine:
        first = import_conversation(engine._rooms, log)
        assert (first.new, first.problems) == (5, ())
        second = import_conversation(engine._rooms, grown(log, odd, claude_line(20, "user", "on")))
        assert (second.session, second.new, second.total) == (first.session, 1, 6)


def test_half_a_line_behind_what_was_read_waits_for_its_rest(home: Path, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "a.jsonl", claude_lines())
    rest = json.dumps(claude_line(20, "user", "at last")) + "\n"
    with opened(home) as engine:
        first = import_conversation(engine._rooms, log)
        for half in (rest[:40], rest[40:90]):
            log.write_text(log.read_text() + half)
            done = import_conversation(engine._rooms, log)
            assert (done.session, done.new, done.problems) == (first.session, 0, ())
        log.write_text(log.read_text() + rest[90:])
        assert import_conversation(engine._rooms, log).new == 1


def test_two_messages_of_one_name_are_two_and_one_written_twice_is_counted(
    home: Path, tmp_path: Path
) -> None:
    lines = [claude_line(0, "user", text, uuid="same") for text in ("one", "two", "one")]
    codex = codex_lines()
    output = json.loads(json.dumps(codex[8]))
    output["payload"]["output"] = "another output"
    write_lines(tmp_path / "logs" / "a.jsonl", lines)
    write_lines(tmp_path / "logs" / "rollout-1.jsonl", [*codex, output, codex[-1]])
    with opened(home) as engine:
        done = brought(engine, tmp_path / "logs")
        assert texts(engine, names(engine)[0]) == ["one", "two"]
        assert done.tallies["codex"].new_messages == 7
        assert {
            name: each["messages that are written twice"] for name, each in done.left.items()
        } == {"claude-code": 1, "codex": 1}


def test_conversations_of_an_export_without_an_id_are_several(home: Path, tmp_path: Path) -> None:
    exports = [asked_to_remember(id) for id in ("x1", "x2", "x3")]
    for export in exports:
        del export["id"], export["conversation_id"]
    archive = write_zip(tmp_path / "a.zip", conversations=exports)
    with opened(home) as engine:
        assert brought(engine, archive).tallies["chatgpt"].new_conversations == 3
        assert len(names(engine)) == 3
        assert {name for each in names(engine) for name in texts(engine, each) if "x2" in name}


def test_the_log_of_a_subagent_becomes_a_session_of_its_own(home: Path, tmp_path: Path) -> None:
    agent: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    main = write_lines(tmp_path / "a.jsonl", claude_lines())
    side = write_lines(tmp_path / "agent-a1.jsonl", [claude_line(0, "user", "look", **agent)])
    with opened(home) as engine:
        brought(engine, side)
        [of_agent] = names(engine)
        brought(engine, main)
        grown(side, claude_line(1, "assistant", "found", **agent))
        brought(engine, side)
        [of_user] = set(names(engine)) - {of_agent}
        assert of_user == "claude-code-acme-shop-2025-11-01-2c3b4a59"
        assert texts(engine, of_agent) == ["look", "found"]
        assert "look" not in texts(engine, of_user)


def test_a_log_in_which_a_subagent_speaks_first_is_still_the_users(
    home: Path, tmp_path: Path
) -> None:
    agent: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    lines = [claude_line(0, "user", "Warmup", **agent), claude_line(1, "user", "hello")]
    log = write_lines(tmp_path / "a.jsonl", lines)
    with opened(home) as engine:
        done = import_conversation(engine._rooms, log)
        grown(log, claude_line(2, "user", "aside", **agent), claude_line(3, "user", "again"))
        import_conversation(engine._rooms, log)
        assert texts(engine, str(done.session)) == ["hello", "again"]


def test_a_log_of_another_kind_is_refused_and_nothing_of_it_is_kept(
    home: Path, tmp_path: Path
) -> None:
    log = write_lines(tmp_path / "a.jsonl", openclaw_lines())
    with opened(home) as engine:
        with pytest.raises(UsageError, match="is no log of codex: what it holds is of openclaw"):
            import_conversation(engine._rooms, log, kind="codex")
        assert names(engine) == []
        assert import_conversation(engine._rooms, log, kind="openclaw").new == 5
        with pytest.raises(UsageError, match="is no log of claude-code"):
            import_conversation(engine._rooms, log)


# ── renamed, deleted ────────────────────────────────────────────────────────────────────────


def test_memories_come_later_too_of_every_conversation_that_is_still_here(
    home: Path, tmp_path: Path
) -> None:
    exports = [asked_to_remember(id) for id in ("x1", "x2", "x3", "x4")]
    archive = write_zip(tmp_path / "a.zip", conversations=exports)
    log = write_lines(tmp_path / "a.jsonl", claude_lines(said=SAID))
    with opened(home) as engine:
        brought(engine, archive, log)
        of_x = {id: n for n in names(engine) for id in ("x1", "x2") if id in str(texts(engine, n))}
        engine.rename_session(of_x["x1"], "tuesdays")
        engine.delete_session(of_x["x2"])
        done = brought(engine, archive, log, memories=True)
        assert done.trouble.words() == []
        assert done.memory_lines >= 4
        files = engine.files()
        assert len(files) == 4, "three of ChatGPT, one of Claude Code"
        assert "tuesdays#" in engine.get(f"memory/imports/chatgpt/{of_x['x1']}.md").text
        assert brought(engine, archive, log, memories=True).id is None
        assert engine.files() == files


def test_an_import_is_taken_back_wholly_also_what_was_renamed(home: Path, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "a.jsonl", claude_lines(said=SAID))
    with opened(home) as engine:
        done = brought(engine, log, memories=True)
        [name] = names(engine)
        engine.rename_session(name, "ports")
        engine.rename_session("ports", "gateway")
        assert brought(engine, log, memories=True).id is None
        [path] = engine.files()
        assert "gateway#" in engine.get(path).text
        assert take_back(engine._rooms, str(done.id)).sessions == 1
        assert (names(engine), engine.files()) == ([], [])
        assert brought(engine, log).tallies["claude-code"].new_messages == 5
        assert names(engine) == [name]


def test_what_has_the_name_of_a_deleted_one_is_not_taken_back(home: Path, tmp_path: Path) -> None:
    with opened(home) as engine:
        done = brought(engine, write_lines(tmp_path / "a.jsonl", claude_lines()))
        engine.rename_session(names(engine)[0], "ports")
        engine.delete_session("ports")
        engine.session("ports")
        assert take_back(engine._rooms, str(done.id)).sessions == 0
        assert names(engine) == ["ports"]


# ── several imports ─────────────────────────────────────────────────────────────────────────


def test_imports_at_the_same_time_are_taken_back_one_by_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = write_lines(tmp_path / "one.jsonl", claude_lines("aaaa"))
    two = write_lines(tmp_path / "two.jsonl", claude_lines("bbbb"))
    with opened(home) as engine, opened(home) as other:
        inner: list[Done] = []
        plain = Taking.take

        def meanwhile(self: Taking, file: SourceFile) -> object:
            taken = plain(self, file)
            if not inner:
                monkeypatch.setattr(Taking, "take", plain)
                inner.append(brought(other, two))
            return taken

        monkeypatch.setattr(Taking, "take", meanwhile)
        outer = brought(engine, one)
        assert {outer.id, inner[0].id} == {each.id for each in runs(engine._rooms)}
        assert outer.id != inner[0].id
        assert len(names(engine)) == 2
        take_back(engine._rooms, str(outer.id))
        assert texts(engine, names(engine)[0])[-1] == "It listens on port 8443."
        assert [each.id for each in runs(engine._rooms)] == [inner[0].id]


def test_an_import_that_broke_off_is_listed_with_its_time_and_taken_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        write_lines(tmp_path / "logs" / f"{number}.jsonl", claude_lines(f"{number}aaa"))
    count: list[SourceFile] = []
    plain: Callable[..., Any] = Taking.take

    def broken(self: Taking, file: SourceFile) -> object:
        count.append(file)
        if len(count) > 2:
            raise KeyboardInterrupt
        return plain(self, file)

    with opened(home) as engine:
        monkeypatch.setattr(Taking, "take", broken)
        with pytest.raises(KeyboardInterrupt):
            brought(engine, tmp_path / "logs")
        monkeypatch.setattr(Taking, "take", plain)
        second = brought(engine, tmp_path / "logs")
        newer, older = sorted(runs(engine._rooms), key=lambda each: each.conversations)
        assert (newer.id, newer.conversations, older.conversations) == (second.id, 1, 2)
        assert older.at
        take_back(engine._rooms, newer.id)
        take_back(engine._rooms, older.id)
        assert names(engine) == []


# ── notes ───────────────────────────────────────────────────────────────────────────────────


def test_notes_in_old_encodings_are_copied_as_they_read(home: Path, tmp_path: Path) -> None:
    text = "# 园艺\n\n番茄在五月种下，每天浇水。Tomatoes in May.\n"
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, encoding in (("a", "utf-8-sig"), ("b", "utf-16"), ("c", "gb18030"), ("d", "utf-32")):
        (notes / f"{name}.md").write_bytes(text.encode(encoding))
    (notes / "latin.md").write_bytes("Müller und Söhne, Käse für später".encode("latin-1"))
    (notes / "bytes.md").write_bytes(bytes(range(256)))
    with opened(home) as engine:
        done = brought(engine, notes)
        assert engine.files() == [f"memory/imports/notes/{name}.md" for name in "abcd"]
        assert {engine.get(path).text for path in engine.files()} == {text}
        said = done.trouble.words()
        assert len(said) == 2
        assert all("it is no text in UTF-8, UTF-16 or GB 18030" in each for each in said)


def test_what_was_copied_beside_memory_can_be_merged_later(home: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- W: The cat is called Momo.\n")
    with opened(home) as engine:
        for merge, files in (
            (False, ["memory/imports/openclaw/MEMORY.md"]),
            (True, ["MEMORY.md"]),
            (True, ["MEMORY.md"]),
        ):
            found = find("openclaw", [workspace], environ={}, home=tmp_path)
            bring_in(engine._rooms, found, merge=merge)
            assert engine.files() == files
        (workspace / "MEMORY.md").write_text("- W: The cat is called Mia.\n")
        found = find("openclaw", [workspace], environ={}, home=tmp_path)
        bring_in(engine._rooms, found)
        assert engine.files() == ["MEMORY.md"], "what was merged goes on there"
        assert "Mia" in engine.get("MEMORY.md").text
