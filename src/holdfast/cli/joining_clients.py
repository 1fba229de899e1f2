"""The commands of ``holdfast mcp``: serve, print settings, keep the clients.

Promise: with stdio nothing but the protocol is on stdout; who may come over HTTP is shown
without anything of a token but once (``tests/doors/test_mcp_joining.py``, ``test_mcp_clients.py``).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from holdfast.cli import render
from holdfast.cli.options import Door
from holdfast.config import default_home
from holdfast.errors import UsageError
from holdfast.mcp_server.clients import ClientBook, new_client
from holdfast.mcp_server.joining import program_named, snippet, start_command

if TYPE_CHECKING:
    from holdfast.types import ChatType

__all__ = ["add", "config", "list_all", "remove", "serve_http", "serve_stdio"]


def _home(door: Door) -> Path:
    given = door.home_path()
    return given if given is not None else default_home(os.environ)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")


# ── serving ─────────────────────────────────────────────────────────────────────────────────


def serve_stdio(door: Door) -> None:
    """Speak to whoever started us, until they hang up."""
    from holdfast.engine.facade import open_engine
    from holdfast.mcp_server.answers import Answers
    from holdfast.mcp_server.sdk import sdk
    from holdfast.mcp_server.stdio import serve_stdio as serve
    from holdfast.mcp_server.stdio import taken_over

    if sys.stdin.isatty():
        render.note(
            "This speaks a protocol on stdin and stdout; a program starts it. For its settings: "
            + door.command("mcp", "config")
        )
    _log_to_stderr()
    found = sdk()
    chat_type = door.chat_type or ("group" if door.chat else "direct")
    with open_engine(
        _home(door),
        door.agent,
        user=door.user,
        chat=door.chat,
        chat_type=cast("ChatType", chat_type),
    ) as engine:
        source, sink = taken_over()
        serve(found, Answers(engine), source, sink)


def serve_http(
    door: Door, *, host: str, port: int, hosts: Sequence[str], is_behind_tls: bool
) -> None:
    """Serve clients with tokens, until a signal comes."""
    from holdfast.gatehouse.listening import listening, shown_host
    from holdfast.mcp_server.gate import PATH
    from holdfast.mcp_server.http import HttpServer, check_clients, opener
    from holdfast.mcp_server.sdk import sdk

    if door.agent != "main" or door.user or door.chat or door.chat_type:
        raise UsageError(
            "Over HTTP the token of a client says whose memory it sees, not the options before "
            "the command.",
            hint="holdfast mcp clients add NAME --agent … --user …",
        )
    _log_to_stderr()
    found = sdk()
    home = _home(door)
    book = ClientBook(home)
    known = len(book.list())
    check_clients(host, is_behind_tls=is_behind_tls, hosts=hosts, clients=known)
    with listening(host, port) as bound:
        url = f"http://{shown_host(host)}:{bound.getsockname()[1]}{PATH}"
        who = f"clients: {known}" if known else "no client yet: holdfast mcp clients add NAME"
        render.note(f"{url} ({who}). Ctrl-C ends it.")
        HttpServer(found, book, opener(home), hosts=hosts).run(bound)


# ── settings ────────────────────────────────────────────────────────────────────────────────


def config(door: Door, name: str, *, port: int | None) -> None:
    """What to paste; where, on stderr."""
    program = program_named(name)
    given = {
        "--agent": None if door.agent == "main" else door.agent,
        "--user": door.user,
        "--chat": door.chat,
        "--chat-type": door.chat_type,
    }
    words = [word for option, value in given.items() if value for word in (option, value)]
    url = None if port is None else f"http://127.0.0.1:{port}/mcp"
    found = snippet(program, start_command(_home(door), words), url=url)
    render.say(found.text)
    render.note(f"→ {found.where}")
    if found.command is not None:
        render.note(f"or: {found.command}")


# ── clients ─────────────────────────────────────────────────────────────────────────────────


def add(
    door: Door,
    name: str,
    *,
    agent: str | None,
    user: str | None,
    chat: str | None,
    chat_type: str | None,
    as_json: bool,
) -> None:
    client, token = new_client(
        name,
        agent=agent or door.agent,
        user=user or door.user,
        chat=chat or door.chat,
        chat_type=chat_type or door.chat_type,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    ClientBook(_home(door)).add(client)
    if as_json:
        render.json_line({**client.to_json(), "token": token})
        return
    render.say(token)
    render.note(f"{client.name} sees {client.place}. The token is not shown again.")


def list_all(door: Door, *, as_json: bool) -> None:
    clients = ClientBook(_home(door)).list()
    if as_json:
        shown = [each.to_json() for each in clients]
        render.json_lines(shown, summary={"summary": True, "clients": len(clients)})
    elif not clients:
        render.say("No clients. Let one in: " + door.command("mcp", "clients", "add", "NAME"))
    else:
        rows = [(each.name, each.place, each.chat_type, each.added_at) for each in clients]
        render.table(("client", "memory", "chat type", "since"), rows)


def remove(door: Door, name: str, *, as_json: bool) -> None:
    ClientBook(_home(door)).remove(name)
    if as_json:
        render.json_line({"removed": name})
    else:
        render.say(f"{name} is let in no more.")
