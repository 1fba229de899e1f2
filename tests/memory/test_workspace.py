"""The workspace as everybody above it uses it: files, paths, modes, what is wrong."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.disk import Directory
from holdfast.errors import PolicyRefused, UsageError
from holdfast.memory.workspace import Change, Workspace
from holdfast.testing import FixedClock, SequentialIds


def workspace(home: Path, *, read_only: bool = False) -> Workspace:
    base = Directory.open(home)
    return Workspace(base, clock=FixedClock(), ids=SequentialIds(), read_only=read_only)


def put(home: Path, *paths: str) -> None:
    for path in paths:
        (home / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home / path).write_text(f"{path}\n")
        (home / path).chmod(0o600)


def test_an_edit_returns_what_it_changed(home: Path) -> None:
    room = workspace(home)
    made = room.edit("MEMORY.md", lambda _: "one")
    assert made == Change(path="MEMORY.md", before=None, after="one")
    changed = room.edit("MEMORY.md", lambda text: f"{text} two")
    assert changed == Change(path="MEMORY.md", before="one", after="one two")
    removed = room.edit("MEMORY.md", lambda _: None)
    assert removed == Change(path="MEMORY.md", before="one two", after=None)
    assert room.edit("MEMORY.md", lambda _: None) is None


def test_the_files_are_those_that_people_would_call_memory(home: Path) -> None:
    room = workspace(home)
    memory = [
        "AGENTS.md",
        "MEMORY.md",
        "USER.md",
        "bank/entities/Peter.md",
        "bank/opinions.md",
        "memory/2026-03-04.md",
        "memory/imports/claude/old.md",
        "memory/topics/旅行.md",
        "tasks/2026-03-04-visa.md",
    ]
    put(home, *memory, "README.md", "archive/memory/2025-01-01.md", "archive/MEMORY.md")
    put(
        home,
        "sessions/s.jsonl",
        "other.md",
        "memory/draft.txt",
        "memory/.a.md.swp",
        "chats/c/MEMORY.md",
    )
    put(home, "memory/deep/a.md", "tasks/deep/a.md", "memory/2026-03-04.md~")
    assert room.files() == memory
    assert room.files(archive=True) == sorted(
        [*memory, "archive/MEMORY.md", "archive/memory/2025-01-01.md"]
    )
    for path in room.files(archive=True):
        assert room.read(path) == f"{path}\n"


def test_what_is_left_out_is_named(home: Path) -> None:
    room = workspace(home)
    put(
        home,
        "MEMORY.md",
        "memory.md",
        "other.md",
        "memory/draft.txt",
        "memory/deep/a.md",
        "bank/b.md",
    )
    os.link(home / "bank" / "b.md", home / "bank" / "c.md")
    (home / "tasks").symlink_to(home / "bank")
    (home / "MEMORY.md").chmod(0o644)
    os.mkfifo(home / "memory" / "pipe.md", 0o600)
    assert dict(room.problems()) == {
        "MEMORY.md": "can be read by others: holdfast doctor --fix",
        "memory.md": "is not read, because there is MEMORY.md",
        "other.md": "is not read: memory does not have such a name",
        "memory/draft.txt": "is not read: memory does not have such a name",
        "memory/deep": "is not read: memory has no such folder",
        "memory/pipe.md": "is neither a file nor a folder",
        "bank/b.md": "is a hard link: the same file has another name",
        "bank/c.md": "is a hard link: the same file has another name",
        "tasks": "is a symbolic link, which is not followed",
    }
    assert room.files() == ["MEMORY.md"]


def test_a_healthy_folder_has_no_problems(home: Path) -> None:
    room = workspace(home)
    for path in (
        "MEMORY.md",
        "memory/a.md",
        "memory/topics/b.md",
        "bank/entities/c.md",
        "archive/tasks/d.md",
    ):
        room.edit(path, lambda _: "text")
    assert room.problems() == []


def test_the_small_spelling_counts_if_it_is_the_only_one(home: Path) -> None:
    room = workspace(home)
    assert room.memory_path() == "MEMORY.md"
    put(home, "memory.md")
    assert room.memory_path() == "memory.md"
    assert room.files() == ["memory.md"]
    put(home, "MEMORY.md")
    assert room.memory_path() == "MEMORY.md"
    assert room.files() == ["MEMORY.md"]


def test_everything_that_is_made_is_private(home: Path, any_umask: None) -> None:
    room = workspace(home)
    for _ in range(3):
        room.edit("memory/topics/travel.md", lambda text: f"{text}more")
    room.edit("memory/topics/travel.md", lambda _: None)
    room.undo()
    for path in home.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_read_only_workspace_reads_and_writes_nothing(home: Path) -> None:
    put(home, "MEMORY.md")
    room = workspace(home, read_only=True)
    assert room.read("MEMORY.md") == "MEMORY.md\n"
    assert room.files() == ["MEMORY.md"]
    assert room.operations() == []
    assert room.problems() == []
    with pytest.raises(PolicyRefused, match="may only be read"):
        room.edit("MEMORY.md", lambda _: "text")
    with pytest.raises(PolicyRefused), room.operation("anything"):
        pass
    assert [path.name for path in home.iterdir()] == ["MEMORY.md"]


def test_a_change_that_fails_is_not_written(home: Path) -> None:
    room = workspace(home)

    def fails(text: str | None) -> str:
        raise UsageError("no")

    with pytest.raises(UsageError):
        room.edit("MEMORY.md", fails)
    assert room.files() == []
    assert room.operations() == []


def test_an_undo_is_not_a_part_of_something_else(home: Path) -> None:
    room = workspace(home)
    room.edit("MEMORY.md", lambda _: "text")
    with room.operation("outer"), pytest.raises(UsageError):
        room.undo()


def test_a_folder_that_was_moved_away_gets_no_edits(home: Path) -> None:
    room = workspace(home)
    room.edit("memory/a.md", lambda _: "one\n")
    moved = home.parent / "moved"
    calls = []

    def change(text: str | None) -> str:
        calls.append(text)
        if len(calls) == 1:
            (home / "memory").rename(moved)
        return f"{text}two\n"

    room.edit("memory/a.md", change)
    assert calls == ["one\n", None]
    assert (moved / "a.md").read_text() == "one\n"
    assert room.read("memory/a.md") == "Nonetwo\n"


def test_a_killed_process_leaves_nothing_half_done(home: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from holdfast.disk import Directory\n"
        "from holdfast.memory.workspace import Workspace\n"
        "from holdfast.testing import FixedClock, SequentialIds\n"
        "base = Directory.open(Path(sys.argv[1]))\n"
        "room = Workspace(base, clock=FixedClock(), ids=SequentialIds('killed'))\n"
        "with room.operation('two files'):\n"
        "    room.edit('MEMORY.md', lambda text: 'changed')\n"
        "    room.edit('memory/a.md', lambda text: 'made')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    room = workspace(home)
    room.edit("MEMORY.md", lambda _: "text")
    done = subprocess.run([sys.executable, "-c", program, str(home)], check=False)
    assert done.returncode == -9
    assert room.read("MEMORY.md") == "changed", "as it was when the process died"
    room.edit("bank/b.md", lambda _: "text")
    assert room.read("MEMORY.md") == "text", "whoever writes next has taken it back"
    assert room.read("memory/a.md") is None
    assert [each.id for each in room.operations()] == ["e000002", "e000001"]
