"""``make bench``: every benchmark, its figures on the screen and in ``benchmarks/results``.

python -m benchmarks              all of them
python -m benchmarks append       one
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import (
    append,
    cold,
    context,
    extraction,
    importing,
    memory,
    opening,
    planning,
    recall,
    search,
    serving,
    survival,
    turn,
)

RESULTS = Path(__file__).parent / "results"
ALL = {
    "append": append.measure,
    "open": opening.measure,
    "plan": planning.measure,
    "context": context.measure,
    "extraction": extraction.measure,
    "memory": memory.measure,
    "search": search.measure,
    "recall": recall.measure,
    "survival": survival.measure,
    "turn": turn.measure,
    "cold": cold.measure,
    "import": importing.measure,
    "serve": serving.measure,
}


def main() -> None:
    wanted = sys.argv[1:] or list(ALL)
    is_met = True
    for name in wanted:
        if name not in ALL:
            sys.exit(f"There is no benchmark {name!r}; there are: {', '.join(ALL)}.")
        print(f"{name}: measuring …", file=sys.stderr)
        figures = ALL[name]()
        for figure in figures:
            mark = "✓" if figure["met"] else "✗"
            measured = f"{figure['value']:g} {figure['unit']}"
            print(f"{mark} {figure['what']}: {measured} (goal {figure['goal']})")
            is_met = is_met and bool(figure["met"])
        RESULTS.mkdir(exist_ok=True)
        result = {
            "benchmark": name,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
            "python": platform.python_version(),
            "figures": figures,
        }
        text = json.dumps(result, ensure_ascii=False, indent=2) + "\n"
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
