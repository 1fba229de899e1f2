"""``holdfast chat``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, Window, door

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(chat)


def chat(
    context: typer.Context,
    session: Annotated[
        str | None,
        typer.Argument(metavar="SESSION", help="Its name. [default: a new one, by the date]"),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the session used last.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who answers. [default: holdfast doctor says who]"),
    ] = None,
    message: Annotated[
        str | None,
        typer.Option("--message", "-m", metavar="TEXT", help="Say only this; - is stdin."),
    ] = None,
    window: Window = None,
    system: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What the model is told before all.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="read-write, read or off. [default: memory.mode]"),
    ] = None,
    incognito: Annotated[
        bool,
        typer.Option(
            "--incognito", help="No memory, no transcript: nothing is kept but what it cost."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Talk with a model that remembers. In a terminal: a prompt, with the window as a live
    gauge, and /help. From a pipe: each line is a message, the answers go to stdout."""
    from holdfast.cli.chat import Wish, run

    wish = Wish(
        session=session,
        go_on=go_on,
        model=model,
        message=message,
        window=window,
        system=system,
        memory=memory,
        incognito=incognito,
        as_json=as_json,
    )
    if code := run(door(context), wish):
        raise typer.Exit(code)
