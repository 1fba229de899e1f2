"""Pages are part of the product: generated ones are current, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import docs

ROOT = Path(__file__).resolve().parents[2]


def test_generated_pages_are_current() -> None:
    assert docs.stale_pages() == []


def test_links_lead_somewhere() -> None:
    assert docs.dead_links() == []


def test_every_test_that_is_named_exists() -> None:
    assert docs.missing_tests() == []


def test_every_make_target_the_pages_name_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for page in docs.pages():
        named = set(
            re.findall(r"\bmake ([a-z-]+)\b(?=`|\s+#|$)", page.read_text("utf-8"), re.MULTILINE)
        )
        assert named <= targets, f"{page.name} names {named - targets}"


@pytest.mark.parametrize("page", ["README.md", "docs/python-api.md", "docs/sessions.md"])
def test_python_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        if "import openai" in block or "import anthropic" in block:
            continue  # these need a provider: tests/doors/test_readme_turn.py gives them one
        exec(compile(block, page, "exec"), names)


def test_decisions_are_short() -> None:
    for decision in (ROOT / "docs" / "decisions").glob("*.md"):
        lines = decision.read_text("utf-8").splitlines()
        assert len(lines) <= 30, f"{decision.name} has {len(lines)} lines"
