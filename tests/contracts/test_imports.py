"""What importing costs, counted in modules, not in milliseconds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    *("numpy", "pydantic", "typer", "rich", "click", "regex", "markdown_it", "json5", "asyncio"),
    *("openai", "anthropic", "mcp", "fastapi", "starlette", "httpx", "onnxruntime", "tiktoken"),
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


def test_help_loads_no_engine() -> None:
    program = (
        "import sys; sys.argv = ['holdfast', '--help']\n"
        "import holdfast.cli\n"
        "try: holdfast.cli.main()\n"
        "except SystemExit: pass"
    )
    loaded = loaded_by(program)
    assert not [
        name for name in loaded if name.startswith(("holdfast.engine", "holdfast.sessions"))
    ]
    assert not loaded & {"numpy", "markdown_it", "regex", "json5", "sqlite3", "asyncio"}


@pytest.mark.parametrize("name", ["open", "aopen", "Engine", "Session", "Message", "Entry"])
def test_public_names_load_when_they_are_used(name: str) -> None:
    assert "holdfast.types" in loaded_by(f"import holdfast\nholdfast.{name}")
