"""``holdfast import``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command("import")(bring_in)


def bring_in(
    context: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE] [PATH]...",
            help="claude-code, codex, openclaw, chatgpt, claude, openai, anthropic or markdown; "
            "files and folders. [default: only say what there is]",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read all, change nothing, say what would be new.")
    ] = False,
    memories: Annotated[
        bool,
        typer.Option(
            "--memories", help="Also let the rules write memory lines of each conversation."
        ),
    ] = False,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="OpenClaw: MEMORY.md and daily logs to the same places here, where these are "
            "empty.",
        ),
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="The imports that were made.")] = False,
    undo: Annotated[
        str | None, typer.Option(metavar="ID", help="Take one import back, wholly.")
    ] = None,
    index: Annotated[
        bool, typer.Option(help="Bring the search index up to date afterwards.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Bring in what you said elsewhere: conversations of Claude Code, Codex and OpenClaw, exports
    of ChatGPT and claude.ai, messages as JSON, folders of Markdown. Conversations become sessions
    with their own times, Markdown goes to memory/imports/. What is known is not read again, so
    the same command brings in what is new."""
    from holdfast.cli import bringing_in

    wish = bringing_in.Wish(
        words=tuple(what or ()),
        dry_run=dry_run,
        memories=memories,
        merge=merge,
        index=index,
        as_json=as_json,
    )
    if undo is not None:
        bringing_in.undo(door(context), undo, wish)
    elif list_:
        bringing_in.list_imports(door(context), wish)
    else:
        bringing_in.run(door(context), wish)
