"""Paths of memory: an allow-list that nothing gets around, by name, by link or by race."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import random
import shutil
import time
import unicodedata
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from holdfast.disk import Directory
from holdfast.errors import HoldfastError, PolicyRefused
from holdfast.memory.workspace import Workspace
from holdfast.memory.workspace.paths import check_path, is_path
from holdfast.testing import FixedClock, SequentialIds
from tests.scale import SCALE, scaled

GOOD = [
    "MEMORY.md",
    "memory.md",
    "AGENTS.md",
    "USER.md",
    "SOUL.md",
    "IDENTITY.md",
    "identity.md",
    "README.md",
    "memory/2026-03-04.md",
    "memory/旅行.md",
    "memory/topics/travel.md",
    "memory/imports/claude/2026.md",
    "bank/opinions.md",
    "bank/entities/Peter.md",
    "bank/places/Marrakech.md",
    "tasks/2026-03-04-fix-the-crash.md",
    "archive/MEMORY.md",
    "archive/memory/2026-03-04.md",
    "archive/memory/topics/travel.md",
    "archive/memory/imports/claude/2026.md",
    "archive/bank/entities/Peter.md",
    "archive/tasks/t.md",
]
BAD = [
    "",
    ".",
    "..",
    "/",
    "memory",
    "memory/",
    "archive",
    "archive/",
    "archive/archive/MEMORY.md",
    "notes.md",
    "Memory.md",
    "memory.MD",
    "Memory/a.md",
    "MEMORY.md/",
    "/MEMORY.md",
    "//MEMORY.md",
    "./MEMORY.md",
    "memory//a.md",
    "memory/./a.md",
    "memory/../a.md",
    "memory/../../a.md",
    "../memory/a.md",
    "memory/a.txt",
    "memory/a",
    "memory/.md",
    "memory/.a.md",
    "memory/..md",
    "memory/%2e%2e.md",
    "memory/%2e%2e/a.md",
    "memory\\a.md",
    "memory/a\\b.md",
    "memory/a\0.md",
    "memory/a:b.md",
    "memory/a.md:stream",
    "memory/CON.md",
    "memory/nul.txt.md",
    "memory/a\u202e.md",
    "memory/a\u200b.md",
    "memory/a\U000e0041.md",
    "memory/a .md",
    "memory/ a.md",
    "memory/a..md",
    "memory/a.md ",
    "memory/a.md.",
    "memory/" + "a" * 65 + ".md",
    "memory/" + "漢" * 65 + ".md",
    "memory/" + unicodedata.normalize("NFD", "é") + ".md",
    "memory/ａ.md",
    "memory/\ud800.md",
    "memory/\udcff.md",
    "memory/a\n.md",
    "memory/*.md",
    "memory/a/b.md",
    "memory/topics/a/b.md",
    "memory/imports/a.md",
    "memory/imports/a/b/c.md",
    "memories-evil/a.md",
    "bank/a/b/c.md",
    "tasks/a/b.md",
    "sessions/a.md",
    "sessions/s.jsonl",
    "chats/c/MEMORY.md",
    "users/u/memory/a.md",
    ".journal/operations.jsonl",
    ".journal/preimages/a.md",
    ".git/config",
    "config.toml",
    "C:/MEMORY.md",
    "~/MEMORY.md",
    "file:///MEMORY.md",
]
PIECES = [
    *(piece for path in GOOD + BAD for piece in path.split("/")),
    *("", ".", "..", "...", "%2e", "%2e%2e", "%2f", "%00", "\\", "\0", ":", "~", "*", " ", "\t"),
    *(
        "CON",
        "aux",
        "COM1",
        "lpt9",
        "\u202e",
        "\u2066",
        "\u200d",
        "\ufeff",
        "\u00ad",
        "é",
        "e\u0301",
    ),
    *("Ａ", "ﬁ", "ſ", "K", "İ", "ß", "記憶", "メモ", "א", "\ud83d", "\udc80", "a" * 64, "b" * 300),
    *("md", ".md", ".MD", "md.", "/", "//", "\n", "\r", "-", "_", "`", "$(x)", "|", "<", ">", '"'),
]


def workspace(home: Path) -> Workspace:
    return Workspace(Directory.open(home), clock=FixedClock(), ids=SequentialIds())


@pytest.mark.parametrize("path", GOOD)
def test_a_path_of_memory_is_taken_apart(path: str) -> None:
    assert "/".join(check_path(path)) == path


@pytest.mark.parametrize("path", BAD)
def test_everything_else_is_refused_with_what_a_path_looks_like(path: str) -> None:
    with pytest.raises(PolicyRefused) as refused:
        check_path(path)
    assert "memory/2026-03-04.md" in (refused.value.hint or "")
    assert refused.value.message.isprintable()
    assert not is_path(path)


@pytest.mark.parametrize("path", [None, 3, b"MEMORY.md", Path("MEMORY.md")])
def test_what_is_no_text_is_no_path(path: object) -> None:
    with pytest.raises(PolicyRefused):
        check_path(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", BAD)
def test_the_workspace_refuses_before_it_touches_the_disk(home: Path, path: str) -> None:
    room = workspace(home)
    for call in (room.read, lambda each: room.edit(each, lambda _: "text")):
        with pytest.raises(PolicyRefused):
            call(path)
    assert list(home.iterdir()) == []


def fuzzed(chance: random.Random) -> str:
    """A path as an attacker or a model would try it: pieces, mutations, repetitions."""
    if chance.random() < 0.5:
        text = "/".join(chance.choices(PIECES, k=chance.randint(1, 5)))
    else:
        text = chance.choice(GOOD)
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        what = chance.random()
        if what < 0.5:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif what < 0.75:
            text = (
                text[:at]
                + chr(chance.choice([chance.randint(0, 0x24F), chance.randint(0, 0x10FFFF)]))
                + text[at:]
            )
        else:
            text = text[:at] + text[at + chance.randint(1, 3) :]
    return text


def stays_inside(path: str) -> bool:
    """Judged independently: what any system would make of it."""
    parts = path.split("/")
    folded = [unicodedata.normalize("NFKC", part).casefold() for part in parts]
    return (
        os.path.normpath(path) == path
        and not os.path.isabs(path)
        and not set('\\:\0%*?"<>|\n\r\t ') & set(path)
        and not any(part in {"", ".", ".."} or part[0] in ".~ " for part in parts)
        and not any(part.rstrip(". ") != part for part in parts)
        and all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in path)
        and unicodedata.is_normalized("NFC", path)
        and path.endswith(".md")
        and folded[0]
        in {"memory", "bank", "tasks", "archive", *(name.casefold() for name in GOOD[:8])}
        and max(len(part.encode()) for part in parts) <= 255
    )


def test_no_fuzzed_name_gets_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "outside.md").write_text("not yours")
    room = workspace(home)
    before = _tree(tmp_path, without=home)
    chance = random.Random("names")
    accepted = 0
    for number in range(scaled(20_000)):
        path = fuzzed(chance)
        if is_path(path):
            accepted += 1
            assert stays_inside(path), path
        if number % 100 == 0:  # and some through the real disk
            with contextlib.suppress(PolicyRefused):
                assert room.read(path) in (None, "fuzz\n")
                room.edit(path, lambda _: "fuzz\n")
                assert is_path(path)
    assert accepted > scaled(20_000) / 100, "too few good ones to mean anything"
    assert _tree(tmp_path, without=home) == before
    for file in home.rglob("*.md"):
        relative = file.relative_to(home).as_posix()
        assert relative.startswith(".journal/") or is_path(relative)


def _tree(root: Path, *, without: Path | None = None) -> dict[str, str]:
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else "folder"
        for path in sorted(root.rglob("*"))
        if without is None or (path != without and without not in path.parents)
    }


@pytest.mark.parametrize("what", ["symlink", "hard link", "fifo", "folder", "device link"])
def test_what_is_not_a_plain_file_is_neither_read_nor_written(home: Path, what: str) -> None:
    room = workspace(home)
    (home / "memory").mkdir(mode=0o700)
    outside = home.parent / "outside.md"
    outside.write_text("SECRET")
    target = home / "memory" / "a.md"
    if what == "symlink":
        target.symlink_to(outside)
    elif what == "hard link":
        os.link(outside, target)
    elif what == "fifo":
        os.mkfifo(target)
    elif what == "folder":
        target.mkdir()
    else:
        target.symlink_to("/dev/zero")
    for call in (room.read, lambda path: room.edit(path, lambda text: f"{text}more")):
        with pytest.raises(PolicyRefused, match=r"a\.md"):
            call("memory/a.md")
    assert outside.read_text() == "SECRET"
    assert room.files() == []
    (problem,) = [why for path, why in room.problems() if path == "memory/a.md"][:1]
    assert problem


def test_a_linked_folder_is_not_entered(home: Path) -> None:
    room = workspace(home)
    outside = home.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("SECRET")
    (home / "memory").symlink_to(outside)
    for call in (room.read, lambda path: room.edit(path, lambda text: f"{text}more")):
        with pytest.raises(PolicyRefused):
            call("memory/a.md")
    assert room.files() == []
    assert room.problems() == [("memory", "is a symbolic link, which is not followed")]
    assert [path.name for path in outside.iterdir()] == ["a.md"]


def test_reading_makes_no_folders(home: Path) -> None:
    room = workspace(home)
    assert room.read("memory/topics/travel.md") is None
    assert room.read("bank/entities/Peter.md") is None
    assert list(home.iterdir()) == []


def test_on_a_disk_without_capitals_the_other_spelling_is_no_second_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Directory, "folds_case", lambda *_: True)
    found = Directory.identify

    def as_on_such_a_disk(self: Directory, name: str) -> tuple[int, int] | None:
        names = {each.casefold(): each for each in os.listdir(self.path)}
        return found(self, names.get(name.casefold(), name))

    monkeypatch.setattr(Directory, "identify", as_on_such_a_disk)
    room = workspace(home)
    room.edit("MEMORY.md", lambda _: "text")
    assert room.read("memory.md") is None
    assert room.memory_path() == "MEMORY.md"
    with pytest.raises(PolicyRefused, match="same"):
        room.edit("memory.md", lambda text: f"{text}more")
    assert room.read("MEMORY.md") == "text"


def test_whether_a_disk_knows_capitals_is_asked_of_the_disk(home: Path) -> None:
    base = Directory.open(home)
    base.child(".journal")
    base.child(".JOURNAL")  # two folders here: a disk that knows them
    assert not base.folds_case(".journal")
    assert not base.folds_case("nothing")


# ── the race ────────────────────────────────────────────────────────────────────────────────

SECONDS = 60.0 if SCALE >= 20 else 2.0 * SCALE


def _attack(home: str, outside: str, stop: Event) -> None:
    """Swap the folder and the file for links to outside and back, as fast as can be."""
    memory, away, real = Path(home, "memory"), Path(home, "away"), Path(outside)
    target, moved = memory / "a.md", memory / "moved"
    chance = random.Random("attack")
    while not stop.is_set():
        with contextlib.suppress(OSError):
            kind = chance.randrange(4)
            if kind == 0:
                memory.rename(away)
                memory.symlink_to(real)
                _rest(chance)
                memory.unlink()
                away.rename(memory)
                continue
            target.rename(moved)
            if kind == 1:
                target.symlink_to(real / "a.md")
            elif kind == 2:
                os.link(real / "a.md", target)
            else:
                os.mkfifo(target)
            _rest(chance)
            target.unlink()
            moved.rename(target)
        with contextlib.suppress(OSError):
            if memory.is_symlink():
                memory.unlink()
        with contextlib.suppress(OSError):
            if away.exists() and not memory.exists():
                away.rename(memory)


def _rest(chance: random.Random) -> None:
    end = time.perf_counter() + chance.random() * 0.0004
    while time.perf_counter() < end:
        pass


def test_links_swapped_in_while_we_work_lead_nowhere(fast_path: Path) -> None:
    home, outside = fast_path / "home", fast_path / "outside"
    room = workspace(home)
    room.edit("memory/a.md", lambda _: "begin\n")
    outside.mkdir()
    for name in ("a.md", "b.md"):
        (outside / name).write_text("SECRET\n")
    before = _tree(outside)
    inode = (outside / "a.md").stat().st_ino
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    attacker = context.Process(target=_attack, args=(str(home), str(outside), stop))
    attacker.start()
    done = refused = 0
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                assert "SECRET" not in (room.read("memory/a.md") or "")
                room.edit("memory/a.md", _longer)
                room.edit("memory/b.md", _longer)
                done += 1
            except HoldfastError:
                refused += 1
            if done % 200 == 199:
                shutil.rmtree(home / ".journal" / "rescued", ignore_errors=True)
    finally:
        stop.set()
        attacker.join()
    assert done
    assert _tree(outside) == before
    assert (outside / "a.md").stat().st_ino == inode
    for path in home.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink == 1:
            assert b"SECRET" not in path.read_bytes(), path


def _longer(text: str | None) -> str:
    assert "SECRET" not in (text or "")
    return (text or "")[-2000:] + f"line {len(text or '')}\n"
