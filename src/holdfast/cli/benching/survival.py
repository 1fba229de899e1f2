"""``holdfast bench survival``: which facts of a long conversation outlive its compactions.

    reachable        found in a new session by what it starts with and one search of 2,000 tokens
    memory_only      by one search of memory alone: only what the flush wrote
    memory_content   the same, and the lines found hold 60 % of the fact's words in its sources
    in_view          by what the new session starts with, without a search
    written_share    characters written, as they are read, by characters said
    duplicates       lines whose text another line holds
    grounded         lines whose every word and number stands in the turns they cite
    tokens_spent     by models, for flushes and summaries

Promise: one line for each corpus and the summary last; every fact counts the same
(``tests/doors/test_bench_survival.py``).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import IO, Final, cast, get_args

from holdfast.cli.benching.corpora import Corpus, corpus_of, items
from holdfast.cli.benching.survival_judging import Fact, Survived, facts_of, figures
from holdfast.cli.benching.survival_replay import RULES, Models, Plan, Strategy, survive
from holdfast.cli.render import json_line, note, table
from holdfast.errors import ModelUnavailable, UsageError, did_you_mean
from holdfast.models.registry import Registry
from holdfast.types import Json

__all__ = ["Plan", "measure", "read", "run", "strategy", "summary"]

_COLUMNS: Final = (
    "reachable",
    "memory_only",
    "memory_content",
    "in_view",
    "written_share",
    "duplicates",
    "grounded",
    "tokens_spent",
)


def strategy(name: str) -> Strategy:
    """The strategy of that name."""
    if name not in get_args(Strategy):
        near = did_you_mean(name, get_args(Strategy))
        known = ", ".join(get_args(Strategy))
        raise UsageError(f"There is no strategy {name!r}.", hint=near or f"There are: {known}.")
    return cast(Strategy, name)


def read(file: Path, *, limit: int | None = None) -> Iterator[tuple[Corpus, tuple[Fact, ...]]]:
    """The corpora of a file with their facts."""
    for where, item in islice(items(file), limit):
        corpus = corpus_of({"queries": [], **item}, where)
        yield corpus, facts_of(item, corpus, where)


def measure(
    file: Path, plan: Plan, *, corpora: int | None = None, models: Models | None = None
) -> Iterator[Survived]:
    """What each corpus of the file keeps, one after the other."""
    for corpus, facts in read(file, limit=corpora):
        yield survive(corpus, facts, plan, models=models)


def summary(done: Sequence[Survived], plan: Plan) -> dict[str, Json]:
    """Over all facts of all corpora, and how they were replayed."""
    return {
        "summary": True,
        "corpora": len(done),
        "strategy": plan.strategy,
        "window": plan.window,
        "model": plan.model,
        "share": plan.share,
        "search": "hybrid" if plan.vectors else "keyword",
        **figures(done),
    }


def run(
    file: Path,
    plan: Plan,
    *,
    corpora: int | None = None,
    dump: Path | None = None,
    as_json: bool = False,
    models: Models | None = None,
) -> None:
    """One line for each corpus, or the first ``corpora`` of them, and the summary last."""
    if plan.model != RULES:
        models = models or Registry.at(None, os.environ)
        try:
            models(plan.model)
        except ModelUnavailable as error:
            raise UsageError(
                f"No model {plan.model!r} can be asked: {error.message}", hint=error.hint
            ) from error
    done: list[Survived] = []
    with dump.open("w", encoding="utf-8") if dump else nullcontext() as out:
        for each in measure(file, plan, corpora=corpora, models=models):
            done.append(each)
            _write(each, out)
            if as_json:
                json_line(each.to_json())
                sys.stdout.flush()
            elif sys.stderr.isatty():
                note(f"{each.corpus.id}: {len(each.asked)} facts")
    if not done:
        raise UsageError(f"There is no corpus in {str(file)!r}.")
    if as_json:
        json_line(summary(done, plan))
    else:
        _page(done, plan)


def _write(survived: Survived, out: IO[str] | None) -> None:
    if out is not None:
        for asked in survived.asked:
            line = asked.to_json(survived.corpus.id)
            out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def _page(done: Sequence[Survived], plan: Plan) -> None:
    lines: list[Mapping[str, Json]] = [each.to_json() for each in done]
    whole = summary(done, plan)
    columns = [*_COLUMNS, *(["recalled"] if "recalled" in whole else [])]
    rows = [[str(line["corpus"]), str(line["facts"]), *_cells(line, columns)] for line in lines]
    total = ["all", str(whole["facts"]), *_cells(whole, columns)]
    table(["corpus", "facts", *columns], [*rows, total])


def _cells(line: Mapping[str, Json], columns: Sequence[str]) -> list[str]:
    values = (line.get(column) for column in columns)
    return [
        "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
        for value in values
    ]
