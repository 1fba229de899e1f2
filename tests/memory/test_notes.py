"""The daily file: appended to, never overwritten, also while others write it."""

from __future__ import annotations

import multiprocessing
from datetime import date
from pathlib import Path

import pytest

from holdfast.disk import Directory
from holdfast.errors import PolicyRefused
from holdfast.memory.notes import Notes
from tests.scale import scaled

DAY = date(2026, 3, 4)


def notes(home: Path) -> Notes:
    return Notes(Directory.open(home))


def test_the_first_line_makes_the_file_with_its_headings(home: Path) -> None:
    written = notes(home).append(DAY, ["- W @Peter: Is in Marrakech."])
    text = (home / "memory" / "2026-03-04.md").read_text()
    assert text == "# 2026-03-04\n\n## Retain\n\n- W @Peter: Is in Marrakech.\n"
    assert written.path == "memory/2026-03-04.md"
    assert (home / "memory" / "2026-03-04.md").stat().st_mode & 0o777 == 0o600


def test_what_people_wrote_stays_to_the_byte(home: Path) -> None:
    room = notes(home)
    file = home / "memory" / "2026-03-04.md"
    mine = b"# Day\r\n\r\ntext \xff\xfe\r\n\r\n## Retain\r\n\r\n- W: by hand\r\n\r\n## More\r\n"
    file.write_bytes(mine)
    room.append(DAY, ["- W @a: one", "- W @b: two"])
    after = file.read_bytes()
    assert after.replace(b"- W @a: one\r\n- W @b: two\r\n", b"") == mine
    assert b"- W: by hand\r\n- W @a: one\r\n- W @b: two\r\n\r\n## More" in after


def test_a_line_that_stands_there_is_not_written_again(home: Path) -> None:
    room = notes(home)
    room.append(DAY, ["- W @a: one <!-- hf id=1 -->"])
    again = room.append(
        DAY, ["- W @a: one <!-- hf id=2 -->", "- W @a: one more", "- W @a: one more"]
    )
    assert again.added == ("- W @a: one more",)
    assert len(again.skipped) == 2
    assert (room.read(DAY) or "").count("@a: one") == 2


def test_numbers_and_polarity_make_another_line(home: Path) -> None:
    lines = ["- W: flight at 14:05", "- W: flight at 14:50", "- O: 喜欢猫", "- O: 不喜欢猫"]
    assert notes(home).append(DAY, lines).added == tuple(lines)


def test_a_link_in_place_of_the_file_is_refused(home: Path) -> None:
    room = notes(home)
    elsewhere = home / "elsewhere.md"
    elsewhere.write_text("secret")
    (home / "memory" / "2026-03-04.md").symlink_to(elsewhere)
    with pytest.raises(PolicyRefused):
        room.append(DAY, ["- W: x"])
    assert elsewhere.read_text() == "secret"


def _write_many(home: Path, writer: int, count: int) -> None:
    room = notes(home)
    for number in range(count):
        room.append(DAY, [f"- W @writer-{writer}: line {number}"])


def test_two_processes_writing_the_same_day_lose_nothing(home: Path) -> None:
    count = scaled(40)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(home, each, count)) for each in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    text = notes(home).read(DAY) or ""
    for each in range(3):
        found = [line for line in text.splitlines() if f"@writer-{each}:" in line]
        assert found == [f"- W @writer-{each}: line {number}" for number in range(count)]


def test_what_an_editor_saves_meanwhile_is_not_lost(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = notes(home)
    file = home / "memory" / "2026-03-04.md"
    file.write_text("# before\n")
    read = Directory.read
    saves = iter(["# edited while we computed\n"])

    def read_and_save(folder: Directory, name: str) -> bytes | None:
        found = read(folder, name)
        if (text := next(saves, None)) is not None:
            file.write_text(text)
        return found

    monkeypatch.setattr(Directory, "read", read_and_save)
    room.append(DAY, ["- W: ours"])
    assert file.read_text() == "# edited while we computed\n\n## Retain\n\n- W: ours\n"
