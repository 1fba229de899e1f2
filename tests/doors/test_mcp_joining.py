"""What the pages and the command tell people to paste is right, and starts a server."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, get_args

import pytest

from holdfast.mcp_server.joining import Program, snippet, start_command
from tests.doors.inside import inside
from tests.doors.mcp_parts import environ
from tests.doors.test_mcp_stdio import HELLO, replies, write

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ["mcp.md", "mcp.zh.md"]
PROGRAMS: tuple[Program, ...] = get_args(Program)


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


def command_in(settings: dict[str, Any]) -> list[str]:
    (servers,) = settings.values()
    (server,) = servers.values()
    return [server["command"], *server["args"]]


def shown(page: str) -> list[str]:
    """The command that every block of a page names."""
    commands = {tuple(command_in(json.loads(each))) for each in blocks(page, "json")}
    (command,) = commands
    return list(command)


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_show_what_the_command_prints(page: str) -> None:
    command = shown(page)
    found = [json.loads(each) for each in blocks(page, "json")]
    assert found == [snippet(each, command).settings for each in PROGRAMS]
    pasted = blocks(page, "sh")[0].strip()
    assert pasted == snippet("claude-code", command).command
    assert shlex.split(pasted.partition(" -- ")[2]) == command


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_command_prints_settings_with_the_paths_of_this_machine(
    home: Path, program: str
) -> None:
    told = inside(home, "--user", "ann", "mcp", "config", "--client", program)
    assert told.code == 0, told.err
    command = command_in(json.loads(told.out))
    assert command == start_command(home, ["--user", "ann"])
    assert Path(command[0]).is_file()
    assert not home.exists(), "printing settings makes no files"
    assert "→" in told.err


def test_over_http_no_token_is_in_the_settings(home: Path) -> None:
    token = inside(home, "mcp", "clients", "add", "editor").out.strip()
    for program in PROGRAMS:
        told = inside(home, "mcp", "config", "--client", program, "--http", "--port", "99")
        if program == "claude-desktop":
            assert told.code == 2
            continue
        settings = json.loads(told.out)
        (server,) = next(each for each in settings.values() if isinstance(each, dict)).values()
        assert server["url"] == "http://127.0.0.1:99/mcp"
        assert re.fullmatch(r"Bearer \$\{[a-zA-Z:_-]+\}", server["headers"]["Authorization"])
        assert token not in told.out + told.err
    wrong = inside(home, "mcp", "config", "--client", "cursr")
    assert (wrong.code, "cursor" in wrong.err) == (2, True)


def test_the_command_of_the_pages_writes_only_messages_and_a_signal_ends_it_politely(
    home: Path,
) -> None:
    command = shown(PAGES[0])
    assert Path(command[0]).name == "holdfast"
    real = start_command(home, [])
    assert [command[1], *command[3:]] == [*real[-3:-2], *real[-1:]]
    server = subprocess.Popen(
        real,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ(),
    )
    watchdog = threading.Timer(120, server.kill)
    watchdog.start()
    try:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(HELLO + write(1, "Written just before the end."))
        server.stdin.flush()
        heard = server.stdout.readline() + server.stdout.readline()
        server.send_signal(signal.SIGTERM)
        found = replies(heard + server.stdout.read())
        assert server.wait() == 0
        assert found[0]["result"]["serverInfo"]["name"] == "holdfast"
        assert found[1]["result"]["structuredContent"]["written"] == 1
        assert server.stderr is not None
        assert b"Traceback" not in server.stderr.read()
    finally:
        watchdog.cancel()
        server.kill()
        server.communicate()
