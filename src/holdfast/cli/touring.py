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


def start(context: typer.Context, fast: Fast = False, as_json: AsJson = False) -> None:
    """Begin: the chat, if there is a model to talk with; else the tour, and three ways to one.
    With --json only say which of them it would be."""
    from holdfast.cli.tour import offering

    if code := offering.run(door(context), is_fast=fast, as_json=as_json):
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
