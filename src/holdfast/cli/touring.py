"""``holdfast demo`` and ``holdfast start``: the options; what they do is in what they load.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

Fast = Annotated[bool, typer.Option("--fast", help="No pauses.")]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(start)
    app.command()(demo)


def start(
    context: typer.Context,
    terminal: Annotated[
        bool,
        typer.Option(
            "--terminal", help="Here instead: the chat, or the tour and three ways to one."
        ),
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="With --terminal: no pauses.")] = False,
    as_json: AsJson = False,
) -> None:
    """Begin: the console in a browser, until Ctrl-C; on your own memory if there is a model to
    talk with, else on a tour, and it says three ways to one. With --json only say what it would
    be."""
    from holdfast.cli.tour import offering

    code = offering.run(door(context), is_fast=fast, in_terminal=terminal, as_json=as_json)
    if code:
        raise typer.Exit(code)


def demo(
    context: typer.Context,
    fast: Fast = False,
    with_model: Annotated[
        bool, typer.Option("--with-model", help="Let the model that is there answer, too.")
    ] = False,
    proofs: Annotated[
        bool,
        typer.Option("--proofs", help="Instead: pull the plug, flip a bit, erase, find again."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """A tour, offline, in a temporary home: a long conversation in a small window is pruned,
    saved, compacted and closed; a new session goes on from memory."""
    if proofs:
        from holdfast.cli.tour import proofs as tried

        tried.run()
        return
    from holdfast.cli.tour import showing

    code = showing.run(door(context), is_fast=fast, with_model=with_model, as_json=as_json)
    if code:
        raise typer.Exit(code)
