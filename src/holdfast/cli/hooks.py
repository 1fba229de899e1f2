"""``holdfast hook``: the options; what it does is in what it loads.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from typing import Annotated, Final

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

_ANY_WORDS: Final = {"ignore_unknown_options": True, "allow_extra_args": True}
"""Settings may be of another version: a word we do not know must not stop Claude Code."""

OneAgent = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="NAME", help="One memory for all projects. [default: one of each]"
    ),
]
Seconds = Annotated[
    float, typer.Option(min=0, metavar="S", help="Let Claude Code go on after so long.")
]
Scope = Annotated[
    str,
    typer.Option(
        metavar="SCOPE",
        help="user (~/.claude), project (.claude/settings.json) or local (settings.local.json).",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the diff.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    group = typer.Typer(
        help="Claude Code: save before it compacts, tell what is known after.",
        no_args_is_help=True,
    )
    group.command("install")(install)
    group.command("status")(status)
    group.command("uninstall")(uninstall)
    group.command("undo")(undo)
    group.command("pre-compact", context_settings=_ANY_WORDS)(pre_compact)
    group.command("session-start", context_settings=_ANY_WORDS)(session_start)
    group.command("session-end", context_settings=_ANY_WORDS)(session_end)
    app.add_typer(group, name="hook")


def install(
    context: typer.Context,
    scope: Scope = "user",
    agent: OneAgent = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put the three hooks into the settings of Claude Code: shows the diff, asks, keeps the
    file as it was."""
    from holdfast.cli import hooking

    hooking.install(door(context), scope, agent=agent, dry_run=dry_run, yes=yes, as_json=as_json)


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Which hooks are in which settings, and whether what they call is there."""
    from holdfast.cli import hooking

    hooking.status(door(context), as_json=as_json)


def uninstall(
    context: typer.Context,
    scope: Scope = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take our hooks out of the settings, and nothing else."""
    from holdfast.cli import hooking

    hooking.uninstall(door(context), scope, dry_run=dry_run, yes=yes, as_json=as_json)


def undo(
    context: typer.Context,
    scope: Scope = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put the settings back as they were before our last change, byte for byte; not if anybody
    changed them since."""
    from holdfast.cli import hooking

    hooking.undo(door(context), scope, dry_run=dry_run, yes=yes, as_json=as_json)


def pre_compact(context: typer.Context, agent: OneAgent = None, seconds: Seconds = 50) -> None:
    """Called by Claude Code: bring in the conversation and save what it holds."""
    from holdfast.cli import hooking

    hooking.run(door(context), "pre-compact", agent=agent, seconds=seconds)


def session_start(context: typer.Context, agent: OneAgent = None, seconds: Seconds = 20) -> None:
    """Called by Claude Code: tell it what is known of the project."""
    from holdfast.cli import hooking

    hooking.run(door(context), "session-start", agent=agent, seconds=seconds)


def session_end(context: typer.Context, agent: OneAgent = None, seconds: Seconds = 50) -> None:
    """Called by Claude Code: as before a compaction, and close the conversation."""
    from holdfast.cli import hooking

    hooking.run(door(context), "session-end", agent=agent, seconds=seconds)
