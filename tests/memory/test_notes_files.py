"""The files explain themselves to whoever opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.markdown import parse
from holdfast.memory.notes.wording import README
from tests.memory.places import DAILY, DAY, a_line, notes_at, read_lines, workspace_at


def test_a_new_day_says_what_its_letters_mean(home: Path) -> None:
    notes_at(home).write([a_line("Lives in Rome", entity="Peter")])
    text = (home / DAILY).read_text()
    assert text.startswith("# 2026-03-04\n\n<!-- Memories of one day")
    for part in ("W: a fact", "O: an opinion", "README.md", "\n\n## Retain\n\n- W @Peter: "):
        assert part in text
    assert text.count("<!--") == 2


@pytest.mark.parametrize(
    ("language", "said", "chinese"),
    [("zh", "x", True), ("zh-CN", "x", True), ("en", "住在上海", False),
     ("auto", "我住在上海", True), ("auto", "Lives in Rome", False)],
)  # fmt: skip
def test_it_speaks_the_language_of_its_user(
    home: Path, language: str, said: str, chinese: bool
) -> None:
    notes = notes_at(home, language=language)
    for target in ("daily", "memory", "topic:travel"):
        path = notes.write([a_line(said)], target=target).path
        assert ("事实" in (home / path).read_text()) == chinese


def test_the_folder_is_explained_once(home: Path) -> None:
    notes = notes_at(home)
    notes.write([a_line("x")])
    assert (home / "README.md").read_text() == README
    (home / "README.md").unlink()
    notes.write([a_line("y")])
    assert not (home / "README.md").exists()


def test_a_readme_of_the_user_is_left_alone(home: Path) -> None:
    workspace_at(home)
    (home / "README.md").write_text("mine")
    notes_at(home).write([a_line("x")])
    assert (home / "README.md").read_text() == "mine"


def test_the_explanation_holds_no_memories(home: Path) -> None:
    notes_at(home).write([a_line("x")])
    assert read_lines(home, "README.md") == []
    kinds = [block.kind for block in parse(README).blocks]
    assert kinds.count("heading") == 2
    assert DAY.isoformat() in README
