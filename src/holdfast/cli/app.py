"""The commands and their options. What they do is said below, in the engine.

Nothing here imports an engine before a command runs: ``holdfast --help`` must be instant
(``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast._version import __version__
from holdfast.cli import (
    costing,
    finding,
    hooks,
    importing,
    mcp,
    memory,
    modelling,
    serving,
    talking,
    touring,
    turns,
)
from holdfast.cli.options import AsJson, Door, Window, door

__all__ = ["AsJson", "Door", "app", "door"]

app = typer.Typer(
    name="holdfast",
    help="Memory and context engine for LLM agents: what was said is kept.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(help="Where the files live. [default: HOLDFAST_HOME or ~/.holdfast]"),
    ] = None,
    agent: Annotated[str, typer.Option(help="Which agent's memory.")] = "main",
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who speaks, if not the owner: users/NAME/."),
    ] = None,
    chat: Annotated[
        str | None, typer.Option(metavar="NAME", help="In which group or channel: chats/NAME/.")
    ] = None,
    chat_type: Annotated[
        str | None,
        typer.Option(help="direct, group or channel. [default: group with --chat, else direct]"),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    del version
    context.obj = Door(home=home, agent=agent, user=user, chat=chat, chat_type=chat_type)


talking.register(app)
turns.register(app)


@app.command()
def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the home, and say what to do about each finding."""
    from holdfast.cli import standing

    standing.doctor(door(context), fix=fix, as_json=as_json)


touring.register(app)
memory.register(app)
finding.register(app)
importing.register(app)
modelling.register(app)
costing.register(app)
serving.register(app)
mcp.register(app)
hooks.register(app)


# ── the context ─────────────────────────────────────────────────────────────────────────────

context_commands = typer.Typer(
    help="The context window: what fills it, and what would be done.", no_args_is_help=True
)
app.add_typer(context_commands, name="context")


@context_commands.command("explain")
def context_explain(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="SESSION", help="The session's name.")],
    window: Window = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="Count and check for this model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Marks, projected tokens, what they are spent on, and the plan: what would be pruned,
    flushed and compacted, and why, or why not."""
    from holdfast.cli import context as commands

    commands.explain(door(context), name, window=window, model=model, as_json=as_json)


@app.command()
def replay(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A log of conversations; .gz too; - is stdin.")
    ],
    window: Annotated[
        int, typer.Option(min=2000, metavar="N", help="What the model could read, in tokens.")
    ],
    strategy: Annotated[
        str | None, typer.Option(help="layered, summary or selective. [default: the setting]")
    ] = None,
    for_model: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="NAME",
            help="The model that the log was for: count tokens and check requests as it does.",
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="Who writes the summaries, such as ollama:qwen3; rules: no model."),
    ] = "rules",
    format: Annotated[
        str | None,
        typer.Option(help="Make requests for openai or anthropic. [default: as in the log]"),
    ] = None,
    dump: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write every request, flush and compaction there."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N conversations.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only N conversations, by chance.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Which chance.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes. [default: all cores]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Feed recorded conversations through the engine, turn by turn: what plain trimming would
    have dropped and cost, and what Holdfast does instead."""
    from holdfast.cli import replaying

    replaying.run(
        file,
        replaying.Wish(
            window=window, strategy=strategy, model=model, for_model=for_model, format=format
        ),
        dump=dump,
        limit=limit,
        sample=sample,
        seed=seed,
        jobs=jobs,
        as_json=as_json,
    )


# ── sessions ────────────────────────────────────────────────────────────────────────────────

sessions = typer.Typer(help="Conversations: list, read, check, fork, export.", no_args_is_help=True)
app.add_typer(sessions, name="sessions")

SessionName = Annotated[str, typer.Argument(metavar="SESSION", help="The session's name.")]


@sessions.command("list")
def sessions_list(context: typer.Context, as_json: AsJson = False) -> None:
    """All sessions, the most recently used first."""
    from holdfast.cli import conversations

    conversations.list_all(door(context), as_json=as_json)


@sessions.command("show")
def sessions_show(
    context: typer.Context,
    name: SessionName,
    view: Annotated[bool, typer.Option("--view", help="Only what the model sees now.")] = False,
    last: Annotated[int | None, typer.Option(min=1, help="Only the last N entries.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, not one line each.")] = False,
    as_json: AsJson = False,
) -> None:
    """The entries of a session, the missing ones included."""
    from holdfast.cli import conversations

    conversations.show(door(context), name, view=view, last=last, full=full, as_json=as_json)


@sessions.command("expand")
def sessions_expand(
    context: typer.Context,
    name: SessionName,
    id: Annotated[str, typer.Argument(metavar="ID", help="Of an entry or an artifact.")],
    as_json: AsJson = False,
) -> None:
    """The original behind an id, whole."""
    from holdfast.cli import conversations

    conversations.expand(door(context), name, id, as_json=as_json)


@sessions.command("verify")
def sessions_verify(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[SESSION]...", help="Which. [default: all]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every byte. Exit code 5 if anything is damaged."""
    from holdfast.cli import conversations

    conversations.verify(door(context), names or [], as_json=as_json)


@sessions.command("fork")
def sessions_fork(
    context: typer.Context,
    name: SessionName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The name of the fork.")],
    at: Annotated[
        str | None, typer.Option(metavar="ENTRY", help="Fork after this entry. [default: the last]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A new session that starts as this one was after an entry."""
    from holdfast.cli import conversations

    conversations.fork(door(context), name, new, at=at, as_json=as_json)


@sessions.command("rename")
def sessions_rename(
    context: typer.Context,
    name: SessionName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new name.")],
    as_json: AsJson = False,
) -> None:
    """Give a session another name."""
    from holdfast.cli import conversations

    conversations.rename(door(context), name, new, as_json=as_json)


@sessions.command("delete")
def sessions_delete(
    context: typer.Context,
    name: SessionName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a session for good, with the artifacts only it used."""
    from holdfast.cli import conversations

    conversations.delete(door(context), name, yes=yes, as_json=as_json)


@sessions.command("export")
def sessions_export(
    context: typer.Context,
    name: SessionName,
    format: Annotated[
        str, typer.Option("--format", "-f", help="markdown, openai or anthropic.")
    ] = "markdown",
    view: Annotated[bool, typer.Option("--view", help="Only what the model sees now.")] = False,
    with_secrets: Annotated[
        bool, typer.Option("--with-secrets", help="Credentials as they were said.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file. [default: stdout]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The conversation as Markdown, or as messages for a provider, credentials blacked out."""
    from holdfast.cli import conversations

    conversations.export(
        door(context),
        name,
        format,
        view=view,
        with_secrets=with_secrets,
        output=output,
        as_json=as_json,
    )


# ── config ──────────────────────────────────────────────────────────────────────────────────

config = typer.Typer(
    help="Settings: what they are, and where each came from.", no_args_is_help=True
)
app.add_typer(config, name="config")


@config.command("show")
def config_show(
    context: typer.Context,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not a default.")] = False,
    as_json: AsJson = False,
) -> None:
    """Every setting with its value and its source."""
    from holdfast.cli import settings

    settings.show(door(context), changed=changed, as_json=as_json)


@config.command("explain")
def config_explain(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Such as flush.enabled.")],
    as_json: AsJson = False,
) -> None:
    """What a setting means, what it may be, and where its value came from."""
    from holdfast.cli import settings

    settings.explain(door(context), key, as_json=as_json)


@config.command("path")
def config_path(context: typer.Context, as_json: AsJson = False) -> None:
    """Where the config file is, or would be."""
    from holdfast.cli import settings

    settings.path(door(context), as_json=as_json)


@config.command("import")
def config_import(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An openclaw.json.")],
    write: Annotated[
        bool, typer.Option("--write", help="Write config.toml, if there is none yet.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Translate an OpenClaw config, and say what became of each key."""
    from holdfast.cli import settings

    settings.import_openclaw(door(context), file, write=write, as_json=as_json)
