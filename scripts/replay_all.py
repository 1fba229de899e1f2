"""``make replay``: every public transcript through small windows, with each strategy.

Each row is one call of ``holdfast replay --json``; the sums of all rows are kept in
``benchmarks/results/replay.json``. Exit code 1 if any promise was not kept in any conversation.

python -m scripts.replay_all [--sample N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

SETS: Final = {
    "mini-swe": (8_000, 16_000, 32_000),
    "joined": (8_000, 16_000, 32_000),
    "tau-airline": (3_000, 4_000),
}
STRATEGIES: Final = ("layered", "summary", "selective")
RESULTS: Final = Path(__file__).parent.parent / "benchmarks" / "results" / "replay.json"
COLUMNS: Final = (
    "conversations",
    "turns",
    "prunes",
    "flushes",
    "compactions",
    "max_view_tokens",
    "invalid_views",
    "over_budget",
    "uncovered_drops",
    "task_text_kept",
    "expandable",
    "tokens_sent",
    "tokens_full",
    "cost_sent",
    "cost_full",
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay the public transcripts.")
    parser.add_argument("--sample", type=int, help="only so many of each set, by chance")
    sample = parser.parse_args().sample
    if "HOLDFAST_DATA" not in os.environ:
        print("replay: skipped, it needs the public transcripts (HOLDFAST_DATA)", file=sys.stderr)
        return
    rows = []
    for name, windows in SETS.items():
        for window in windows:
            for strategy in STRATEGIES:
                rows.append(_row(name, window, strategy, sample))
                _show(rows[-1])
    if sample is None:
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if all(row["kept"] for row in rows) else 1)


def _row(name: str, window: int, strategy: str, sample: int | None) -> dict[str, Any]:
    file = Path(os.environ["HOLDFAST_DATA"]) / "transcripts" / f"{name}.jsonl.gz"
    wish = ["--window", str(window), "--strategy", strategy]
    few = [] if sample is None else ["--sample", str(sample), "--seed", str(os.getpid())]
    command = [sys.executable, "-m", "holdfast", "replay", str(file), *wish, *few, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines or not lines[-1].get("summary"):
        sys.exit(f"holdfast replay of {name} ended early, with exit code {done.returncode}")
    for line in lines:
        for problem in line.get("problems", ()):
            print(f"  ! {line['id']}: {problem}", file=sys.stderr)
    sums = lines[-1]
    figures = {column: sums.get(column, 0) for column in COLUMNS}
    has_problems = any("problems" in line for line in lines[:-1])
    kept = done.returncode == 0 and not has_problems
    return {"set": name, "window": window, "strategy": strategy, "kept": kept, **figures}


def _show(row: dict[str, Any]) -> None:
    mark = "✓" if row["kept"] else "✗"
    print(
        f"{mark} {row['set']:<12} {row['window']:>6,} {row['strategy']:<10}"
        f" {row['conversations']:>4} conversations {row['turns']:>6,} requests"
        f" {row['prunes']:>5,} prunes {row['compactions']:>5,} compactions,"
        f" {row['invalid_views']} invalid, {row['over_budget']} over,"
        f" {row['uncovered_drops']} unsaved, task kept in {row['task_text_kept']},"
        f" {row['tokens_sent'] / max(1, row['tokens_full']):.2f} of the tokens,"
        f" {row['cost_sent'] / max(1e-9, row['cost_full']):.2f} of the cost",
        flush=True,
    )


if __name__ == "__main__":
    main()
