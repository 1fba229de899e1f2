"""The peer everybody has: one FTS5 table, every word of the question OR-ed, ``bm25()``.

python plain_fts5.py TOKENIZE IN.jsonl OUT.jsonl

``TOKENIZE`` is FTS5's own setting: ``porter`` for Latin script, ``trigram`` where words are not
parted by spaces. A program by itself, like every peer: it knows nothing of Holdfast.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

LIMIT = 50


def main(tokenize: str, given: Path, out: Path) -> None:
    with given.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as results:
        for line in lines:
            results.write(json.dumps(measure(json.loads(line), tokenize)) + "\n")


def measure(corpus: dict[str, Any], tokenize: str) -> dict[str, Any]:
    begun = time.perf_counter()
    base = sqlite3.connect(":memory:")
    tokenizer = {"porter": "porter unicode61"}.get(tokenize, tokenize)
    base.execute(f"CREATE VIRTUAL TABLE turn USING fts5(text, tokenize='{tokenizer}')")
    texts = enumerate(turn["shown"] for turn in corpus["turns"])
    base.executemany("INSERT INTO turn(rowid, text) VALUES (?, ?)", texts)
    base.commit()
    ingest = time.perf_counter() - begun
    answers = []
    for query in corpus["queries"]:
        begun = time.perf_counter()
        found = base.execute(
            "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT ?",
            (any_of(query["text"], tokenize), LIMIT),
        ).fetchall()
        seconds = time.perf_counter() - begun
        ranked = [corpus["turns"][row]["id"] for (row,) in found]
        answers.append({"query": query["id"], "ranked": ranked, "seconds": seconds})
    base.close()
    return {"corpus": corpus["id"], "ingest_seconds": ingest, "answers": answers}


def any_of(text: str, tokenize: str) -> str:
    """The words of a question as FTS5 wants alternatives: quoted, so that none is syntax."""
    words = re.findall(r"\w+", text)
    if tokenize == "trigram":  # a word must be cut here as the table cuts it
        words = [word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))]
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(words)) or '""'


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
