"""Habits that reviews would otherwise repeat: sizes, docstrings, names, no machine's paths."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted((ROOT / "src" / "holdfast").rglob("*.py"))
LONGEST = 600


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_a_module_is_short_and_says_what_it_is_for(module: Path) -> None:
    text = module.read_text("utf-8")
    assert text.count("\n") <= LONGEST
    if module.name != "_version.py":
        assert ast.get_docstring(ast.parse(text)), "no docstring"


def test_no_module_hides_behind_a_name_without_meaning() -> None:
    empty_words = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common|base|v\d+)($|_)")
    assert [path.stem for path in MODULES if empty_words.search(path.stem)] == []


def test_no_path_of_one_machine_is_written_down() -> None:
    files = [
        *MODULES,
        *ROOT.glob("*.*"),
        *(ROOT / "tests").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
    ]
    path = re.compile(r"(?<![\w.])/(?:root|work)/")
    found = [str(file) for file in files if file.is_file() and path.search(file.read_text("utf-8"))]
    assert [name for name in found if not name.endswith("test_house.py")] == []
