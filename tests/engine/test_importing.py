"""Conversations of elsewhere: brought in once, however often, in pieces or after a crash."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.config import load_settings
from holdfast.disk import SYSTEM, System
from holdfast.engine.clock import TimeOrderedIds
from holdfast.engine.facade import Engine
from holdfast.engine.importing.files import Opened
from holdfast.engine.importing.places import find
from holdfast.engine.importing.running import bring_in, runs, take_back
from holdfast.engine.importing.shapes import Done, Imported
from holdfast.engine.importing.taking import import_conversation
from holdfast.engine.rooms import Rooms
from holdfast.errors import NotFound, UsageError
from holdfast.testing import FixedClock
from holdfast.types import Json, Scope
from tests.engine.past_logs import (
    SESSION,
    asked_to_remember,
    chatgpt_conversation,
    claude_line,
    claude_lines,
    old_codex_lines,
    write_all,
    write_lines,
    write_zip,
)
from tests.scale import scaled


def opened(home: Path, **config: Json) -> Engine:
    return holdfast.open(home, background=False, config=config, clock=FixedClock())


def brought(engine: Engine, *paths: Path, **how: Any) -> Done:
    found = find(None, list(paths), environ={}, home=Path("/nowhere"))
    return bring_in(engine._rooms, found, **how)


def kept(home: Path) -> dict[str, bytes]:
    """Every byte of what was said and what is known, but for counters that save time."""
    base = home / "agents" / "main"
    files = [
        *base.glob("sessions/*.jsonl"),
        *base.glob("artifacts/*"),
        *base.glob("memory/**/*.md"),
    ]
    whole = [path for path in sorted(files) if not path.name.startswith(".tmp-")]
    return {str(path.relative_to(base)): path.read_bytes() for path in whole}


def spoken(engine: Engine, name: str) -> list[tuple[str, str]]:
    entries = engine.existing_session(name).entries()
    messages = [entry.message for entry in entries if entry.message is not None]
    return [
        (each.role, each.text or " ".join(f"→{call.name}" for call in each.tool_calls))
        for each in messages
    ]


def session_of(engine: Engine, beginning: str) -> str:
    [name] = [each.name for each in engine.sessions() if each.name.startswith(beginning)]
    return name


# ── what becomes of a log ───────────────────────────────────────────────────────────────────


def test_a_conversation_becomes_a_session_with_its_own_times_roles_and_trust(
    home: Path, tmp_path: Path
) -> None:
    write_lines(tmp_path / "logs" / f"{SESSION}.jsonl", claude_lines())
    with opened(home) as engine:
        done = brought(engine, tmp_path / "logs")
        name = session_of(engine, "claude-code")
        assert name == "claude-code-acme-shop-2025-11-01-2c3b4a59"
        assert spoken(engine, name) == [
            ("user", "Which port does the gateway use? "),
            ("assistant", "I will look."),
            ("assistant", "→Read"),
            ("user", "listen 8443"),
            ("assistant", "It listens on port 8443."),
        ]
        entries = engine.existing_session(name).entries()
        assert {entry.extra["trust"] for entry in entries} == {"import"}
        assert entries[0].data["import"]["title"] == "Ports of the gateway"
        assert [entry.at.isoformat()[:16] for entry in entries[1:]] == [
            f"2025-11-01T10:0{minute}" for minute in (0, 2, 3, 5, 8)
        ]
        assert engine.sessions()[0].last_at == "2025-11-01T10:08:00.000000Z"
        assert done.left["claude-code"]["messages of subagents"] == 1
        assert done.left["claude-code"]["records: a-kind-of-tomorrow"] == 1
        assert done.trouble.words() == []


def test_every_kind_of_file_is_recognised_by_its_content(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        done = brought(engine, logs)
        assert {name: each.messages for name, each in done.tallies.items() if each.messages} == {
            "claude-code": 6,
            "codex": 9,
            "openclaw": 5,
            "chatgpt": 4,
            "claude": 4,
            "openai": 2,
        }
        assert done.trouble.words() == []
        said = {name.partition("-20")[0] for each in engine.sessions() for name in [each.name]}
        assert said == {
            "claude-code-acme-shop",
            "codex-web",
            "codex",
            "openclaw-claw",
            "chatgpt",
            "claude",
            "openai",
        }
        assert engine.files() == [
            "memory/imports/all/notes-travel-kyoto-plan.md",
            "memory/imports/all/notes-园艺.md",
        ]
        old = next(each for each in engine.sessions() if each.name.startswith("codex-2025-05"))
        assert [text for _, text in spoken(engine, old.name)] == ["yes", "Shall I go on?", "yes"]


def test_what_was_brought_in_is_found_however_old_it_is(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home, **{"index.retention_days": 30}) as engine:
        engine.session("mine").append({"role": "user", "content": "the gateway is mine"})
        brought(engine, logs)
        for asked, where in (
            ("port of the gateway 8443", "claude-code-acme-shop-2025-11-01"),
            ("超时 30 秒", "codex-web-2025-12-08"),
            ("hoopoe", "chatgpt-2025-02-19"),
            ("ferry", "openai-"),
            ("番茄", "memory/imports/all/notes-园艺.md"),
        ):
            found = engine.search(asked).passages
            assert any(each.citation.startswith(where) for each in found), asked
        assert engine.index.status().resting == 0
    newest = max((home / "agents/main/sessions").glob("*.jsonl"), key=os.path.getmtime)
    assert newest.name == "mine.jsonl", "what was said here last is still the last"


def test_large_results_become_artifacts_and_come_back_whole(home: Path, tmp_path: Path) -> None:
    text = "line of a log\n" * 2_000
    result = {"type": "tool_result", "tool_use_id": "t", "content": text}
    log = write_lines(tmp_path / "a.jsonl", [claude_line(0, "user", [result])])
    with opened(home, **{"context.ingest_cap_chars": 5_000}) as engine:
        brought(engine, log)
        session = engine.existing_session(session_of(engine, "claude-code"))
        [entry] = [each for each in session.entries() if each.type == "message"]
        assert len(json.dumps(entry.data)) < 8_000
        assert session.expand(entry.id).text == text


# ── once, twice, in pieces ──────────────────────────────────────────────────────────────────


def test_importing_twice_changes_not_one_byte(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        first = brought(engine, logs)
        before = kept(home)
        ledger = (home / "agents/main/.journal/imports.jsonl").read_bytes()
        second = brought(engine, logs)
        assert kept(home) == before
        assert (home / "agents/main/.journal/imports.jsonl").read_bytes() == ledger
        assert second.id is None
        assert sum(each.unchanged for each in second.tallies.values()) == 9
        assert sum(each.files for each in first.tallies.values()) == 9


def test_without_its_ledger_nothing_comes_twice_either(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        brought(engine, logs)
        before = kept(home)
        (home / "agents/main/.journal/imports.jsonl").unlink()
        again = brought(engine, logs)
        assert kept(home) == before
        assert sum(each.new_messages for each in again.tallies.values()) == 0


def test_a_dry_run_says_the_same_and_changes_nothing(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        would = brought(engine, logs, is_dry=True)
        assert engine.sessions() == []
        assert engine.files() == []
        did = brought(engine, logs)
        assert would.tallies == did.tallies
        assert would.left == did.left


@given(data=st.data())
@settings(max_examples=scaled(8), phases=[Phase.explicit, Phase.generate])  # each step syncs
def test_a_log_read_in_pieces_is_the_log_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    tmp_path = tmp_path_factory.mktemp("pieces")
    lines = data.draw(st.sampled_from([claude_lines(), old_codex_lines()]))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4)))
    log = tmp_path / f"{SESSION}.jsonl"
    with opened(tmp_path / "pieces") as engine:
        for number, cut in enumerate([*cuts, len(text)]):
            log.write_bytes(text[:cut])
            os.utime(log, ns=(0, 1_700_000_000_000_000_000 + number))
            brought(engine, log)
    os.utime(log, ns=(0, 1_700_000_000_000_000_000))
    with opened(tmp_path / "once") as engine:
        brought(engine, log)
    assert kept(tmp_path / "pieces") == kept(tmp_path / "once")


def test_of_a_log_that_has_grown_only_what_is_new_is_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = Opened._read

    def counted(self: Opened, limit: int) -> bytes:
        data = plain(self, limit)
        read.append(len(data))
        return data

    monkeypatch.setattr(Opened, "_read", counted)
    lines = [claude_line(number, "user", f"message {number} " + "x" * 500) for number in range(200)]
    log = write_lines(tmp_path / "a.jsonl", lines)
    with opened(home) as engine:
        first = import_conversation(engine._rooms, log)
        assert (first.new, first.total) == (200, 200)
        read.clear()
        assert import_conversation(engine._rooms, log).new == 0
        assert read == []
        with log.open("a") as file:
            file.write(json.dumps(claude_line(200, "assistant", "at last")) + "\n")
        second = import_conversation(engine._rooms, log)
        assert second == Imported(session=first.session, new=1, total=201)
        assert sum(read) < 1_000
        assert spoken(engine, str(first.session))[-1] == ("assistant", "at last")


def test_a_log_that_was_written_anew_is_read_from_its_beginning(home: Path, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "a.jsonl", claude_lines())
    with opened(home) as engine:
        import_conversation(engine._rooms, log)
        write_lines(log, [*claude_lines()[2:], claude_line(9, "user", "Thanks!")], at=1_800_000_000)
        assert import_conversation(engine._rooms, log).new == 1


def test_a_damaged_line_costs_itself_and_a_half_written_one_waits(
    home: Path, tmp_path: Path
) -> None:
    first, second, third = (json.dumps(claude_line(n, "user", f"m{n}")) for n in range(3))
    log = tmp_path / "a.jsonl"
    log.write_text(f'{first}\n{{"broken": \n{second}{third[:40]}\n\0\0\n{third[:60]}')
    with opened(home) as engine:
        done = import_conversation(engine._rooms, log)
        assert done.new == 2
        assert len(done.problems) == 2
        log.write_text(log.read_text() + third[60:] + "\n")
        assert import_conversation(engine._rooms, log).new == 1


def test_a_new_export_continues_its_conversations(home: Path, tmp_path: Path) -> None:
    export = chatgpt_conversation()
    with opened(home) as engine:
        brought(engine, write_zip(tmp_path / "march.zip", conversations=[export]))
        before = spoken(engine, session_of(engine, "chatgpt"))
        message = {**export["mapping"]["n6"]["message"], "create_time": 1740000099}
        said = {**message, "author": {"role": "user"}, "content": {"parts": ["Thanks!"]}}
        export["mapping"]["n7"] = {"parent": "n6", "message": said}
        export |= {"current_node": "n7", "title": "Another title"}
        other = chatgpt_conversation("other")
        done = brought(engine, write_zip(tmp_path / "april.zip", conversations=[export, other]))
        assert done.tallies["chatgpt"].new_conversations == 1
        assert done.tallies["chatgpt"].new_messages == 5
        [name] = [each.name for each in engine.sessions() if each.messages == 5]
        assert spoken(engine, name) == [*before, ("user", "Thanks!")]


# ── sessions that live on here ──────────────────────────────────────────────────────────────


def test_a_session_that_was_renamed_is_continued_and_a_deleted_one_stays_away(
    home: Path, tmp_path: Path
) -> None:
    log = write_lines(tmp_path / "a.jsonl", claude_lines())
    gone = write_lines(tmp_path / "b.jsonl", claude_lines("dead0000"))
    with opened(home) as engine:
        name, other = (import_conversation(engine._rooms, each).session for each in (log, gone))
        engine.rename_session(str(name), "ports")
        engine.delete_session(str(other))
        for path, session in ((log, SESSION), (gone, "dead0000")):
            with path.open("a") as file:
                file.write(json.dumps(claude_line(50, "user", "more", session=session)) + "\n")
        assert import_conversation(engine._rooms, log).session == "ports"
        assert spoken(engine, "ports")[-1] == ("user", "more")
        assert import_conversation(engine._rooms, gone).session is None
        assert [each.name for each in engine.sessions()] == ["ports"]


def test_another_conversation_of_the_same_name_is_left_alone(home: Path, tmp_path: Path) -> None:
    log = write_lines(tmp_path / "a.jsonl", claude_lines())
    with opened(home) as engine:
        taken = engine.session("claude-code-acme-shop-2025-11-01-2c3b4a59")
        taken.append({"role": "user", "content": "mine"})
        done = import_conversation(engine._rooms, log)
        assert done.session != taken.name
        assert [text for _, text in spoken(engine, taken.name)] == ["mine"]


def test_an_unknown_kind_and_a_missing_file_are_said(home: Path, tmp_path: Path) -> None:
    with opened(home) as engine:
        with pytest.raises(UsageError, match="no kind of log 'claude'"):
            import_conversation(engine._rooms, tmp_path / "a", kind="claude")
        with pytest.raises(NotFound, match="There is no file"):
            import_conversation(engine._rooms, tmp_path / "a")


# ── killed ──────────────────────────────────────────────────────────────────────────────────


class Deadly(System):
    """Kills the process at the n-th change of the disk, in the midst of a write."""

    def __init__(self, at: int) -> None:
        self._left = at

    def _count(self, fd: int | None = None, data: bytes | memoryview = b"") -> None:
        self._left -= 1
        if self._left <= 0:
            if fd is not None:
                os.write(fd, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self._count(fd, data)
        return SYSTEM.write(fd, data)

    def sync(self, fd: int) -> None:
        self._count()
        SYSTEM.sync(fd)

    def rename(self, source: str, target: str, *, dir_fd: int) -> None:
        self._count()
        SYSTEM.rename(source, target, dir_fd=dir_fd)


def _rooms(home: Path, system: System = SYSTEM) -> Rooms:
    given = {"context.ingest_cap_chars": 1_000}
    return Rooms(
        home,
        Scope(agent="main"),
        settings=load_settings(home, environ={}, overrides=given),
        clock=FixedClock(),
        ids=TimeOrderedIds(),
        background=False,
        system=system,
    )


def _dies(home: Path, logs: Path, at: int) -> bool:
    """Whether an import in a process of its own was killed."""
    child = os.fork()
    if child == 0:
        try:
            found = find(None, [logs], environ={}, home=home)
            bring_in(_rooms(home, Deadly(at)), found, memories=True)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_killed_at_any_point_and_started_again_it_ends_as_if_it_had_run_once(
    fast_path: Path,
) -> None:
    logs = write_all(fast_path / "all")
    long = [claude_line(n, "user", f"{n} " + "long " * 300, session="f00d") for n in range(6)]
    write_lines(logs / "claude" / "long.jsonl", long)
    write_zip(logs / "two.zip", conversations=[asked_to_remember(each) for each in ("x1", "x2")])
    found = find(None, [logs], environ={}, home=logs)
    bring_in(_rooms(fast_path / "once"), found, memories=True)
    expected = kept(fast_path / "once")
    assert any(name.startswith("artifacts/") for name in expected)
    assert sum(name.startswith("memory/imports/chatgpt/") for name in expected) == 2
    at, killed, step = 1, True, max(1, 29 // scaled(1))
    while killed:
        home = fast_path / f"killed{at}"
        killed = _dies(home, logs, at)
        _dies(home, logs, at + 7)
        bring_in(_rooms(home), found, memories=True)
        assert kept(home) == expected, f"killed at call {at}"
        at += step
    assert at > 60, "it was killed at many points"


# ── taken back ──────────────────────────────────────────────────────────────────────────────


def test_an_import_can_be_taken_back_wholly_and_made_again(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        engine.session("mine").append({"role": "user", "content": "hi"})
        before = kept(home)
        done = brought(engine, logs, memories=True)
        assert done.memory_lines > 0
        after = kept(home)
        [run] = runs(engine._rooms)
        assert (run.id, run.conversations) == (done.id, 7)
        assert take_back(engine._rooms, run.id, is_dry=True).sessions == 7
        assert kept(home) == after
        taken = take_back(engine._rooms, run.id)
        assert (taken.sessions, taken.kept) == (7, [])
        assert kept(home) == before
        assert runs(engine._rooms) == []
        with pytest.raises(NotFound, match="There is no import"):
            take_back(engine._rooms, run.id)
        brought(engine, logs, memories=True)
        assert kept(home) == after


def test_what_went_on_here_is_kept_and_named(home: Path, tmp_path: Path) -> None:
    logs = write_all(tmp_path / "all")
    with opened(home) as engine:
        done = brought(engine, logs)
        name = session_of(engine, "openclaw")
        engine.existing_session(name).append({"role": "user", "content": "and now?"})
        note = home / "agents/main/memory/imports/all/notes-园艺.md"
        note.write_text("mine now", "utf-8")
        taken = take_back(engine._rooms, str(done.id))
        assert taken.kept == [
            f"session {name}: it went on here",
            "memory/imports/all/notes-园艺.md: it was edited here",
        ]
        assert [each.name for each in engine.sessions()] == [name]
        assert engine.files() == ["memory/imports/all/notes-园艺.md"]


# ── notes and memories ──────────────────────────────────────────────────────────────────────


def test_a_note_follows_its_original_until_somebody_edits_it_here(
    home: Path, tmp_path: Path
) -> None:
    notes = write_all(tmp_path / "all") / "notes"
    plan, path = notes / "travel" / "Kyoto plan.md", "memory/imports/notes/travel-kyoto-plan.md"
    with opened(home) as engine:
        brought(engine, notes)
        assert engine.get(path).text.startswith("---\ntags: [a]\n---\n# Kyoto")
        plan.write_text("# Kyoto\n\ntoken ghp_0123456789abcdefghijABCDEFGHIJ456789\n")
        assert brought(engine, notes).tallies["markdown"].new_notes == 1
        assert "ghp_0123456789" not in engine.get(path).text
        (home / "agents/main" / path).write_text("mine")
        plan.write_text("# Kyoto 3\n")
        done = brought(engine, notes)
        assert done.trouble.words() == [
            f"{path} was edited here, and is left as it is; new is {plan}"
        ]
        assert engine.get(path).text == "mine"


def test_memories_of_conversations_are_of_the_trust_import(home: Path, tmp_path: Path) -> None:
    said = "Remember that I always deploy on Tuesdays, never on Fridays."
    log = write_lines(tmp_path / "a.jsonl", claude_lines(said=said))
    with opened(home) as engine:
        done = brought(engine, log, memories=True)
        facts = engine.facts.list()
        assert done.memory_lines == len(facts) > 0
        assert {fact.line.trust for fact in facts} == {"import"}
        [passage, *_] = engine.search("Tuesdays", source="topic").passages
        assert (passage.trust, "Tuesdays" in passage.text) == ("import", True)
        assert not (home / "agents/main/MEMORY.md").exists()


def test_an_openclaw_workspace_goes_beside_memory_or_where_it_is_empty(
    home: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("- W: The cat is called Momo.\n")
    (workspace / "AGENTS.md").write_text("Obey.\n")
    (workspace / "memory" / "2026-02-01.md").write_text("- W: Rain.\n")
    found = find("openclaw", [workspace], environ={}, home=tmp_path)
    assert found.left == {"files that tell an agent what to do": 1}
    with opened(home) as engine:
        bring_in(engine._rooms, found)
        assert engine.files() == [
            "memory/imports/openclaw/MEMORY.md",
            "memory/imports/openclaw/memory-2026-02-01.md",
        ]
    with opened(tmp_path / "empty") as engine:
        bring_in(engine._rooms, found, merge=True)
        assert engine.files() == ["MEMORY.md", "memory/2026-02-01.md"]
    with opened(tmp_path / "full") as engine:
        engine.remember("The dog is called Rex.", target="memory")
        bring_in(engine._rooms, found, merge=True)
        assert "memory/imports/openclaw/MEMORY.md" in engine.files()
        assert "Momo" not in engine.get("MEMORY.md").text


# ── how far it is trusted ───────────────────────────────────────────────────────────────────

PLAN = "I live in Lisbon and I am allergic to hazelnuts. Please remember that."


@pytest.mark.parametrize(("is_live", "trust"), [(False, "import"), (True, "user")])
def test_what_was_brought_in_is_trusted_as_such_but_not_what_is_being_said_now(
    tmp_path: Path, home: Path, is_live: bool, trust: str
) -> None:
    log = write_lines(tmp_path / "log.jsonl", claude_lines(said=PLAN))
    with opened(home) as engine:
        if is_live:
            engine.import_conversation(log)
        else:
            brought(engine, log)
        session = engine.existing_session(session_of(engine, "claude-code-"))
        found = engine.search("allergic to hazelnuts", source="session")
        assert {each.trust for each in found.passages if "hazelnuts" in each.text} == {trust}
        session.flush()
        lines = [fact.line for fact in engine.facts.list() if "hazelnuts" in fact.line.text]
        assert lines
        assert {line.trust for line in lines} == {trust}
