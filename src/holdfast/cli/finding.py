"""The commands that find things again, and their options. What they do is in what they load.

Nothing here imports an engine before a command runs (``tests/contracts/test_imports.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import AsJson, door

__all__ = ["register"]

Day = Annotated[str | None, typer.Option(metavar="DAY", help="2026-03-31, or with a time.")]


def register(app: typer.Typer) -> None:
    """Put the commands where people look for them."""
    app.command()(search)
    app.add_typer(index, name="index")
    app.add_typer(bench, name="bench")


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for; - is stdin.")],
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", min=1, max=200, help="How many. [default: search.max_results]"),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="W|B|O|S", help="Only memories of this kind.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what is about this.")
    ] = None,
    since: Day = None,
    until: Day = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Only what was known then, and held then."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="SOURCE", help="memory, daily, topic, bank, task, session or extra."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this conversation.")
    ] = None,
    chat_type: Annotated[
        str | None,
        typer.Option(help="In which kind of chat it is asked: direct, group or channel."),
    ] = None,
    no_vector: Annotated[
        bool, typer.Option("--no-vector", help="By words alone, not by meaning.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show how each passage got its place.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find passages in memory and earlier conversations, in English and Chinese."""
    from holdfast.cli import searching

    searching.search(
        door(context),
        query,
        limit=k,
        kind=kind and kind.upper(),
        entity=entity,
        since=since,
        until=until,
        as_of=as_of,
        source=source,
        session=session,
        chat_type=chat_type,
        vectors=not no_vector,
        explain=explain,
        as_json=as_json,
    )


# ── the index ───────────────────────────────────────────────────────────────────────────────

index = typer.Typer(
    help="The search index: derived from the files, and safe to delete.", no_args_is_help=True
)


@index.command("status")
def index_status(context: typer.Context, as_json: AsJson = False) -> None:
    """What is indexed, what waits, and which encoders there are."""
    from holdfast.cli import indexing

    indexing.status(door(context), as_json=as_json)


@index.command("sync")
def index_sync(context: typer.Context, as_json: AsJson = False) -> None:
    """Index everything that changed, and embed what waits. Can be stopped at any time."""
    from holdfast.cli import indexing

    indexing.sync(door(context), as_json=as_json)


@index.command("rebuild")
def index_rebuild(context: typer.Context, as_json: AsJson = False) -> None:
    """Build the index anew beside the old one, then put it in its place."""
    from holdfast.cli import indexing

    indexing.rebuild(door(context), as_json=as_json)


@index.command("verify")
def index_verify(context: typer.Context, as_json: AsJson = False) -> None:
    """Compare the index with the files; exit 1 if they differ."""
    from holdfast.cli import indexing

    indexing.verify(door(context), as_json=as_json)


# ── benchmarks ──────────────────────────────────────────────────────────────────────────────

bench = typer.Typer(help="Measure search and memory on this machine.", no_args_is_help=True)


@bench.command("retrieval")
def bench_retrieval(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Corpora as JSON lines (.gz too), or LongMemEval."),
    ],
    no_vector: Annotated[bool, typer.Option("--no-vector", help="By words alone.")] = False,
    dump: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write the ranking of each query.")
    ] = None,
    joined: Annotated[
        bool, typer.Option("--joined", help="All corpora together in one store.")
    ] = False,
    corpora: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N corpora.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """How much of what is asked for is found: recall over turns, by category."""
    from holdfast.cli.benching import retrieval

    retrieval.run(
        file,
        vectors=not no_vector,
        dump=dump,
        joined=joined,
        corpora=corpora,
        as_json=as_json,
    )


@bench.command("survival")
def bench_survival(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Corpora with facts, as JSON lines (.gz too)."),
    ],
    strategy: Annotated[
        str, typer.Option(metavar="S", help="layered, summary or selective.")
    ] = "layered",
    window: Annotated[int, typer.Option(min=2_000, metavar="N", help="In tokens.")] = 8_000,
    compactions: Annotated[
        int, typer.Option(min=1, metavar="N", help="The least there are to be.")
    ] = 5,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Who writes memory: rules, or a model.")
    ] = "rules",
    share: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="How much rules may write (flush.share).")
    ] = 0.35,
    recall: Annotated[
        bool, typer.Option("--recall", help="Also: what is recalled unasked for each fact.")
    ] = False,
    no_vector: Annotated[bool, typer.Option("--no-vector", help="By words alone.")] = False,
    dump: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write what was found for each fact.")
    ] = None,
    corpora: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N corpora.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which facts of a conversation outlive its compactions, and where they are found then."""
    from holdfast.cli.benching import survival

    plan = survival.Plan(
        strategy=survival.strategy(strategy),
        window=window,
        compactions=compactions,
        model=model,
        share=share,
        recall=recall,
        vectors=not no_vector,
    )
    survival.run(file, plan, corpora=corpora, dump=dump, as_json=as_json)


@bench.command("search")
def bench_search(
    context: typer.Context,
    chunks: Annotated[
        str, typer.Option(metavar="N,N…", help="Sizes of the stores to measure.")
    ] = "10000,100000",
    queries: Annotated[int, typer.Option(min=10, help="How many queries.")] = 200,
    as_json: AsJson = False,
) -> None:
    """How long a search takes in stores of different sizes, beside plain FTS5."""
    from holdfast.cli.benching import speed

    speed.run(chunks=chunks, queries=queries, as_json=as_json)
