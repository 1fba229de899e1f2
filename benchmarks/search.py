"""How much is found again, and how fast: the public questions, and a made-up past of any size.

Retrieval runs where the public data sets are (HOLDFAST_DATA); by their owners' wish nothing of
them is kept here but figures. Every set is measured with default settings, by words alone, and
with all its corpora in one home.

python -m benchmarks search       10,000 chunks (HOLDFAST_BENCH_ALL=1: 100,000 and 1,000,000 too)
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import holdfast
from benchmarks import cold
from holdfast.cli.benching.retrieval import Measured, read, summary
from holdfast.cli.benching.retrieval import measure as measure_retrieval
from holdfast.cli.benching.speed import measure as measure_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a set must reach, and what it should."""

    name: str
    least: float
    aim: float
    measure: str = "r@10"
    category: str | None = None
    vectors: bool = True


GOALS: Final = (
    Goal(name="locomo", least=0.83, aim=0.88),
    Goal(name="locomo", least=0.57, aim=0.66, category="multi-hop"),
    Goal(name="locomo", least=0.78, aim=0.82, vectors=False),
    Goal(name="memdaily-zh", least=0.81, aim=0.86),
    Goal(name="madial-en", least=0.66, aim=0.75),
    Goal(name="madial-zh", least=0.55, aim=0.68),
)
SPEED: Final = {10_000: 2.0, 100_000: 10.0, 1_000_000: 50.0}
QUERIES: Final = 200


INGESTED: Final = 400


def measure() -> list[dict[str, Any]]:
    figures = [*_speed(), _ingest(), *cold.measure()]
    if "HOLDFAST_DATA" not in os.environ:
        print("retrieval: skipped, it needs the public questions (HOLDFAST_DATA)")
        return figures
    return [*figures, *_retrieval(Path(os.environ["HOLDFAST_DATA"]) / "retrieval")]


# ── retrieval ───────────────────────────────────────────────────────────────────────────────


def _retrieval(folder: Path) -> list[dict[str, Any]]:
    runs: dict[tuple[str, bool], list[Measured]] = {}
    figures = []
    for goal in GOALS:
        if (goal.name, goal.vectors) not in runs:
            corpora = read(folder / f"{goal.name}.jsonl.gz")
            runs[goal.name, goal.vectors] = list(measure_retrieval(corpora, vectors=goal.vectors))
        figures.append(_found(goal, runs[goal.name, goal.vectors]))
    figures += [_joined(folder, name) for name in ("locomo", "memdaily-zh")]
    lines = [
        {"set": name, "vectors": vectors, **each.to_json()}
        for (name, vectors), run in runs.items()
        for each in run
    ]
    return [figures[0] | {"runs": lines}, *figures[1:]]


def _found(goal: Goal, run: Sequence[Measured]) -> dict[str, Any]:
    whole = summary(run)
    value = whole[goal.measure] if goal.category is None else whole["by_category"][goal.category]
    what = f"{goal.name}{f', {goal.category}' if goal.category else ''}: recall@10"
    return {
        "what": what if goal.vectors else f"{what}, words alone",
        "value": value,
        "unit": f"of the gold turns of {whole['queries']:,} questions",
        "goal": f"≥ {goal.least:g}, aim {goal.aim:g}",
        "met": value >= goal.least,
        "summary": whole,
    }


def _joined(folder: Path, name: str) -> dict[str, Any]:
    """All corpora in one home: for scale, since turns of others may answer as well."""
    whole = summary(list(measure_retrieval(read(folder / f"{name}.jsonl.gz"), joined=True)))
    return {
        "what": f"{name}: recall@10, all {whole['corpora']} corpora in one home",
        "value": whole["r@10"],
        "unit": f"of the gold turns of {whole['queries']:,} questions",
        "goal": "for scale",
        "met": True,
        "summary": whole,
    }


# ── speed ───────────────────────────────────────────────────────────────────────────────────


def _speed() -> list[dict[str, Any]]:
    sizes = SPEED if os.environ.get("HOLDFAST_BENCH_ALL") else list(SPEED)[:1]
    figures = []
    for chunks in sizes:
        found = measure_speed(chunks, queries=QUERIES)
        most = SPEED[chunks]
        for kind in ("keyword", "hybrid"):
            value = found[f"{kind}_p50_ms"]
            figures.append(
                {
                    "what": f"{kind} search among {chunks:,} chunks, p50, warm",
                    "value": value,
                    "unit": "ms",
                    "goal": f"≤ {most:g}",
                    "met": value <= most,
                }
            )
        figures[-1]["raw"] = found
    return figures


def _ingest() -> dict[str, Any]:
    """Appending, cutting, indexing and encoding, against the encoders on the same texts alone."""
    words = [f"{topic} {verb} {place}" for topic in _TOPICS for verb in _VERBS for place in _PLACES]
    texts = [f"{words[n % len(words)]}, note {n}." for n in range(INGESTED)]
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home,
        holdfast.open(home, background=False) as engine,
    ):
        encoders = engine.index.embedders
        engine.session("s0").append({"role": "user", "content": "Everything is loaded by now."})
        engine.index.sync()
        begun = time.perf_counter()
        for encoder in encoders:
            for start in range(0, INGESTED, 64):
                encoder.embed(texts[start : start + 64], tokens=encoder.has_tokens)
        raw = time.perf_counter() - begun
        begun = time.perf_counter()
        engine.session("s1").append_all([{"role": "user", "content": text} for text in texts])
        engine.index.sync()
        ours = time.perf_counter() - begun
    return {
        "what": "ingest with meaning, as a share of the encoders alone on the same texts",
        "value": round(raw / ours, 2),
        "unit": f"({INGESTED / ours:.0f} turns a second by {len(encoders)} encoders, one core)",
        "goal": "≥ 0.9",
        "met": raw / ours >= 0.9,
    }


_TOPICS: Final = (
    "the release of billing",
    "our trip to the coast",
    "grandmother's recipe",
    "预算会议",
)
_VERBS: Final = ("was moved because of", "is planned together with", "reminds me of", "取决于")
_PLACES: Final = ("the harbour office in Porto", "a broken pump", "the new landlord", "下周的天气")
