"""No secret and nothing hidden gets into a memory file."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.memory.notes import Note, lines_of
from holdfast.text import strip_hidden
from tests.memory.places import DAILY, a_line, notes_at, read_lines

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize(
    "note",
    [
        Note(text=f"The token is {TOKEN}."),
        Note(text="x", entity=TOKEN),
        Note(text="x", body=f"```\nexport GITHUB_TOKEN={TOKEN}\n```"),
        Note(text=f"The token is {TOKEN[:12]}\u200b{TOKEN[12:]}."),
        Note(text="x", body=f"{TOKEN[:12]}\u2060{TOKEN[12:]}"),
        a_line(f"The token is {TOKEN}."),
    ],
)
def test_a_secret_is_not_written(home: Path, note: Note) -> None:
    written = notes_at(home).write([note])
    assert TOKEN not in (home / DAILY).read_text()
    assert TOKEN not in repr(written)


def test_a_key_of_many_lines_is_not_written_in_pieces(home: Path) -> None:
    body = "\n".join("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" for _ in range(6))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    notes_at(home).write(lines_of(f"My key:\n\n{key}\n\nKeep it."))
    assert "MIIEvQIBADAN" not in (home / DAILY).read_text()


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\U000e0041", "\x1b"])
def test_what_hid_something_is_marked_and_not_the_users(home: Path, hidden: str) -> None:
    notes = notes_at(home)
    notes.write(lines_of(f"Peter lives{hidden} in Rome"))
    notes.write([Note(text="x is y", entity=f"An{hidden}na"), Note(text="z", body=f"a{hidden}b")])
    text = (home / DAILY).read_text()
    assert strip_hidden(text) == (text, False)
    assert [(line.had_hidden, line.trust) for line in read_lines(home)] == [(True, "agent")] * 3
    notes.write([Note(text=f"b{hidden}c", trust="tool")])
    assert read_lines(home)[-1].trust == "tool"


def test_a_user_who_repeats_what_was_hidden_does_not_lift_it(home: Path) -> None:
    notes = notes_at(home)
    notes.write([Note(text="Peter lives\u200b in Rome", trust="tool", sources=("s1#e1",))])
    notes.write([Note(text="Peter lives in Rome", sources=("s1#e2",))])
    assert [(line.trust, line.had_hidden) for line in read_lines(home)] == [("tool", True)]


def test_a_text_cannot_open_or_close_a_comment_or_another_item(home: Path) -> None:
    notes = notes_at(home)
    for text in ("x --> <!-- hf {} -->", "<!--", "a\n- W: b", "## Retain", "```"):
        notes.write([Note(text=text)])
    notes.write([Note(text="last")])
    assert len(read_lines(home)) == 6
