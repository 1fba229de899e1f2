"""``holdfast serve``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

_PORT = 8378


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(serve)
    group.command("link")(link)
    group.command("token")(token)
    app.add_typer(group, name="serve")


def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0 takes any free one.")
    ] = _PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further Host, as browsers call it."),
    ] = None,
    behind_tls: Annotated[
        bool, typer.Option("--behind-tls", help="A proxy with TLS stands before it.")
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Speak TLS with this certificate.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The key of that certificate.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    tour: Annotated[
        bool, typer.Option("--tour", help="With the tour's conversation beside your own.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the console and the API of this memory, until Ctrl-C. Prints a link that signs a
    browser in, once, within five minutes."""
    if context.invoked_subcommand is not None:
        return
    from holdfast.cli import hosting

    wish = hosting.Wish(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        is_behind_tls=behind_tls,
        certificate=tls_cert,
        key=tls_key,
        opens=not no_open,
        as_json=as_json,
    )
    if tour and hosting.is_installed():
        from holdfast.cli.tour.playing import tour_place

        wish = replace(wish, tour=tour_place)
    hosting.serve(door(context), wish)


def link(context: typer.Context, as_json: AsJson = False) -> None:
    """A new link for a browser, from the server that runs."""
    from holdfast.cli import hosting

    hosting.link(door(context), as_json=as_json)


def token(
    context: typer.Context,
    rotate: Annotated[
        bool,
        typer.Option("--rotate", help="Make another one; every browser is signed out at once."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The token for programs: Authorization: Bearer …. Made if there is none."""
    from holdfast.cli import hosting

    hosting.token(door(context), rotate=rotate, as_json=as_json)
