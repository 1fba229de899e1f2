"""How long a 100 MB transcript takes to open, show and append to, and how much memory.

Each opening is a process of its own, so that nothing is warm but the file system's cache.
The physical limit with saved counters is a few reads of the tail; without them it is reading
and checking 100 MB once (``read+crc32`` in the figures).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import holdfast

SIZE = 100_000_000
PROGRAM = """
import json, resource, sys, time
import holdfast
start = time.perf_counter()
with holdfast.open(sys.argv[1]) as engine:
    session = engine.session("big")
    opened = time.perf_counter()
    shown = len(session.view())
    viewed = time.perf_counter()
    session.append({"role": "user", "content": "one more"})
    appended = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({
    "open_s": opened - start, "view_s": viewed - opened, "append_s": appended - viewed,
    "messages": shown, "peak_mb": peak / (1024 if sys.platform != "darwin" else 1 << 20),
}))
"""


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        home = Path(folder)
        file, state = _make(home)
        warm = _open(home)
        state.unlink()
        cold = _open(home)
        data = file.read_bytes()
        start = time.perf_counter()
        zlib.crc32(data)
        limit = time.perf_counter() - start
    return [
        _figure("100 MB, saved counters: open", warm["open_s"], "s", 1.0),
        _figure("100 MB, saved counters: view after the last compaction", warm["view_s"], "s", 1.0),
        _figure("100 MB, saved counters: append", warm["append_s"], "s", 0.1),
        _figure("100 MB, saved counters: peak memory of the process", warm["peak_mb"], "MB", 150),
        _figure("100 MB, counters lost: open", cold["open_s"], "s", 1.0),
        _figure("100 MB, counters lost: peak memory of the process", cold["peak_mb"], "MB", 150),
        {
            "what": "100 MB crc32 in memory",
            "value": round(limit, 4),
            "unit": "s",
            "goal": "for scale",
            "met": True,
        },
    ]


def _make(home: Path) -> tuple[Path, Path]:
    """A transcript of 100 MB with a compaction near its end, as a long-lived one has."""
    with holdfast.open(home) as engine:
        session = engine.session("big")
        text = "what was said, 说过的话, with some length to it; " * 12
        size = 0
        while size < SIZE:
            ids = session.append_all([{"role": "user", "content": text}] * 2000)
            size = session.state()["end"]
        summary = {"summary": [{"text": "a summary", "sources": ids[:5]}], "first_kept": ids[-50]}
        session.append_entry("compaction", summary)
    folder = home / "agents" / "main" / "sessions"
    return folder / "big.jsonl", folder / "big.state.json"


def _open(home: Path) -> dict[str, float]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def _figure(what: str, value: float, unit: str, goal: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 4),
        "unit": unit,
        "goal": f"≤ {goal:g} {unit}",
        "met": value <= goal,
    }
