"""``holdfast mcp``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

_PORT = 8377

Http = Annotated[
    bool, typer.Option("--http", help="Over HTTP, for clients with a token. [default: stdio]")
]
Port = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="With --http; 0 takes any free one.")
]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(serve)
    group.command("config")(config)
    clients = typer.Typer(help="Who may come over HTTP, and whose memory each sees.")
    clients.command("add")(clients_add)
    clients.command("list")(clients_list)
    clients.command("remove")(clients_remove)
    group.add_typer(clients, name="clients", no_args_is_help=True)
    app.add_typer(group, name="mcp")


def serve(
    context: typer.Context,
    http: Http = False,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="With --http: where to listen.")
    ] = "127.0.0.1",
    port: Port = _PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With --http: a further Host, as clients call it."),
    ] = None,
    behind_tls: Annotated[
        bool,
        typer.Option("--behind-tls", help="With --http: a proxy with TLS stands before it."),
    ] = False,
) -> None:
    """Serve memory to programs that speak MCP, such as Claude Desktop, Claude Code, Cursor and
    VS Code. The options before the command say whose memory; over HTTP the token of a client
    does."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.cli import joining_clients

    if http:
        joining_clients.serve_http(
            door(context), host=host, port=port, hosts=allow_host or [], is_behind_tls=behind_tls
        )
    else:
        joining_clients.serve_stdio(door(context))


def config(
    context: typer.Context,
    client: Annotated[
        str, typer.Option(help="claude-desktop, claude-code, cursor or vscode.")
    ] = "claude-desktop",
    http: Annotated[
        bool, typer.Option("--http", help="For a server that runs: holdfast mcp --http.")
    ] = False,
    port: Port = _PORT,
) -> None:
    """Print what a program needs in its settings to use this memory, to paste there."""
    from holdfast.cli import joining_clients

    joining_clients.config(door(context), client, port=port if http else None)


ClientName = Annotated[str, typer.Argument(metavar="NAME", help="What you call this client.")]


def clients_add(
    context: typer.Context,
    name: ClientName,
    agent: Annotated[
        str | None, typer.Option(help="Which agent's memory. [default: as before the command]")
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose, if not the owner's: users/NAME/.")
    ] = None,
    chat: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of which group or channel: chats/NAME/.")
    ] = None,
    chat_type: Annotated[
        str | None,
        typer.Option(help="direct, group or channel. [default: group with --chat, else direct]"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let a client in over HTTP. Its token is shown once and stored nowhere."""
    from holdfast.cli import joining_clients

    joining_clients.add(
        door(context),
        name,
        agent=agent,
        user=user,
        chat=chat,
        chat_type=chat_type,
        as_json=as_json,
    )


def clients_list(context: typer.Context, as_json: AsJson = False) -> None:
    """The clients, and whose memory each sees."""
    from holdfast.cli import joining_clients

    joining_clients.list_all(door(context), as_json=as_json)


def clients_remove(context: typer.Context, name: ClientName, as_json: AsJson = False) -> None:
    """Let a client in no more, from its next request on."""
    from holdfast.cli import joining_clients

    joining_clients.remove(door(context), name, as_json=as_json)
