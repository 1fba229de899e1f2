"""What scripts rely on: stdout, --json, exit codes, and nothing that can move the cursor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast as library
from tests.doors.command import holdfast
from tests.doors.inside import inside
from tests.scale import SCALE

READING = [
    ["status"],
    ["doctor"],
    ["sessions", "list"],
    ["sessions", "show", "s1"],
    ["sessions", "show", "s1", "--view"],
    ["sessions", "verify"],
    ["sessions", "export", "s1"],
    ["sessions", "export", "s1", "--format", "openai"],
    ["config", "show"],
    ["config", "explain", "flush.enabled"],
    ["config", "path"],
    ["get", "MEMORY.md"],
    ["undo", "--list"],
    ["undo", "--dry-run"],
    ["facts", "list"],
    ["conflicts", "list"],
    ["tasks", "list"],
    ["tasks", "stats"],
    ["tasks", "similar", "paint it red"],
    ["archive", "list"],
    ["forget", "red", "--dry-run"],
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    with library.open(home) as engine:
        for name in ("s1", "旅行"):
            session = engine.session(name)
            session.set_goal("book the flight / 订机票")
            session.append({"role": "user", "content": "hi \x1b[31mred\x07 \u202e 你好"})
            session.append({"role": "assistant", "content": "hello"})
        for port in (8080, 9090):
            engine.remember(f"The \x1b[31mred\x07 API listens on {port}.", target="memory")
        engine.forget(engine.remember("An old red thing \u202e.").added[0].id)
        task = engine.tasks.open("Paint it \x1b[31mred\x07")
        engine.tasks.close(task.id, result="\x1b[31mred\x07")
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    shutil.copytree(template, home)
    return home


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_with_json_stdout_is_one_compact_object_per_line_and_nothing_else(
    filled: Path, command: list[str]
) -> None:
    run = inside(filled, *command, "--json")
    assert run.code == 0, run.err
    assert run.lines
    for line in run.out.splitlines():
        value = json.loads(line)
        assert isinstance(value, dict)
        assert line == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(run.lines) > 1:
        assert run.lines[-1]["summary"] is True
        assert all("summary" not in line for line in run.lines[:-1])


@pytest.mark.parametrize(
    "command",
    [command for command in READING if "export" not in command],  # that is a file's content
    ids=" ".join,
)
def test_for_people_nothing_said_can_steer_the_terminal(filled: Path, command: list[str]) -> None:
    run = inside(filled, *command)
    assert run.code == 0, run.err
    assert run.out
    assert "\x1b" not in run.out
    assert "\x07" not in run.out
    assert "\u202e" not in run.out


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (["sessions", "show", "nothing"], 3, "There is no session 'nothing'"),
        (["sessions", "show", "../x"], 6, "→"),
        (["sessions", "export", "s1", "--format", "pdf"], 2, "markdown"),
        (["sessions", "fork", "s1", "s2", "--at", "nosuch"], 3, "has no entry 'nosuch'"),
        (["sessions", "fork", "s1", "旅行"], 2, "already"),
        (["sessions", "delete", "s1"], 2, "--yes"),
        (["config", "explain", "flush.enabeld"], 2, "flush.enabled"),
        (["sessions", "lsit"], 2, "list"),
        (["--no-such-option"], 2, "such"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_error_goes_to_stderr_with_what_to_do_and_a_stable_code(
    filled: Path, command: list[str], code: int, told: str
) -> None:
    run = inside(filled, *command)
    assert (run.code, run.out) == (code, "")
    assert told in run.err
    assert "Traceback" not in run.err


def test_the_version_is_printed(home: Path) -> None:
    run = holdfast(home, "--version")
    assert run.out == f"holdfast {library.__version__}\n"
    assert not home.exists(), "asking for the version makes no files"


def test_a_reader_that_stops_reading_is_no_error(filled: Path) -> None:
    with library.open(filled) as engine:
        engine.session("long").append_all([{"role": "user", "content": "x" * 500}] * 2000)
    command = f"{sys.executable} -m holdfast --home {filled} sessions show long --json | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert run.stderr == ""


def test_another_agent_is_another_memory(filled: Path) -> None:
    run = inside(filled, "--agent", "other", "sessions", "list", "--json")
    assert run.lines == [{"summary": True, "sessions": 0, "bytes": 0}]


def test_the_home_comes_from_the_environment_if_not_given(filled: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "sessions", "list", "--json"],
        env={"HOLDFAST_HOME": str(filled), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout.splitlines()[-1])["sessions"] == 2


ENCODINGS = ("ascii", "gbk", "latin-1")
IN_ENCODINGS = [  # every command in one of them; in the long run in all
    pytest.param(command, encoding, id=f"{' '.join(command)} in {encoding}")
    for number, command in enumerate(READING)
    for encoding in (ENCODINGS if SCALE > 1 else ENCODINGS[number % 3 :][:1])
]


@pytest.mark.parametrize(("command", "encoding"), IN_ENCODINGS)
def test_a_terminal_of_few_characters_gets_escapes_not_a_traceback(
    filled: Path, command: list[str], encoding: str
) -> None:
    for options in ([], ["--json"]):
        run = inside(filled, *command, *options, encoding=encoding)
        assert run.code == 0, run.err
        if options:
            assert run.lines


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_so_does_a_terminal_whose_encoding_the_environment_tells(
    filled: Path, encoding: str
) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "--home", str(filled), "sessions", "list", "--json"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = run.stdout.decode(encoding)
    *listed, _ = map(json.loads, told.splitlines())
    assert {each["name"] for each in listed} == {"旅行", "s1"}
    assert ("旅行" in told) == (encoding == "gbk")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_answer_that_cannot_be_written_is_an_error_not_a_traceback(filled: Path) -> None:
    command = f"{sys.executable} -m holdfast --home {filled} sessions export s1 > /dev/full"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "No space left" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_home_that_is_a_file_or_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert "is a file" in inside(file, "status").err
    monkeypatch.chdir(tmp_path)
    assert inside("", "status").code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
