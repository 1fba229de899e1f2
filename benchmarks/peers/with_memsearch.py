"""memsearch with its local provider: Markdown files in, Milvus Lite, meaning and BM25 by RRF.

python with_memsearch.py MODEL IN.jsonl OUT.jsonl

Each conversation becomes one Markdown file with a heading for each turn, which is how memsearch
wants its chunks; a hit is told by the line it begins at. Runs in memsearch's own environment.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIMIT = 20  # its two lists are as long as this: asked for 100, it ranks far worse


async def main(model: str, given: Path, out: Path) -> None:
    # Once for all corpora, so that loading it is no corpus's time.
    spec = find_spec(model)
    if spec is None or spec.origin is None:
        sys.exit(f"The weights are not there: install {model!r}.")
    weights = str(Path(spec.origin).parent / "model")
    memsearch = import_module("memsearch")
    with given.open(encoding="utf-8") as lines, out.open("w", encoding="utf-8") as results:
        for line in lines:
            with tempfile.TemporaryDirectory() as folder:
                found = await measure(memsearch, weights, json.loads(line), Path(folder))
            results.write(json.dumps(found) + "\n")
            results.flush()


async def measure(
    memsearch: Any, weights: str, corpus: dict[str, Any], folder: Path
) -> dict[str, Any]:
    notes = folder / "notes"
    where = write_notes(corpus, notes)
    memory = memsearch.MemSearch(
        paths=[str(notes)],
        embedding_provider="local",
        embedding_model=weights,
        milvus_uri=str(folder / "milvus.db"),
    )
    begun = time.perf_counter()
    await memory.index()
    ingest = time.perf_counter() - begun
    await memory.search("warm up", top_k=LIMIT)
    answers = []
    for query in corpus["queries"]:
        begun = time.perf_counter()
        hits = await memory.search(query["text"], top_k=LIMIT)
        seconds = time.perf_counter() - begun
        ranked = [where[Path(hit["source"]).name, hit["start_line"]] for hit in hits]
        answers.append({"query": query["id"], "ranked": ranked, "seconds": seconds})
    memory.close()
    return {"corpus": corpus["id"], "ingest_seconds": ingest, "answers": answers}


def write_notes(corpus: dict[str, Any], folder: Path) -> dict[tuple[str, int], str]:
    """The files, and which turn begins at which line of them."""
    folder.mkdir()
    sessions: dict[str, list[dict[str, Any]]] = {}
    for turn in corpus["turns"]:
        sessions.setdefault(turn["session"], []).append(turn)
    where = {}
    for number, turns in enumerate(sessions.values()):
        name = f"session-{number:04}.md"
        lines: list[str] = []
        for turn in turns:
            where[name, len(lines) + 1] = turn["id"]
            said = " ".join(turn["text"].split())
            lines += [f"## {turn['who']}", "", said, ""]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return where


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
