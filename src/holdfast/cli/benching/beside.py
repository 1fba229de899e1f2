"""What a search is held against: SQLite's own full-text search, and the speed of the memory.

Promise: plain FTS5 is given the same texts and the same questions, with its own tokenizer and
``bm25()``, every word OR-ed (``tests/doors/test_bench_figures.py``).
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

__all__ = ["PlainFts5", "memory_bandwidth"]

_LIMIT: Final = 50
_BLOCK: Final = 256 << 20
_RUNS: Final = 5


class PlainFts5:
    """One table, ``porter`` over ``unicode61``."""

    def __init__(self, file: Path) -> None:
        self._base = sqlite3.connect(file, isolation_level=None)
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.execute(
            "CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')"
        )

    def add(self, texts: Iterable[str]) -> None:
        self._base.execute("BEGIN")
        self._base.executemany("INSERT INTO said(text) VALUES (?)", ((text,) for text in texts))
        self._base.execute("COMMIT")

    def search(self, question: str) -> list[int]:
        words = dict.fromkeys(re.findall(r"\w+", question))
        wanted = " OR ".join(f'"{word}"' for word in words) or '""'
        found = self._base.execute(
            "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?", (wanted, _LIMIT)
        )
        return [row for (row,) in found]

    def times(self, questions: Sequence[str]) -> list[float]:
        """Seconds for each, warm."""
        for question in questions[:20]:
            self.search(question)
        taken = []
        for question in questions:
            begun = time.perf_counter()
            self.search(question)
            taken.append(time.perf_counter() - begun)
        return taken

    def close(self) -> None:
        self._base.close()


@cache
def memory_bandwidth() -> float:
    """Bytes a second that one thread reads: the best of some runs over a large block."""
    block = np.ones(_BLOCK // 8, np.int64)
    best = min(_seconds_to_read(block) for _ in range(_RUNS))
    return _BLOCK / best


def _seconds_to_read(block: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    begun = time.perf_counter()
    np.bitwise_or.reduce(block)
    return time.perf_counter() - begun
