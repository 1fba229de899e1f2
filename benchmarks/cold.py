"""How long a command takes from nothing: Python's start, what is imported, what is done.

The best of several runs, each a process of its own, because it is the start that is measured and
everything else on the machine only adds to it. ``floor`` is what the same imports take without
us: Python, the command line, numpy, SQLite; for meaning also the library that runs the encoder.

python -m benchmarks.cold     2,000 passages (HOLDFAST_BENCH_PASSAGES: another number)
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final

import holdfast

PASSAGES: Final = 2_000
RUNS: Final = 7
_WORDS: Final = [
    "release",
    "billing",
    "coast",
    "trip",
    "recipe",
    "harbour",
    "office",
    "broken",
    "pump",
    "landlord",
    "weather",
    "meeting",
    "budget",
    "server",
    "deploy",
    "database",
    "index",
    "memory",
    "session",
    "window",
    "model",
    "vector",
    "coffee",
    "train",
    "ticket",
    "doctor",
    "garden",
    "piano",
    "lesson",
    "school",
    "holiday",
    "invoice",
    "contract",
    "phone",
    "battery",
    "camera",
    "novel",
    "kitchen",
    "lamp",
]
_FLOOR: Final = "import typer, sqlite3, numpy"
_GOALS: Final = {"import": 0.08, "help": 0.25, "search": 0.6}


def measure() -> list[dict[str, Any]]:
    python = [sys.executable]
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as home:
        _fill(home, int(os.environ.get("HOLDFAST_BENCH_PASSAGES", PASSAGES)))
        command = [*python, "-m", "holdfast", "--home", home]
        english, chinese = "where is the office?", "办公室在哪里？"
        return [
            _figure("python that does nothing", [*python, "-c", "pass"]),
            _figure("floor: typer, sqlite3 and numpy imported", [*python, "-c", _FLOOR]),
            _figure(
                "floor: the same with onnxruntime and tokenizers",
                [*python, "-c", f"{_FLOOR}, onnxruntime, tokenizers"],
            ),
            _figure("import holdfast", [*python, "-c", "import holdfast"], "import"),
            _figure("holdfast --help", [*python, "-m", "holdfast", "--help"], "help"),
            _figure(
                "holdfast search from cold, by words",
                [*command, "search", english, "--no-vector"],
                "search",
            ),
            _figure(
                "holdfast search from cold, by words and meaning",
                [*command, "search", english],
                "search",
            ),
            _figure(
                "holdfast search from cold, by words and meaning, in Chinese",
                [*command, "search", chinese],
                "search",
            ),
        ]


def _fill(home: str, count: int) -> None:
    chance = random.Random(1)
    with holdfast.open(home, background=False) as engine:
        engine.remember("The office moved to Lisbon.")
        texts = [" ".join(chance.choices(_WORDS, k=14)) + f", {n}." for n in range(count - 1)]
        messages = [{"role": "user", "content": text} for text in texts]
        engine.session("s1").append_all(messages)
        engine.index.sync()


def _figure(what: str, command: Sequence[str], goal: str | None = None) -> dict[str, Any]:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took.append(time.perf_counter() - begun)
    limit = _GOALS.get(goal or "")
    return {
        "what": what,
        "value": round(min(took), 3),
        "unit": "s",
        "goal": "for scale" if limit is None else f"≤ {limit:g}",
        "met": limit is None or min(took) <= limit,
    }


if __name__ == "__main__":
    for figure in measure():
        mark = "✓" if figure["met"] else "✗"
        print(f"{mark} {figure['what']}: {figure['value']:g} s (goal {figure['goal']})")
