"""What the rules extractor keeps of public conversations, at a quarter and a third of their text.

English (LoCoMo, the half that no weight was set on): a fact is *found* when a keyword search over
the memory lines alone, within 2,000 tokens, returns a line that cites its source turn, and found
*with content* when the lines found hold 60 % of those words of the fact that its source holds.
The first can be had with scraps, so both are told. Chinese (MemDaily, the second half): the share
of the turns asked about that some line cites.

python -m benchmarks.extraction      needs HOLDFAST_DATA
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from holdfast.context.extract import Heard, extract
from holdfast.retain import RetainLine, render
from holdfast.types import Message

FLUSHES: Final = 5
TOKENS: Final = 2_000
CHECK: Final = ("conv-42", "conv-43")
ALL_LINES: Final = 1_000
_WORD: Final = re.compile(r"[a-z0-9]+")
_COMMON: Final = frozenset(
    [
        *("a", "about", "after", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been"),
        *("because", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has"),
        *("have", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its"),
        *("just", "me", "more", "most", "my", "no", "not", "of", "on", "or", "our", "out", "she"),
        *("so", "some", "than", "that", "the", "their", "them", "then", "there", "they", "this"),
        *("to", "too", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which"),
        *("who", "why", "will", "with", "would", "you", "your"),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Shares of facts (or of turns asked about), and of the text that was written."""

    found: float
    content: float
    written: float


def measure() -> list[dict[str, Any]]:
    folder = Path(os.environ["HOLDFAST_DATA"])
    figures = []
    for share, found, content in ((0.25, 0.78, 0.50), (0.35, 0.85, 0.64)):
        kept = english(folder, share=share)
        figures += [
            _figure(f"LoCoMo facts found in {share:.0%} of the text", kept.found, found),
            _figure(f"… with their content in {share:.0%}", kept.content, content),
        ]
    kept = chinese(folder, share=0.35)
    figures.append(_figure("MemDaily turns retained in 35% of the text", kept.found, 0.6))
    return figures


def english(folder: Path, *, share: float, only: Sequence[str] = CHECK) -> Kept:
    """Facts found in the memory lines of these conversations, flushed in five parts."""
    facts = found = content = written = said = 0
    for corpus in _corpora(folder / "retrieval" / "locomo.jsonl.gz"):
        if corpus["id"] not in only:
            continue
        lines = _lines(corpus["turns"], share)
        shown = [_visible(line) for line in lines]
        written += sum(len(line) + 1 for line in shown)
        said += sum(len(turn["text"]) for turn in corpus["turns"])
        texts = {turn["id"]: turn["text"] for turn in corpus["turns"]}
        search = _Search(shown)
        for fact in corpus["facts"]:
            sources = set(fact["sources"])
            hits = [n for n in search.find(fact["text"]) if sources & set(lines[n].sources)]
            wanted = _words(fact["text"]) & _words(" ".join(texts.get(s, "") for s in sources))
            has = _words(" ".join(shown[n] for n in hits))
            facts += 1
            found += bool(hits)
            content += bool(hits) and len(wanted & has) >= 0.6 * len(wanted)
    return Kept(found=found / facts, content=content / facts, written=written / said)


def chinese(folder: Path, *, share: float) -> Kept:
    """Turns asked about that are cited by a line, and that the line repeats in good part."""
    asked = cited = content = written = said = 0
    for corpus in list(_corpora(folder / "retrieval" / "memdaily-zh.jsonl.gz"))[25:]:
        lines = _lines(corpus["turns"], share, flushes=1)
        shown = [_visible(line) for line in lines]
        written += sum(len(line) + 1 for line in shown)
        said += sum(len(turn["text"]) for turn in corpus["turns"])
        texts = {turn["id"]: turn["text"] for turn in corpus["turns"]}
        citing: dict[str, list[str]] = {}
        for line, text in zip(lines, shown, strict=True):
            for source in line.sources:
                citing.setdefault(source, []).append(text)
        for gold in (gold for query in corpus["queries"] for gold in query["gold"]):
            pairs = {texts[gold][n : n + 2] for n in range(len(texts[gold]) - 1)}
            lines_of = citing.get(gold, [])
            asked += 1
            cited += bool(lines_of)
            content += any(sum(p in text for p in pairs) >= 0.4 * len(pairs) for text in lines_of)
    return Kept(found=cited / asked, content=content / asked, written=written / said)


def _lines(turns: list[dict[str, str]], share: float, flushes: int = FLUSHES) -> list[RetainLine]:
    size = -(-len(turns) // flushes)
    return [
        line
        for start in range(0, len(turns), size)
        for line in extract(
            [_heard(turn) for turn in turns[start : start + size]],
            share=share,
            max_lines=ALL_LINES,
        ).lines
    ]


def _heard(turn: dict[str, str]) -> Heard:
    speaker = turn["speaker"] if turn["speaker"] != "user" else None
    at = datetime.fromisoformat(turn["time"] or "2024-04-01T09:00:00")
    return Heard(entry=turn["id"], at=at, message=Message.of("user", turn["text"]), speaker=speaker)


def _visible(line: RetainLine) -> str:
    return render(line).split(" <!-- hf")[0]


def _words(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text.lower()) if word not in _COMMON}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


class _Search:
    """Keyword search over lines: any word, best first, as many lines as the tokens allow."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._index = sqlite3.connect(":memory:")
        self._index.execute("CREATE VIRTUAL TABLE line USING fts5(text, tokenize='porter')")
        rows = [(number, line) for number, line in enumerate(lines)]
        self._index.executemany("INSERT INTO line(rowid, text) VALUES (?, ?)", rows)

    def find(self, text: str) -> Iterator[int]:
        words = [word for word in _WORD.findall(text.lower()) if word not in _COMMON]
        query = " OR ".join(f'"{word}"' for word in words)
        left: float = TOKENS
        for (number,) in self._index.execute(
            "SELECT rowid FROM line WHERE line MATCH ? ORDER BY bm25(line) LIMIT 400", (query,)
        ):
            left -= len(self._lines[number]) / 4
            if left < 0:
                return
            yield number


def _corpora(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _figure(what: str, value: float, goal: float) -> dict[str, Any]:
    return {
        "what": what,
        "value": round(value, 3),
        "unit": "of all",
        "goal": f"≥ {goal}",
        "met": value >= goal,
    }


if __name__ == "__main__":
    for figure in measure():
        print(f"{figure['what']}: {figure['value']:.3f} (goal {figure['goal']})")
