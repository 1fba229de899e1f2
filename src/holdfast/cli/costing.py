"""``holdfast cost``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(cost)


def cost(
    context: typer.Context,
    by: Annotated[str, typer.Option(help="day, session, model or what (reply, flush …).")] = "day",
    days: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the last N days. [default: all]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What models cost: replies, flushes and summaries, with what came from the cache."""
    from holdfast.cli import costs

    costs.show(door(context), by, days=days, as_json=as_json)
