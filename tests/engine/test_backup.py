"""A home in one file and back: whole, verified, and never more than was put in."""

from __future__ import annotations

import io
import json
import os
import random
import stat
import struct
import subprocess
import sys
import threading
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

import holdfast
from holdfast.engine.backup import (
    backupfile,
    inuse,
    make_backup,
    restore_backup,
    verify_backup,
)
from holdfast.errors import HoldfastError, Locked, NotFound, PolicyRefused, StorageError, UsageError
from holdfast.testing import FixedClock
from tests.doors.inside import inside as command
from tests.scale import scaled


@pytest.fixture
def lived_in(home: Path) -> Path:
    """A home with conversations, a payload set aside, memory files, and what does not belong."""
    with holdfast.open(home, config={"context.ingest_cap_chars": 2000}) as engine:
        session = engine.session("s1")
        session.append({"role": "user", "content": "hello"})
        session.append({"role": "assistant", "content": "x" * 50_000})
        engine.session("旅行").append({"role": "user", "content": "去马拉喀什"})
    base = home / "agents" / "main"
    for path, text in {
        "MEMORY.md": "- W @Anna: Likes tea.\n",
        "memory/2026-03-14.md": "# 2026-03-14\n\n- W: 喝茶\n",
        "memory/topics/tea.md": "tea\r\n",
        "archive/old.md": "old",
        ".journal/preimages/e1": "before",
    }.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(text.encode())
    (home / "config.toml").write_text('[memory]\ntime_zone = "UTC"\n')
    (home / "server.token").write_text("not for others")
    (base / ".index").mkdir()
    (base / ".index" / "index.db").write_bytes(b"derived")
    (base / ".tmp-1-half").write_bytes(b"half")
    return home


def contents_of(home: Path) -> dict[str, bytes]:
    """What a backup must hold."""
    kept = {}
    for path in sorted(home.rglob("*")):
        name = path.relative_to(home).as_posix()
        is_ours = "/.index/" in name or "/.journal/locks/" in name or name == "server.token"
        if path.is_file() and not is_ours and not path.name.startswith(".tmp-"):
            kept[name] = path.read_bytes()
    return kept


@pytest.fixture
def backup(lived_in: Path, tmp_path: Path, clock: FixedClock) -> Path:
    file = tmp_path / "holdfast.backup"
    make_backup(lived_in, file, clock=clock)
    return file


def test_everything_comes_back_to_the_byte(
    lived_in: Path, tmp_path: Path, clock: FixedClock
) -> None:
    file = tmp_path / "holdfast.backup"
    steps: list[tuple[int, int]] = []
    made = make_backup(lived_in, file, clock=clock, progress=lambda *step: steps.append(step))
    expected = contents_of(lived_in)
    assert "agents/main/sessions/s1.jsonl" in expected
    assert any(name.startswith("agents/main/artifacts/") for name in expected)
    assert (made.files, made.bytes) == (len(expected), sum(map(len, expected.values())))
    assert made.sha256 == sha256(file.read_bytes()).hexdigest() == verify_backup(file).sha256
    assert steps[-1] == (made.bytes, made.bytes)

    new = tmp_path / "elsewhere" / "new home"
    done = restore_backup(file, new)
    assert (done.files, done.moved_to) == (made.files, None)
    assert contents_of(new) == expected
    assert not (new / "server.token").exists()
    assert not (new / "agents/main/.index").exists()
    with holdfast.open(new) as engine:
        assert {each.name for each in engine.sessions()} == {"s1", "旅行"}
        session = engine.existing_session("s1")
        assert session.verify().is_intact
        assert session.expand(session.entries()[-1].id).text == "x" * 50_000


def test_files_and_folders_are_private_whatever_the_umask(
    lived_in: Path, tmp_path: Path, clock: FixedClock, any_umask: None
) -> None:
    file = tmp_path / "holdfast.backup"
    make_backup(lived_in, file, clock=clock)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    new = tmp_path / "new"
    restore_backup(file, new)
    for path in (new, *new.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_manifest_tells_what_is_in_it_and_what_is_not(backup: Path, lived_in: Path) -> None:
    with zipfile.ZipFile(backup) as packed:
        said = json.loads(packed.read("manifest.json"))
        assert packed.testzip() is None, "any program can open it"
    assert said["format"] == 1
    assert said["made_at"] == "2026-03-14T09:26:53+00:00"
    assert {each["path"] for each in said["files"]} == set(contents_of(lived_in))
    assert "server.token" in said["left_out"]


def test_links_are_left_out_and_named(lived_in: Path, tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "private").write_text("not ours")
    (lived_in / "agents/main/memory/link.md").symlink_to(tmp_path / "private")
    made = make_backup(lived_in, tmp_path / "b", clock=clock)
    assert made.skipped == ("agents/main/memory/link.md",)
    assert b"not ours" not in b"".join(
        contents_of(restore_backup(tmp_path / "b", tmp_path / "n").home).values()
    )


def test_nothing_is_left_out_for_being_called_like_a_lock(
    home: Path, tmp_path: Path, clock: FixedClock
) -> None:
    with holdfast.open(home, agent="locks") as engine:
        engine.remember("The agent locks remembers.")
        engine.session("yarn.lock").append({"role": "user", "content": "hi"})
    for kind, name in (("users", "locks"), ("chats", "locks"), ("chats", "team.lock")):
        note = home / "agents/main" / kind / name / "memory/2026-03-14.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"{kind} {name}")
    for name in ("memory/imports/.index/a.md", "memory/topics/poetry.lock", "tasks/locks/a.md"):
        (home / "agents/main" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "agents/main" / name).write_text(name)
    expected = {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and "/.journal/locks/" not in str(path)
    }
    assert len(expected) > 10
    make_backup(home, tmp_path / "b", clock=clock)
    new = restore_backup(tmp_path / "b", tmp_path / "new").home
    found = {p.relative_to(new).as_posix(): p.read_bytes() for p in new.rglob("*") if p.is_file()}
    assert found == expected


def test_names_that_no_restore_takes_are_left_out_and_named(
    lived_in: Path, tmp_path: Path, clock: FixedClock
) -> None:
    odd = [
        "memory/a\u202eb.md",
        "memory/a\nb.md",
        "memory/a\\b.md",
        "memory/.git",
        "memory/\udcff.md",
    ]
    for name in odd:
        (lived_in / "agents/main" / name).write_text("x")
    (lived_in / "agents/main/memory/👩‍👧 ❤️.md").write_text("kept")
    made = make_backup(lived_in, tmp_path / "b", clock=clock)
    assert set(made.skipped) == {f"agents/main/{name}" for name in odd}
    new = restore_backup(tmp_path / "b", tmp_path / "new").home
    assert (new / "agents/main/memory/👩‍👧 ❤️.md").read_text() == "kept"


def test_the_repository_of_a_place_comes_back_without_programs(
    home: Path, tmp_path: Path, clock: FixedClock
) -> None:
    with holdfast.open(home, config={"memory.git": True}) as engine:
        engine.remember("One.")
    git = home / "agents/main/.git"
    before = (git / "config").read_bytes()
    remote = b'[remote "origin"]\n\turl = git@example.org:me/notes.git\n'
    programs = b"[core]\n\tfsmonitor = touch /tmp/x\n[alias]\n\tst = !id\n"
    (git / "config").write_bytes(before + remote + programs)
    (git / "hooks").mkdir()
    (git / "hooks/post-commit").write_text("#!/bin/sh\n")
    (git / "refs/heads/hooks").mkdir()
    (git / "refs/heads/hooks/config").write_bytes((git / "refs/heads/main").read_bytes())
    make_backup(home, tmp_path / "b", clock=clock)
    new = restore_backup(tmp_path / "b", tmp_path / "new").home
    back = new / "agents/main/.git"
    assert (back / "config").read_bytes() == before + remote + b"[core]\n"
    assert not (back / "hooks").exists()
    assert (back / "refs/heads/hooks/config").exists()
    with holdfast.open(new, config={"memory.git": True}) as engine:
        engine.remember("Two.")
    log = subprocess.run(
        ["git", "-C", str(back.parent), "log", "--oneline"], capture_output=True, check=True
    )
    assert log.stdout.count(b"\n") == 2


def test_a_backup_inside_of_its_home_is_refused(
    lived_in: Path, tmp_path: Path, clock: FixedClock
) -> None:
    (tmp_path / "way in").symlink_to(lived_in)
    for file in (lived_in / "b", lived_in / "agents" / "b", tmp_path / "way in" / "b"):
        with pytest.raises(UsageError, match="inside"):
            make_backup(lived_in, file, clock=clock)
        assert not file.exists()


def test_nothing_is_overwritten(lived_in: Path, tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(StorageError, match="already"):
        make_backup(lived_in, tmp_path / "mine", clock=clock)
    assert (tmp_path / "mine").read_text() == "mine"


def test_there_must_be_a_home(tmp_path: Path, clock: FixedClock) -> None:
    with pytest.raises(NotFound):
        make_backup(tmp_path / "none", tmp_path / "b", clock=clock)
    assert not (tmp_path / "none").exists()


def test_a_restore_does_not_mix_with_what_is_there(
    backup: Path, lived_in: Path, tmp_path: Path, clock: FixedClock
) -> None:
    before = contents_of(lived_in)
    with pytest.raises(UsageError, match="not empty"):
        restore_backup(backup, lived_in)
    (lived_in / "agents/main/MEMORY.md").write_text("changed since")
    for number in range(2):
        done = restore_backup(backup, lived_in, replace=True, clock=clock)
        assert contents_of(lived_in) == before
        assert done.moved_to is not None
        end = "" if number == 0 else "-2"
        assert done.moved_to.name == f"home.before-restore-20260314T092653Z{end}"
    aside = tmp_path / "home.before-restore-20260314T092653Z"
    assert (aside / "agents/main/MEMORY.md").read_text() == "changed since"


def test_an_empty_folder_is_taken(backup: Path, tmp_path: Path, lived_in: Path) -> None:
    (tmp_path / "empty").mkdir()
    restore_backup(backup, tmp_path / "empty")
    assert contents_of(tmp_path / "empty") == contents_of(lived_in)


def test_any_changed_byte_is_noticed(backup: Path, tmp_path: Path) -> None:
    whole = backup.read_bytes()
    bad = tmp_path / "bad"
    for at in random.Random(3).sample(range(len(whole)), scaled(100)):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        bad.write_bytes(changed)
        with pytest.raises(HoldfastError) as caught:
            verify_backup(bad)
        assert caught.value.hint
    for end in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        bad.write_bytes(whole[:end])
        with pytest.raises(StorageError):
            verify_backup(bad)
    bad.write_bytes(whole + b"x")
    with pytest.raises(StorageError):
        verify_backup(bad)


def test_a_damaged_backup_changes_nothing(backup: Path, lived_in: Path, tmp_path: Path) -> None:
    whole = bytearray(backup.read_bytes())
    whole[len(whole) // 2] ^= 1
    backup.write_bytes(whole)
    before = contents_of(lived_in)
    for home in (lived_in, tmp_path / "new"):
        with pytest.raises(StorageError):
            restore_backup(backup, home, replace=True)
    assert contents_of(lived_in) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holdfast.backup", "home"]


# ── made by somebody hostile ────────────────────────────────────────────────────────────────


def sealed_zip(file: Path, entries: list[tuple[zipfile.ZipInfo | str, bytes]]) -> None:
    with file.open("w+b") as out:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, data in entries:
                packed.writestr(name, data)
            packed.comment = backupfile.COMMENT + b"0" * backupfile.SEAL_LENGTH
        backupfile.sealed(out)


def manifest(*files: tuple[str, bytes], **other: object) -> bytes:
    listed = [
        {"path": path, "size": len(data), "sha256": sha256(data).hexdigest()}
        for path, data in files
    ]
    said = {"format": 1, "made_at": "2026-03-14T00:00:00+00:00", "files": listed}
    return json.dumps(said | other).encode()


BAD_NAMES = [
    "../out.md",
    "a/../../out.md",
    "/etc/passwd",
    "a//b",
    "./a",
    "a/.",
    "",
    "..",
    "a\\b",
    "C:\\x",
    "x" * 5000,
    "a\x01b",
    "a\nb",
    "agents/\u202egnp.md",
    "agents/a\u200bb/MEMORY.md",
]
NEVER_HELD = [
    "server.token",
    "agents/main/.tmp-1-x",
    "agents/main/.index/index.db",
    "agents/main/users/u/.index/index.db",
    "agents/main/.journal/locks/memory",
    "agents/main/.git",
    "agents/main/.git/hooks/post-commit",
    "agents/main/.GIT/hooks/post-commit",
    "agents/main/.git/commondir",
    "agents/main/.git/config.worktree",
    "agents/main/.git/modules/m/config",
    "agents/main/.git/objects/info/alternates",
    "agents/main/.git/index.lock",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    file, inner = tmp_path / "bad", tmp_path / "in"
    inner.mkdir()
    sealed_zip(file, [("manifest.json", manifest((name, b"x"))), (f"home/{name}", b"x")])
    with pytest.raises((PolicyRefused, StorageError)):
        restore_backup(file, inner / "home")
    assert list(inner.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "in"]


@pytest.mark.parametrize("name", NEVER_HELD)
def test_what_no_backup_holds_is_refused(name: str, tmp_path: Path) -> None:
    sealed_zip(
        tmp_path / "bad", [("manifest.json", manifest((name, b"x"))), (f"home/{name}", b"x")]
    )
    with pytest.raises(PolicyRefused):
        restore_backup(tmp_path / "bad", tmp_path / "home")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "settings",
    [
        b"[core]\n\tfsmonitor = touch /tmp/x\n",
        b"[core] fsmonitor = touch /tmp/x\n",
        b"[CORE]\n\tbare = false\n",
        b'[filter "x"]\n\tclean = id\n',
        b"[alias]\n\tst = !id\n",
        b"[include]\n\tpath = /tmp/x\n",
        b'[remote "o"]\n\turl = ext::sh -c id\n',
        b"[user]\n\tname = a\\\n[alias]\n",
        b"[core]\n\tbare = false\n" * 300_000,
    ],
)
def test_settings_that_let_git_run_programs_are_refused(settings: bytes, tmp_path: Path) -> None:
    name = "agents/main/.git/config"
    sealed_zip(
        tmp_path / "bad",
        [("manifest.json", manifest((name, settings))), (f"home/{name}", settings)],
    )
    with pytest.raises(PolicyRefused, match="programs"):
        restore_backup(tmp_path / "bad", tmp_path / "home")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_not_its_manifest_is_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("home/a")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    one = manifest(("a", b"x"))
    hostile: dict[str, list[tuple[zipfile.ZipInfo | str, bytes]]] = {
        "no manifest": [("home/a", b"x")],
        "twice": [("manifest.json", one), ("home/a", b"x"), ("home/a", b"y")],
        "two manifests": [("manifest.json", one), ("manifest.json", one), ("home/a", b"x")],
        "more": [("manifest.json", one), ("home/a", b"x"), ("home/b", b"y")],
        "outside": [("manifest.json", one), ("home/a", b"x"), ("../b", b"y")],
        "less": [("manifest.json", manifest(("a", b"x"), ("b", b"y"))), ("home/a", b"x")],
        "another": [("manifest.json", one), ("home/a", b"y")],
        "longer": [("manifest.json", one), ("home/a", b"xx")],
        "a link": [("manifest.json", one), (link, b"x")],
        "a folder": [("manifest.json", manifest(("a/", b""))), ("home/a/", b"")],
        "a file and a folder": [
            ("manifest.json", manifest(("a", b"x"), ("a/b", b"y"))),
            ("home/a", b"x"),
            ("home/a/b", b"y"),
        ],
        "listed twice": [("manifest.json", manifest(("a", b"x"), ("a", b"x"))), ("home/a", b"x")],
        "another format": [("manifest.json", manifest(format=99))],
        "no JSON": [("manifest.json", b"{"), ("home/a", b"x")],
        "a list": [("manifest.json", b"[]"), ("home/a", b"x")],
        "odd values": [("manifest.json", manifest(files=[{"path": 1, "size": "x"}]))],
        "minus": [
            ("manifest.json", manifest(files=[{"path": "a", "size": -1, "sha256": ""}])),
            ("home/a", b"x"),
        ],
        "deep": [("manifest.json", b"[" * 100_000)],
        "no day": [("manifest.json", manifest(("a", b"x"), made_at="soon")), ("home/a", b"x")],
    }
    for name, entries in hostile.items():
        file = tmp_path / name
        sealed_zip(file, entries)
        with pytest.raises((PolicyRefused, StorageError)) as caught:
            restore_backup(file, tmp_path / "new")
        assert caught.value.hint, name
        assert not (tmp_path / "new").exists(), name


def test_parts_that_overlap_are_refused(tmp_path: Path) -> None:
    """Thousands of entries that share the same compressed bytes: small file, endless content."""
    data = b"\0" * 2_000_000
    names = [f"f{number}" for number in range(50)]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", manifest(*((name, data) for name in names)))
        packed.writestr("home/f0", data)
        first = packed.getinfo("home/f0")
        for name in names[1:]:
            info = zipfile.ZipInfo(f"home/{name}")
            for field in ("header_offset", "compress_size", "file_size", "CRC", "compress_type"):
                setattr(info, field, getattr(first, field))
            packed.filelist.append(info)
            packed.NameToInfo[info.filename] = info
        packed._didModify = True  # type: ignore[attr-defined]
        packed.comment = backupfile.COMMENT + b"0" * backupfile.SEAL_LENGTH
    file = tmp_path / "bomb"
    with file.open("w+b") as target:
        target.write(out.getvalue())
        backupfile.sealed(target)
    assert file.stat().st_size < 20_000
    with pytest.raises(StorageError):
        verify_backup(file)


def test_a_size_that_lies_is_not_believed(tmp_path: Path) -> None:
    """The directory says one byte, the compressed stream holds a hundred megabytes."""
    file = tmp_path / "lies"
    sealed_zip(file, [("manifest.json", manifest(("a", b"x"))), ("home/a", b"\0" * 100_000_000)])
    whole = file.read_bytes().replace(struct.pack("<L", 100_000_000), struct.pack("<L", 1))
    with file.open("w+b") as target:
        target.write(whole)
        backupfile.sealed(target)
    with pytest.raises(StorageError):
        verify_backup(file)


def test_what_is_no_backup_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "zip", "w") as packed:
        packed.writestr("a", "b")
    for name in ("text", "zip", "folder", "missing"):
        with pytest.raises(HoldfastError) as caught:
            verify_backup(tmp_path / name)
        assert caught.value.hint


# ── the command ─────────────────────────────────────────────────────────────────────────────


def test_the_command_makes_checks_and_restores(lived_in: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "b.zip", contents_of(lived_in)
    made = command(lived_in, "backup", str(file))
    assert made.code == 0, made.err
    assert "read back and intact" in made.out
    assert "server.token" in made.err
    (found,) = command(tmp_path / "any", "backup", "verify", str(file), "--json").lines
    assert (found["files"], found["intact"]) == (len(before), True)

    unasked = command(lived_in, "backup", "restore", str(file), "--replace")
    assert unasked.code == UsageError.exit_code
    assert "--yes" in unasked.err
    assert contents_of(lived_in) == before

    (done,) = command(
        lived_in, "backup", "restore", str(file), "--replace", "--yes", "--json"
    ).lines
    assert contents_of(lived_in) == before
    assert contents_of(Path(str(done["moved_to"]))) == before


def test_the_file_is_complained_of_before_the_home(lived_in: Path) -> None:
    for more in ((), ("--replace",), ("--replace", "--yes")):
        done = command(lived_in, "backup", "restore", "/nope.zip", *more)
        assert done.code == NotFound.exit_code
        assert "/nope.zip" in done.err


def test_the_hint_for_a_home_that_is_taken_can_be_pasted(lived_in: Path, backup: Path) -> None:
    done = command(lived_in, "backup", "restore", str(backup))
    assert "--replace --yes" in done.err
    assert "Stop the programs" in done.err


# ── while others use it ─────────────────────────────────────────────────────────────────────

USER = """
import sys, holdfast
with holdfast.open(sys.argv[1]) as engine:
    session = engine.session("busy")
    session.append({"role": "user", "content": "hi"})
    print("ready", flush=True)
    sys.stdin.readline()
"""
HOLDER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("who", ["a conversation", "a lock", "a transcript"])
def test_a_home_that_others_use_is_not_moved_aside(
    who: str, backup: Path, lived_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = {
        "a lock": lived_in / "agents/main/.journal/locks/memory",
        "a transcript": lived_in / "agents/main/sessions/s1.jsonl",
    }
    given = [HOLDER, str(locked[who])] if who in locked else [USER, str(lived_in)]
    if who in locked:  # as where the system does not tell who has what open
        monkeypatch.setattr(inuse, "_processes", list)
    elif sys.platform != "linux":
        pytest.skip("only Linux tells who has a file open")
    other = subprocess.Popen(
        [sys.executable, "-c", *given], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        with pytest.raises(Locked) as caught:
            restore_backup(backup, lived_in, replace=True)
        assert "Stop the programs" in (caught.value.hint or "")
        if sys.platform == "linux":
            assert str(other.pid) in caught.value.message
    finally:
        other.communicate(b"\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holdfast.backup", "home"]
    assert restore_backup(backup, lived_in, replace=True).moved_to is not None


# ── while others write ──────────────────────────────────────────────────────────────────────

WRITER = """
import sys, holdfast
with holdfast.open(sys.argv[1], config={"context.ingest_cap_chars": 2000}) as engine:
    session = engine.session("busy")
    number = 0
    while True:
        size = 5000 if number % 3 else 9
        session.append({"role": "user", "content": f"{number} " + "y" * size})
        number += 1
        if number == 5:
            print("ready", flush=True)
"""


def test_a_backup_made_while_others_write_is_whole(
    lived_in: Path, tmp_path: Path, clock: FixedClock
) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(lived_in)], stdout=subprocess.PIPE)
    note = lived_in / "agents/main/MEMORY.md"
    before = note.read_bytes()
    stop = threading.Event()

    def edit() -> None:
        while not stop.is_set():
            for letter in b"ab":
                note.with_suffix(".new").write_bytes(bytes([letter]) * 300_000)
                os.replace(note.with_suffix(".new"), note)

    editor = threading.Thread(target=edit)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        editor.start()
        for number in range(scaled(2)):
            file = tmp_path / f"b{number}"
            make_backup(lived_in, file, clock=clock)
            new = restore_backup(file, tmp_path / f"new{number}").home
            noted = (new / "agents/main/MEMORY.md").read_bytes()
            assert noted in {before, b"a" * 300_000, b"b" * 300_000}
            with holdfast.open(new) as engine:
                found = engine.existing_session("busy").verify()
                assert found.is_intact, found
                assert found.entries >= 5
    finally:
        stop.set()
        if editor.ident is not None:
            editor.join()
        writer.kill()
        writer.communicate()


def test_a_torn_tail_stays_behind(lived_in: Path, tmp_path: Path, clock: FixedClock) -> None:
    transcript = lived_in / "agents/main/sessions/s1.jsonl"
    whole = transcript.read_bytes()
    transcript.write_bytes(whole + b'{"hf":1,"seq":99,"id":"half')
    make_backup(lived_in, tmp_path / "b", clock=clock)
    new = restore_backup(tmp_path / "b", tmp_path / "new").home
    assert (new / "agents/main/sessions/s1.jsonl").read_bytes() == whole
