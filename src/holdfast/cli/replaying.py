"""``holdfast replay``: recorded conversations through the engine, and one page about it.

Promise: with ``--json`` one object per conversation and the sums last; on a terminal a page a
person can read in a minute, every figure of which was counted in this run
(``tests/doors/test_cli_replay.py``).
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Final, cast, get_args

import typer

from holdfast.cli.render import json_line
from holdfast.cli.replay_page import page
from holdfast.config.keys import Strategy
from holdfast.context.assembly import WireFormat
from holdfast.engine.replay import Replayed, replay, total
from holdfast.errors import ModelUnavailable, NotFound, UsageError, did_you_mean
from holdfast.formats.logs import Recorded, read_logs
from holdfast.models.registry import Registry
from holdfast.ports import Model
from holdfast.types import Json

__all__ = ["Wish", "run"]

RULES: Final = "rules"
"""What ``--model`` says for: no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How the conversations are to be replayed."""

    window: int
    strategy: str | None = None
    model: str = RULES
    """Who writes the summaries."""
    for_model: str | None = None
    """The model that the log was for; tokens are counted as it counts them."""
    format: str | None = None

    def check(self) -> None:
        _one_of("strategy", self.strategy, get_args(Strategy))
        _one_of("format", self.format, get_args(WireFormat))
        try:
            self.summariser()
        except ModelUnavailable as error:
            raise UsageError(
                f"There is no model {self.model!r} to write summaries: {error.message}",
                hint=f"{error.hint} (--model rules needs none; --for names the model that the log "
                "was for.)",
            ) from error

    def summariser(self) -> Model | None:
        """Who writes the summaries; None: rules."""
        return None if self.model == RULES else Registry.at(None, os.environ)(self.model)


def _one_of(what: str, given: str | None, known: tuple[str, ...]) -> None:
    if given is not None and given not in known:
        hint = did_you_mean(given, known) or f"There are: {', '.join(known)}."
        raise UsageError(f"There is no {what} {given!r}.", hint=hint)


def run(
    file: Path,
    wish: Wish,
    *,
    dump: Path | None,
    limit: int | None,
    sample: int | None,
    seed: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    wish.check()
    results: list[Replayed] = []
    with ExitStack() as stack:
        out = stack.enter_context(dump.open("w", encoding="utf-8")) if dump else None
        recorded: Iterable[Recorded] = stack.enter_context(_conversations(file))
        if sample is not None:
            recorded = _sampled(recorded, sample, seed)
        recorded = islice(recorded, limit) if limit is not None else recorded
        for result, lines in stack.enter_context(
            closing(_replayed(recorded, wish, with_dump=out is not None, jobs=jobs))
        ):
            results.append(result)
            if out is not None:
                out.writelines(lines)
            if as_json:
                json_line(result.to_json())
                sys.stdout.flush()
            elif sys.stderr.isatty():
                _show_progress(len(results))
    if as_json:
        json_line(total(results))
    else:
        if sys.stderr.isatty():
            _show_progress(None)
        page(results, file.name if str(file) != "-" else "standard input", wish.window)
    if any(_is_broken(result) for result in results):
        raise typer.Exit(1)


def _is_broken(result: Replayed) -> bool:
    """Whether a promise was not kept; ``problems`` says which."""
    counts = result.over_budget + result.invalid_views + result.uncovered_drops
    is_lost = not result.task_text_kept or not result.expandable
    return counts > 0 or is_lost or result.receipts_verified < result.flushes


def _show_progress(done: int | None) -> None:
    many = "conversation" if done == 1 else "conversations"
    text = "" if done is None else f"{done} {many} replayed ..."
    sys.stderr.write(f"\r\x1b[2K{text}")
    sys.stderr.flush()


# ── reading ─────────────────────────────────────────────────────────────────────────────────


_WHAT_A_LOG_IS = (
    "Name a log of conversations: JSON lines with messages, an OpenAI or Anthropic request, or a "
    "Claude Code session."
)


@contextmanager
def _conversations(file: Path) -> Iterator[Iterator[Recorded]]:
    if str(file) == "-":
        yield read_logs(sys.stdin, name="stdin")
        return
    if file.is_dir():
        raise UsageError(f"{str(file)!r} is a folder, not a log.", hint=_WHAT_A_LOG_IS)
    if not file.exists():
        raise NotFound(f"There is no file {str(file)!r}.", hint=_WHAT_A_LOG_IS)
    if not file.is_file():
        raise UsageError(f"{str(file)!r} is not a file; pipe it in: -", hint=_WHAT_A_LOG_IS)
    with _opened(file) as lines:
        yield read_logs(_told(lines, file), name=file.name.removesuffix(".gz").rsplit(".", 1)[0])


def _opened(file: Path) -> IO[str]:
    with file.open("rb") as raw:
        is_gzip = raw.read(2) == b"\x1f\x8b"
    if is_gzip:
        return cast("IO[str]", gzip.open(file, "rt", encoding="utf-8", errors="replace"))
    return file.open(encoding="utf-8", errors="replace")


def _told(lines: Iterable[str], file: Path) -> Iterator[str]:
    try:
        yield from lines
    except (OSError, EOFError) as error:
        raise UsageError(f"{str(file)!r} cannot be read to its end: {error}.") from error


def _sampled(recorded: Iterable[Recorded], count: int, seed: int) -> list[Recorded]:
    """``count`` conversations by chance, in the order of the file, never all held at once."""
    chance = random.Random(seed)
    held: list[tuple[int, Recorded]] = []
    for index, each in enumerate(recorded):
        if len(held) < count:
            held.append((index, each))
        elif (place := chance.randrange(index + 1)) < count:
            held[place] = (index, each)
    return [each for _, each in sorted(held, key=lambda pair: pair[0])]


# ── working ─────────────────────────────────────────────────────────────────────────────────


def _replayed(
    recorded: Iterable[Recorded], wish: Wish, *, with_dump: bool, jobs: int | None
) -> Generator[tuple[Replayed, list[str]], None, None]:
    """The results in the order of the conversations."""
    waiting = iter(recorded)
    first = list(islice(waiting, 2))
    workers = jobs or (1 if wish.model != RULES else _cores())  # one model is loaded once
    if len(first) < 2 or workers == 1:
        for each in (*first, *waiting):
            yield _replay_one(each, wish, with_dump)
        return
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        running: list[Future[tuple[Replayed, list[str]]]] = []
        for each in (*first, *waiting):
            running.append(pool.submit(_replay_one, each, wish, with_dump))
            if len(running) > workers * 2:
                yield running.pop(0).result()
        for future in running:
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _replay_one(recorded: Recorded, wish: Wish, with_dump: bool) -> tuple[Replayed, list[str]]:
    lines: list[str] = []

    def keep(told: dict[str, Json]) -> None:
        lines.append(json.dumps(told, separators=(",", ":")) + "\n")

    home = Path(tempfile.mkdtemp(prefix="holdfast-replay-"))
    try:
        result = replay(
            recorded,
            home,
            window=wish.window,
            strategy=wish.strategy,
            format=cast("WireFormat | None", wish.format),
            model=wish.summariser(),
            for_model=wish.for_model,
            dump=keep if with_dump else None,
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return result, lines
