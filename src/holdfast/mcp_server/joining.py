"""What other programs need in their settings to use this server, with the paths of this machine.

Promise: the command is one that can be started from anywhere: full paths, the home included
(``tests/doors/test_mcp_joining.py`` starts what is printed, and what ``docs/mcp.md`` shows).
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from holdfast.errors import UsageError, did_you_mean
from holdfast.types import Json

__all__ = ["TOKEN_VARIABLE", "Program", "Snippet", "program_named", "snippet", "start_command"]

Program = Literal["claude-desktop", "claude-code", "cursor", "vscode"]
TOKEN_VARIABLE: Final = "HOLDFAST_MCP_TOKEN"

_NAME: Final = "holdfast"
_WHERE: Final[Mapping[Program, str]] = {
    "claude-desktop": "claude_desktop_config.json (Settings → Developer → Edit Config)",
    "claude-code": ".mcp.json in your project",
    "cursor": "~/.cursor/mcp.json, or .cursor/mcp.json in your project",
    "vscode": ".vscode/mcp.json in your project (MCP: Add Server)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """Settings to paste: where they go, and the same as a command where there is one."""

    where: str
    settings: dict[str, Json]
    command: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(self.settings, ensure_ascii=False, indent=2)


def program_named(name: str) -> Program:
    for known in get_args(Program):
        if known == name:
            return known  # type: ignore[no-any-return]
    raise UsageError(
        f"There is no client {name!r} here.",
        hint=did_you_mean(name, get_args(Program)) or ", ".join(get_args(Program)),
    )


def start_command(home: Path, options: Sequence[str]) -> list[str]:
    """What starts the server on stdio; ``options`` say whose memory."""
    script = Path(sys.executable).with_name("holdfast")
    begin = [str(script)] if script.is_file() else [sys.executable, "-m", "holdfast"]
    return [*begin, "--home", str(home.expanduser().absolute()), *options, "mcp"]


def snippet(program: Program, command: Sequence[str], *, url: str | None = None) -> Snippet:
    """The settings of a program that starts the server, or with ``url`` finds it there."""
    if url is not None:
        return _over_http(program, url)
    started: Json = {"command": command[0], "args": list(command[1:])}
    if program == "vscode":
        settings = {"servers": {_NAME: {"type": "stdio", **started}}}
    elif program == "claude-code":
        settings = {"mcpServers": {_NAME: {"type": "stdio", **started}}}
    else:
        settings = {"mcpServers": {_NAME: started}}
    pasted = f"claude mcp add {_NAME} -- {shlex.join(command)}"
    return Snippet(
        where=_WHERE[program],
        settings=settings,
        command=pasted if program == "claude-code" else None,
    )


def _over_http(program: Program, url: str) -> Snippet:
    """The token is never in a file of settings: the program asks for it, or the environment has
    it."""
    if program == "claude-desktop":
        raise UsageError(
            "Claude Desktop starts its servers itself.", hint="Leave --http out of the command."
        )
    if program == "vscode":
        asked: Json = {
            "type": "promptString",
            "id": "holdfast-token",
            "description": "Token of holdfast mcp clients add",
            "password": True,
        }
        server = _server(url, "${input:holdfast-token}")
        return Snippet(
            where=_WHERE[program], settings={"inputs": [asked], "servers": {_NAME: server}}
        )
    variable = f"${{env:{TOKEN_VARIABLE}}}" if program == "cursor" else f"${{{TOKEN_VARIABLE}}}"
    pasted = (
        f"claude mcp add --transport http {_NAME} {url} "
        f'--header "Authorization: Bearer ${TOKEN_VARIABLE}"'
    )
    return Snippet(
        where=_WHERE[program],
        settings={"mcpServers": {_NAME: _server(url, variable)}},
        command=pasted if program == "claude-code" else None,
    )


def _server(url: str, token: str) -> Json:
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
