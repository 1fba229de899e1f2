"""Recorded agent runs through small windows: Holdfast and LangChain's middlewares, side by side.

Every side is fed the same messages, makes a request before every answer of the log, and is read
by the same meter (``context_data``), which also reports its count to them as a provider
would: tokens by a real tokenizer, cost with prompt caching,
validity, whether the task text is still there, which identifiers can still be read, and the time
a request takes. No model is asked: LangChain gets a scripted summariser whose summaries list
the most mentioned identifiers, Holdfast works by rules.

python -m benchmarks context      a sample of each set (HOLDFAST_BENCH_ALL=1: all of it)
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.context_data import (
    Count,
    Meter,
    PeerRun,
    Wire,
    cached,
    conversations,
    o200k,
    together,
)
from benchmarks.context_peers import COLUMNS, PEERS, run_peer
from holdfast.context.accounting import Reported
from holdfast.engine.facade import open_engine
from holdfast.engine.turn import About
from holdfast.errors import IrreducibleContext

SETS: Final = (("mini-swe", 16_000, 12), ("joined", 16_000, 3), ("tau-airline", 3_000, 30))
STRATEGIES: Final = ("layered", "summary", "selective")


def measure() -> list[dict[str, Any]]:
    if "HOLDFAST_DATA" not in os.environ:
        print("context: skipped, it needs the recorded conversations (HOLDFAST_DATA)")
        return []
    count = cached(o200k())
    figures: list[dict[str, Any]] = []
    for name, window, some in SETS:
        limit = None if os.environ.get("HOLDFAST_BENCH_ALL") else some
        said = list(conversations(name, limit))
        runs = {
            side: together(_run(side, messages, window, count) for messages in said)
            for side in (*(f"holdfast {each}" for each in STRATEGIES), *PEERS)
        }
        _show(f"{name}: {len(said)} conversations, window {window:,}", runs)
        figures += _figures(name, window, runs)
    return figures


def _run(side: str, messages: Sequence[Wire], window: int, count: Count) -> PeerRun:
    if side.startswith("holdfast "):
        return run_holdfast(side.removeprefix("holdfast "), messages, window, count=count)
    return run_peer(side, list(messages), window, count=count)


def run_holdfast(strategy: str, messages: Sequence[Wire], window: int, *, count: Count) -> PeerRun:
    """Our side: a real session on disk, prepared before every answer."""
    meter = Meter(messages, window=window, count=count, mark=window * 3 // 4)
    home = Path(tempfile.mkdtemp(prefix="holdfast-bench-"))
    config = {"context.window": window, "compaction.strategy": strategy}
    try:
        with open_engine(home, config=config) as engine:
            session = engine.session("bench")
            about: About = {"model": "gpt-4o", "window": window}
            last = ""
            for message in messages:
                if message["role"] == "assistant":
                    begun = time.perf_counter()
                    try:
                        sent = session.prepare(**about).messages
                    except IrreducibleContext:
                        sent = [dict(each) for each in messages]  # shows as over the budget
                    tokens = meter.request(sent, seconds=time.perf_counter() - begun)
                    # As every provider does, and as the peers are told as well.
                    about["reported"] = Reported(tokens=tokens, entry=last)
                last = session.append(message)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return meter.result()


def _show(title: str, runs: dict[str, PeerRun]) -> None:
    print(f"\n{title}, mark at three quarters")
    print(f"{'':24}" + "".join(f"{heading:>13}" for heading in COLUMNS))
    for side, run in runs.items():
        print(f"{side:24}" + "".join(f"{show(run):>13}" for show in COLUMNS.values()))
    print()


def _figures(name: str, window: int, runs: dict[str, PeerRun]) -> list[dict[str, Any]]:
    """What must hold for every strategy, and the ratios against the peer that summarises."""
    where = f"{name} at {window:,}"
    peer = runs["summarization-notrim"]
    paid = peer.cost + peer.summariser_cost
    # A peer whose requests the provider would refuse keeps everything, and none of it is read.
    fitting = next(
        (side for side in ("summarization", "trim") if not runs[side].over_window), "trim"
    )
    rival = runs[fitting].kept
    found: list[dict[str, Any]] = []
    for strategy in STRATEGIES:
        run = runs[f"holdfast {strategy}"]
        refused = run.over_window + run.invalid
        found += [
            _figure(
                f"{where}, {strategy}: requests a provider would refuse", refused, "requests", 0
            ),
            _at_least(f"{where}, {strategy}: requests with the task text", run.task_text_kept, 1.0),
            _figure(
                f"{where}, {strategy}: cost, as a share of LangChain's summarization with a model",
                run.cost / paid if paid else 0.0,
                "×",
                1.0,
            ),
            _at_least(
                f"{where}, {strategy}: identifiers still readable at the end, against {fitting}",
                run.kept,
                round(rival, 3),
            ),
            _figure(f"{where}, {strategy}: time per request, p50", run.p50 * 1000, "ms", 10.0),
        ]
    return [each | {"runs": _raw(runs)} if not at else each for at, each in enumerate(found)]


def _raw(runs: dict[str, PeerRun]) -> dict[str, dict[str, str]]:
    return {
        side: {heading: show(run) for heading, show in COLUMNS.items()}
        for side, run in runs.items()
    }


def _figure(what: str, value: float, unit: str, most: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 3),
        "unit": unit,
        "goal": f"≤ {most:g}",
        "met": value <= most,
    }


def _at_least(what: str, value: float, least: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 3),
        "unit": "of all",
        "goal": f"≥ {least:g}",
        "met": value >= least,
    }
