"""The commands around a turn, and their options. What they do is in what they load.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, Window, door

__all__ = ["register"]

LastUsed = Annotated[
    str | None,
    typer.Argument(metavar="[SESSION]", help="The session's name. [default: the last one used]"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(status)
    app.command()(flush)
    app.command()(compact)
    app.command()(events)


def status(
    context: typer.Context,
    name: LastUsed = None,
    window: Window = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Count for this model.")] = None,
    as_json: AsJson = False,
) -> None:
    """The three tiers of memory with their sizes, and how a session stands: its window with
    the marks, its cycle, the last flush, and how far away the next marks are."""
    from holdfast.cli import standing

    standing.status(door(context), name, window=window, model=model, as_json=as_json)


def flush(
    context: typer.Context,
    name: LastUsed = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Save to memory now what the session still shows and no flush has read yet. The engine
    does this by itself before anything leaves the view."""
    from holdfast.cli import turning

    turning.flush(door(context), name, dry_run=dry_run, as_json=as_json)


def compact(
    context: typer.Context,
    name: LastUsed = None,
    focus: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What the summary should keep in detail."),
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(help="layered, summary or selective. [default: the setting]")
    ] = None,
    window: Window = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Replace older messages of the view by a short account now, whatever the marks say. What
    leaves is saved first. The transcript keeps every message, and the ids bring them back."""
    from holdfast.cli import turning

    turning.compact(
        door(context),
        name,
        focus=focus,
        strategy=strategy,
        window=window,
        dry_run=dry_run,
        as_json=as_json,
    )


def events(
    context: typer.Context,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of this session.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND", help="Only these: memory_flush_end, or a word, such as flush."
        ),
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Only the last N; 0 means all. [default: 50, to follow 10]"
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with new ones until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What the engine did, the newest last: every flush and compaction with its figures, and
    why one was skipped. Events hold ids and numbers, never what was said."""
    from holdfast.cli import watching

    watching.events(
        door(context),
        session=session,
        kinds=kind or [],
        last=last,
        follow=follow,
        as_json=as_json,
    )
