"""Files that are brought in: found, opened within bounds, and remembered."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.engine.facade import Engine
from holdfast.engine.importing import files
from holdfast.engine.importing.ledger import FileRecord, Ledger, TalkRecord, imported_sessions
from holdfast.engine.importing.places import Found, find, source_named, usual_places
from holdfast.engine.importing.running import bring_in, standing
from holdfast.engine.importing.shapes import Done
from holdfast.errors import NotFound, PolicyRefused, UsageError
from tests.engine.past_logs import (
    chatgpt_conversation,
    claude_line,
    claude_lines,
    codex_lines,
    openclaw_lines,
    write_lines,
    write_zip,
)
from tests.scale import scaled


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with holdfast.open(home, background=False) as engine:
        yield engine


def found_in(*paths: Path) -> Found:
    return find(None, list(paths), environ={}, home=Path("/nowhere"))


def brought(engine: Engine, *paths: Path) -> Done:
    return bring_in(engine._rooms, found_in(*paths))


def told(done: Done) -> str:
    return "\n".join(done.trouble.words())


# ── bounds ──────────────────────────────────────────────────────────────────────────────────


def test_an_archive_that_unpacks_to_far_too_much_is_refused(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_FREE_BYTES", 1_000)
    bomb = [{"mapping": {}, "title": "0" * 3_000_000}]
    write_zip(tmp_path / "a" / "bomb.zip", conversations=bomb)
    (tmp_path / "a" / "bomb.jsonl.gz").write_bytes(gzip.compress(b"0" * 3_000_000))
    done = brought(engine, tmp_path / "a")
    assert told(done).count("far more than it is; it is not read further") == 2
    assert engine.sessions() == []


def test_a_name_that_leads_out_of_an_archive_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../conversations.json", json.dumps([chatgpt_conversation()]))
    assert "leads out of it" in told(brought(engine, path))
    assert engine.sessions() == []


def test_what_is_no_export_says_what_would_be(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and no more")
    write_zip(tmp_path / "b.zip", photos=[])
    (tmp_path / "c.json").write_text('{"name": "no conversation"}')
    (tmp_path / "d.json").write_text("[" * 5_000)
    said = told(
        brought(engine, *(tmp_path / name for name in ("a.zip", "b.zip", "c.json", "d.json")))
    )
    assert "no archive that can be read" in said
    assert "holds no conversations.json" in said
    assert "holds no conversation that can be read" in said
    assert "breaks off" in said


def test_a_line_of_many_megabytes_is_left_out_and_said(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 2_000)
    lines = [claude_line(number, "user", f"m{number}") for number in range(3)]
    lines[1]["message"]["content"] = "x" * 3_000_000
    done = brought(engine, write_lines(tmp_path / "a.jsonl", lines))
    assert done.tallies["claude-code"].new_messages == 2
    assert "is left out" in told(done)


def test_a_log_is_never_held_whole(engine: Engine, tmp_path: Path) -> None:
    count = scaled(300)
    log = tmp_path / "a.jsonl"
    with log.open("w") as file:
        for number in range(count):
            line = claude_line(number % 60, "user", f"{number} " + "x" * 60_000, uuid=f"u{number}")
            file.write(json.dumps(line) + "\n")
    tracemalloc.start()
    try:
        done = brought(engine, log)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert done.tallies["claude-code"].new_messages == count
    assert log.stat().st_size > 18_000_000
    assert peak < 40_000_000, "a batch and its lines, whatever the size of the log"


# ── which files ─────────────────────────────────────────────────────────────────────────────


def test_usual_places_are_looked_at_and_counted_without_opening_a_file(
    engine: Engine, tmp_path: Path
) -> None:
    project = tmp_path / ".claude" / "projects" / "-home-me"
    write_lines(project / "a.jsonl", claude_lines())
    write_lines(project / "agent-7.jsonl", claude_lines("beef"))
    write_lines(project / "s" / "subagents" / "agent-8.jsonl", claude_lines("cafe"))
    write_lines(tmp_path / ".codex" / "sessions" / "2025" / "rollout-1.jsonl", codex_lines())
    write_lines(tmp_path / ".codex" / "sessions" / "2025" / "other.jsonl", codex_lines())
    claw = tmp_path / ".openclaw"
    write_lines(claw / "agents" / "main" / "sessions" / "x.jsonl", openclaw_lines())
    (claw / "workspace").mkdir()
    (claw / "workspace" / "MEMORY.md").write_text("- W: a\n")
    (project / "a.jsonl").chmod(0)
    places = usual_places({}, tmp_path)
    assert list(places) == ["claude-code", "codex", "openclaw"]
    found = find("claude-code", [], environ={}, home=tmp_path)
    assert [file.path.name for file in found.files] == ["a.jsonl"]
    assert found.left == {"logs of subagents": 2}
    assert [file.path.name for file in find("codex", [], environ={}, home=tmp_path).files] == [
        "rollout-1.jsonl"
    ]
    assert len(find("openclaw", [], environ={}, home=tmp_path).files) == 2
    assert standing(engine._rooms, "claude-code", found.files).unchanged == 0
    elsewhere = usual_places({"CODEX_HOME": str(claw)}, tmp_path)
    assert "codex" not in elsewhere


def test_links_are_not_followed_and_no_pipe_makes_us_wait(engine: Engine, tmp_path: Path) -> None:
    outside = write_lines(tmp_path / "outside.jsonl", claude_lines())
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "link.jsonl").symlink_to(outside)
    (logs / "folder").symlink_to(tmp_path)
    os.mkfifo(logs / "pipe.jsonl")
    found = found_in(logs)
    assert found.files == []
    assert found.left == {"links, which are not followed": 2}
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        found_in(logs / "pipe.jsonl")
    with pytest.raises(PolicyRefused):
        next(files.opened(logs / "link.jsonl"))


def test_a_folder_that_is_a_link_or_cannot_be_looked_into_is_named(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(tmp_path / "logs" / "open" / "a.jsonl", claude_lines())
    closed = tmp_path / "logs" / "closed"
    closed.mkdir()
    plain = os.scandir

    def scandir(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = brought(engine, tmp_path / "logs")
    assert told(done) == f"{closed} cannot be looked into: Permission denied."
    assert done.tallies["claude-code"].new_messages == 5
    (tmp_path / "projects").symlink_to(tmp_path / "logs")
    with pytest.raises(UsageError, match="is a link, and links are not followed") as raised:
        found_in(tmp_path / "projects")
    assert str(raised.value.hint).endswith(f"holdfast import {tmp_path / 'logs'}")


def test_a_wrong_name_is_answered_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file or folder") as raised:
        found_in(tmp_path / "claudecode")
    assert "claude-code" in str(raised.value.hint)
    with pytest.raises(NotFound, match="Nothing of codex is where it usually is"):
        find("codex", [], environ={}, home=tmp_path)
    assert source_named("Claude_Code") == "claude-code"


# ── the ledger ──────────────────────────────────────────────────────────────────────────────


def file_record(number: int) -> FileRecord:
    return FileRecord(path=f"/f{number}", size=number, modified_ns=1)


def test_what_two_write_at_once_is_all_there(engine: Engine) -> None:
    base = engine._rooms.base
    one, other = Ledger(base), Ledger(base)
    one.note(file_record(1), TalkRecord(talk="codex:1", session="s1", run="r"))
    other.note(file_record(2), TalkRecord(talk="codex:2", session="s2", run="r"))
    one.save()
    other.save()
    assert set(Ledger(base).files) == set(other.files) == {"/f1", "/f2"}
    assert imported_sessions(base) == {"s1", "s2"}
    other.forget("talk", ["codex:1"])
    other.save()
    assert imported_sessions(base) == {"s2"}


def test_what_two_bring_in_at_once_belongs_to_the_first(engine: Engine) -> None:
    base = engine._rooms.base
    one, other = Ledger(base), Ledger(base)
    ids = [each.begin_run("2026-01-01", "now") for each in (one, other)]
    assert ids == ["2026-01-01-1", "2026-01-01-2"]
    for ledger, run in zip((one, other), ids, strict=True):
        ledger.note(TalkRecord(talk="codex:1", session="s1", run=run))
        ledger.save()
    other.note(TalkRecord(talk="codex:2", session="s2", run=ids[1]))
    other.save()
    for ledger in (Ledger(base), other):
        assert [each.run for each in ledger.talks.values()] == ids


def test_a_torn_line_costs_itself(engine: Engine, home: Path) -> None:
    ledger = Ledger(engine._rooms.base)
    ledger.note(file_record(1))
    ledger.save()
    path = home / "agents/main/.journal/imports.jsonl"
    path.write_bytes(path.read_bytes() + b'{"is":"file","path":"/f2","si')
    ledger = Ledger(engine._rooms.base)
    ledger.note(file_record(3))
    ledger.save()
    assert set(Ledger(engine._rooms.base).files) == {"/f1", "/f3"}


def test_the_ledger_does_not_grow_for_ever(engine: Engine, home: Path) -> None:
    ledger = Ledger(engine._rooms.base)
    for round_ in range(30):
        ledger.note(*(FileRecord(path="/f", size=n, modified_ns=round_) for n in range(100)))
        ledger.save()
    lines = (home / "agents/main/.journal/imports.jsonl").read_bytes().count(b"\n")
    assert lines < 2_200
    assert Ledger(engine._rooms.base).files["/f"].modified_ns == 29
