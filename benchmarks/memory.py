"""What memory costs: a durable write against a bare atomic replace of the same file in the same
run, a flush into a long day, contradictions among many facts, and redaction.

The physical limit of a write is the two syncs of an atomic replace (file, folder). Ours has five
more: for the way back (what is pending, the journal, the preimage's folder) and for the audit
record. So 2/7 = 0.29 of the bare rate is the most that can be had; the rest is Python.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast
from holdfast.redact import redact
from holdfast.retain import RetainLine

ROUNDS, WRITES, DAY_LINES, FLUSH_LINES = 5, 40, 2_000, 40
WORDS = [
    "billing",
    "gateway",
    "staging",
    "invoice",
    "Lisbon",
    "Porto",
    "Amira",
    "Tomás",
    "deploy",
    "retry",
    "queue",
    "schema",
    "index",
    "cache",
    "token",
    "budget",
    "train",
    "flight",
    "hotel",
    "meeting",
    "sister",
    "garden",
    "museum",
    "recipe",
    "port",
    "timeout",
]


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        home = Path(folder) / "home"
        with holdfast.open(home, config={"memory.git": False}) as engine:
            write = _writes(engine, Path(folder))
            flush = _flushes(engine)
            one = statistics.median(
                _seconds(lambda n=n: engine.remember(f"Hall {n} has {n * 7} windows."))  # type: ignore[misc]
                for n in range(ROUNDS)
            )
            conflicts = statistics.median(_seconds(engine.facts.conflicts) for _ in range(ROUNDS))
            listing = statistics.median(_seconds(engine.facts.list) for _ in range(ROUNDS))
    speed = _redaction()
    lines = f"{DAY_LINES:,} memories"
    return [
        _figure("durable note, of a bare atomic replace", write, "×", write >= 0.1, "≥ 0.1"),
        _figure(f"remember into a day of {lines}", one * 1000, "ms", one <= 0.1, "≤ 100"),
        _figure(
            f"flush of {FLUSH_LINES} lines into a day of {lines}",
            flush * 1000,
            "ms",
            flush <= 0.15,
            "≤ 150",
        ),
        _figure(
            f"all contradictions among {lines}", conflicts * 1000, "ms", conflicts <= 1, "≤ 1000"
        ),
        _figure(f"facts list over {lines}", listing * 1000, "ms", listing <= 0.1, "≤ 100"),
        _figure("redaction of ordinary text", speed, "MB/s", speed >= 5, "≥ 5"),
    ]


def _writes(engine: holdfast.Engine, folder: Path) -> float:
    """The rate of a note as a share of writing, syncing and renaming the same bytes."""
    numbers = iter(range(1_000_000))
    engine.remember("The first memory makes the files.")
    ratios = []
    for _ in range(ROUNDS):
        day = engine.home / "agents" / engine.agent / "memory" / f"{engine.today()}.md"
        data = day.read_bytes()
        bare = _rate(lambda data=data: _replace(folder, data))  # type: ignore[misc]
        own = _rate(lambda: _note(engine, f"Room {next(numbers)} is {next(numbers)} m wide."))
        ratios.append(own / bare)
    return statistics.median(ratios)


def _note(engine: holdfast.Engine, text: str) -> None:
    engine._rooms.memory.notes.write([RetainLine(kind="W", text=text)])


def _replace(folder: Path, data: bytes) -> None:
    file = os.open(folder / "new", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.write(file, data)
    os.fsync(file)
    os.close(file)
    os.rename(folder / "new", folder / "bare")
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _flushes(engine: holdfast.Engine) -> float:
    chance = random.Random(7)
    memory = engine._rooms.memory
    for _ in range(0, DAY_LINES, 200):
        memory.notes.write([_line(chance) for _ in range(200)], what="fill")
    lines = [[_line(chance) for _ in range(FLUSH_LINES)] for _ in range(ROUNDS + 1)]
    memory.notes.write(lines.pop(), what="flush")
    return statistics.median(
        _seconds(lambda each=each: memory.notes.write(each, what="flush"))  # type: ignore[misc]
        for each in lines
    )


def _line(chance: random.Random) -> RetainLine:
    words = " ".join(chance.sample(WORDS, 6))
    text = f"The {words} took {chance.randrange(10**6)} minutes."
    return RetainLine(kind="W", text=text, entity=chance.choice(WORDS))


def _redaction() -> float:
    chance = random.Random(3)
    text = " ".join(chance.choice(WORDS) for _ in range(200_000))
    seconds = statistics.median(_seconds(lambda: redact(text)) for _ in range(ROUNDS))
    return len(text) / seconds / 1e6


def _rate(work: Callable[[], object]) -> float:
    return WRITES / _seconds(lambda: [work() for _ in range(WRITES)])


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _figure(what: str, value: float, unit: str, met: bool, goal: str) -> dict[str, Any]:
    return {"what": what, "value": round(value, 3), "unit": unit, "goal": goal, "met": met}
