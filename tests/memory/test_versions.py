"""Memory under version control, without touching anything of the user's."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from holdfast.disk import Directory
from holdfast.errors import PolicyRefused, StorageError
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.versions import Versions
from holdfast.testing import FixedClock, SequentialIds

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def room(home: Path) -> Workspace:
    return Workspace(Directory.open(home), clock=FixedClock(), ids=SequentialIds())


@pytest.fixture
def versions(room: Workspace) -> Versions:
    return Versions(room.base)


def git(home: Path, *arguments: str) -> str:
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, check=True).stdout


def files_of(home: Path, commit: str) -> list[str]:
    return git(home, "show", "--name-only", "--format=", commit).split()


def test_a_commit_holds_exactly_the_paths_it_was_given(
    room: Workspace, versions: Versions, home: Path
) -> None:
    for path in ("MEMORY.md", "memory/旅行.md", "USER.md"):
        room.edit(path, lambda _: "one\r\n")
    first = versions.commit("flush e1\n\n“quoted” # not a comment", ["MEMORY.md", "memory/旅行.md"])
    assert first is not None
    assert git(home, "show", "--name-only", "-z", "--format=", first).strip("\0\n").split("\0") == [
        "MEMORY.md",
        "memory/旅行.md",
    ]
    assert git(home, "log", "--format=%an <%ae>|%cn <%ce>|%B").strip() == (
        "Holdfast <holdfast@localhost>|Holdfast <holdfast@localhost>|"
        "flush e1\n\n“quoted” # not a comment"
    )
    assert git(home, "cat-file", "blob", f"{first}:MEMORY.md") == "one\n"  # read as text
    assert versions.commit("again", ["MEMORY.md"]) is None
    assert versions.commit("nothing", ["bank/never.md"]) is None
    assert versions.commit("nothing", []) is None


def test_a_removed_file_is_committed_as_removed(
    room: Workspace, versions: Versions, home: Path
) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    versions.commit("made", ["MEMORY.md"])
    room.edit("MEMORY.md", lambda _: None)
    gone = versions.commit("removed", ["MEMORY.md"])
    assert gone is not None
    assert git(home, "ls-tree", "--name-only", gone) == ""


def test_what_the_user_staged_stays_staged(room: Workspace, versions: Versions, home: Path) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    versions.commit("made", ["MEMORY.md"])
    (home / "mine.txt").write_text("mine")
    git(home, "add", "mine.txt")
    room.edit("MEMORY.md", lambda _: "two")
    commit = versions.commit("changed", ["MEMORY.md"])
    assert commit is not None
    assert files_of(home, commit) == ["MEMORY.md"]
    assert "A  mine.txt" in git(home, "status", "--porcelain")


def test_sessions_and_the_journal_are_kept_out(
    room: Workspace, versions: Versions, home: Path
) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    (home / "sessions").mkdir()
    (home / "sessions" / "s.jsonl").write_text("{}")
    versions.commit("made", ["MEMORY.md"])
    assert git(home, "status", "--porcelain").split() == ["??", ".gitignore"]


def test_nothing_of_the_user_is_used_and_nothing_is_run(
    room: Workspace, versions: Versions, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    hook = tmp_path / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    hook.chmod(0o755)
    user = tmp_path / "user"
    user.mkdir()
    (user / ".gitconfig").write_text(
        f"[user]\nname = Somebody\nemail = me@example.org\n[core]\nhooksPath = {hook.parent}\n"
        f"editor = touch {trap}\n[commit]\ngpgSign = true\n[init]\ntemplateDir = {hook.parent}\n"
    )
    monkeypatch.setenv("HOME", str(user))
    for name, value in {
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_SSH_COMMAND": f"touch {trap}",
        "GIT_EXTERNAL_DIFF": f"touch {trap}",
    }.items():
        monkeypatch.setenv(name, value)
    room.edit("MEMORY.md", lambda _: "one")
    assert versions.commit("made", ["MEMORY.md"])
    local = home / ".git" / "hooks"
    local.mkdir(exist_ok=True)
    shutil.copy(hook, local / "pre-commit")
    with (home / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\nhooksPath = {hook.parent}\nfsmonitor = {hook}\n[commit]\ngpgSign = true\n"
        )
    room.edit("MEMORY.md", lambda _: "two")
    assert versions.commit("changed", ["MEMORY.md"])
    assert not trap.exists()
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "index").exists()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    assert set(git(home, "log", "--format=%an").split()) == {"Holdfast"}


def test_the_repository_is_private_whatever_the_umask(
    room: Workspace, versions: Versions, home: Path, any_umask: None
) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    versions.commit("made", ["MEMORY.md"])
    for path in (home / ".git").rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_git_writes_only_below_its_folder(room: Workspace, versions: Versions, home: Path) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    versions.commit("made", ["MEMORY.md"])
    before = _outside_git(home)
    room.edit("MEMORY.md", lambda _: "two")
    after = _outside_git(home)
    versions.commit("changed", ["MEMORY.md"])
    versions.forget_history()
    assert _outside_git(home) == after != before


def _outside_git(home: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


@pytest.mark.parametrize("path", ["../x.md", "sessions/s.jsonl", ".git/config", "--all", ":/"])
def test_other_paths_are_refused(versions: Versions, home: Path, path: str) -> None:
    with pytest.raises(PolicyRefused):
        versions.commit("no", [path])
    assert not (home / ".git").exists()


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_repository_that_is_elsewhere_is_refused(
    room: Workspace, versions: Versions, home: Path, kind: str
) -> None:
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    if kind == "link":
        (home / ".git").symlink_to(elsewhere)
    else:
        (home / ".git").write_text(f"gitdir: {elsewhere}\n")
    room.edit("MEMORY.md", lambda _: "one")
    with pytest.raises(PolicyRefused):
        versions.commit("no", ["MEMORY.md"])
    assert list(elsewhere.iterdir()) == []


def test_a_missing_or_failing_git_is_a_storage_error(room: Workspace, home: Path) -> None:
    room.edit("MEMORY.md", lambda _: "one")
    with pytest.raises(StorageError, match="could not be run"):
        Versions(room.base, program="no-such-git").commit("no", ["MEMORY.md"])
    versions = Versions(room.base)
    versions.commit("made", ["MEMORY.md"])
    room.edit("MEMORY.md", lambda _: "two")
    (home / ".git" / "index.lock").touch()
    with pytest.raises(StorageError, match=r"index\.lock"):
        versions.commit("no", ["MEMORY.md"])


def test_a_git_that_hangs_costs_a_bounded_time(
    room: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr("holdfast.memory.workspace.versions._SECONDS", 0.05)
    room.edit("MEMORY.md", lambda _: "one")
    with pytest.raises(StorageError, match="took longer"):
        Versions(room.base, program=str(slow)).commit("no", ["MEMORY.md"])


def test_after_forgetting_no_old_version_is_left_anywhere(
    room: Workspace, versions: Versions, home: Path
) -> None:
    assert versions.forget_history() is None, "there is no repository yet"
    room.edit("MEMORY.md", lambda _: "CANARY\n" * 50)
    versions.commit("about CANARY", ["MEMORY.md"])
    git(home, "branch", "other")
    git(home, "-c", "user.name=a", "-c", "user.email=b", "tag", "-a", "-m", "CANARY", "old")
    room.edit("USER.md", lambda _: "still here\n")
    versions.commit("more", ["USER.md"])
    (home / "MEMORY.md").write_text("CANARY staged\n")
    git(home, "add", "MEMORY.md")
    git(home, "-c", "user.name=a", "-c", "user.email=b", "stash")
    room.edit("MEMORY.md", lambda _: "clean\n")
    commit = versions.forget_history()
    assert git(home, "rev-list", "--all").split() == [commit]
    assert git(home, "show", "HEAD:MEMORY.md") == "clean\n"
    assert git(home, "show", "HEAD:USER.md") == "still here\n"
    assert git(home, "status", "--porcelain", "--untracked-files=no") == ""
    every = git(home, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert len(every) == 4, "a commit, a tree, two files"
    for name in every:
        assert "CANARY" not in git(home, "cat-file", "-p", name)
    for path in (home / ".git").rglob("*"):
        assert not path.is_file() or b"CANARY" not in path.read_bytes(), path
    room.edit("MEMORY.md", lambda _: "and on\n")
    assert versions.commit("next", ["MEMORY.md"])
