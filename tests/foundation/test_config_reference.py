"""The reference page is the table of keys, in Markdown."""

from __future__ import annotations

import tomllib
from pathlib import Path

from holdfast.config import KEYS, load_settings
from holdfast.config.reference import config_reference

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_page_in_the_docs_is_current() -> None:
    assert PAGE.read_text("utf-8") == config_reference(), (
        "run: python -m holdfast.config.reference > docs/configuration.md"
    )


def test_the_page_has_every_key_with_its_documentation() -> None:
    page = config_reference()
    for key in KEYS.values():
        section = page.split(f"## [{key.section}]")[1].split("\n## ")[0]
        assert f"- **`{key.name.rpartition('.')[2]}`** {key.doc}" in section


def test_the_example_on_the_page_loads(home: Path) -> None:
    example = config_reference().split("```toml\n")[1].split("```")[0]
    home.mkdir()
    (home / "config.toml").write_text(example)
    settings = load_settings(home, environ={}, overrides={})
    given = {
        f"{section}.{name}" for section, table in tomllib.loads(example).items() for name in table
    }
    assert {name for name in KEYS if settings.source(name).kind == "file"} == given
