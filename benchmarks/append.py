"""How near a durable append comes to the disk: the rate of ``Session.append`` against the rate
of a bare ``write`` + ``fsync`` of the same lines, taken in turns in one run.

The physical limit of one writer is one sync per append, so 1.0 cannot be exceeded by much;
with several threads the limit is the disk's bandwidth, because they share syncs.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holdfast

ROUNDS, APPENDS, THREADS = 7, 300, 16
TEXT = (
    "The deploy of billing failed at 14:05; the port is 5433, not 5432. 计费服务改到端口五四三三。 "
    * 3
)


def measure() -> list[dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd()) as folder,
        holdfast.open(Path(folder) / "home") as engine,
    ):
        session = engine.session("bench")
        message = {"role": "user", "content": TEXT}
        session.append(message)
        size = len((Path(folder) / "home/agents/main/sessions/bench.jsonl").read_bytes()) // 2
        raw_file = os.open(Path(folder) / "raw", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        line = b"x" * (size - 1) + b"\n"

        def raw() -> None:
            os.write(raw_file, line)
            os.fsync(raw_file)

        ratios, raw_rates, own_rates = [], [], []
        for _ in range(ROUNDS):
            raw_rates.append(_rate(raw))
            own_rates.append(_rate(lambda: session.append(message)))
            ratios.append(own_rates[-1] / raw_rates[-1])
        shared = _rate_of_threads(lambda: session.append(message)) / statistics.median(raw_rates)
        grown = _rate(lambda: session.append(message)) / statistics.median(own_rates)
        os.close(raw_file)
    ratio = statistics.median(ratios)
    return [
        _figure(
            "durable append, one writer, of raw write+fsync", ratio, "×", ratio >= 0.8, "≥ 0.8"
        ),
        _figure("raw write+fsync", statistics.median(raw_rates), "per second", True, "for scale"),
        _figure(
            f"durable append, {THREADS} threads, of raw write+fsync",
            shared,
            "×",
            shared >= 2,
            "≥ 2",
        ),
        _figure(
            "rate after all of the above, of the rate before",
            grown,
            "×",
            grown >= 0.7,
            "≥ 0.7: flat in history",
        ),
    ]


def _rate(append: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(APPENDS):
        append()
    return APPENDS / (time.perf_counter() - start)


def _rate_of_threads(append: Callable[[], object]) -> float:
    def work() -> None:
        for _ in range(APPENDS):
            append()

    workers = [threading.Thread(target=work) for _ in range(THREADS)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return APPENDS * THREADS / (time.perf_counter() - start)


def _figure(what: str, value: float, unit: str, met: bool, goal: str) -> dict[str, Any]:
    return {"what": what, "value": round(value, 3), "unit": unit, "goal": goal, "met": met}
