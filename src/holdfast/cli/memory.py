"""The commands about memory and their options. What they do is in the modules they load.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; change nothing.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The id, or the beginning of it.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, or their beginnings.")]
TaskType = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Such as bug_fix or research.")
]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(remember)
    app.command()(get)
    app.command()(undo)
    app.command()(forget)
    app.add_typer(archive, name="archive")
    app.add_typer(facts, name="facts")
    app.add_typer(conflicts, name="conflicts")
    app.add_typer(tasks, name="tasks")
    app.add_typer(backup, name="backup")


def remember(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - is stdin.")],
    kind: Annotated[
        str | None,
        typer.Option(metavar="W|B|O|S", help="World, biography, opinion or summary. [default: W]"),
    ] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whom or what it is about.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(min=0, max=1, help="How sure; for opinions.")
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="WHERE", help="daily, memory or topic:NAME.")
    ] = "daily",
    as_json: AsJson = False,
) -> None:
    """Write a memory. A repeat is not written again, a contradiction is shown."""
    from holdfast.cli import remembering

    remembering.remember(
        door(context),
        text,
        kind=kind and kind.upper(),
        entity=entity,
        confidence=confidence,
        target=target,
        as_json=as_json,
    )


def get(
    context: typer.Context,
    path: Annotated[
        str | None,
        typer.Argument(metavar="[PATH[#Lx-Ly]]", help="A memory file, some lines, session#entry."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What stands in a memory file, or behind a citation; without one, which files there are."""
    from holdfast.cli import remembering

    remembering.get(door(context), path, as_json=as_json)


def undo(
    context: typer.Context,
    operation: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Which change. [default: the last]")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the changes; undo none.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Take back the last change of the memory files, then the one before. The ID of an undo brings
    its change back."""
    from holdfast.cli import remembering

    if show:
        remembering.changes(door(context), as_json=as_json)
    else:
        remembering.undo(door(context), operation, dry_run=dry_run, as_json=as_json)


def forget(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT|ID...", help="A text as it was written, or an id."),
    ] = None,
    erase: Annotated[
        bool,
        typer.Option(
            "--erase", help="Remove it from everywhere, transcripts too. There is no undo."
        ),
    ] = False,
    stale: Annotated[
        bool, typer.Option("--stale", help="Archive by age, importance and size instead.")
    ] = False,
    after_days: Annotated[
        int | None, typer.Option(min=1, help="With --stale. [default: forget.after_days]")
    ] = None,
    below_importance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With --stale. [default: forget.below_importance]"),
    ] = None,
    max_bytes: Annotated[
        int | None, typer.Option(min=1, help="With --stale. [default: forget.max_bytes]")
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Move memories to the archive, or erase a text for good with a receipt."""
    from holdfast.errors import UsageError

    if stale and erase:
        raise UsageError("--stale moves to the archive and --erase removes: give one of them.")
    if stale == bool(targets):
        raise UsageError(
            "Say what to forget: a TEXT or ID, or --stale for what the policies name.",
            hint='holdfast forget "the text" --dry-run',
        )
    if stale:
        from holdfast.cli import archives

        archives.forget_stale(
            door(context),
            after_days=after_days,
            below_importance=below_importance,
            max_bytes=max_bytes,
            dry_run=dry_run,
            yes=yes,
            as_json=as_json,
        )
        return
    from holdfast.cli import forgetting

    forgetting.forget(
        door(context), targets or [], erase=erase, dry_run=dry_run, yes=yes, as_json=as_json
    )


# ── archive ─────────────────────────────────────────────────────────────────────────────────

archive = typer.Typer(help="What forgetting moved away: list, restore.", no_args_is_help=True)


@archive.command("list")
def archive_list(context: typer.Context, as_json: AsJson = False) -> None:
    """What is in the archive."""
    from holdfast.cli import archives

    archives.archive_list(door(context), as_json=as_json)


@archive.command("restore")
def archive_restore(context: typer.Context, ids: Ids, as_json: AsJson = False) -> None:
    """Put memories back where they were."""
    from holdfast.cli import archives

    archives.archive_restore(door(context), ids, as_json=as_json)


# ── facts and conflicts ─────────────────────────────────────────────────────────────────────

facts = typer.Typer(
    help="Typed memories: what is known, since when, how sure.", no_args_is_help=True
)
conflicts = typer.Typer(
    help="Memories that contradict each other: see them, decide.", no_args_is_help=True
)


@facts.command("list")
def facts_list(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="Only those that hold this text.")
    ] = None,
    kind: Annotated[str | None, typer.Option(metavar="W|B|O|S", help="Only this kind.")] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only about this; aliases count.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="DATE", help="What was true on that day.")
    ] = None,
    trust: Annotated[
        str | None, typer.Option(help="Only from: user, agent, tool or import.")
    ] = None,
    ended: Annotated[
        bool, typer.Option("--ended", help="Also superseded and retracted ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The memories that hold now, or held on a day."""
    from holdfast.cli import knowing

    knowing.facts_list(
        door(context),
        kind=kind and kind.upper(),
        entity=entity,
        as_of=as_of,
        trust=trust,
        ended=ended,
        text=text,
        as_json=as_json,
    )


@facts.command("show")
def facts_show(context: typer.Context, id: Id, as_json: AsJson = False) -> None:
    """One memory with everything that is known about it."""
    from holdfast.cli import knowing

    knowing.facts_show(door(context), id, as_json=as_json)


@facts.command("history")
def facts_history(context: typer.Context, id: Id, as_json: AsJson = False) -> None:
    """What it replaced, and what replaced it, oldest first."""
    from holdfast.cli import knowing

    knowing.facts_history(door(context), id, as_json=as_json)


@facts.command("confirm")
def facts_confirm(context: typer.Context, ids: Ids, as_json: AsJson = False) -> None:
    """Say that it is true: verified today, trusted as your own words."""
    from holdfast.cli import knowing

    knowing.facts_confirm(door(context), ids, as_json=as_json)


@facts.command("retract")
def facts_retract(
    context: typer.Context,
    ids: Ids,
    reason: Annotated[str | None, typer.Option(help="Why it is not true.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say that it is not true. It stays readable, with the day it ended."""
    from holdfast.cli import knowing

    knowing.facts_retract(door(context), ids, reason=reason, as_json=as_json)


@conflicts.command("list")
def conflicts_list(context: typer.Context, as_json: AsJson = False) -> None:
    """The contradictions there are, each with both memories."""
    from holdfast.cli import knowing

    knowing.conflicts_list(door(context), as_json=as_json)


@conflicts.command("resolve")
def conflicts_resolve(
    context: typer.Context,
    id: Id,
    keep: Annotated[
        str, typer.Option(metavar="new|old|both|FACT", help="Which of the two is true.")
    ],
    as_json: AsJson = False,
) -> None:
    """Decide: one of them ends, or both are true."""
    from holdfast.cli import knowing

    knowing.conflicts_resolve(door(context), id, keep=keep, as_json=as_json)


# ── tasks ───────────────────────────────────────────────────────────────────────────────────

tasks = typer.Typer(
    help="Task records: what was asked, how it went, what worked.", no_args_is_help=True
)


@tasks.command("list")
def tasks_list(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="Only those that hold this text.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="open, done, failed or cancelled.")] = None,
    type: TaskType = None,
    as_json: AsJson = False,
) -> None:
    """The tasks, open ones first."""
    from holdfast.cli import tasks as commands

    commands.list_all(door(context), status=status, type=type, text=text, as_json=as_json)


@tasks.command("show")
def tasks_show(context: typer.Context, id: Id, as_json: AsJson = False) -> None:
    """One record, whole."""
    from holdfast.cli import tasks as commands

    commands.show(door(context), id, as_json=as_json)


@tasks.command("stats")
def tasks_stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Success by type, durations, common errors."""
    from holdfast.cli import tasks as commands

    commands.stats(door(context), as_json=as_json)


@tasks.command("patterns")
def tasks_patterns(context: typer.Context, type: TaskType = None, as_json: AsJson = False) -> None:
    """What worked, what failed, and how often."""
    from holdfast.cli import tasks as commands

    commands.patterns(door(context), type=type, as_json=as_json)


@tasks.command("similar")
def tasks_similar(
    context: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be done.")],
    type: TaskType = None,
    outcome: Annotated[str | None, typer.Option(help="done or failed.")] = None,
    as_json: AsJson = False,
) -> None:
    """Earlier tasks like this one, and how they went."""
    from holdfast.cli import tasks as commands

    commands.similar(door(context), text, type=type, outcome=outcome, as_json=as_json)


@tasks.command("open")
def tasks_open(
    context: typer.Context,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What is to be done.")],
    type: TaskType = None,
    as_json: AsJson = False,
) -> None:
    """Begin a record by hand."""
    from holdfast.cli import tasks as commands

    commands.open_(door(context), title, type=type, as_json=as_json)


@tasks.command("close")
def tasks_close(
    context: typer.Context,
    id: Id,
    status: Annotated[str, typer.Option(help="done, failed or cancelled.")] = "done",
    result: Annotated[str | None, typer.Option(help="What came of it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how a task ended."""
    from holdfast.cli import tasks as commands

    commands.close(door(context), id, status=status, result=result, as_json=as_json)


# ── backup ──────────────────────────────────────────────────────────────────────────────────


class _FileFirst(TyperGroup):
    """``backup FILE`` beside ``backup restore FILE``: what is no command is a file."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help"}:
            args = ["make", *args]
        parsed: list[str] = super().parse_args(context, args)
        return parsed


backup = typer.Typer(
    cls=_FileFirst,
    help="Everything in one verified file: backup FILE, backup restore FILE.",
    no_args_is_help=True,
)
BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")]


@backup.command("make")
def backup_make(context: typer.Context, file: BackupFile, as_json: AsJson = False) -> None:
    """Write a backup of the whole home, and read it back. The same as: backup FILE."""
    from holdfast.cli import backups

    backups.make(door(context), file, as_json=as_json)


@backup.command("verify")
def backup_verify(context: typer.Context, file: BackupFile, as_json: AsJson = False) -> None:
    """Check every byte of a backup."""
    from holdfast.cli import backups

    backups.verify(door(context), file, as_json=as_json)


@backup.command("restore")
def backup_restore(
    context: typer.Context,
    file: BackupFile,
    replace: Annotated[
        bool, typer.Option("--replace", help="Move the home that is there aside first.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Check a backup, then make a home of it."""
    from holdfast.cli import backups

    backups.restore(door(context), file, replace=replace, yes=yes, as_json=as_json)
